"""Causal `linear_attention` against the fused causal softmax of PyTorch, one head of 64."""

from functools import partial
from math import log
from statistics import median

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attn_course.scale import linear_attention
from benchmarks.measure import Line, compare_times, memory, random, seconds, straight_line

SIZES = (2_048, 4_096, 8_192, 16_384)


def head(n: int) -> list[Tensor]:
    """Return the queries, keys and values of one head."""
    return [random(1, 1, n, 64, seed=seed) for seed in range(3)]


def exponent(repeats: int) -> Line:
    """Return p of time ~ n^p, from the smallest and the largest size in turn."""
    runs = [partial(linear_attention, *head(n), causal=True) for n in (SIZES[0], SIZES[-1])]
    for once in runs:
        once()
    found = []
    for _ in range(repeats):
        short, long = (seconds(once, loops) for once, loops in zip(runs, (8, 1), strict=True))
        found.append(log(long / short) / log(SIZES[-1] / SIZES[0]))
    low, *_, high = sorted(found)
    detail = f"{SIZES[0]:,} and {SIZES[-1]:,} words, {low:.2f} to {high:.2f}"
    return Line("linear, causal: exponent of n in the time", median(found), 1.1, detail)


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the time at 2,048, and how time and memory grow."""
    arrays = head(SIZES[0])
    peaks = []
    for n in SIZES:
        words = head(n)
        peaks.append(memory(partial(linear_attention, *words, causal=True)).peak)
    return [
        compare_times(
            f"linear, causal, n = {SIZES[0]:,}: time / fused softmax",
            partial(linear_attention, *arrays, causal=True),
            partial(scaled_dot_product_attention, *arrays, is_causal=True),
            1,
            min(repeats, 7),
        ),
        exponent(min(repeats, 7)),
        straight_line("linear, causal: memory off a line in n by", SIZES, peaks),
    ]
