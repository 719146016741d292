"""The alignments of the construction kit: the definitions in loops."""

import numpy as np
import pytest
import torch

from attn_course.definitions import alignment as align_definition
from attn_course.definitions import scoring as score_definition
from attn_course.general_attention import Attention
from tests.general_attention.sizes import D_F, D_K, D_W, MASK, B, N, Q
from tests.random_layers import assert_close, fresh, numbers, tensor


def scores_by_loops(layer, features, queries):
    keys = [score_definition.times(numbers(layer.one)["W_K.weight"], f) for f in features.numpy()]
    return [[score_definition.dot(q, k) for k in keys] for q in queries.numpy()]


@pytest.mark.agrees(
    "general_attention.Attention",
    "definitions.alignment.softmax",
    "definitions.alignment.sparsemax",
    "definitions.alignment.entmax15",
    "definitions.alignment.local_monotonic",
)
@pytest.mark.parametrize("align", ["softmax", "sparsemax", "entmax15", "local_monotonic"])
def test_alignments_of_scores_agree_with_loops(align):
    D = 2
    layer = fresh(Attention(D_F, "dot", align, d_q=D_K, d_k=D_K, half_width=D), std=0.2)
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_K, seed=1)
    _, weights = layer(features, queries, MASK[:, None])
    for b, i in np.ndindex(B, Q):
        e, mask = scores_by_loops(layer, features[b], queries[b])[i], MASK[b].tolist()
        if align == "local_monotonic":
            wanted = align_definition.local_monotonic(e, i + 1, D, mask)
        else:
            wanted = getattr(align_definition, align)(e, mask)
        assert_close(weights[b, i], wanted)


@pytest.mark.agrees("general_attention.Attention", "definitions.alignment.local_predictive")
def test_a_predicted_window_agrees_with_loops_and_counts_the_words_there_are():
    layer = fresh(
        Attention(D_F, "dot", "local_predictive", d_q=D_K, d_k=D_K, d_w=D_W, half_width=2)
    )
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_K, seed=1)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    for given_mask, lengths in ((mask[:, None], (7, 4)), (None, (7, 7))):
        _, weights = layer(features, queries, given_mask)
        p = numbers(layer.one.align)
        for b, i in np.ndindex(B, Q):
            e = scores_by_loops(layer, features[b], queries[b])[i]
            place = align_definition.predict_position(
                queries[b, i].numpy(), p["w_p"], p["W_p"], lengths[b]
            )
            real = mask[b].tolist() if given_mask is not None else None
            assert_close(weights[b, i], align_definition.local_predictive(e, place, 2, real))


def test_hard_alignment_draws_one_key_as_often_as_softmax_says():
    generator = torch.Generator().manual_seed(0)
    layer = fresh(Attention(D_F, "dot", "hard", d_q=D_F, rng=generator))
    soft = Attention(D_F, "dot", d_q=D_F)
    features, query = 0.5 * tensor(1, N, D_F), tensor(1, 1, D_F, seed=1)
    contexts, draws = layer(features.expand(20_000, N, D_F), query.expand(20_000, 1, D_F))
    assert ((draws == 0) | (draws == 1)).all()
    assert (draws.sum(-1) == 1).all()
    torch.testing.assert_close(contexts, draws @ features)
    _, chances = soft(features, query)
    np.testing.assert_allclose(draws.mean(0), chances[0], atol=0.02)


@pytest.mark.agrees(
    "general_attention.Attention",
    "definitions.alignment.softmax",
    "definitions.alignment.selection_log_probability",
)
def test_reinforced_alignment_is_softmax_over_a_drawn_subset_and_its_selector_learns():
    generator = torch.Generator().manual_seed(3)
    layer = fresh(Attention(D_F, "dot", "reinforced", d_q=D_K, d_k=D_K, d_w=D_W, rng=generator))
    features, queries = tensor(B, N, D_F), tensor(B, Q, D_K, seed=1)
    _, weights = layer(features, queries, MASK[:, None])
    p = numbers(layer.one.align)
    p["b_0"] = float(p["b_0"])
    for b in range(B):
        chosen = (weights[b] > 0).any(0)
        assert not chosen[~MASK[b]].any()
        for i in range(Q):
            e = scores_by_loops(layer, features[b], queries[b])[i]
            assert_close(weights[b, i], align_definition.softmax(e, chosen.tolist()))
        chances = align_definition.selection_probabilities(features[b, MASK[b]].numpy(), **p)
        wanted = align_definition.selection_log_probability(chances, chosen[MASK[b]].tolist())
        assert_close(layer.one.align.log_probability[b], wanted)
    layer.one.align.log_probability.sum().backward()
    for name, parameter in layer.one.align.named_parameters():
        assert parameter.grad.abs().max() > 1e-9, name
