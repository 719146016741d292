"""Alignments that leave keys out, forward, rows of 64 and 1,024 scores.

`sparsemax` and `entmax15` run against the package entmax. `softmax_off_by_one` runs against
PyTorch's softmax over the same scores with a column of zeros, which is dropped afterwards.
"""

from functools import partial

import entmax
import torch
from torch import Tensor

from attn_course.alignment import entmax15, softmax_off_by_one, sparsemax
from benchmarks.measure import Line, compare_times, random


def with_a_column_of_zeros(scores: Tensor) -> Tensor:
    """Return the softmax over the scores and one score of 0, without the weight of that one."""
    longer = torch.nn.functional.pad(scores, (0, 1))
    return torch.softmax(longer, dim=-1)[..., :-1]


# Ours, the peer's name, the peer, and the bound: ours checks its input, which costs about 10 µs.
MAPS = {
    "sparsemax": (sparsemax, "entmax", entmax.sparsemax, 1.1),
    "entmax15": (entmax15, "entmax", entmax.entmax15, 1.1),
    "softmax_off_by_one": (softmax_off_by_one, "padded softmax", with_a_column_of_zeros, 1.25),
}


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the times of every map at both lengths."""
    return [
        compare_times(
            f"{name}, rows of {k:,}: time / {peer}",
            partial(ours, scores),
            partial(theirs, scores),
            bound,
            min(repeats, 7),
        )
        for k in (64, 1_024)
        for scores in [random(512, k)]
        for name, (ours, peer, theirs, bound) in MAPS.items()
    ]
