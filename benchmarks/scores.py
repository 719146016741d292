"""Euclidean scores of 1,024 × 1,024 points, d = 64, against `torch.cdist`.

`similarity` calls `torch.cdist` by differences and adds a scale, so that no square overflows. The
default of `torch.cdist`, by |q|² - 2qk + |k|², is a matrix product and many times as fast, but
loses the digits of close points: for two points at (1, …, 1) that are 1e-4 apart it says
mostly 0, and up to 55 times too much. So the distance to it is shown and not bounded.
"""

from functools import partial

import torch

from attn_course.scoring import similarity
from benchmarks.measure import Line, compare_times, random

N, D = 1_024, 64


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the time against both ways of `torch.cdist`."""
    points = random(N, D), random(N, D, seed=1)
    ours = partial(similarity, *points, kind="euclidean")
    by_differences = partial(torch.cdist, *points, compute_mode="donot_use_mm_for_euclid_dist")
    repeats = min(repeats, 7)
    return [
        compare_times("euclidean: time / cdist by differences", ours, by_differences, 1.5, repeats),
        compare_times(
            "euclidean: time / cdist by products",
            ours,
            partial(torch.cdist, *points),
            None,
            repeats,
        ),
    ]
