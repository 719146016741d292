"""Seed variance, imposed weights and the model-consistent adversary, on a small lookup."""

import pytest
import torch

from attn_course.evaluation.divergences import jsd, kl, tvd
from attn_course.explanation import consistent_adversary, imposed_weights
from attn_course.explanation.explainable_model import ExplainableTaskModel, uniform_over
from attn_course.explanation.seeds import seed_variance
from attn_course.tasks.importance import TellingWord
from tests.explanation.explained_models import BATCH, N, explained, token_inputs

TASK = TellingWord()


def examples(number, seed=0):
    return TASK.examples("train", number, TASK.rng("train", seed))


def batches(steps, size=32):
    whole = examples(steps * size)
    return [(part.inputs, part.targets[:, 0]) for part in whole.batches(size)]


def small_mlp(seed=0, linear=True):
    torch.manual_seed(seed)
    return ExplainableTaskModel(imposed_weights.token_mlp(7, 8, TASK.classes, linear))


# --- seeds ------------------------------------------------------------------------------------


def test_seed_variance_is_the_jsd_of_every_pair():
    models, inputs = [explained(seed) for seed in (0, 1, 2)], token_inputs()
    found = seed_variance(models, inputs)
    assert found.shape == (3, BATCH)
    weights = [model.predict(inputs)[1].detach() for model in models]
    torch.testing.assert_close(found[1], jsd(weights[0], weights[2]))
    torch.testing.assert_close(found[:, 1], torch.zeros(3).double())  # one token: no other way
    assert (seed_variance([models[0], models[0]], inputs).abs() < 1e-12).all()


def test_one_model_has_no_variance():
    with pytest.raises(ValueError, match="two seeds at least can differ"):
        seed_variance([explained()], token_inputs())


# --- imposed weights --------------------------------------------------------------------------


def test_right_weights_help_a_linear_token_model_and_equal_ones_do_not():
    test = examples(300, seed=1)
    classes = test.targets[:, 0]

    def telling(inputs):
        return inputs["inputs"][..., 0]  # role 0: all weight on the telling word

    def equal(inputs):
        return uniform_over(inputs["mask"][:, 0])

    reached = {}
    for name, imposed in (("telling", telling), ("equal", equal)):
        model = small_mlp()
        imposed_weights.train_imposed(model, imposed, batches(120), learning_rate=0.03)
        reached[name] = imposed_weights.accuracy(model, test.inputs, classes, imposed)
    assert reached["telling"] == 1
    assert reached["equal"] < 0.65


def test_imposed_weights_leave_the_score_untrained_and_own_ones_do_not():
    inputs, classes = batches(1)[0]
    for imposed, moves in ((lambda x: uniform_over(x["mask"][:, 0]), False), (None, True)):
        model = small_mlp()
        before = model.model.attention.score.W_k.detach().clone()
        imposed_weights.train_imposed(model, imposed, [(inputs, classes)] * 2)
        assert torch.equal(model.model.attention.score.W_k, before) != moves


def test_weights_of_a_model_are_its_learned_ones_without_a_graph():
    model, inputs = explained(), token_inputs()
    imposed = imposed_weights.weights_of(model)(inputs)
    assert torch.equal(imposed, model.predict(inputs)[1])
    assert not imposed.requires_grad


def test_tanh_and_linear_token_models_see_one_token_at_a_time():
    for linear in (False, True):
        encoder = imposed_weights.TokenMLP(5, 3, linear)
        tokens = torch.randn(2, 7, 5)
        changed = tokens.clone()
        changed[:, 3] += 1
        apart = (encoder(tokens) != encoder(changed)).any(-1)
        assert apart.any(0).tolist() == [t == 3 for t in range(7)]
        mapped = encoder.map(tokens)
        assert torch.equal(encoder(tokens), mapped if linear else torch.tanh(mapped))


# --- the consistent adversary -----------------------------------------------------------------


def test_its_loss_is_tvd_less_lambda_kl_with_the_adversary_first():
    base, adversary, inputs = explained(0), explained(1), token_inputs()
    probabilities, weights = adversary.predict(inputs)
    wanted, base_weights = base.predict(inputs)
    loss = (tvd(probabilities, wanted) - 0.3 * kl(weights, base_weights)).mean()
    gradients = torch.autograd.grad(loss, list(adversary.parameters()))
    before = [parameter.detach().clone() for parameter in adversary.parameters()]
    fixed = [parameter.detach().clone() for parameter in base.parameters()]
    consistent_adversary.train_adversary(base, adversary, [inputs], penalty=0.3, learning_rate=1e-4)
    for parameter, was, gradient in zip(adversary.parameters(), before, gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-6, atol=1e-9)
        assert not torch.equal(parameter, was)
    for parameter, was in zip(base.parameters(), fixed, strict=True):
        assert torch.equal(parameter, was)


def test_lambda_buys_other_weights_for_the_same_predictions_as_long_as_it_can():
    base, inputs = explained(0), token_inputs()
    base.model.query_model.q.data *= 0.3  # soft weights, so that there is somewhere to go
    points = [
        point
        for point, _ in consistent_adversary.sweep(
            base, lambda: explained(1), lambda: [inputs] * 100, inputs, penalties=(0.0, 1.0)
        )
    ]
    assert [point.penalty for point in points] == [0.0, 1.0]
    assert points[0].tvd < 0.05
    assert points[0].jsd < points[1].jsd <= 0.6932
    assert points[1].relative_jsd > 0.5


def test_a_model_is_no_distance_from_itself():
    base, inputs = explained(), token_inputs()
    point = consistent_adversary.compare(base, base, inputs, penalty=0.5)
    assert point.tvd == 0
    assert point.jsd == pytest.approx(0, abs=1e-12)
    assert N > 1


def test_weights_of_exactly_zero_in_the_base_do_not_break_the_training():
    base, adversary, inputs = explained(0), explained(1), token_inputs()
    base.model.query_model.q.data *= 1e4  # one-hot to the last bit
    consistent_adversary.train_adversary(base, adversary, [inputs] * 3, penalty=1.0)
    assert all(torch.isfinite(parameter).all() for parameter in adversary.parameters())
