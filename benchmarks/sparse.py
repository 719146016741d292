"""Alignments that leave keys out, forward, rows of 64 and 1,024 scores.

`sparsemax` and `entmax15` run against the package entmax. `softmax_off_by_one` runs against
PyTorch's softmax over the same scores with a column of zeros, which is dropped afterwards, and
`softmax_with_sink` against the same with a column of learned sinks, one for each row. The mask of
a sliding window runs against two triangles, which know only texts that begin at position 0.
"""

from functools import partial

import entmax
import torch
from torch import Tensor

from attn_course.alignment import (
    entmax15,
    sliding_window_mask,
    softmax_off_by_one,
    softmax_with_sink,
    sparsemax,
)
from benchmarks.measure import Line, compare_times, random


def with_a_column_of_zeros(scores: Tensor) -> Tensor:
    """Return the softmax over the scores and one score of 0, without the weight of that one."""
    longer = torch.nn.functional.pad(scores, (0, 1))
    return torch.softmax(longer, dim=-1)[..., :-1]


def with_a_column_of_sinks(scores: Tensor) -> Tensor:
    """Return the softmax over the scores and one sink per row, without the weight of the sink."""
    longer = torch.cat([scores, SINKS], dim=-1)
    return torch.softmax(longer, dim=-1)[..., :-1]


def two_triangles(n: int, width: int) -> Tensor:
    """Return the band of the last `width` keys."""
    return torch.ones(n, n, dtype=torch.bool).tril().triu(1 - width)


ROWS, WORDS, WIDTH = 512, 2_048, 128
SINKS = random(ROWS, 1)

# Ours, the peer's name, the peer, and the bound: ours checks its input, which costs about 10 µs.
MAPS = {
    "sparsemax": (sparsemax, "entmax", entmax.sparsemax, 1.1),
    "entmax15": (entmax15, "entmax", entmax.entmax15, 1.1),
    "softmax_off_by_one": (softmax_off_by_one, "padded softmax", with_a_column_of_zeros, 1.25),
    "softmax_with_sink": (
        partial(softmax_with_sink, sink=SINKS),
        "softmax and a column",
        with_a_column_of_sinks,
        1.5,  # it checks the sinks, too
    ),
}


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the times of every map at both lengths."""
    times = [
        compare_times(
            f"{name}, rows of {k:,}: time / {peer}",
            partial(ours, scores),
            partial(theirs, scores),
            bound,
            min(repeats, 7),
        )
        for k in (64, 1_024)
        for scores in [random(ROWS, k)]
        for name, (ours, peer, theirs, bound) in MAPS.items()
    ]
    mask = compare_times(
        f"sliding_window_mask, {WORDS:,} words: time / two triangles",
        partial(sliding_window_mask, WORDS, width=WIDTH, sinks=4, like=SINKS),
        partial(two_triangles, WORDS, WIDTH),
        3,
        min(repeats, 7),
    )
    return [*times, mask]
