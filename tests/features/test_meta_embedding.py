"""Meta-embeddings against their definition in loops, and properties P4.26–P4.29."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attn_course.definitions import features as definition
from attn_course.features import MetaEmbedding
from tests.features.by_hand import assert_close, shaken

N, D_E, D_T = 2, (3, 7, 5), 11  # N words, three embeddings of each
E = len(D_E)


def draw(seed=0, d_e=D_E):
    generator = torch.Generator().manual_seed(seed)
    embeddings = [torch.randn(N, d, generator=generator, dtype=torch.float64) for d in d_e]
    mask = torch.rand(N, len(d_e), generator=generator) < 0.5  # some words have no embedding
    return generator, embeddings, mask


def meta(d_e=D_E, **options):
    torch.manual_seed(0)
    layer = MetaEmbedding(d_e, D_T, **options).double()
    return shaken(layer, torch.Generator().manual_seed(0))


@pytest.mark.agrees("features.MetaEmbedding", "definitions.features.meta_embedding")
@pytest.mark.parametrize("weighting", ["softmax", "gate"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_meta_embedding_agrees_with_its_definition_in_loops(weighting, seed):
    generator, embeddings, mask = draw(seed)
    layer = shaken(MetaEmbedding(D_E, D_T, weighting).double(), generator)
    maps = [(m.weight.tolist(), m.bias.tolist()) for m in layer.maps]
    for given_mask in (None, mask):
        x, weights = layer(embeddings, given_mask)
        for word in range(N):
            wanted, a = definition.meta_embedding(
                [e[word].tolist() for e in embeddings],
                maps,
                layer.u.tolist(),
                layer.beta.item(),
                weighting,
                None if given_mask is None else given_mask[word].tolist(),
            )
            assert_close(x[word].detach(), torch.tensor(wanted, dtype=torch.float64))
            assert_close(weights[word].detach(), torch.tensor(a, dtype=torch.float64))


def mapped(layer, embeddings):
    return torch.stack([m(e) for m, e in zip(layer.maps, embeddings, strict=True)], -2)


@pytest.mark.agrees("features.MetaEmbedding", "PyTorch")
def test_meta_embedding_agrees_with_pytorch_own_kernel():
    _, embeddings, _ = draw()
    layer = meta()
    features = mapped(layer, embeddings)
    theirs = scaled_dot_product_attention(layer.u.expand(N, 1, -1), features, features, scale=1.0)
    assert_close(layer(embeddings)[0], theirs[:, 0])


def test_the_weights_are_normalised_over_the_types_for_each_word():
    _, embeddings, _ = draw()
    _, weights = meta()(embeddings)
    assert weights.shape == (N, E)
    assert_close(weights.sum(-1), torch.ones(N, dtype=torch.float64))


def test_the_number_of_parameters_is_the_one_stated():
    wanted = sum(D_T * (d + 1) for d in D_E) + D_T + 1
    assert sum(p.numel() for p in meta().parameters()) == wanted


@pytest.mark.proves("P4.26")
def test_a_single_embedding_is_only_mapped():
    _, embeddings, _ = draw(d_e=(7,))
    layer = meta(d_e=(7,))
    assert_close(layer(embeddings)[0], layer.maps[0](embeddings[0]))


@pytest.mark.proves("P4.27")
def test_beta_cancels_in_a_softmax():
    _, embeddings, _ = draw()
    layer = meta(weighting="softmax")
    x, _ = layer(embeddings)
    (x**2).sum().backward()
    assert layer.beta.grad.abs() < 1e-12  # dead by algebra
    layer.beta.data += 3.0
    assert_close(layer(embeddings)[0], x)


@pytest.mark.proves("P4.27")
def test_beta_counts_in_a_gate():
    _, embeddings, _ = draw()
    layer = meta(weighting="gate")
    x, weights = layer(embeddings)
    (x**2).sum().backward()
    assert layer.beta.grad.abs() > 1e-6
    layer.beta.data += 3.0
    assert (layer(embeddings)[1] > weights).all()


@pytest.mark.proves("P4.28")
@pytest.mark.parametrize("weighting", ["softmax", "gate", "uniform"])
def test_permuting_the_types_with_their_maps_changes_nothing(weighting):
    _, embeddings, mask = draw(seed=2)
    order = [2, 0, 1]
    layer, permuted = meta(weighting=weighting), meta([D_E[i] for i in order], weighting=weighting)
    permuted.maps = nn.ModuleList(layer.maps[i] for i in order)
    x, weights = layer(embeddings, mask)
    again, permuted_weights = permuted([embeddings[i] for i in order], mask[:, order])
    assert_close(again, x)
    assert_close(permuted_weights, weights[:, order])


@pytest.mark.proves("P4.29")
def test_without_learning_the_weights_every_type_counts_alike():
    _, embeddings, _ = draw()
    layer = meta(weighting="uniform")
    assert {name.split(".")[0] for name, _ in layer.named_parameters()} == {"maps"}
    x, weights = layer(embeddings)
    assert_close(weights, torch.full((N, E), 1 / E, dtype=torch.float64))
    assert_close(x, mapped(layer, embeddings).mean(-2))
    attentive = meta()
    attentive.load_state_dict(layer.state_dict(), strict=False)
    attentive.u.data.zero_()  # attention that finds nothing to choose
    assert_close(attentive(embeddings)[0], x)


@pytest.mark.proves("P4.29")
def test_equal_weights_are_one_linear_map_of_the_concatenation():
    _, embeddings, _ = draw()
    layer = meta(weighting="uniform")
    W = torch.cat([m.weight for m in layer.maps], dim=1) / E
    b = sum(m.bias for m in layer.maps) / E
    assert_close(layer(embeddings)[0], nn.functional.linear(torch.cat(embeddings, -1), W, b))


@pytest.mark.parametrize("weighting", ["softmax", "gate", "uniform"])
@pytest.mark.parametrize("junk", [0.0, 1e3, float("nan"), float("inf")])
def test_a_missing_embedding_counts_for_nothing(weighting, junk):
    _, embeddings, _ = draw()
    layer, fewer = meta(weighting=weighting), meta(D_E[:2], weighting=weighting)
    fewer.load_state_dict(
        {name: value for name, value in layer.state_dict().items() if "maps.2" not in name}
    )
    wanted, wanted_weights = fewer(embeddings[:2])
    embeddings[2].fill_(junk)
    x, weights = layer(embeddings, torch.tensor([True, True, False]))
    assert_close(x, wanted)
    assert_close(weights[:, :2], wanted_weights)
    assert (weights[:, 2] == 0).all()
    (x**2).sum().backward()
    for name, parameter in layer.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
    assert (layer.maps[2].weight.grad == 0).all()


@pytest.mark.parametrize("weighting", ["softmax", "gate", "uniform"])
def test_a_word_without_any_embedding_is_zero_with_zero_gradient(weighting):
    _, embeddings, _ = draw()
    embeddings = [e.requires_grad_() for e in embeddings]
    layer = meta(weighting=weighting)
    mask = torch.ones(N, E, dtype=torch.bool)
    mask[1] = False
    x, weights = layer(embeddings, mask)
    assert (x[1] == 0).all()
    assert (weights[1] == 0).all()
    (x**2).sum().backward()
    for e in embeddings:
        assert (e.grad[1] == 0).all()
        assert (e.grad[0] != 0).any()


@pytest.mark.parametrize("weighting", ["softmax", "gate", "uniform"])
def test_every_parameter_learns_but_the_dead_one(weighting):
    _, embeddings, _ = draw()
    layer = meta(weighting=weighting)
    (layer(embeddings)[0] ** 2).sum().backward()
    dead = {"beta"} if weighting == "softmax" else set()
    for name, parameter in layer.named_parameters():
        assert (parameter.grad.abs().max() < 1e-12) == (name in dead), name


@pytest.mark.parametrize("weighting", ["softmax", "gate", "uniform"])
def test_gradcheck(weighting):
    _, embeddings, mask = draw()
    layer = meta(weighting=weighting)
    inputs = [e.requires_grad_() for e in embeddings]
    tensors = [*inputs, *layer.parameters()]
    assert torch.autograd.gradcheck(lambda *_: layer(inputs, mask), tensors)


class OverWords(nn.Module):
    """What the contextualised variant scores: a small LSTM over the words, for each type."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(D_T, 2, bidirectional=True, batch_first=True)

    def forward(self, features):
        return self.lstm(features.movedim(-2, 0))[0].movedim(0, -2)


