"""What cases are drawn from, and what variants in loops are made of: shared by all exercises."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def readable(rng: np.random.Generator, *size: int, low: float = -2.0, high: float = 2.0) -> Floats:
    """Return numbers with one decimal, none of them 0: a failure can be redone by hand."""
    numbers = np.round(rng.uniform(low, high, size), 1)
    return np.where(numbers == 0, 0.5, numbers)


def apart(rng: np.random.Generator, n: int, low: float = 0.4, high: float = 1.0) -> Floats:
    """Return `n` places with one decimal, in no order, neighbours `low` to `high` apart."""
    return rng.permutation(np.round(np.cumsum(rng.uniform(low, high, n)), 1))


def huge(rng: np.random.Generator, *size: int) -> Floats:
    """Return rows near 1000 and near -1000 in turn, and in each row one key 3000 below.

    np.exp overflows or vanishes there, and only subtracting the largest score of a row helps.
    Single precision represents these numbers exactly.
    """
    heights = 1000.0 * (-1) ** np.arange(size[-2])[:, None]
    lowest = np.arange(size[-1]) == rng.integers(0, size[-1], (*size[:-1], 1))
    return heights + rng.integers(-8, 9, size) / 4 - 3000 * lowest


def some_of(rng: np.random.Generator, *size: int) -> Mask:
    """Return a mask with one True and one False at least in each row."""
    k = size[-1]
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the places in each row
    return ranks < rng.integers(1, k, (*size[:-1], 1))


def all_of(*size: int) -> Mask:
    """Return a mask that hides nothing."""
    return np.ones(size, dtype=bool)


def ragged_mask(rng: np.random.Generator, *size: int) -> Mask:
    """Return a mask (..., n) with one real feature at least in each row, and padding in each."""
    n = size[-1]
    lengths = rng.integers(1, n, size[:-1])  # n itself is left out: every row is padded
    return np.arange(n) < lengths[..., None]


def padded(features: Floats, mask: Mask, padding: float) -> Floats:
    """Return the features with `padding` where the mask is False."""
    return np.where(mask[..., None], features, padding)


def row_by_row(one_row: Callable[..., Any], scores: Floats, *others: Any) -> Any:
    """Return `one_row(scores, …)` of every row, the way a learner with loops does."""
    if scores.ndim == 1:
        return one_row(scores, *others)
    return np.stack([row_by_row(one_row, *parts) for parts in zip(scores, *others, strict=True)])


def table_by_table(
    one_pair: Callable[..., Any], queries: Floats, keys: Floats, *rest: Any
) -> Floats:
    """Return a function of one query and one key, written in loops, for every pair of a batch."""
    if queries.ndim > 2:
        pairs = zip(queries, keys, strict=True)
        return np.stack([table_by_table(one_pair, q, k, *rest) for q, k in pairs])
    return np.array([[one_pair(q, k, *rest) for k in keys] for q in queries])


def softmax(scores: Floats, mask: Mask | None = None, axis: int = -1) -> Floats:
    """Return weights over the keys of a mask; all 0 where there is none."""
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    best = scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(best), best, 0))
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)
