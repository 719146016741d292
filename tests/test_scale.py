"""The tricks of scale against loops, PyTorch's kernels, and plain attention's properties."""

import re
from fractions import Fraction
from functools import partial
from math import exp, isfinite

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import elu, scaled_dot_product_attention

from attn_course import scoring
from attn_course.alignment import causal_mask, padding_mask, sliding_window_mask
from attn_course.attention import attend
from attn_course.definitions import attention as attention_definition
from attn_course.definitions import scale as definition
from attn_course.definitions import scoring as scoring_definition
from attn_course.scale import (
    KeyValueCache,
    LinearState,
    blockwise_attention,
    grouped_query_attention,
    linear,
    linear_attention,
    online_softmax,
)
from tests.largest_tensor import LargestTensor

B, Q, K, D, D_V = 2, 7, 11, 5, 3
seeds = st.integers(0, 2**32 - 1)
blocks = st.sampled_from([1, 2, 3, 5, 7, 11, 1024])


def tensor(*size, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=size))


def draw(*batch, q=Q, k=K, seed=0):
    return (
        tensor(*batch, q, D, seed=seed),
        tensor(*batch, k, D, seed=seed + 1),
        tensor(*batch, k, D_V, seed=seed + 2),
    )


def in_blocks(scores, values, block):
    for start in range(0, scores.shape[-1], block):
        yield scores[..., start : start + block], values[..., start : start + block, :]


# --- one pass ----------------------------------------------------------------------------------


@pytest.mark.agrees("scale.online_softmax", "definitions.scale.online_softmax")
@given(seed=seeds, block=blocks)
@settings(max_examples=30)
def test_online_softmax_agrees_with_its_definition_in_loops(seed, block):
    rng = np.random.default_rng(seed)
    scores, values = 20 * rng.normal(size=(Q, K)), rng.normal(size=(K, D_V))
    mask = rng.random((Q, K)) < 0.3  # some rows are masked out whole
    hidden = torch.from_numpy(np.where(mask, scores, -np.inf))
    contexts = online_softmax(in_blocks(hidden, torch.from_numpy(values), block))
    for i in range(Q):
        wanted = definition.online_softmax(scores[i], values, mask[i])
        np.testing.assert_allclose(contexts[i], wanted, atol=1e-12)


@given(seed=seeds)
@settings(max_examples=30)
def test_the_loop_of_one_pass_is_the_softmax_of_many_passes(seed):
    rng = np.random.default_rng(seed)
    query, keys, values = rng.normal(size=D), rng.normal(size=(K, D)), rng.normal(size=(K, D_V))
    mask = rng.random(K) < 0.5
    scores = [scoring_definition.scaled_dot(query, key) for key in keys]
    wanted, _ = attention_definition.attend(query, keys, values, mask=mask)
    np.testing.assert_allclose(definition.online_softmax(scores, values, mask), wanted, atol=1e-12)


@st.composite
def partitions(draw, n=K):
    """Blocks of the places 0 to n - 1: any places in any block, in any order, none left out."""
    places = draw(st.permutations(range(n)))
    cuts = sorted(draw(st.sets(st.integers(1, n - 1))))
    return [places[a:b] for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


@pytest.mark.proves("P13.9")
@pytest.mark.agrees("scale.online_softmax", "PyTorch")
@given(seed=seeds, parts=partitions(), spread=st.sampled_from([0.0, 1.0, 100.0]))
@settings(max_examples=60)
def test_online_softmax_is_the_softmax_for_every_partition_and_order_of_blocks(seed, parts, spread):
    scores, values = spread * tensor(B, Q, K, seed=seed), tensor(B, K, D_V, seed=seed + 1)
    hidden = torch.from_numpy(np.random.default_rng(seed).random((B, Q, K)) < 0.3)
    hidden[..., 0] = False  # PyTorch's softmax has no answer for a row without a key
    scores = scores.masked_fill(hidden, -torch.inf)
    contexts = online_softmax((scores[..., part], values[..., part, :]) for part in parts)
    torch.testing.assert_close(contexts, torch.softmax(scores, dim=-1) @ values)


def one_pass(parts, scores, values, references, power):
    """Return the context of one query, each block measured from its own reference."""
    before, total, context = references[0], 0, 0
    for part, reference in zip(parts, references, strict=True):
        factor, before = power(before - reference), reference
        powers = [power(scores[l] - reference) for l in part]
        total = total * factor + sum(powers)
        context = context * factor + sum(p * values[l] for p, l in zip(powers, part, strict=True))
    return context / total


numbers = st.lists(st.integers(-30, 30), min_size=K, max_size=K)


@pytest.mark.proves("P13.10")
@given(parts=partitions(), scores=numbers, values=numbers, references=numbers)
@settings(max_examples=60)
def test_any_reference_is_exact_in_real_numbers(parts, scores, values, references):
    """Powers of 2 are fractions, so nothing is rounded."""
    references = references[: len(parts)]
    found = one_pass(parts, scores, values, references, lambda x: Fraction(2) ** x)
    powers = [Fraction(2) ** score for score in scores]
    assert found == sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers)


