"""Writing with a cache, rotary positions and shared key-value heads: 32 query heads of 64.

A step is compared with PyTorch's kernel on the same rotated queries and keys, and a text written
with a cache with one whose words are all projected and rotated again in every step.
"""

from functools import partial
from math import log
from statistics import median

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attn_course.positions import rotate
from attn_course.scale import KeyValueCache, grouped_query_attention
from benchmarks.measure import MIB, Line, compare_times, memory, random, seconds

HEADS, D, N = 32, 64, 4_096
KV_HEADS = (32, 8, 1)
WRITTEN = 64
APPENDED = (1_024, 8_192)


def step(kv_heads: int, n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rotated query of the newest of n words, all rotated keys and all values."""
    query = rotate(random(1, HEADS, 1, D), range(n - 1, n))
    keys = rotate(random(1, kv_heads, n, D, seed=1))
    return query, keys, random(1, kv_heads, n, D, seed=2)


def with_repeated_keys(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the contexts by the shortest way to write them, which copies keys and values."""
    share = queries.shape[-3] // keys.shape[-3]
    keys, values = (x.repeat_interleave(share, dim=-3) for x in (keys, values))
    return torch.softmax(queries @ keys.mT / D**0.5, dim=-1) @ values


def projections(kv_heads: int) -> list[Tensor]:
    """Return the matrices of queries, keys and values."""
    width = HEADS * D
    sizes = (HEADS, kv_heads, kv_heads)
    return [random(width, h * D, seed=i) / width**0.5 for i, h in enumerate(sizes)]


def projected(words: Tensor, matrices: list[Tensor], positions: range) -> list[Tensor]:
    """Return queries, keys (both rotated) and values `(heads, n, d)` of words `(n, width)`."""
    parts = [(words @ matrix).unflatten(-1, (-1, D)).transpose(0, 1) for matrix in matrices]
    return [rotate(parts[0], positions), rotate(parts[1], positions), parts[2]]


def with_cache(words: Tensor, matrices: list[Tensor]) -> Tensor:
    """Return the contexts of all words, each of which is projected once."""
    cache, contexts = KeyValueCache(), []
    for word in words.split(1):
        query, key, value = projected(word, matrices, cache.next_positions(1))
        contexts.append(grouped_query_attention(query, *cache.append(key, value))[0])
    return torch.cat(contexts, dim=-2)


def again(words: Tensor, matrices: list[Tensor]) -> Tensor:
    """Return the contexts of all words; step t projects t words and uses the last context."""
    contexts = []
    for t in range(1, len(words) + 1):
        arrays = projected(words[:t], matrices, range(t))
        contexts.append(grouped_query_attention(*arrays, causal=True)[0][:, -1:])
    return torch.cat(contexts, dim=-2)


def append(n: int) -> None:
    """Append n words to a cache, one by one."""
    cache, word = KeyValueCache(), torch.ones(1, D)
    for _ in range(n):
        cache.append(word, word)


def exponent_of_appending(repeats: int) -> Line:
    """Return p of time ~ n^p: the cache must not copy all there is in each step."""
    short, long = APPENDED
    append(short)
    found = []
    for _ in range(repeats):
        times = seconds(partial(append, short), 8), seconds(partial(append, long), 1)
        found.append(log(times[1] / times[0]) / log(long / short))
    low, *_, high = sorted(found)
    detail = f"{short:,} and {long:,} words, {low:.2f} to {high:.2f}"
    return Line("cache: exponent of n in the time to append n words", median(found), 1.1, detail)


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the time of a step, its memory, a text with and without a cache, and the growth."""
    repeats = min(repeats, 7)
    lines = []
    for kv_heads in KV_HEADS:
        arrays = step(kv_heads)
        lines.append(
            compare_times(
                f"cache, a step after {N:,} words, {kv_heads} key-value heads: time / fused",
                partial(grouped_query_attention, *arrays),
                partial(scaled_dot_product_attention, *arrays, enable_gqa=True),
                1.5,
                repeats,
            )
        )
    arrays = step(8)
    mine = memory(lambda: grouped_query_attention(*arrays)).peak
    theirs = memory(lambda: with_repeated_keys(*arrays)).peak
    words, matrices = random(WRITTEN, HEADS * D), projections(8)
    return [
        *lines,
        Line(
            "cache, a step, 8 key-value heads: peak memory / repeated keys",
            mine / theirs,
            1 / 20,
            f"{mine / MIB:.1f} MiB against {theirs / MIB:.1f} MiB",
        ),
        compare_times(
            f"cache, {WRITTEN} words written: time / all words again in each step",
            partial(with_cache, words, matrices),
            partial(again, words, matrices),
            1 / 3,
            min(repeats, 3),
        ),
        exponent_of_appending(repeats),
    ]
