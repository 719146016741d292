"""Scores as layers: the formula with the layer's own parameters, all of them trained."""

import numpy as np
import pytest
import torch

from attn_course import learned_scores, scoring
from attn_course.alignment import softmax
from attn_course.definitions import scoring as definition

B, Q, K, D_Q, D_K, D_W = 2, 3, 7, 5, 11, 13
WITH_PARAMETERS = ("additive", "general", "biased_general", "activated_general")


@pytest.mark.parametrize("kind", WITH_PARAMETERS)
def test_a_layer_is_its_formula_with_its_own_parameters(kind):
    torch.manual_seed(0)
    layer = learned_scores.make_score(kind, D_Q, D_K, D_W).double()
    queries = torch.randn(B, Q, D_Q, dtype=torch.float64)
    keys = torch.randn(B, K, D_K, dtype=torch.float64)
    parameters = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    one = getattr(definition, kind)
    scores = layer(queries, keys)
    for b, i, l in np.ndindex(B, Q, K):
        wanted = one(queries[b, i].numpy(), keys[b, l].numpy(), **parameters)
        assert scores[b, i, l].item() == pytest.approx(float(wanted))


@pytest.mark.parametrize(
    "kind", [kind for kind in learned_scores.SCORE_NAMES if kind not in WITH_PARAMETERS]
)
def test_a_score_without_parameters_is_the_formula(kind):
    queries, keys = torch.randn(B, Q, D_Q), torch.randn(B, K, D_Q)
    layer = learned_scores.make_score(kind, D_Q, D_Q)
    assert not list(layer.parameters())
    assert kind in repr(layer)
    one = getattr(definition, kind)
    wanted = [
        [[one(q, k) for k in ks] for q in qs]
        for qs, ks in zip(queries.tolist(), keys.tolist(), strict=True)
    ]
    torch.testing.assert_close(layer(queries, keys), torch.tensor(wanted))


@pytest.mark.parametrize("kind", WITH_PARAMETERS)
def test_every_parameter_is_reached_by_a_gradient_through_the_softmax(kind):
    torch.manual_seed(0)
    layer = learned_scores.make_score(kind, D_Q, D_K, D_W)
    weights = softmax(layer(torch.randn(B, Q, D_Q), torch.randn(B, K, D_K)))
    (weights * torch.arange(K)).sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


def test_the_score_without_a_query_is_its_formula():
    torch.manual_seed(0)
    layer = learned_scores.NoQueryScore(D_K, D_W)
    keys = torch.randn(B, K, D_K)
    torch.testing.assert_close(layer(keys), scoring.no_query(keys, layer.w, layer.W, layer.b))
    assert layer(keys).shape == (B, 1, K)


def test_an_unknown_score_is_refused_with_the_list():
    with pytest.raises(ValueError, match="score must be one of additive, dot, scaled_dot"):
        learned_scores.make_score("multiplicative", 3, 3)


def test_a_score_that_needs_equal_widths_says_so():
    with pytest.raises(ValueError, match="needs d_q = d_k, but d_q = 3 and d_k = 5"):
        learned_scores.make_score("cosine", 3, 5)
