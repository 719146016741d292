"""Find the 1 that was not scaled when the maximum was subtracted."""

import numpy as np

from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import huge, readable, softmax
from attn_course.translate import _


@reference
def one_not_scaled(scores):
    weights = np.zeros(scores.shape)
    rest = np.zeros(scores.shape[:-1])
    for place in np.ndindex(*scores.shape[:-1]):
        *weights[place], rest[place] = definition.softmax([*scores[place], 0.0])
    return weights, rest


def _above_and_below(rng, *size):
    """Return scores with a positive number in every row: below 0, the maximum does not matter."""
    scores = readable(rng, *size)
    scores[..., 0] = np.abs(scores[..., 0])
    return rng.permuted(scores, axis=-1)


@one_not_scaled.cases(points=1, label=_("rows with a score above 0"))
def above_zero(rng):
    yield Case(_above_and_below(rng, 2))
    yield Case(_above_and_below(rng, 3, 5))
    yield Case(_above_and_below(rng, 2, 3, 5))


@one_not_scaled.cases(points=1, label=_("rows below 0, and large scores"))
def below_zero_and_large(rng):
    both = _above_and_below(rng, 2, 3)
    both[1] = -np.abs(both[1])
    yield Case(both)
    yield Case(huge(rng, 2, 5))
    far = _above_and_below(rng, 3, 5)
    far[0, 0] = 1000.0  # one row far above the others
    yield Case(far)


@one_not_scaled.variant
def softmax_with_one_more_column(scores):
    every = softmax(np.concatenate([scores, np.zeros_like(scores[..., :1])], axis=-1))
    return every[..., :-1], every[..., -1]


@one_not_scaled.variant
def what_is_left(scores):
    weights, _rest = softmax_with_one_more_column(scores)
    return weights, 1 - weights.sum(axis=-1)