def test_an_encoder_is_scored_in_place_of_the_embeddings():
    _, embeddings, _ = draw()
    layer = meta(encoder=OverWords(), d_h=4)
    x, weights = layer(embeddings)
    features = mapped(layer, embeddings)
    states = [layer.encoder.lstm(features[:, i])[0] for i in range(E)]  # one sequence a type
    scores = [nn.functional.linear(h, layer.u[None], layer.beta) for h in states]
    assert_close(weights, torch.cat(scores, -1).softmax(-1))
    assert_close(
        x, torch.bmm(weights[:, None], features)[:, 0]
    )  # what is averaged stays the embeddings
    other, _ = layer([embeddings[0].flip(0), *embeddings[1:]])
    assert not torch.allclose(other, x)


@pytest.mark.parametrize("weighting", ["softmax", "gate", "uniform"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_is_kept_and_large_scores_stay_finite(weighting, dtype):
    _, embeddings, mask = draw()
    layer = meta(weighting=weighting).to(dtype)
    large = [(e * 1000).to(dtype).requires_grad_() for e in embeddings]
    for given_mask in (None, mask):
        x, weights = layer(large, given_mask)
        assert x.dtype == weights.dtype == dtype
        assert torch.isfinite(x).all()
        for gradient in torch.autograd.grad(x.sum(), [*large, *layer.parameters()]):
            assert torch.isfinite(gradient).all()


def test_weights_can_be_left_out():
    _, embeddings, _ = draw()
    layer = meta()
    x, none = layer(embeddings, need_weights=False)
    assert none is None
    assert torch.equal(x, layer(embeddings)[0])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: MetaEmbedding((3, 5), 7, "tanh"), "one of softmax, gate, uniform, but is 'tanh'"),
        (lambda: MetaEmbedding((), 7), "d_e must give the width of at least one embedding"),
        (
            lambda: MetaEmbedding((3, 5), 7)([torch.ones(2, 5), torch.ones(2, 3)]),
            "2 tensors of widths (3, 5), in that order, but are (2, 5), (2, 3)",
        ),
        (lambda: MetaEmbedding((3, 5), 7)([torch.ones(2, 3)]), "but are (2, 3)"),
        (
            lambda: MetaEmbedding((3,), 7)([torch.ones(2, 3)], torch.ones(2, dtype=torch.bool)),
            "the mask of embeddings must broadcast to (2, 1)",
        ),
        (
            lambda: MetaEmbedding((3,), 7)([torch.ones(2, 3)], torch.ones(2, 1)),
            "the mask of embeddings must be boolean",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
