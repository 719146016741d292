"""Small parts that many task models share, so that arms differ in one place alone."""

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.alignment import softmax
from attn_course.attention import Align, Score, attend


class SplitAttention(nn.Module):
    """Attention where a feature's first `d_k` numbers are its key and the others its value.

    There is no map between: a score has to do with keys and queries as they come.
    """

    def __init__(self, d_k: int, score: Score, align: Align = softmax) -> None:
        super().__init__()
        self.d_k = d_k
        self.score = score
        self.align = align

    def forward(
        self, features: Tensor, queries: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts and weights."""
        keys, values = features[..., : self.d_k], features[..., self.d_k :]
        return attend(queries, keys, values, self.score, self.align, mask)


class UniformScore(nn.Module):
    """The ablation of every score: all keys score 0, so soft weights are equal."""

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        batch = torch.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
        return queries.new_zeros(*batch, queries.shape[-2], keys.shape[-2])


class UniformKeyScore(nn.Module):
    """The ablation of `NoQueryScore`: without a query too, all keys score 0."""

    def forward(self, keys: Tensor) -> Tensor:
        """Return scores `(..., 1, k)`."""
        return keys.new_zeros(*keys.shape[:-2], 1, keys.shape[-2])


def filled(rng: np.random.Generator, number: int, fewest: int, most: int) -> np.ndarray:
    """Return which of `most` places are filled, `(number, most)`: the first few, at random."""
    return np.arange(most) < rng.integers(fewest, most + 1, size=number)[:, None]
