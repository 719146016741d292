"""Pooling and self-attention: the definitions in loops, and properties P5.1–P5.8."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

from attn_course import alignment, scoring
from attn_course.attention import attend
from attn_course.definitions import queries as definition
from attn_course.definitions import scoring as score_definition
from attn_course.queries import SelfAttention, SelfAttentivePooling, refine
from tests.queries.poolings import D_W, MASK, POOLINGS, B, D, N
from tests.random_layers import fresh, numbers, seeds, tensor

# --- pooling -----------------------------------------------------------------------------------


def pool_by_loops(form, p, features, mask):
    if form == "removed":
        c, a = definition.pool_without_query(
            features, p["score.w"], p["score.W"], p["score.b"], mask
        )
    elif form == "learned":
        c, a = attend_by_loops(p["q"][0], features, mask)
    else:
        return definition.pool_structured(features, p["W_s1.weight"], p["W_s2.weight"], mask)
    return c[None], a[None]


def attend_by_loops(query, features, mask):
    return definition.attend(query, features, features, score_definition.dot, mask)


@pytest.mark.agrees(
    "queries.SelfAttentivePooling",
    "definitions.queries.pool_without_query",
    "definitions.queries.pool_structured",
    "definitions.attention.attend",
)
@pytest.mark.parametrize("form", POOLINGS)
@settings(max_examples=20)
@given(seed=seeds)
def test_pooling_agrees_with_its_definition_in_loops(form, seed):
    layer, features = fresh(POOLINGS[form](), seed), tensor(B, N, D, seed=seed)
    contexts, weights = layer(features, MASK)
    for b in range(B):
        c, a = pool_by_loops(form, numbers(layer), features[b].numpy(), MASK[b].tolist())
        np.testing.assert_allclose(contexts[b].detach(), c, atol=1e-12)
        np.testing.assert_allclose(weights[b].detach(), a, atol=1e-12)


@pytest.mark.proves("P5.1")
def test_additive_with_a_constant_query_is_pooling_with_another_bias():
    layer, features = fresh(POOLINGS["removed"]()), tensor(B, N, D)
    W_q, q_0 = tensor(D_W, 3, seed=1), tensor(1, 3, seed=2)
    score = partial(scoring.additive, w=layer.score.w, W_q=W_q, W_k=layer.score.W, b=layer.score.b)
    wanted, _ = attend(q_0.expand(B, 1, 3), features, features, score)
    with torch.no_grad():
        layer.score.b += W_q @ q_0[0]
    torch.testing.assert_close(layer(features)[0], wanted)


@pytest.mark.proves("P5.2")
def test_a_learned_query_is_dot_product_attention_with_that_query():
    layer, features = fresh(POOLINGS["learned"]()), tensor(B, N, D)
    wanted, _ = attend(layer.q.expand(B, 1, D), features, features, scoring.dot)
    torch.testing.assert_close(layer(features)[0], wanted)


@pytest.mark.proves("P5.3")
@pytest.mark.parametrize("form", POOLINGS)
def test_pooling_does_not_see_the_order(form):
    layer, features, order = fresh(POOLINGS[form]()), tensor(B, N, D), torch.randperm(N)
    torch.testing.assert_close(layer(features)[0], layer(features[:, order])[0])


@pytest.mark.proves("P5.3")
def test_self_attention_is_equivariant():
    layer, features, order = fresh(SelfAttention(D, 3, 11)), tensor(B, N, D), torch.randperm(N)
    torch.testing.assert_close(layer(features)[0][:, order], layer(features[:, order])[0])


@pytest.mark.proves("P5.7")
@pytest.mark.agrees("queries.SelfAttentivePooling.penalty", "definitions.queries.penalty")
def test_the_penalty_is_zero_exactly_for_distinct_one_hot_rows():
    one_hot = torch.eye(5)[:3]
    assert SelfAttentivePooling.penalty(one_hot) == 0
    assert SelfAttentivePooling.penalty(one_hot[[0, 0, 1]]) > 0
    weights = torch.softmax(tensor(B, 3, 5), dim=-1)
    penalties = SelfAttentivePooling.penalty(weights)
    wanted = [definition.penalty(w) for w in weights.numpy()]
    np.testing.assert_allclose(penalties, wanted)
    assert (penalties > 0).all()


def test_structured_pooling_with_one_row_is_the_form_without_query_and_bias():
    layer, features = fresh(SelfAttentivePooling(D, "structured", d_w=D_W)), tensor(N, D)
    p = numbers(layer)
    wanted, _ = definition.pool_without_query(
        features.numpy(), p["W_s2.weight"][0], p["W_s1.weight"]
    )
    np.testing.assert_allclose(layer(features)[0][0].detach(), wanted)


def test_choices_of_pooling_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="form must be one of removed, learned, structured"):
        SelfAttentivePooling(D, "mean")
    with pytest.raises(ValueError, match="r must be 1, or above 1 with form='structured'"):
        SelfAttentivePooling(D, "learned", r=2)


# --- self-attention ----------------------------------------------------------------------------


@pytest.mark.agrees("queries.SelfAttention", "definitions.queries.self_attention")
@settings(max_examples=20)
@given(seed=seeds)
def test_self_attention_agrees_with_its_definition_in_loops(seed):
    layer, features = fresh(SelfAttention(D, d_k=3, d_v=11), seed), tensor(B, N, D, seed=seed)
    mask = alignment.causal_mask(N, like=features) & MASK[:, None, :]
    contexts, weights = layer(features, mask)
    p = numbers(layer)
    for b in range(B):
        c, a = definition.self_attention(
            features[b].numpy(), p["W_Q.weight"], p["W_K.weight"], p["W_V.weight"], mask[b].tolist()
        )
        np.testing.assert_allclose(contexts[b].detach(), c, atol=1e-12)
        np.testing.assert_allclose(weights[b].detach(), a, atol=1e-12)


@pytest.mark.proves("P5.4")
def test_without_queries_every_context_is_the_mean_value():
    layer, features = fresh(SelfAttention(D)), tensor(N, D)
    with torch.no_grad():
        layer.W_Q.weight.zero_()
    mean = layer.W_V(features).mean(0, keepdim=True).expand(N, D)
    torch.testing.assert_close(layer(features)[0], mean)


@pytest.mark.proves("P5.5")
def test_tied_queries_and_keys_give_symmetric_scores_but_not_weights():
    layer, features = fresh(SelfAttention(D, score="dot")), tensor(N, D)
    layer.W_K = layer.W_Q
    scores = layer.score(layer.W_Q(features), layer.W_K(features))
    torch.testing.assert_close(scores, scores.mT)
    weights = layer(features)[1]
    assert (weights - weights.mT).abs().max() > 0.01


@pytest.mark.proves("P5.6")
def test_equal_features_get_equal_contexts():
    layer, features = fresh(SelfAttention(D)), tensor(N, D)
    features[4] = features[1]
    contexts, _ = layer(features)
    torch.testing.assert_close(contexts[4], contexts[1])


@pytest.mark.proves("P5.8")
def test_refined_features_are_normalised():
    features, contexts = tensor(N, D), tensor(N, D, seed=1)
    refined = refine(features, contexts, nn.LayerNorm(D).double())
    torch.testing.assert_close(refined.mean(-1), torch.zeros(N, dtype=torch.float64))
    variance = refined.var(-1, unbiased=False)
    torch.testing.assert_close(variance, torch.ones(N, dtype=torch.float64), atol=1e-3, rtol=0)
    assert refine(features, contexts) is contexts


def test_refining_needs_equal_shapes():
    with pytest.raises(ValueError, match="Choose d_v = d_f"):
        refine(tensor(N, D), tensor(N, 3), nn.LayerNorm(D))
