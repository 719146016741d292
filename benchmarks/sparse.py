"""`sparsemax` and `entmax15` against the package entmax, forward, rows of 64 and 1,024 scores."""

from functools import partial

import entmax
import torch

from attn_course.alignment import entmax15, sparsemax
from benchmarks.measure import Line, compare_times, random

PAIRS = {
    "sparsemax": (sparsemax, entmax.sparsemax),
    "entmax15": (entmax15, entmax.entmax15),
}


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the times of both maps at both lengths."""
    return [
        compare_times(
            f"{name}, rows of {k:,}: time / entmax",
            partial(ours, scores),
            partial(theirs, scores),
            1.1,
            min(repeats, 7),
        )
        for k in (64, 1_024)
        for scores in [random(512, k)]
        for name, (ours, theirs) in PAIRS.items()
    ]
