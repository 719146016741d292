"""`blockwise_attention` against plain attention, one head of 64, forward without gradients."""

import torch
from torch import Tensor

from attn_course.scale import blockwise_attention
from benchmarks.attend import three_lines
from benchmarks.measure import MIB, Line, compare_times, memory, random, straight_line

N = 16_384
SIZES = (4_096, 8_192, 16_384, 32_768)


def head(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the queries, keys and values of one head."""
    return random(n, 64), random(n, 64, seed=1), random(n, 64, seed=2)


def extra_memory(n: int) -> int:
    """Return the peak memory of one pass over `n` queries and keys, which are there before."""
    arrays = head(n)
    return memory(lambda: blockwise_attention(*arrays)).peak


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the memory and time at 16,384, and how the memory grows."""
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
    ]
