"""A TaskModel under forced weights predicts what its own formula says, and is left as it was."""

import pytest
import torch
from torch import nn

from attn_course.alignment import softmax
from attn_course.explanation import (
    ExplainableTaskModel,
    find_adversaries,
    gradient_importance,
    leave_one_out,
    permutation_tvd,
    require_explainable,
    run_lab,
    uniform_tvd,
)
from attn_course.explanation.explainable_model import uniform_over
from tests.explanation.explained_models import (
    BATCH,
    CLASSES,
    D_F,
    D_IN,
    N,
    explained,
    random_weights,
    task_model,
    token_inputs,
)


class SoftmaxLayer(nn.Module):
    def forward(self, scores, mask=None):
        return softmax(scores, mask=mask)


def test_without_forced_weights_it_is_the_model():
    model, inputs = explained(), token_inputs()
    probabilities, weights = model.predict(inputs)
    wanted, wanted_weights = model.model(**inputs)
    assert torch.equal(probabilities, wanted[:, 0])
    assert torch.equal(weights, wanted_weights[:, 0])
    assert probabilities.shape == (BATCH, CLASSES)
    assert weights.shape == (BATCH, N)


@pytest.mark.parametrize("layer", [False, True], ids=["function", "layer"])
def test_forced_weights_average_the_values_and_leave_the_model_as_it_was(layer):
    model, inputs = explained(), token_inputs()
    if layer:
        del model.model.attention.align
        model.model.attention.align = SoftmaxLayer()
    before = model.model.attention.align
    learned, _ = model.predict(inputs)
    forced = random_weights(model.mask(inputs))
    probabilities, used = model.predict(inputs, forced)
    inner = model.model
    context = torch.einsum("bn,bnd->bd", forced, inner.feature_model(inputs["inputs"]))
    torch.testing.assert_close(probabilities, inner.output_model(context))
    assert torch.equal(used, forced)
    assert inner.attention.align is before
    assert torch.equal(model.predict(inputs)[0], learned)


def test_forcing_the_learned_weights_changes_nothing():
    model, inputs = explained(), token_inputs()
    probabilities, weights = model.predict(inputs)
    torch.testing.assert_close(model.predict(inputs, weights)[0], probabilities)


def test_an_error_inside_leaves_the_model_as_it_was():
    model, inputs = explained(), token_inputs()
    before = model.model.attention.align
    with pytest.raises(RuntimeError, match=r"size|shape"):
        model.predict(inputs, torch.ones(BATCH, N + 2, dtype=torch.float64))
    assert model.model.attention.align is before


def test_logits_become_probabilities():
    torch.manual_seed(0)
    model = explained(output=nn.Linear(D_F, CLASSES))
    inputs = token_inputs()
    probabilities, _ = model.predict(inputs)
    torch.testing.assert_close(probabilities, model.model(**inputs)[0][:, 0].softmax(-1))


def test_token_numbers_are_embedded_by_the_layer_that_is_named():
    encoder = nn.Sequential(nn.Embedding(17, D_IN), nn.Linear(D_IN, D_F))
    model = ExplainableTaskModel(task_model(encoder=encoder), embedding=encoder[0])
    tokens = torch.randint(17, (BATCH, N), generator=torch.Generator().manual_seed(0))
    inputs = {"inputs": tokens}
    embeddings = model.embed(inputs)
    assert embeddings.shape == (BATCH, N, D_IN)
    assert model.mask(inputs).all()
    torch.testing.assert_close(model.predict(inputs)[0], model.model(tokens)[0][:, 0])
    moved = embeddings.detach().flip(0).requires_grad_()
    probabilities, _ = model.predict_from(moved, model.mask(inputs), inputs)
    torch.testing.assert_close(probabilities, model.model(tokens.flip(0))[0][:, 0])
    (gradient,) = torch.autograd.grad(probabilities[:, 0].sum(), moved)
    assert (gradient != 0).any(-1).all()
    torch.testing.assert_close(model.predict(inputs)[0], model.model(tokens)[0][:, 0])


def test_uniform_weights_are_equal_over_the_tokens():
    mask = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    wanted = [[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 0]]
    torch.testing.assert_close(uniform_over(mask), torch.tensor(wanted))


def test_several_queries_and_attention_without_alignment_are_refused():
    model = explained()
    model.model.query_model.q = nn.Parameter(torch.randn(2, D_F).double())
    with pytest.raises(ValueError, match="the lab explains one query"):
        model.predict(token_inputs())
    bare = task_model()
    bare.attention = nn.Identity()
    with pytest.raises(ValueError, match="Identity has no `align`"):
        ExplainableTaskModel(bare)


# The contract, tried before a test begins


class Changed(ExplainableTaskModel):
    """A model that breaks the contract in one way."""

    def __init__(self, change):
        super().__init__(task_model())
        self.change = change

    def predict_from(self, embeddings, mask, inputs, weights=None):
        return self.change(super().predict_from, embeddings, mask, inputs, weights)


def ignores_what_is_forced(predict, embeddings, mask, inputs, weights):
    return predict(embeddings, mask, inputs)


def gives_logits(predict, embeddings, mask, inputs, weights):
    probabilities, used = predict(embeddings, mask, inputs, weights)
    return probabilities.log() + 1, used


def keeps_an_axis_for_queries(predict, embeddings, mask, inputs, weights):
    probabilities, used = predict(embeddings, mask, inputs, weights)
    return probabilities, used[:, None]


def drops_out(predict, embeddings, mask, inputs, weights):
    return predict(nn.functional.dropout(embeddings), mask, inputs, weights)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (ignores_what_is_forced, "others came back"),
        (gives_logits, "take their softmax"),
        (keeps_an_axis_for_queries, "Choose one query and one head"),
        (drops_out, r"call .eval\(\)"),
    ],
)
def test_a_model_that_breaks_the_contract_is_told_before_it_is_judged(change, sentence):
    inputs = token_inputs()
    generator = torch.Generator().manual_seed(0)
    tests = (
        uniform_tvd,
        gradient_importance,
        leave_one_out,
        lambda model, inputs: permutation_tvd(model, inputs, generator, number=1),
        lambda model, inputs: find_adversaries(model, inputs, generator, steps=1),
    )
    for test in tests:
        with pytest.raises(ValueError, match=sentence):
            test(Changed(change), inputs)


def test_a_mask_of_numbers_is_told():
    class Numbers(ExplainableTaskModel):
        def mask(self, inputs):
            return super().mask(inputs).double()

    with pytest.raises(ValueError, match="mask must be boolean"):
        require_explainable(Numbers(task_model()), token_inputs())


def test_the_lab_is_for_its_own_models():
    with pytest.raises(ValueError, match="call the tests one by one"):
        run_lab(explained())
