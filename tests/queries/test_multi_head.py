"""Multi-head attention: the loop over heads, PyTorch's layer, and properties P5.9–P5.15."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attn_course import alignment
from attn_course.attention import attend
from attn_course.definitions import queries as definition
from attn_course.definitions import scoring as score_definition
from attn_course.learned_scores import SCORE_NAMES
from attn_course.queries import MultiHeadAttention
from tests.queries.poolings import MASK, B, D, N
from tests.random_layers import fresh, tensor

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


@pytest.mark.parametrize("score", SCORE_NAMES)
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


# --- both paths check the same -----------------------------------------------------------------


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
