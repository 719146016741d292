"""`attend` against the three lines of PyTorch that everybody writes, at (8, 512, 64)."""

from math import inf, sqrt

import torch
from torch import Tensor

from attn_course.alignment import causal_mask, padding_mask
from attn_course.attention import attend
from benchmarks.measure import Line, compare_times, random


def three_lines(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Return softmax(QK^T / sqrt(d)) V; a fully masked row would be NaN."""
    scores = queries @ keys.mT / sqrt(keys.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -inf)
    return torch.softmax(scores, dim=-1) @ values


def run(repeats: int) -> list[Line]:
    """Return the times without a mask and with masks of three shapes."""
    arrays = random(8, 512, 64), random(8, 512, 64, seed=1), random(8, 512, 64, seed=2)
    lengths = torch.arange(512, 512 - 8 * 40, -40)

    def line(name: str, mask: Tensor | None, bound: float) -> Line:
        return compare_times(
            f"attend, {name}: time / three lines",
            lambda: attend(*arrays, mask=mask),
            lambda: three_lines(*arrays, mask),
            bound,
            repeats,
        )

    return [
        line("no mask", None, 1.15),
        line("padding mask (8, 1, 512)", padding_mask(lengths, 512), 1.6),
        line("causal mask (512, 512)", causal_mask(512, like=lengths), 1.6),
        line("a mask for each pair (8, 512, 512)", random(8, 512, 512) < 1, 1.6),
    ]