@pytest.mark.proves("P13.10")
@given(parts=partitions(), seed=seeds, offset=st.sampled_from([-5e3, -1e3, 1e3, 5e3]))
@settings(max_examples=60)
def test_in_floating_point_only_the_running_maximum_is_safe(parts, seed, offset):
    scores, values = tensor(1, K, seed=seed), tensor(K, 1, seed=seed + 1)
    wanted = torch.softmax(scores, dim=-1) @ values

    def parts_of(scores):
        return ((scores[:, part], values[part]) for part in parts)

    torch.testing.assert_close(online_softmax(parts_of(scores)), wanted)
    torch.testing.assert_close(online_softmax(parts_of(scores + offset)), wanted)
    rows = (scores + offset)[0].tolist(), values[:, 0].tolist()
    try:
        from_zero = one_pass(parts, *rows, [0.0] * len(parts), exp)
    except (OverflowError, ZeroDivisionError):  # too large for a number, or all of them 0
        from_zero = np.nan
    assert not isfinite(from_zero)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_extreme_scores_in_any_order_stay_finite(dtype):
    values = torch.eye(3, dtype=dtype)
    for order in ([-1e4, 0.0, 1e4], [1e4, 0.0, -1e4], [-torch.inf, 1e4, -torch.inf]):
        scores = torch.tensor([order], dtype=dtype)
        context = online_softmax(in_blocks(scores, values, 1))
        assert context.dtype == dtype
        assert context.tolist() == [[float(e == 1e4) for e in order]]


def test_online_softmax_leaves_its_inputs_alone():
    scores, values = tensor(Q, K), tensor(K, D_V)
    before = scores.clone()
    online_softmax([(scores, values)])
    assert torch.equal(scores, before)


def test_online_softmax_without_blocks_says_so():
    with pytest.raises(ValueError, match="there are no keys to attend to"):
        online_softmax([])


# --- blocks of queries and keys ----------------------------------------------------------------


@pytest.mark.agrees("scale.blockwise_attention", "definitions.attention.attend")
@given(seed=seeds, q=st.sampled_from([1, 7]), k=st.sampled_from([1, 11]), block=blocks)
@settings(max_examples=30)
def test_blockwise_attention_agrees_with_its_definition_in_loops(seed, q, k, block):
    queries, keys, values = draw(q=q, k=k, seed=seed)
    contexts = blockwise_attention(queries, keys, values, block=block)
    for i in range(q):
        wanted, _ = attention_definition.attend(queries[i].tolist(), keys.tolist(), values.tolist())
        np.testing.assert_allclose(contexts[i], wanted, atol=1e-12)


@pytest.mark.agrees("scale.blockwise_attention", "definitions.attention.attend")
@given(seed=seeds, block=blocks)
@settings(max_examples=30)
def test_masked_blockwise_attention_agrees_with_its_definition_in_loops(seed, block):
    queries, keys, values = draw(seed=seed)
    mask = np.random.default_rng(seed).random((Q, K)) < 0.3
    contexts = blockwise_attention(
        queries, keys, values, mask=torch.from_numpy(mask), causal=True, block=block
    )
    for i in range(Q):
        row = [bool(mask[i, j]) and j <= i + K - Q for j in range(K)]
        wanted, _ = attention_definition.attend(
            queries[i].tolist(), keys.tolist(), values.tolist(), mask=row
        )
        np.testing.assert_allclose(contexts[i], wanted, atol=1e-12)


@pytest.mark.proves("P13.9")
@pytest.mark.agrees("scale.blockwise_attention", "PyTorch")
@given(
    seed=seeds,
    block=st.integers(1, K + 2),
    order=st.permutations(range(K)),
    rows=st.permutations(range(Q)),
)
@settings(max_examples=60)
def test_blockwise_attention_is_the_same_for_every_size_and_order_of_blocks(
    seed, block, order, rows
):
    queries, keys, values = draw(B, seed=seed)
    wanted = scaled_dot_product_attention(queries, keys, values)
    shuffled = queries[:, rows], keys[:, order], values[:, order]
    torch.testing.assert_close(blockwise_attention(*shuffled, block=block), wanted[:, rows])
    mask = torch.ones(Q, K, dtype=torch.bool).tril(K - Q)
    wanted = scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    contexts = blockwise_attention(
        *shuffled,
        causal=True,
        block=block,
        query_positions=torch.tensor(rows) + K - Q,
        key_positions=torch.tensor(order),
    )
    torch.testing.assert_close(contexts, wanted[:, rows])


@pytest.mark.agrees("scale.blockwise_attention", "PyTorch")
@pytest.mark.parametrize("block", [2, 5, 1024])
def test_blockwise_attention_agrees_with_pytorch_own_kernel(block):
    queries, keys, values = draw(B, 3)
    torch.testing.assert_close(
        blockwise_attention(queries, keys, values, block=block),
        scaled_dot_product_attention(queries, keys, values),
    )
    same = tensor(B, 3, K, D)
    torch.testing.assert_close(
        blockwise_attention(same, same, same, causal=True, block=block),
        scaled_dot_product_attention(same, same, same, is_causal=True),
    )
    mask = torch.rand(B, 1, Q, K, generator=torch.Generator().manual_seed(0)) < 0.5
    mask[..., 0] = True
    torch.testing.assert_close(
        blockwise_attention(queries, keys, values, mask=mask, block=block),
        scaled_dot_product_attention(queries, keys, values, attn_mask=mask),
    )


@pytest.mark.parametrize("block", [2, 5, 1024])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_every_form_of_mask_means_the_same(block, batch):
    queries, keys, values = draw(*batch)
    lengths = torch.full(batch, 8)
    attention = partial(blockwise_attention, queries, keys, values, block=block)
    first = dict(query_positions=range(Q), key_positions=range(K))
    window = attention(mask=lambda i, j: (abs(i - j) <= 3) & (j < 8), **first)
    i, j = torch.arange(Q)[:, None], torch.arange(K)
    wanted = scaled_dot_product_attention(
        queries, keys, values, attn_mask=(abs(i - j) <= 3) & (j < 8)
    )
    torch.testing.assert_close(window, wanted)
    padded = attention(mask=padding_mask(lengths, K))
    for other in (torch.arange(K) < 8, lambda i, j: j < 8, (torch.arange(K) < 8).expand(Q, K)):
        torch.testing.assert_close(attention(mask=other), padded)
    real = torch.arange(K) < lengths[..., None]
    torch.testing.assert_close(attention(key_mask=real), padded)
    torch.testing.assert_close(attention(mask=torch.ones(Q, 1, dtype=torch.bool)), attention())
    causal = causal_mask(Q, K, like=queries)
    torch.testing.assert_close(attention(mask=causal), attention(causal=True))


