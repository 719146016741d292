"""`blockwise_attention` against plain attention and PyTorch's fused kernel, forward, no gradients.

The fused kernel does in one loop what takes us six, each over a block that stays in the cache; that
and Python's share is the distance from 1. A causal pass must not be further away than a full one:
blocks that are masked out whole are not computed.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attn_course.scale import blockwise_attention
from benchmarks.attend import three_lines
from benchmarks.measure import MIB, Line, compare_times, memory, random, straight_line

N = 16_384
SIZES = (4_096, 8_192, 16_384, 32_768)
FUSED_SIZES = (1_024, 2_048, 4_096)
WHY = (
    "six PyTorch operations pass over each block of scores where the fused kernel passes once, "
    "and neither other block sizes nor one operation less changes the ratio."
)


def head(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the queries, keys and values of one head."""
    return random(n, 64), random(n, 64, seed=1), random(n, 64, seed=2)


def extra_memory(n: int) -> int:
    """Return the peak memory of one pass over `n` queries and keys, which are there before."""
    arrays = head(n)
    return memory(lambda: blockwise_attention(*arrays)).peak


def against_fused(n: int, causal: bool, repeats: int) -> Line:
    """Return the time against PyTorch's own kernel, which wants an axis for examples and heads."""
    arrays = [x[None, None] for x in head(n)]
    line = compare_times(
        f"blockwise, n = {n:,}{', causal' if causal else ''}: time / fused",
        partial(blockwise_attention, *arrays, causal=causal),
        partial(scaled_dot_product_attention, *arrays, is_causal=causal),
        1.6,
        min(repeats, 7),
    )
    return replace(line, why=WHY)


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the memory and time at 16,384, how the memory grows, and the fused kernel's times."""
    arrays = head(N)
    mine, theirs = extra_memory(N), memory(lambda: three_lines(*arrays)).peak
    return [
        Line(
            f"blockwise, n = {N:,}: peak memory / plain",
            mine / theirs,
            1 / 20,
            f"{mine / MIB:.1f} MiB against {theirs / MIB:.1f} MiB",
        ),
        compare_times(
            f"blockwise, n = {N:,}: time / plain",
            lambda: blockwise_attention(*arrays),
            lambda: three_lines(*arrays),
            1.2,
            min(repeats, 5),
        ),
        straight_line(
            "blockwise: memory off a line in n by", SIZES, [extra_memory(n) for n in SIZES]
        ),
        *(against_fused(n, causal, repeats) for n in FUSED_SIZES for causal in (False, True)),
    ]
