"""Features that are positive, and small ones that rounding does not swallow."""

from math import exp

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def feature_map(x):
    # Python's floats: the inputs in half precision are exact in them.
    wanted = [x_i + 1 if x_i > 0 else exp(x_i) for x_i in np.ravel(x).tolist()]
    return np.array(wanted).reshape(np.shape(x))


# Small features are the point: a floor under them, or a 0, must not hide in the tolerance. Half
# precision has three digits.
feature_map.tolerance = (2e-3, 1e-30)


@feature_map.cases(points=1, label=_("small numbers on both sides of 0, and 0 itself"))
def near_zero(rng):
    low, high = readable(rng, 2, low=0.1, high=0.9)
    yield Case(np.array([high, -low]))
    yield Case(np.array([2, -1, 0, -3]))  # an array like it has no fractions
    yield Case(np.concatenate([_below_and_above(rng, 3), np.zeros((1, 3))]))
    yield Case(_below_and_above(rng, 2, 3, 5))


@feature_map.cases(points=1, label=_("numbers far from 0, whose exponential overflows or vanishes"))
def far_from_zero(rng):
    yield Case(_below_and_above(rng, 2) * np.array([[1], [20]]))
    yield Case(_below_and_above(rng, 5) * np.array([[1], [20]]))
    # The exponential of 710 overflows, that of -750 is 0 in double precision.
    yield Case(np.array([rng.integers(720, 801), -rng.integers(760, 801), 3.0]))
    yield Case(rng.permuted(_below_and_above(rng, 3) * 15 + np.array([[720], [0]]), axis=1))


@feature_map.cases(points=1, label=_("half precision, numbers far below 0"))
def half_precision(rng):
    # Half precision counts in steps of 1/2048 just below 1. Quarters are exact.
    low = rng.integers(-38, -24, 3) / 4
    yield Case(low[:2].astype(np.float16))
    high = rng.integers(2, 16, 2) / 4
    yield Case(rng.permuted(np.concatenate([low, high])).astype(np.float16))


def _below_and_above(rng, *size):
    """Return tables with a row of numbers above 0 and a row of numbers below."""
    *rows, last = size
    above = readable(rng, *rows, 1, last, low=0.3)
    return np.concatenate([above, -readable(rng, *rows, 1, last, low=0.3)], axis=-2)


@feature_map.variant
def as_a_sum_of_two_parts(x):
    return np.exp(np.minimum(x, 0)) + np.maximum(x, 0)


@feature_map.variant
def where_it_is_positive(x):
    features = np.exp(np.clip(x, None, 0))
    features[x > 0] = x[x > 0] + 1
    return features


@feature_map.variant
def with_pytorch(x):
    import torch

    x = torch.tensor(x)
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())