def test_lengths_of_a_batch_hide_the_padding():
    queries, keys, values = draw(B)
    contexts = blockwise_attention(
        queries, keys, values, mask=padding_mask(torch.tensor([4, 0]), K), block=3
    )
    alone = blockwise_attention(queries[0], keys[0, :4], values[0, :4])
    torch.testing.assert_close(contexts[0], alone)
    assert (contexts[1] == 0).all()  # nothing to attend to


def test_a_fully_masked_row_gets_no_context_and_no_gradient():
    arrays = [x.requires_grad_() for x in draw()]
    positions = range(Q)
    contexts = blockwise_attention(
        *arrays, mask=lambda i, j: (i != 1) & (j >= 0), block=2, query_positions=positions
    )
    assert (contexts[1] == 0).all()
    queries, keys, values = torch.autograd.grad(contexts.square().sum(), arrays)
    assert (queries[1] == 0).all()
    assert all(torch.isfinite(g).all() for g in (queries, keys, values))


@pytest.mark.parametrize("junk", [torch.nan, torch.inf, 1e30])
@pytest.mark.parametrize("block", [2, 5, 1024])
def test_what_is_masked_never_reaches_the_context(junk, block):
    queries, keys, values = draw(B, q=K)
    wanted = blockwise_attention(queries, keys, values, causal=True, block=block)
    keys[0, 4], values[0, 4] = junk, junk
    contexts = blockwise_attention(queries, keys, values, causal=True, block=block)
    assert torch.equal(contexts[0, :4], wanted[0, :4])
    torch.testing.assert_close(contexts[1], wanted[1])
    if junk != 1e30:
        assert contexts[0, 4:].isnan().all()  # those who may see it get what they asked for


@pytest.mark.parametrize("block", [1, 3, 16])
def test_broken_numbers_come_out_as_attend_lets_them(block):
    queries, keys, values = draw(q=K)
    values[2, 0], values[5, 0], values[7, 1] = torch.inf, -torch.inf, torch.nan
    mask = torch.from_numpy(causal_mask(K))
    wanted, _ = attend(queries, keys, values, mask=mask)
    assert wanted[3, 0] == torch.inf
    assert wanted[6, 0].isnan()  # inf and -inf
    found = blockwise_attention(queries, keys, values, causal=True, block=block)
    torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.parametrize("block", [2, 1024])
def test_a_broken_number_spoils_only_its_own_feature(block):
    queries, keys, values = draw()
    values[3, 1] = torch.nan
    contexts = blockwise_attention(queries, keys, values, mask=lambda i, j: j < K - 2, block=block)
    assert contexts[:, 1].isnan().all()
    assert contexts[:, [0, 2]].isfinite().all()


@pytest.mark.parametrize("kind", ["dot", "squared_euclidean"])
def test_any_score_can_be_used(kind):
    queries, keys, values = draw()
    score = scoring.dot if kind == "dot" else partial(scoring.similarity, kind=kind)
    contexts = blockwise_attention(queries, keys, values, score, block=3)
    for i in range(Q):
        wanted, _ = attention_definition.attend(
            queries[i].tolist(), keys.tolist(), values.tolist(), getattr(scoring_definition, kind)
        )
        np.testing.assert_allclose(contexts[i], wanted)


def test_gradcheck_of_blockwise_attention():
    arrays = [x.requires_grad_() for x in draw()]
    assert torch.autograd.gradcheck(partial(blockwise_attention, block=3), arrays, fast_mode=True)
    assert torch.autograd.gradcheck(
        partial(blockwise_attention, block=3, mask=lambda i, j: (i + j) % 3 > 0, causal=True),
        arrays,
        fast_mode=True,
    )


@pytest.mark.agrees("scale.blockwise_attention", "PyTorch")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_half_precision_is_as_good_as_a_single_sum_of_single_precision(dtype):
    queries, keys, values = (x.to(dtype) for x in draw(q=5, k=2003))
    contexts = blockwise_attention(queries, keys, values, block=7)
    assert contexts.dtype == dtype
    exact = scaled_dot_product_attention(*(x.double()[None] for x in (queries, keys, values)))[0]
    tolerance = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(contexts.double(), exact, atol=tolerance, rtol=tolerance)
    assert blockwise_attention(100 * queries, 100 * keys, values).isfinite().all()


@pytest.mark.parametrize("n", [127, 509])
def test_no_tensor_grows_with_the_square_of_the_length(n):
    queries, keys, values = draw(q=n, k=n)
    mask = padding_mask(torch.tensor(n - 3), n)
    with LargestTensor() as largest:
        blockwise_attention(queries, keys, values, mask=mask, causal=True, block=16)
    assert largest.nbytes <= 8 * max(16 * 16, n * D)


