"""`rotate` against complex numbers, the shortest way to write it in PyTorch: 8 heads of 64.

Both compute their angles anew in each call, ours in double precision. Complex numbers need
neighbours as pairs, so the time of halves is compared with that of neighbours too.
"""

from functools import partial

import torch
from torch import Tensor

from attn_course.positions import BASE, PAIRS, rotate
from benchmarks.measure import Line, compare_times, random

BATCH, HEADS, D = 8, 8, 64
LENGTHS = (128, 512)
BOUNDS = {"interleaved": 3.0, "half": 5.0}  # halves are read and written apart


def by_complex_numbers(features: Tensor) -> Tensor:
    """Return the features with each pair of neighbours turned as one complex number."""
    n, d = features.shape[-2:]
    theta = BASE ** (-torch.arange(0, d, 2) / d)
    angles = torch.outer(torch.arange(n), theta)
    turned = torch.view_as_complex(features.unflatten(-1, (-1, 2)))
    turned = turned * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the times of both ways to form pairs, for each length."""
    lines = []
    for n in LENGTHS:
        features = random(BATCH, HEADS, n, D)
        for pairs in PAIRS:
            lines.append(
                compare_times(
                    f"rotate, n = {n}, {pairs}: time / complex numbers",
                    partial(rotate, features, pairs=pairs),
                    partial(by_complex_numbers, features),
                    BOUNDS[pairs],
                    repeats,
                )
            )
    return lines
