"""Query-related attention: the definitions in loops, PyTorch's layer, and properties P5.1–P5.27."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attn_course import alignment, scoring
from attn_course.attention import attend
from attn_course.definitions import queries as definition
from attn_course.definitions import scoring as score_definition
from attn_course.learned_scores import SCORES
from attn_course.queries import (
    CapsuleAttention,
    MultiHeadAttention,
    MultiHopAttention,
    SelfAttention,
    SelfAttentivePooling,
    memory_hops,
    refine,
)

B, N, D, D_W = 2, 7, 5, 11  # every axis its own prime
seeds = st.integers(0, 2**32 - 1)


def tensor(*size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=generator)


def numbers(module):
    """Return the parameters as NumPy arrays by name, biases filled so that none is 0."""
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def fresh(module, seed=0):
    """Return the module in double precision with every parameter drawn at random."""
    torch.manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.7)
    return module


MASK = torch.tensor([[True] * 7, [True, True, False, True, False, False, False]])


# --- pooling -----------------------------------------------------------------------------------

POOLINGS = {
    "removed": lambda: SelfAttentivePooling(D, "removed", d_w=D_W),
    "learned": lambda: SelfAttentivePooling(D, "learned"),
    "structured": lambda: SelfAttentivePooling(D, "structured", d_w=D_W, r=3),
}


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


# --- multi-head --------------------------------------------------------------------------------

HEADS = dict(d_q=3, heads=2, d_k=5, d_v=7, d_head=11, d_head_v=13, d_out=17)


def draw_heads(seed=0, **changes):
    layer = fresh(MultiHeadAttention(**HEADS | changes), seed)
    return (
        layer,
        tensor(B, 19, 3, seed=seed),
        tensor(B, N, 5, seed=seed + 1),
        tensor(B, N, 7, seed=seed + 2),
    )


def head_matrices(layer, heads):
    """Return W_q, W_K, W_V of each head as nested rows: a head owns consecutive rows."""
    blocks = [np.split(w.weight.detach().numpy(), heads) for w in (layer.W_q, layer.W_K, layer.W_V)]
    return list(zip(*blocks, strict=True))


@pytest.mark.proves("P5.13")
@pytest.mark.agrees("queries.MultiHeadAttention", "definitions.queries.multi_head")
@settings(max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_the_reshaped_layer_agrees_with_a_loop_over_heads(seed):
    layer, queries, keys, values = draw_heads(seed, bias=False)
    contexts, weights = layer(queries[:, :2], keys, values, mask=MASK[:, None])
    W_O = layer.W_O.weight.detach().numpy()
    for b, i in np.ndindex(B, 2):
        c, a = definition.multi_head(
            queries[b, i].numpy(), keys[b].numpy(), values[b].numpy(),
            head_matrices(layer, 2), W_O, mask=MASK[b].tolist(),
        )  # fmt: skip
        np.testing.assert_allclose(contexts[b, i].detach(), c, atol=1e-10)
        np.testing.assert_allclose(weights[b, :, i].detach(), a, atol=1e-12)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("align", [alignment.softmax, alignment.sparsemax])
def test_any_score_and_any_alignment_can_be_used(score, align):
    layer, queries, keys, values = draw_heads(score=score, align=align)
    # Short queries: a sparse map that has made up its mind passes no gradient on.
    contexts, weights = layer(0.05 * queries, 0.05 * keys, values, mask=MASK[:, None])
    assert contexts.shape == (B, 19, 17)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, 2, 19, dtype=torch.float64))
    contexts.sum().backward()
    for name, parameter in layer.scores.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


def test_each_head_has_score_parameters_of_its_own():
    layer, queries, keys, values = draw_heads(score="general", bias=False)
    _, weights = layer(queries[:, :1], keys, values)
    for j, (W_q, W_K, W_V) in enumerate(head_matrices(layer, 2)):
        score = partial(score_definition.general, W=layer.scores[j].W.detach().numpy())
        _, a = definition.multi_head(
            queries[0, 0].numpy(), keys[0].numpy(), values[0].numpy(),
            [(W_q, W_K, W_V)], np.eye(13), score,
        )  # fmt: skip
        np.testing.assert_allclose(weights[0, j, 0].detach(), a[0], atol=1e-10)


@pytest.mark.agrees("queries.MultiHeadAttention", "PyTorch")
@pytest.mark.parametrize("need_weights", [True, False])
def test_it_is_pytorch_own_layer_for_transformer_sizes(need_weights):
    ours = fresh(MultiHeadAttention(d_q=12, heads=3, d_k=5, d_v=7))
    theirs = nn.MultiheadAttention(12, 3, kdim=5, vdim=7, batch_first=True).double()
    with torch.no_grad():
        for mine, name in ((ours.W_q, "q"), (ours.W_K, "k"), (ours.W_V, "v")):
            getattr(theirs, f"{name}_proj_weight").copy_(mine.weight)
        theirs.in_proj_bias.copy_(torch.cat([m.bias for m in (ours.W_q, ours.W_K, ours.W_V)]))
        theirs.out_proj.weight.copy_(ours.W_O.weight)
        theirs.out_proj.bias.copy_(ours.W_O.bias)
    queries, keys, values = tensor(B, 3, 12), tensor(B, N, 5), tensor(B, N, 7)
    contexts, weights = ours(queries, keys, values, MASK[:, None], need_weights=need_weights)
    # PyTorch's padding mask has the other polarity: True means "leave out".
    their_contexts, their_weights = theirs(
        queries, keys, values, key_padding_mask=~MASK, average_attn_weights=False
    )
    torch.testing.assert_close(contexts, their_contexts)
    assert (weights is None) == (not need_weights)
    if need_weights:
        torch.testing.assert_close(weights, their_weights)


def test_the_fast_kernel_and_the_reference_agree_with_their_gradients():
    layer, queries, keys, values = draw_heads()
    mask = torch.rand(B, 19, N, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[0, 3] = False
    gradients = []
    for need_weights in (True, False):
        contexts, _ = layer(queries, keys, values, mask, need_weights=need_weights)
        gradients.append(
            [contexts, *torch.autograd.grad(contexts.square().sum(), layer.parameters())]
        )
    for reference, fast in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, reference)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("which", ["keys", "values"])
def test_masked_keys_and_values_never_reach_a_context(need_weights, which):
    layer, queries, keys, values = draw_heads()
    mask = alignment.causal_mask(5, N, like=queries)
    wanted, _ = layer(queries[:, :5], keys, values, mask, need_weights=need_weights)
    (keys if which == "keys" else values)[:, -1] = torch.nan  # only the last query may see it
    contexts, _ = layer(queries[:, :5], keys, values, mask, need_weights=need_weights)
    torch.testing.assert_close(contexts[:, :4], wanted[:, :4])
    assert contexts[:, 4].isnan().all()


@pytest.mark.proves("P5.9")
def test_one_head_of_identities_is_plain_attention():
    layer = fresh(MultiHeadAttention(D, 1, bias=False))
    with torch.no_grad():
        for linear in (layer.W_q, layer.W_K, layer.W_V, layer.W_O):
            linear.weight.copy_(torch.eye(D))
    x = tensor(B, N, D)
    torch.testing.assert_close(layer(x, x, x)[0], attend(x, x, x)[0])


@pytest.mark.proves("P5.10")
def test_heads_can_be_permuted_with_their_blocks():
    layer, queries, keys, values = draw_heads(bias=False)
    wanted, _ = layer(queries, keys, values)
    with torch.no_grad():
        for linear in (layer.W_q, layer.W_K, layer.W_V):
            linear.weight.copy_(torch.cat(list(linear.weight.chunk(2))[::-1]))
        layer.W_O.weight.copy_(torch.cat(list(layer.W_O.weight.chunk(2, dim=1))[::-1], dim=1))
    torch.testing.assert_close(layer(queries, keys, values)[0], wanted)


@pytest.mark.proves("P5.11")
def test_tied_heads_that_are_averaged_are_one_head():
    one = fresh(MultiHeadAttention(D, 1, d_head=3, bias=False))
    many = fresh(MultiHeadAttention(D, 2, d_head=3, bias=False))
    with torch.no_grad():
        for mine, theirs in ((many.W_q, one.W_q), (many.W_K, one.W_K), (many.W_V, one.W_V)):
            mine.weight.copy_(theirs.weight.repeat(2, 1))
        many.W_O.weight.copy_(one.W_O.weight.repeat(1, 2) / 2)
    x = tensor(B, N, D)
    torch.testing.assert_close(many(x, x, x)[0], one(x, x, x)[0])


@pytest.mark.proves("P5.12")
def test_queries_and_keys_and_values_and_outputs_have_a_gauge_freedom():
    layer = fresh(MultiHeadAttention(D, 1, d_head=3, bias=False))
    x, M, M_v = tensor(B, N, D), tensor(3, 3, seed=1), tensor(3, 3, seed=2)
    wanted, _ = layer(x, x, x)
    with torch.no_grad():
        layer.W_q.weight.copy_(M @ layer.W_q.weight)
        layer.W_K.weight.copy_(torch.linalg.inv(M).mT @ layer.W_K.weight)
        layer.W_V.weight.copy_(M_v @ layer.W_V.weight)
        layer.W_O.weight.copy_(layer.W_O.weight @ torch.linalg.inv(M_v))
    torch.testing.assert_close(layer(x, x, x)[0], wanted)


@pytest.mark.proves("P5.14")
def test_a_head_without_its_output_block_is_a_head_less():
    two, queries, keys, values = draw_heads(bias=False)
    one = fresh(MultiHeadAttention(**HEADS | dict(heads=1, bias=False)))
    with torch.no_grad():
        two.W_O.weight[:, 13:] = 0
        for mine, theirs in ((one.W_q, two.W_q), (one.W_K, two.W_K), (one.W_V, two.W_V)):
            mine.weight.copy_(theirs.weight.chunk(2)[0])
        one.W_O.weight.copy_(two.W_O.weight[:, :13])
    torch.testing.assert_close(two(queries, keys, values)[0], one(queries, keys, values)[0])


@pytest.mark.proves("P5.15")
def test_weights_of_every_head_and_their_average_are_distributions():
    layer, queries, keys, values = draw_heads()
    _, weights = layer(queries, keys, values)
    ones = torch.ones(B, 19, dtype=torch.float64)
    torch.testing.assert_close(weights.sum(-1), ones[:, None].expand(B, 2, 19))
    torch.testing.assert_close(weights.mean(1).sum(-1), ones)


def test_a_mask_may_have_a_head_axis_of_its_own():
    layer, queries, keys, values = draw_heads()
    mask = torch.ones(B, 2, 19, N, dtype=torch.bool)
    mask[:, 1, :, 0] = False
    _, weights = layer(queries, keys, values, mask)
    assert (weights[:, 1, :, 0] == 0).all()
    assert (weights[:, 0, :, 0] > 0).all()


def test_parameters_are_as_many_as_the_formula_says():
    layer = MultiHeadAttention(**HEADS, bias=False)
    count = sum(p.numel() for p in layer.parameters())
    assert count == 2 * (3 * 11 + 5 * 11 + 7 * 13) + 17 * 2 * 13
    square = MultiHeadAttention(d_q=12, heads=3, bias=False)
    assert sum(p.numel() for p in square.parameters()) == 4 * 12**2


def test_the_key_bias_is_dead_under_softmax_and_everything_else_learns():
    layer, queries, keys, values = draw_heads()
    layer(queries, keys, values)[0].square().sum().backward()
    for name, parameter in layer.named_parameters():
        # q . b_K is the same for every key, so the softmax drops it
        assert (parameter.grad.abs().sum() < 1e-9) == (name == "W_K.bias"), name


def test_a_width_that_heads_cannot_share_is_refused():
    with pytest.raises(ValueError, match="3 heads can't share a width of 5 equally"):
        MultiHeadAttention(5, 3)
    with pytest.raises(ValueError, match="heads must be at least 1, but is 0"):
        MultiHeadAttention(5, 0)


# --- multi-hop ---------------------------------------------------------------------------------


def hop_scores(modules, hops):
    """Return the score of every hop as a function of one query and one key."""
    each = []
    for hop in range(hops):
        p = numbers(modules[hop % len(modules)])
        each.append(partial(score_definition.additive, **p))
    return each


@pytest.mark.agrees("queries.MultiHopAttention", "definitions.queries.multi_hop")
@pytest.mark.parametrize("transform", ["query", "context", "both", "identity"])
@pytest.mark.parametrize("tied", [True, False])
def test_hops_agree_with_their_definition_in_loops(transform, tied):
    layer = fresh(MultiHopAttention(3, 5, hops=3, transform=transform, tied=tied))
    question, features = tensor(B, 11, 3), tensor(B, N, 5)
    contexts, weights = layer(question, features)
    for b in range(B):
        query_scores = hop_scores(layer.query_scores, 3) if transform != "identity" else []
        cs, ws = definition.multi_hop(
            question[b].numpy(),
            features[b].numpy(),
            hop_scores(layer.scores, 3),
            query_scores,
            transform,
        )
        np.testing.assert_allclose(contexts[b, 0].detach(), cs[-1], atol=1e-12)
        for ours, theirs in zip(weights, ws, strict=True):
            np.testing.assert_allclose(ours[b, 0].detach(), theirs, atol=1e-12)


@pytest.mark.proves("P5.16")
@pytest.mark.proves("P5.17")
@pytest.mark.parametrize("hops", [1, 4])
def test_without_the_context_every_hop_is_plain_attention(hops):
    layer = fresh(MultiHopAttention(3, 5, hops=hops, transform="identity"))
    with torch.no_grad():
        layer.scores[0].W_q[:, 3:] = 0  # the block that acts on the context
    question, features = tensor(B, 1, 3), tensor(B, N, 5)
    contexts, weights = layer(question, features)
    score = layer.scores[0]
    plain = partial(scoring.additive, w=score.w, W_q=score.W_q[:, :3], W_k=score.W_k, b=score.b)
    wanted, wanted_weights = attend(question, features, features, plain)
    torch.testing.assert_close(contexts, wanted)
    for hop in weights:
        torch.testing.assert_close(hop, wanted_weights)


@pytest.mark.proves("P5.18")
def test_equal_values_come_out_unchanged():
    layer = fresh(MultiHopAttention(3, 5, hops=2))
    features = tensor(B, 1, 5).expand(B, N, 5)
    torch.testing.assert_close(layer(tensor(B, 11, 3), features)[0], features[:, :1])


@pytest.mark.proves("P5.19")
def test_tied_hops_have_as_many_parameters_as_one():
    def count(hops, tied):
        return sum(p.numel() for p in MultiHopAttention(3, 5, hops, tied=tied).parameters())

    assert count(1, True) == count(5, True)
    assert count(5, False) == 5 * count(1, True)


@pytest.mark.proves("P5.20")
@pytest.mark.agrees("queries.memory_hops", "definitions.queries.memory_hops")
def test_one_memory_hop_is_dot_product_attention_and_hops_agree_with_loops():
    query, keys, values = tensor(1, D), tensor(N, D, seed=1), tensor(N, D, seed=2)
    updated, _ = memory_hops(query, keys, values, hops=1)
    torch.testing.assert_close(updated - query, attend(query, keys, values, scoring.dot)[0])
    three, weights = memory_hops(query, keys, values, hops=3)
    wanted = definition.memory_hops(query[0].numpy(), keys.numpy(), values.numpy(), 3)
    np.testing.assert_allclose(three[0], wanted)
    assert len(weights) == 3
    H = tensor(D, D, seed=3)
    mapped, _ = memory_hops(query, keys, values, hops=1, H=H)
    torch.testing.assert_close(mapped - updated, query @ H.mT - query)


@pytest.mark.proves("P5.21")
def test_hops_do_not_see_the_order_of_the_features():
    layer, order = fresh(MultiHopAttention(3, 5, hops=2)), torch.randperm(N)
    question, features = tensor(B, 11, 3), tensor(B, N, 5)
    torch.testing.assert_close(layer(question, features)[0], layer(question, features[:, order])[0])


def test_aggregations_take_the_last_the_sum_or_a_projection():
    question, features = tensor(B, 11, 3), tensor(B, N, 5)
    outputs = {}
    for aggregate in ("last", "sum", "concat"):
        layer = fresh(MultiHopAttention(3, 5, hops=2, aggregate=aggregate))
        outputs[aggregate], weights = layer(question, features)
        contexts = [w @ features for w in weights]
        if aggregate == "last":
            torch.testing.assert_close(outputs[aggregate], contexts[1])
        elif aggregate == "sum":
            torch.testing.assert_close(outputs[aggregate], contexts[0] + contexts[1])
        else:
            joined = torch.cat(contexts, dim=-1) @ layer.W_O.weight.mT
            torch.testing.assert_close(outputs[aggregate], joined)


def test_choices_of_hops_that_do_not_exist_are_refused_with_the_list():
    with pytest.raises(ValueError, match="transform must be one of query, context, both, identity"):
        MultiHopAttention(3, 5, 2, transform="concat")
    with pytest.raises(ValueError, match="aggregate must be one of last, sum, concat"):
        MultiHopAttention(3, 5, 2, aggregate="mean")
    with pytest.raises(ValueError, match="hops must be at least 1"):
        MultiHopAttention(3, 5, 0)


# --- capsules ----------------------------------------------------------------------------------


@pytest.mark.agrees("queries.CapsuleAttention", "definitions.queries.capsule")
def test_capsules_agree_with_their_definition_in_loops():
    layer, features = fresh(CapsuleAttention(D, classes=3)), tensor(B, N, D)
    capsules, weights = layer(features, MASK)
    p = numbers(layer)
    for b, c in np.ndindex(B, 3):
        probability, reconstruction, a = definition.capsule(
            features[b].numpy(), p["q"][c], p["w"][c], p["b"][c], MASK[b].tolist()
        )
        assert capsules.probabilities[b, c].item() == pytest.approx(probability)
        np.testing.assert_allclose(capsules.reconstructions[b, c].detach(), reconstruction)
        np.testing.assert_allclose(weights[b, c].detach(), a)


@pytest.mark.proves("P5.22")
def test_equal_queries_give_equal_contexts():
    layer = fresh(CapsuleAttention(D, classes=3))
    with torch.no_grad():
        layer.q.copy_(layer.q[:1].expand(3, D))
    contexts = layer(tensor(B, N, D))[0].contexts
    torch.testing.assert_close(contexts, contexts[:, :1].expand(B, 3, D))


@pytest.mark.proves("P5.23")
@pytest.mark.proves("P5.24")
def test_reconstructions_are_shorter_and_probabilities_independent():
    capsules, _ = fresh(CapsuleAttention(D, classes=3))(tensor(B, N, D))
    r, c = capsules.reconstructions, capsules.contexts
    assert (r.norm(dim=-1) <= c.norm(dim=-1)).all()
    cosine = nn.functional.cosine_similarity(r, c, dim=-1)
    torch.testing.assert_close(cosine, torch.ones(B, 3, dtype=torch.float64))
    assert (capsules.probabilities.sum(-1) - 1).abs().max() > 0.1


@pytest.mark.proves("P5.25")
def test_permuting_the_classes_permutes_everything():
    layer, features, order = fresh(CapsuleAttention(D, classes=3)), tensor(B, N, D), [2, 0, 1]
    wanted, _ = layer(features)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(parameter[order].clone())
    permuted, _ = layer(features)
    for one, other in zip(wanted, permuted, strict=True):
        torch.testing.assert_close(one[:, order], other)


@pytest.mark.proves("P5.26")
def test_the_classification_loss_only_vanishes_in_the_limit():
    targets = torch.tensor([0])
    saturated, nearly = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.99, 0.01, 0.0]])
    for form in ("paper", "code"):
        assert CapsuleAttention.classification_loss(saturated, targets, form) == 0
        assert CapsuleAttention.classification_loss(nearly, targets, form) > 0


@pytest.mark.proves("P5.27")
def test_the_reconstruction_loss_can_reach_zero():
    features = torch.full((1, N, D), 2.0)
    reconstructions = torch.zeros(1, 3, D)
    reconstructions[0, 1] = 1.0  # the dot product with the mean is 10, far beyond the margin
    loss = CapsuleAttention.reconstruction_loss(reconstructions, features, torch.tensor([1]))
    assert loss == 0
    assert CapsuleAttention.reconstruction_loss(reconstructions, features, torch.tensor([0])) > 10


@pytest.mark.agrees(
    "queries.CapsuleAttention.classification_loss",
    "definitions.queries.capsule_hinge",
    "PyTorch",
)
def test_the_losses_of_paper_and_code_on_the_fixture():
    p, targets = torch.tensor([[0.9, 0.2, 0.4]]), torch.tensor([0])
    paper = CapsuleAttention.classification_loss(p, targets)
    assert paper.item() == pytest.approx(0.7)
    assert definition.capsule_hinge([0.9, 0.2, 0.4], 0) == pytest.approx(0.7)
    code = CapsuleAttention.classification_loss(p, targets, form="code")
    assert code.item() == pytest.approx(0.8 / 3)
    # the released form is PyTorch's multi-class margin loss
    assert code.item() == pytest.approx(nn.functional.multi_margin_loss(p, targets).item())
    two = torch.tensor([[0.7, 0.2]])
    halves = [
        CapsuleAttention.classification_loss(two, targets, form).item()
        for form in ("paper", "code")
    ]
    assert halves[0] == pytest.approx(2 * halves[1])
    with pytest.raises(ValueError, match="form must be 'paper' or 'code'"):
        CapsuleAttention.classification_loss(p, targets, form="survey")


@pytest.mark.agrees(
    "queries.CapsuleAttention.reconstruction_loss",
    "definitions.queries.capsule_hinge",
)
def test_the_mean_in_the_reconstruction_loss_divides_by_the_true_length():
    reconstructions, features, targets = tensor(B, 3, D), tensor(B, N, D), torch.tensor([0, 2])
    masked = CapsuleAttention.reconstruction_loss(reconstructions, features, targets, MASK)
    for b in range(B):
        mean = features[b, MASK[b]].mean(0)
        alone = definition.capsule_hinge(
            [float(r @ mean) for r in reconstructions[b]], int(targets[b])
        )
        assert masked[b].item() == pytest.approx(alone)


# --- what every layer must do ------------------------------------------------------------------

LAYERS = {
    **{f"pooling_{form}": (make, lambda x: (x,)) for form, make in POOLINGS.items()},
    "self_attention": (lambda: SelfAttention(D, 3, 11), lambda x: (x,)),
    "multi_hop": (lambda: MultiHopAttention(3, D, hops=2), lambda x: (tensor(B, 11, 3), x)),
    "capsules": (lambda: CapsuleAttention(D, 3), lambda x: (x,)),
}


def run(name, features, mask=None, layer=None):
    make, arguments = LAYERS[name]
    layer = layer or fresh(make())
    if mask is not None and name == "self_attention":
        mask = mask[:, None, :]
    output, weights = layer(*arguments(features), mask=mask)
    return output.probabilities if name == "capsules" else output, weights


@pytest.mark.parametrize("name", LAYERS)
def test_junk_behind_the_mask_changes_nothing_and_a_fully_masked_input_is_finite(name):
    features = tensor(B, N, D)
    wanted, _ = run(name, features, MASK)
    junk = features.masked_fill(~MASK[..., None], torch.nan)
    output, _ = run(name, junk, MASK)
    rows = MASK if name == "self_attention" else torch.ones_like(output[..., 0], dtype=torch.bool)
    torch.testing.assert_close(output[rows], wanted[rows])
    nothing, _ = run(name, features, torch.zeros(B, N, dtype=torch.bool))
    assert torch.isfinite(nothing).all()


@pytest.mark.parametrize("name", LAYERS)
def test_every_parameter_learns_and_gradients_are_right(name):
    layer = fresh(LAYERS[name][0]())
    features = tensor(B, N, D).requires_grad_()
    output, _ = run(name, features, MASK, layer)
    output.square().sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert parameter.grad.abs().sum() > 1e-9, parameter_name
    assert torch.autograd.gradcheck(
        lambda x: run(name, x, MASK, layer)[0], features, fast_mode=True
    )


@pytest.mark.parametrize("name", LAYERS)
def test_weights_come_only_when_asked_for(name):
    layer = fresh(LAYERS[name][0]())
    arguments = LAYERS[name][1](tensor(B, N, D))
    assert layer(*arguments, need_weights=False)[1] is None


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_large_features_in_any_precision_stay_finite(name, dtype):
    layer = fresh(LAYERS[name][0]()).to(dtype)
    arguments = [a.to(dtype) * 30 for a in LAYERS[name][1](tensor(B, N, D))]
    output, _ = layer(*arguments)
    output = output.probabilities if name == "capsules" else output
    assert output.dtype == dtype
    assert torch.isfinite(output).all()


def test_choices_of_pooling_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="form must be one of removed, learned, structured"):
        SelfAttentivePooling(D, "mean")
    with pytest.raises(ValueError, match="r must be 1, or above 1 with form='structured'"):
        SelfAttentivePooling(D, "learned", r=2)


# --- both paths of multi-head attention check the same ----------------------------------------


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda q, k, v: (q, k, v, torch.zeros(q.shape[-2], k.shape[-2])), "mask must be boolean"),
        (lambda q, k, v: (q, k, v[:, :-2], None), "each key needs its value"),
        (lambda q, k, v: (q, k[:, :0], v[:, :0], None), "there are no keys to attend to"),
        (lambda q, k, v: (q, k, v, torch.ones(2, 3, dtype=torch.bool)), "mask must broadcast"),
    ],
)
def test_with_and_without_weights_the_same_input_is_refused(spoil, sentence):
    layer, queries, keys, values = draw_heads()
    said = []
    for need_weights in (True, False):
        with pytest.raises(ValueError, match=sentence) as refused:
            layer(*spoil(queries, keys, values), need_weights=need_weights)
        said.append(str(refused.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_with_and_without_weights_nan_comes_through_alike(which, masked):
    layer, *arrays = draw_heads()
    arrays[which][0, 1, 0] = torch.nan
    mask = torch.arange(N) % 3 > 0 if masked else None  # (k,): hides key 0, shows key 1
    slow, _ = layer(*arrays, mask)
    fast, _ = layer(*arrays, mask, need_weights=False)
    assert torch.equal(slow.isnan(), fast.isnan())
    assert slow.isnan().any()
    torch.testing.assert_close(fast, slow, equal_nan=True)