def test_a_causal_pass_does_half_the_work():
    pairs = {True: 0, False: 0}
    for causal in pairs:

        def counted(queries, keys, causal=causal):
            pairs[causal] += queries.shape[-2] * keys.shape[-2]
            return scoring.scaled_dot(queries, keys)

        x = tensor(32, D)
        blockwise_attention(x, x, x, counted, causal=causal, block=4)
    assert pairs[False] == 32 * 32
    assert pairs[True] == 4 * 4 * (8 * 9 // 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(block=0), "block must be at least 1, but is 0"),
        (dict(values=torch.ones(3, D_V)), "each key needs its value: keys are (11, 5)"),
        (dict(keys=torch.ones(K, 2)), "same width: queries are (7, 5), keys are (11, 2)"),
        (dict(queries=torch.ones(D)), "queries must be (..., q, d_q), but came as (5,)"),
        (dict(queries=torch.ones(13, D), causal=True), "13 queries need 13 keys or more, not 11"),
        (dict(query_positions=range(3), causal=True), "query_positions must be 7, one for each"),
        (dict(key_positions=range(K), causal=True), "Give the positions of both"),
        (
            dict(key_mask=torch.ones(Q, dtype=torch.bool)),
            "key_mask must broadcast to the scores (11,)",
        ),
        (dict(mask=torch.ones(Q, K)), "mask must be boolean"),
        (dict(mask=lambda i, j: i * j), "mask must be boolean"),
        (
            dict(mask=torch.ones(K, Q, dtype=torch.bool)),
            "mask must broadcast to the scores (7, 11)",
        ),
        (dict(keys=torch.ones(0, D), values=torch.ones(0, D_V)), "there are no keys to attend to"),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(change, sentence):
    given = dict(queries=torch.ones(Q, D), keys=torch.ones(K, D), values=torch.ones(K, D_V))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        blockwise_attention(**(given | change))


# --- the cache ---------------------------------------------------------------------------------


@pytest.mark.proves("P9.5")
@pytest.mark.agrees("scale.KeyValueCache", "PyTorch")
@pytest.mark.parametrize("steps", [[1] * K, [4, 1, 1, 5], [11], [2, 0, 9]])
def test_cached_steps_equal_the_full_causal_pass(steps):
    x, keys, values = draw(B, q=K)
    wanted = scaled_dot_product_attention(x, keys, values, is_causal=True)
    cache, start, contexts = KeyValueCache(), 0, []
    for new in steps:
        now = slice(start, start + new)
        all_keys, all_values = cache.append(keys[:, now], values[:, now])
        contexts.append(blockwise_attention(x[:, now], all_keys, all_values, causal=True))
        start += new
        assert len(cache) == start
        assert torch.equal(all_keys, keys[:, :start])
        assert torch.equal(all_values, values[:, :start])
    torch.testing.assert_close(torch.cat(contexts, dim=1), wanted)


def test_what_the_cache_returned_stays_as_it_was():
    keys, values = tensor(K, D), tensor(K, D_V)
    cache = KeyValueCache()
    returned = [cache.append(keys[[t]], values[[t]]) for t in range(K)]
    for t, (old_keys, old_values) in enumerate(returned):
        assert torch.equal(old_keys, keys[: t + 1])
        assert torch.equal(old_values, values[: t + 1])


def test_the_cache_counts_its_bytes_and_moves_rarely():
    cache, places = KeyValueCache(), set()
    assert cache.nbytes == len(cache) == 0
    for _ in range(1000):
        keys, _ = cache.append(tensor(1, D), tensor(1, D_V))
        places.add(keys.data_ptr())
    assert cache.nbytes == 1000 * (D + D_V) * 8
    assert len(places) <= 11  # doubled ten times from 1 to 1024


def test_a_cache_refuses_what_does_not_fit():
    cache = KeyValueCache()
    cache.append(tensor(B, 1, D), tensor(B, 1, D_V))
    with pytest.raises(ValueError, match=re.escape("new keys must be (2, 1, 5) like those in")):
        cache.append(tensor(3, 1, D), tensor(B, 1, D_V))
    with pytest.raises(ValueError, match=re.escape("new values must be (2, 1, 3) like those in")):
        cache.append(tensor(B, 1, D), tensor(B, 1, D))
    with pytest.raises(ValueError, match="each key needs its value"):
        cache.append(tensor(B, 2, D), tensor(B, 1, D_V))
    with pytest.raises(ValueError, match=re.escape("Decode under torch.no_grad()")):
        cache.append(tensor(B, 1, D).requires_grad_(), tensor(B, 1, D_V))
    assert len(cache) == 1


# --- fewer keys and values ---------------------------------------------------------------------


@pytest.mark.agrees("scale.grouped_query_attention", "definitions.scale.grouped_query", "PyTorch")
@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_grouped_queries_agree_with_loops_and_pytorch_own_kernel(kv_heads):
    queries = tensor(B, 6, Q, D)
    keys, values = tensor(B, kv_heads, K, D, seed=1), tensor(B, kv_heads, K, D_V, seed=2)
    contexts, weights = grouped_query_attention(queries, keys, values)
    theirs = scaled_dot_product_attention(queries, keys, values, enable_gqa=True)
    torch.testing.assert_close(contexts, theirs)
    assert weights.shape == (B, 6, Q, K)
    np.testing.assert_allclose(weights.sum(-1), 1)
    for b, i in np.ndindex(B, Q):
        wanted = definition.grouped_query(
            queries[b, :, i].tolist(), keys[b].tolist(), values[b].tolist()
        )
        np.testing.assert_allclose(contexts[b, :, i], wanted)


@pytest.mark.parametrize("mask_of", [(K,), (Q, K), (1, Q, K), (6, Q, K), (B, 1, 1, K)])
def test_a_mask_of_any_shape_reaches_every_head(mask_of):
    mask = torch.from_numpy(np.random.default_rng(0).random(mask_of) < 0.3)
    queries, keys, values = tensor(B, 6, Q, D), tensor(B, 3, K, D), tensor(B, 3, K, D_V)
    contexts, weights = grouped_query_attention(queries, keys, values, mask)
    whole = mask.expand(B, 6, Q, K)
    assert (weights[~whole] == 0).all()
    for b, head, i in np.ndindex(B, 6, Q):
        wanted, _ = attention_definition.attend(
            queries[b, head, i].tolist(),
            keys[b, head // 2].tolist(),
            values[b, head // 2].tolist(),
            mask=whole[b, head, i].tolist(),
        )
        np.testing.assert_allclose(contexts[b, head, i], wanted, atol=1e-12)


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="5 query heads can't share 3 heads of keys and 3 of"):
        grouped_query_attention(tensor(5, Q, D), tensor(3, K, D), tensor(3, K, D_V))
    with pytest.raises(ValueError, match="6 query heads can't share 3 heads of keys and 2 of"):
        grouped_query_attention(tensor(6, Q, D), tensor(3, K, D), tensor(2, K, D_V))
    with pytest.raises(ValueError, match="queries must be"):
        grouped_query_attention(tensor(Q, D), tensor(3, K, D), tensor(3, K, D_V))


@pytest.mark.parametrize("size", [(Q + 1, K), (Q, K - 1), (6, Q, 2), (3, 1, Q, K)])
def test_a_mask_that_does_not_fit_is_refused_with_the_shape_of_the_weights(size):
    mask = torch.ones(size, dtype=torch.bool)
    wanted = re.escape(f"mask must broadcast to the scores (2, 6, 7, 11), but is {size}")
    with pytest.raises(ValueError, match=wanted):
        grouped_query_attention(tensor(B, 6, Q, D), tensor(B, 3, K, D), tensor(B, 3, K, D_V), mask)


@pytest.mark.proves("P13.12")
@given(seed=seeds, kv_heads=st.sampled_from([1, 2, 3, 6]), causal=st.booleans())
@settings(max_examples=30)
def test_shared_heads_are_multi_head_attention_with_repeated_keys_and_values(
    seed, kv_heads, causal
):
    queries = tensor(B, 6, Q, D, seed=seed)
    keys, values = tensor(B, kv_heads, K, D, seed=seed + 1), tensor(B, kv_heads, K, D_V, seed=seed)
    found = grouped_query_attention(queries, keys, values, causal=causal)
    repeated = (x.repeat_interleave(6 // kv_heads, dim=1) for x in (keys, values))
    for ours, theirs in zip(found, attend(queries, *repeated, causal=causal), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_shared_heads_copy_no_key_and_no_value():
    queries = torch.ones(8, 1, 16)
    keys, values = torch.ones(2, 1021, 16), torch.ones(2, 1021, 16)
    with LargestTensor() as largest:
        grouped_query_attention(queries, keys, values)
    assert largest.nbytes <= keys.nbytes


# --- no softmax --------------------------------------------------------------------------------


@pytest.mark.agrees("scale.linear_attention", "definitions.scale.linear_attention")
@given(seed=seeds, causal=st.booleans())
@settings(max_examples=30)
def test_linear_attention_agrees_with_its_definition_in_loops(seed, causal):
    queries, keys, values = draw(q=K, seed=seed)
    mask = np.random.default_rng(seed).random(K) < 0.6
    contexts = linear_attention(queries, keys, values, torch.from_numpy(mask), causal)
    for i in range(K):
        row = [bool(m) and (not causal or j <= i) for j, m in enumerate(mask)]
        wanted = definition.linear_attention(
            queries[i].tolist(), keys.tolist(), values.tolist(), row
        )
        np.testing.assert_allclose(contexts[i], wanted, atol=1e-12)


@pytest.mark.agrees("scale.LinearState", "definitions.scale.linear_recurrence")
@pytest.mark.proves("P13.15")
@given(seed=seeds, steps=st.lists(st.integers(1, 5), min_size=1, max_size=5))
@settings(max_examples=30)
def test_the_state_after_any_split_is_that_of_the_recurrence_in_loops(seed, steps):
    queries, keys, values = draw(q=sum(steps), k=sum(steps), seed=seed)
    wanted, S, z = definition.linear_recurrence(*(x.tolist() for x in (queries, keys, values)))
    state = LinearState()
    parts = zip(*(x.split(steps) for x in (queries, keys, values)), strict=True)
    contexts = torch.cat([state.attend(*part) for part in parts])
    np.testing.assert_allclose(contexts, wanted, atol=1e-12)
    np.testing.assert_allclose(state.S, S, atol=1e-12)
    np.testing.assert_allclose(state.z[:, 0], z, atol=1e-12)


def by_pytorch(queries, keys, values, allowed):
    """Return linear attention from PyTorch's own softmax kernel, every pair of words compared.

    No library that we test with has linear attention. But softmax(log p) is p divided by its sum,
    so its kernel normalises the products of PyTorch's own elu + 1 if their logarithms come as a
    bias, and queries of 0 add nothing to them.
    """
    products = (elu(queries) + 1) @ (elu(keys) + 1).mT
    bias = products.log().masked_fill(~allowed, -torch.inf)
    return scaled_dot_product_attention(0 * queries, 0 * keys, values, attn_mask=bias)


@pytest.mark.agrees("scale.linear_attention", "PyTorch")
@given(seed=seeds, n=st.sampled_from([2, 11, 67, 131]), causal=st.booleans())
@settings(max_examples=30)
def test_linear_attention_agrees_with_pytorch_own_kernel_over_all_pairs(seed, n, causal):
    queries, keys, values = draw(B, q=n, k=n, seed=seed)
    real = torch.from_numpy(np.random.default_rng(seed).random(n) < 0.6)
    real[0] = True  # a row without a key is PyTorch's NaN
    allowed = real & torch.ones(n, n, dtype=torch.bool).tril(0 if causal else n)
    torch.testing.assert_close(
        linear_attention(queries, keys, values, real, causal),
        by_pytorch(queries, keys, values, allowed),
    )


@pytest.mark.agrees("scale.LinearState", "PyTorch")
@pytest.mark.proves("P13.15")
@given(seed=seeds, steps=st.lists(st.integers(1, 71), min_size=1, max_size=5))
@settings(max_examples=30)
def test_the_state_agrees_with_pytorch_own_kernel_for_every_split(seed, steps):
    n = sum(steps)
    queries, keys, values = draw(B, q=n, k=n, seed=seed)
    state = LinearState()
    parts = zip(*(x.split(steps, dim=1) for x in (queries, keys, values)), strict=True)
    contexts = torch.cat([state.attend(*part) for part in parts], dim=1)
    allowed = torch.ones(n, n, dtype=torch.bool).tril()
    torch.testing.assert_close(contexts, by_pytorch(queries, keys, values, allowed))


def linear_weights(queries, keys, allowed):
    """Return the weights that linear attention never computes, `(..., q, k)`."""
    pairs = (linear._positive(queries) @ linear._positive(keys).mT).masked_fill(~allowed, 0)
    return pairs / pairs.sum(dim=-1, keepdim=True)


@pytest.mark.proves("P13.15")
@pytest.mark.parametrize("n", [2, 63, 64, 65, 130])
def test_causal_linear_attention_in_chunks_is_that_of_all_pairs_under_a_mask(n):
    queries, keys, values = draw(B, q=n, k=n)
    wanted = linear_weights(queries, keys, torch.from_numpy(causal_mask(n))) @ values
    torch.testing.assert_close(linear_attention(queries, keys, values, causal=True), wanted)


@pytest.mark.proves("P13.16")
@given(seed=seeds, length=st.sampled_from([1.0, 10.0, 100.0]))
@settings(max_examples=30)
def test_no_query_gives_a_key_more_than_its_largest_share_of_one_feature(seed, length):
    queries, keys, _values = draw(seed=seed)
    everything = torch.eye(K, dtype=torch.float64)  # with these values, contexts are weights
    weights = linear_attention(length * queries, keys, everything)
    every_pair = torch.ones(Q, K, dtype=torch.bool)
    torch.testing.assert_close(weights, linear_weights(length * queries, keys, every_pair))
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(Q, dtype=torch.float64))
    features = linear._positive(keys)
    bounds = (features / features.sum(dim=0)).amax(dim=-1)  # (k,)
    assert (weights <= bounds + 1e-12).all()
    assert bounds.sum() <= D
    # A query along the key's strongest feature comes as close to the bound as it likes.
    strongest = (features / features.sum(dim=0))[0].argmax()
    along = torch.full((1, D), -50.0, dtype=torch.float64)
    along[0, strongest] = 50.0
    assert linear_attention(along, keys, everything)[0, 0] == pytest.approx(bounds[0])


@pytest.mark.proves("P13.16")
def test_a_longer_query_sharpens_a_softmax_to_one_key_and_linear_attention_to_none():
    keys = tensor(K, D) / tensor(K, D).norm(dim=-1, keepdim=True)
    everything = torch.eye(K, dtype=torch.float64)
    sharp = attend(1000 * keys[:1], keys, everything)[0].max()
    assert sharp > 0.999
    assert linear_attention(1000 * keys[:1], keys, everything).max() < 0.5


@pytest.mark.proves("P13.17")
@given(seed=seeds, place=st.integers(1, K - 1))
@settings(max_examples=30)
def test_a_later_word_never_changes_an_earlier_linear_context(seed, place):
    queries, keys, values = draw(q=K, seed=seed)
    wanted = linear_attention(queries, keys, values, causal=True)
    for x in (queries, keys, values):
        x[place:] = tensor(*x[place:].shape, seed=seed + 7)
    contexts = linear_attention(queries, keys, values, causal=True)
    torch.testing.assert_close(contexts[:place], wanted[:place])
    assert (contexts[place] - wanted[place]).abs().max() > 1e-6


def test_linear_attention_hides_what_is_masked():
    queries, keys, values = draw(B)
    mask = torch.arange(K) < 8
    wanted = linear_attention(queries, keys[:, :8], values[:, :8])
    keys[:, 8:], values[:, 8:] = torch.nan, torch.inf
    torch.testing.assert_close(linear_attention(queries, keys, values, mask), wanted)
    nothing = linear_attention(queries, keys, values, torch.zeros(K, dtype=torch.bool))
    assert (nothing == 0).all()


@pytest.mark.parametrize("causal", [True, False])
def test_gradcheck_of_linear_attention(causal):
    arrays = [x.requires_grad_() for x in draw(q=K)]
    assert torch.autograd.gradcheck(partial(linear_attention, causal=causal), arrays)


def test_causal_linear_queries_are_the_last_of_the_keys():
    queries, keys, values = draw(B)
    contexts = linear_attention(queries, keys, values, causal=True)
    for b, i in np.ndindex(B, Q):
        wanted = definition.linear_attention(
            queries[b, i].tolist(),
            keys[b].tolist(),
            values[b].tolist(),
            [j <= i + K - Q for j in range(K)],
        )
        np.testing.assert_allclose(contexts[b, i], wanted)
    with pytest.raises(ValueError, match="13 queries need 13 keys or more, not 11"):
        linear_attention(torch.ones(13, D), torch.ones(K, D), torch.ones(K, D_V), causal=True)


@pytest.mark.parametrize("steps", [[1] * 5, [64, 64], [63, 1, 70], [130]])
def test_linear_attention_word_by_word_is_the_parallel_form(steps):
    queries, keys, values = draw(B, q=sum(steps), k=sum(steps))
    state, start, contexts = LinearState(), 0, []
    for new in steps:
        now = slice(start, start + new)
        contexts.append(state.attend(queries[:, now], keys[:, now], values[:, now]))
        start += new
    wanted = linear_attention(queries, keys, values, causal=True)
    torch.testing.assert_close(torch.cat(contexts, dim=1), wanted)
    assert state.S.shape == (B, D, D_V)
    with pytest.raises(ValueError, match="each new word needs its query and its key: 2 and 3"):
        state.attend(queries[:, :2], keys[:, :3], values[:, :3])


@pytest.mark.parametrize("n", [509, 1021])
def test_no_tensor_of_causal_linear_attention_has_a_matrix_for_each_word(n):
    arrays = [torch.ones(1, n, 64) for _ in range(3)]
    with LargestTensor() as largest:
        linear_attention(*arrays, causal=True)
    assert largest.nbytes <= 4 * 64 * (n + 128)


@pytest.mark.proves("P13.17")
@pytest.mark.parametrize("place", [3, 70])
@pytest.mark.parametrize("broken", ["queries", "keys", "values"])
def test_a_broken_word_spoils_no_linear_context_before_it(broken, place):
    arrays = dict(zip(("queries", "keys", "values"), draw(q=130, k=130), strict=True))
    wanted = linear_attention(**arrays, causal=True)
    arrays[broken][place, 1] = torch.nan
    arrays = {name: x.requires_grad_() for name, x in arrays.items()}
    contexts = linear_attention(**arrays, causal=True)
    torch.testing.assert_close(contexts[:place], wanted[:place])
    assert contexts[place, 1].isnan()
    later = contexts[place + 1 :, 1]
    assert later.isfinite().all() if broken == "queries" else later.isnan().all()
    gradients = torch.autograd.grad(contexts[:place].sum(), list(arrays.values()))
    for gradient in gradients:
        assert gradient[:place].isfinite().all()
        assert (gradient[place + 1 :] == 0).all()


def test_a_large_word_does_not_swallow_the_words_before_it():
    queries, keys, values = (x.float() for x in draw(q=130, k=130))
    wanted = linear_attention(queries, keys, values, causal=True)[:100]
    keys[100:] = 1e30
    contexts = linear_attention(queries, keys, values, causal=True)[:100]
    torch.testing.assert_close(contexts, wanted)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 300])
def test_causal_linear_attention_is_the_same_in_segments(n, monkeypatch):
    """A segment has 2,048 words: too many for a test, so it is made shorter."""

    def contexts_and_gradients():
        arrays = [tensor(2, n, D, seed=seed).requires_grad_() for seed in range(3)]
        contexts = linear_attention(*arrays, causal=True)
        return contexts, *torch.autograd.grad(contexts.square().sum(), arrays)

    wanted = contexts_and_gradients()
    monkeypatch.setattr(linear, "SEGMENT", 2 * linear.CHUNK)
    for found, whole in zip(contexts_and_gradients(), wanted, strict=True):
        torch.testing.assert_close(found, whole)


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_a_broken_word_is_seen_in_later_segments_alone(broken, monkeypatch):
    monkeypatch.setattr(linear, "SEGMENT", linear.CHUNK)
    arrays = [tensor(200, D, seed=seed) for seed in range(3)]
    wanted = linear_attention(*arrays, causal=True)
    arrays[2][100, 0] = broken
    contexts = linear_attention(*arrays, causal=True)
    torch.testing.assert_close(contexts[:100], wanted[:100])
    torch.testing.assert_close(contexts[:, 1:], wanted[:, 1:])
    assert not contexts[100:, 0].isfinite().any()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("dtype", "low"), [(torch.float32, -18), (torch.bfloat16, -9)])
def test_linear_attention_keeps_features_far_below_zero(dtype, low, causal):
    # elu(x) + 1 would be exactly 0 there, and 0 / 0 was made 0.
    x = torch.full((2, 5, 3), float(low), dtype=dtype)
    values = torch.full((2, 5, 1), 3.0, dtype=dtype)
    contexts = linear_attention(x, x, values, causal=causal)
    assert contexts.dtype == dtype
    torch.testing.assert_close(contexts, values)


def test_the_features_of_linear_attention_have_slope_one_at_zero():
    x = torch.zeros(1, requires_grad=True)
    (slope,) = torch.autograd.grad(linear._positive(x), x)
    assert slope == 1


def test_linear_attention_sums_many_keys_in_half_precision():
    x = torch.ones(1, 7001, 2, dtype=torch.float16)
    values = torch.full((1, 7001, 1), 30.0, dtype=torch.float16)
    contexts = linear_attention(x[:, :3], x, values)
    torch.testing.assert_close(contexts, values[:, :3])


def test_a_window_counts_positions_at_a_decode_step_too():
    _queries, keys, values = draw()
    window = 3

    def near(i, j):
        return i - j < window

    whole = blockwise_attention(keys, keys, values, mask=near, causal=True, block=4)
    last = blockwise_attention(keys[..., -1:, :], keys, values, mask=near, causal=True, block=4)
    torch.testing.assert_close(last, whole[..., -1:, :])
    alone = attend(keys[..., -1:, :], keys[..., -window:, :], values[..., -window:, :])[0]
    torch.testing.assert_close(last, alone)


def test_a_mask_for_each_example_is_not_taken_for_one_of_heads():
    queries = torch.randn(2, 4, 3, 5)  # batch 2 = heads / key-value heads
    keys = torch.randn(2, 2, 7, 5)
    mask = torch.ones(2, 3, 7, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"write mask\[:, None\]"):
        grouped_query_attention(queries, keys, keys, mask)
    contexts, _ = grouped_query_attention(queries, keys, keys, mask[:, None])
    torch.testing.assert_close(contexts, grouped_query_attention(queries, keys, keys)[0])


# --- positions ---------------------------------------------------------------------------------


@given(seed=seeds, block=blocks, as_tensors=st.booleans())
@settings(max_examples=30)
def test_any_positions_give_the_causal_contexts_of_their_order(seed, block, as_tensors):
    queries, keys, values = draw(seed=seed)
    first = int(np.random.default_rng(seed).integers(0, K))
    places = [range(first, first + Q), range(K)]
    if as_tensors:
        places = [torch.tensor(list(place)) for place in places]
    contexts = blockwise_attention(
        queries,
        keys,
        values,
        causal=True,
        block=block,
        query_positions=places[0],
        key_positions=places[1],
    )
    for i in range(Q):
        wanted, _ = attention_definition.attend(
            queries[i].tolist(),
            keys.tolist(),
            values.tolist(),
            mask=[j <= first + i for j in range(K)],
        )
        np.testing.assert_allclose(contexts[i], wanted, atol=1e-12)


def test_each_example_may_have_its_own_positions():
    queries, keys, values = draw(B)
    places = torch.stack([torch.arange(Q), torch.arange(4, 4 + Q)])
    mask = causal_mask(places, torch.arange(K))
    wanted, _ = attend(queries, keys, values, mask=mask)
    contexts = blockwise_attention(
        queries, keys, values, causal=True, block=3, query_positions=places
    )
    torch.testing.assert_close(contexts, wanted)


def test_a_window_skips_the_blocks_outside_of_it():
    pairs = 0

    def counted(queries, keys):
        nonlocal pairs
        pairs += queries.shape[-2] * keys.shape[-2]
        return scoring.scaled_dot(queries, keys)

    x = tensor(64, D)
    near = blockwise_attention(x, x, x, counted, mask=lambda i, j: i - j < 4, causal=True, block=4)
    assert pairs == 4 * 4 * (16 + 15)  # the block of the query, and the one before
    wanted, _ = attend(x, x, x, mask=sliding_window_mask(64, width=4, like=x))
    torch.testing.assert_close(near, wanted)


def test_grouped_queries_take_padding_and_order():
    queries, keys, values = tensor(B, 6, Q, D), tensor(B, 3, K, D), tensor(B, 3, K, D_V)
    real = torch.arange(K) < torch.tensor([[9], [4]])
    contexts, _ = grouped_query_attention(queries, keys, values, causal=True, key_mask=real)
    mask = (causal_mask(Q, K, like=queries) & real[:, None])[:, None]
    wanted, _ = grouped_query_attention(queries, keys, values, mask)
    torch.testing.assert_close(contexts, wanted)
    first, _ = grouped_query_attention(
        queries, keys, values, causal=True, query_positions=range(Q), key_positions=range(K)
    )
    torch.testing.assert_close(first[..., 0, :], values[..., 0, :].repeat_interleave(2, dim=1))
    with pytest.raises(ValueError, match="write key_mask=mask"):
        grouped_query_attention(queries, keys, values, real[:, None])


# --- what is masked has no effect, and graphs can be traced ------------------------------------


@pytest.mark.parametrize("junk", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("kind", ["blockwise", "grouped", "linear"])
def test_junk_behind_a_mask_changes_no_context_and_no_gradient(kind, junk):
    real = torch.arange(K) < 8

    def answers(filling):
        queries, keys, values = draw(1)
        keys[:, 8:], values[:, 8:] = filling, filling
        arrays = [x.requires_grad_() for x in (queries, keys, values)]
        if kind == "blockwise":
            contexts = blockwise_attention(*arrays, key_mask=real, block=3)
        elif kind == "grouped":
            contexts = grouped_query_attention(*arrays, key_mask=real)[0]
        else:
            contexts = linear_attention(*arrays, real)
        return contexts, *torch.autograd.grad(contexts.square().sum(), arrays)

    for found, wanted in zip(answers(junk), answers(0.0), strict=True):
        torch.testing.assert_close(found, wanted)


def test_a_broken_query_that_sees_nothing_changes_no_gradient():
    mask = torch.ones(Q, K, dtype=torch.bool)
    mask[2] = False

    def gradients(filling):
        queries, keys, values = draw()
        queries[2] = filling
        arrays = [x.requires_grad_() for x in (queries, keys, values)]
        contexts = blockwise_attention(*arrays, mask=mask, block=3)
        return torch.autograd.grad(contexts.square().sum(), arrays)

    for found, wanted in zip(gradients(torch.nan), gradients(0.0), strict=True):
        torch.testing.assert_close(found, wanted)


MASKED = {
    "blockwise, causal": partial(blockwise_attention, causal=True, block=4),
    "blockwise, masked": partial(blockwise_attention, mask=lambda i, j: i - j < 5, block=4),
    "linear": partial(linear_attention, causal=True),
}


@pytest.mark.parametrize("attention", MASKED.values(), ids=MASKED)
def test_masked_attention_can_be_mapped_over_a_batch(attention):
    arrays = draw(B)
    torch.testing.assert_close(torch.vmap(attention)(*arrays), attention(*arrays))


@pytest.mark.parametrize("attention", MASKED.values(), ids=MASKED)
def test_masked_attention_is_one_graph(attention):
    arrays = draw(B)
    graph = torch.compile(attention, fullgraph=True, backend="eager")
    torch.testing.assert_close(graph(*arrays), attention(*arrays))
