"""Rotary positions with a cache: every split of a text into chunks has the same contexts."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from attn_course.alignment import causal_mask
from attn_course.definitions import scale as definition
from attn_course.positions import PAIRS, rotate
from attn_course.scale import KeyValueCache, blockwise_attention, grouped_query_attention

B, HEADS, N, D, D_V = 2, 6, 11, 4, 3
seeds = st.integers(0, 2**32 - 1)
shared = st.sampled_from([1, 2, 3, 6])


@st.composite
def splits(draw, n=N):
    """Return the lengths of chunks of a text of `n` words."""
    inner = sorted(draw(st.sets(st.integers(1, n - 1))))
    return [end - start for start, end in pairwise([0, *inner, n])]


def text(kv_heads, seed=0):
    rng = np.random.default_rng(seed)
    sizes = (B, HEADS, N, D), (B, kv_heads, N, D), (B, kv_heads, N, D_V)
    return tuple(torch.from_numpy(rng.normal(size=size)) for size in sizes)


def written(queries, keys, values, chunks, pairs="interleaved"):
    """Return the contexts of a text that arrives in chunks, as the page and the docstring say."""
    cache, contexts = KeyValueCache(), []
    for q, k, v in zip(*(x.split(chunks, dim=-2) for x in (queries, keys, values)), strict=True):
        now = cache.next_positions(q.shape[-2])
        all_keys, all_values = cache.append(rotate(k, now, pairs), v)
        contexts.append(
            grouped_query_attention(
                rotate(q, now, pairs),
                all_keys,
                all_values,
                causal=True,
                query_positions=now,
                key_positions=range(len(cache)),
            )[0]
        )
    return torch.cat(contexts, dim=-2)


@pytest.mark.proves("P13.11")
@pytest.mark.agrees("scale.KeyValueCache", "PyTorch")
@pytest.mark.parametrize("pairs", PAIRS)
@given(seed=seeds, kv_heads=shared, chunks=splits())
@settings(max_examples=30)
def test_every_split_of_a_text_has_the_contexts_of_one_pass(pairs, seed, kv_heads, chunks):
    queries, keys, values = text(kv_heads, seed)
    mask = causal_mask(N, like=queries)
    wanted = scaled_dot_product_attention(
        rotate(queries, pairs=pairs), rotate(keys, pairs=pairs), values, mask, enable_gqa=True
    )
    torch.testing.assert_close(written(queries, keys, values, chunks, pairs), wanted)


@pytest.mark.agrees("scale.KeyValueCache", "definitions.scale.cached_attention")
@given(seed=seeds, kv_heads=shared, chunks=splits())
@settings(max_examples=10)
def test_writing_in_chunks_agrees_with_word_by_word_in_loops(seed, kv_heads, chunks):
    queries, keys, values = text(kv_heads, seed)
    contexts = written(queries, keys, values, chunks)
    for b in range(B):
        wanted = definition.cached_attention(
            queries[b].tolist(), keys[b].tolist(), values[b].tolist()
        )
        np.testing.assert_allclose(contexts[b].transpose(0, 1), wanted, atol=1e-12)


@given(seed=seeds, chunks=splits(), block=st.sampled_from([1, 3, 1024]))
@settings(max_examples=10)
def test_blocks_of_rotated_keys_have_the_same_contexts(seed, chunks, block):
    queries, keys, values = text(HEADS, seed)
    cache, contexts = KeyValueCache(), []
    for q, k, v in zip(*(x.split(chunks, dim=-2) for x in (queries, keys, values)), strict=True):
        now = cache.next_positions(q.shape[-2])
        cached = cache.append(rotate(k, now), v)
        contexts.append(blockwise_attention(rotate(q, now), *cached, causal=True, block=block))
    wanted = written(queries, keys, values, [N])
    torch.testing.assert_close(torch.cat(contexts, dim=-2), wanted)


def test_the_next_positions_continue_where_the_cache_ends():
    cache = KeyValueCache()
    _queries, keys, values = text(2)
    assert cache.next_positions(3) == range(3)
    cache.append(keys[..., :3, :], values[..., :3, :])
    assert cache.next_positions(2) == range(3, 5)
    assert cache.next_positions(0) == range(3, 3)


def test_what_is_written_does_not_depend_on_where_the_text_begins():
    """Only distances count, so a model may begin to count anywhere, as long as it continues."""
    queries, keys, values = text(2)
    mask = causal_mask(N, like=queries)
    shifted = range(100, 100 + N)
    wanted = scaled_dot_product_attention(
        rotate(queries, shifted), rotate(keys, shifted), values, mask, enable_gqa=True
    )
    torch.testing.assert_close(written(queries, keys, values, [4, 1, 6]), wanted)


def test_positions_that_restart_are_seen_by_a_split_and_by_nothing_else():
    queries, keys, values = text(2)
    wanted = written(queries, keys, values, [N])

    def restarted(chunks):
        cache, contexts = KeyValueCache(), []
        parts = (x.split(chunks, dim=-2) for x in (queries, keys, values))
        for q, k, v in zip(*parts, strict=True):
            cached = cache.append(rotate(k), v)  # from 0 again
            contexts.append(grouped_query_attention(rotate(q), *cached, causal=True)[0])
        return torch.cat(contexts, dim=-2)

    torch.testing.assert_close(restarted([N]), wanted)
    assert not torch.allclose(restarted([4, 7]), wanted)
