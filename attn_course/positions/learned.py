"""Positions as a table: one trained vector per position, as in BERT and GPT-2."""

import torch
from torch import Tensor, nn

from attn_course.alignment.masks import Positions


class LearnedPositions(nn.Module):
    r"""$PE_{pos} = P_{pos}$, a row of a trained table: `positions` `(..., n)` to `(..., n, d)`.

    Positions are counted from 0; a range is fine, and a number n is short for 0, …, n - 1. The
    table has `longest` rows. It knows nothing about positions that it was not trained on.

    >>> LearnedPositions(longest=16, d=4)(range(2, 5)).shape
    torch.Size([3, 4])
    """

    def __init__(self, longest: int, d: int) -> None:
        super().__init__()
        if longest < 1 or d < 1:
            raise ValueError(f"longest and d must be at least 1, but are {longest} and {d}.")
        self.longest = longest
        self.P = nn.Parameter(torch.randn(longest, d))

    def forward(self, positions: Positions) -> Tensor:
        """Return the rows of the table."""
        if isinstance(positions, int):
            positions = range(positions)
        if isinstance(positions, range):
            start, stop, step = positions.start, positions.stop, positions.step
            positions = torch.arange(start, stop, step, device=self.P.device)
        self._require_known(positions)
        return self.P[positions]

    def _require_known(self, positions: Tensor) -> None:
        if torch.compiler.is_compiling() or positions.numel() == 0:
            return  # a traced graph has no numbers to compare
        low, high = int(positions.min()), int(positions.max())
        if low < 0 or high >= self.longest:
            wrong = low if low < 0 else high
            raise ValueError(
                f"this table has a row for the positions 0 to {self.longest - 1}, but position "
                f"{wrong} was asked for. A learned table knows no other positions: build it with "
                f"a larger `longest` and train it, or use sinusoidal_positions, rotate or "
                f"distance_bias, which are formulas."
            )
