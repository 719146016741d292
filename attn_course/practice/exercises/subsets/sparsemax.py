"""Weights that are the nearest point of the simplex, with keys that may be masked."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.subsets._masks import two_at_least
from attn_course.practice.inputs import all_of, row_by_row, some_of
from attn_course.translate import _


@reference
def sparsemax(scores, mask):
    return alignment.sparsemax(scores, mask)


def near(rng, *size):
    """Return scores with one decimal, no two of a row alike: some are kept together, some not.

    The best two of a row are 0.1 to 0.4 apart, the next is so close that it is kept with them,
    and the last is far below: a threshold from any other number of keys is another one.
    """
    k = size[-1]
    steps = np.round(rng.uniform(0.1, 0.4, (*size[:-1], k)), 1)
    steps[..., 0] = np.round(rng.uniform(0.5, 3.0, size[:-1]), 1)
    steps[..., -1] = np.round(rng.uniform(1.2, 2.0, size[:-1]), 1)
    heights = steps[..., :1] - np.cumsum(np.where(np.arange(k) == 0, 0.0, steps), axis=-1)
    return np.round(rng.permuted(heights, axis=-1), 1)


@sparsemax.cases(points=2, label=_("a few rows, and no key is masked"))
def no_mask(rng):
    yield Case(near(rng, 1, 3), all_of(1, 3))
    yield Case(near(rng, 2, 4), all_of(2, 4))
    yield Case(-near(rng, 3, 5), all_of(3, 5))


@sparsemax.cases(points=1, label=_("masked keys, whatever their scores are, even NaN"))
def masked_keys(rng):
    for size, padding in (((2, 4), 9.0), ((3, 5), np.nan)):
        mask = two_at_least(rng, *size)
        yield Case(np.where(mask, near(rng, *size), padding), mask)
    # All scores are below 0, so a masked key that counts as 0 would be the best.
    mask = two_at_least(rng, 2, 5)
    yield Case(np.where(mask, near(rng, 2, 5) - 7.0, 0.5), mask)


@sparsemax.cases(points=1, label=_("a row without a key: weights 0"))
def nothing_to_attend_to(rng):
    mask = two_at_least(rng, 3, 4)
    mask[rng.integers(3)] = False
    yield Case(near(rng, 3, 4), mask)


@sparsemax.cases(points=1, label=_("batches, and ties for the best key"))
def batches_and_ties(rng):
    yield Case(near(rng, 2, 3, 5), some_of(rng, 2, 3, 5))
    tied = near(rng, 3, 4)
    tied[:, 1] = tied.max(axis=-1)
    tied[0] = 0.5  # all alike: each key gets its share
    yield Case(tied, all_of(3, 4))
    yield Case(near(rng, 2, 3, 5, 7), some_of(rng, 2, 3, 5, 7))


@sparsemax.variant
def sparsemax_in_loops(scores, mask):
    return row_by_row(lambda row, may: np.array(definition.sparsemax(row, may)), scores, mask)


@sparsemax.variant
def largest_of_the_thresholds(scores, mask):
    # Any set of keys has a threshold at which it sums to 1; the largest is that of the right set.
    hidden = np.where(mask, scores, -1e9)
    sums = np.cumsum(np.sort(hidden, axis=-1)[..., ::-1], axis=-1) - 1
    theta = (sums / np.arange(1, scores.shape[-1] + 1)).max(axis=-1, keepdims=True)
    return np.where(mask, np.maximum(hidden - theta, 0.0), 0.0)


@sparsemax.variant
def one_key_dropped_after_another(scores, mask):
    def one_row(row, may):
        kept = may.copy()
        while kept.any():
            theta = (row[kept].sum() - 1) / kept.sum()
            below = kept & (np.where(kept, row, 0.0) <= theta)
            if not below.any():
                return np.where(kept, row - theta, 0.0)
            kept &= ~below
        return np.zeros(len(row))

    return row_by_row(one_row, scores, mask)


@sparsemax.variant
def sparsemax_in_torch(scores, mask):
    import torch

    hidden = torch.as_tensor(scores).masked_fill(~torch.as_tensor(mask), -100.0)
    best_first = hidden.sort(dim=-1, descending=True).values
    ranks = torch.arange(1, hidden.shape[-1] + 1)
    kept = 1 + ranks * best_first > best_first.cumsum(dim=-1)
    size = kept.sum(dim=-1, keepdim=True)
    theta = ((best_first * kept).sum(dim=-1, keepdim=True) - 1) / size
    return torch.relu(hidden - theta) * torch.as_tensor(mask)
