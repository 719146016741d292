"""Predict how uneven the weights of a bounded score can be."""

import numpy as np

from attn_course import scoring
from attn_course.alignment import softmax
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def predicted_weights():
    high = _extreme_weights(scoring.activated_general)
    low = _extreme_weights(scoring.activated_general, sign=-1.0)
    unbounded = _extreme_weights(scoring.general)
    return [float(number) for number in (high[0] / high[1], high[0], low[0], unbounded[0])]


def _extreme_weights(score, sign=1.0):
    """Return the weights of 11 keys of which one is as far from the others as can be."""
    keys = np.full((11, 1), -1000.0 * sign)
    keys[0] *= -1
    return softmax(score(np.ones((1, 1)), keys, np.ones((1, 1))))[0]


@predicted_weights.cases(points=2, label=_("a ratio and three weights"))
def no_inputs(rng):
    yield Case()


@predicted_weights.variant
def bounds_as_formulas():
    e = np.exp(1)
    return [e / e**-1, e / (e + 10 * e**-1), e**-1 / (e**-1 + 10 * e), 1]


@predicted_weights.variant
def bounds_as_an_array():
    ratio = np.exp(2)
    return np.array([ratio, ratio / (ratio + 10), 1 / (1 + 10 * ratio), 1], dtype=np.float32)


@predicted_weights.variant
def bounds_as_a_tensor():
    import torch

    one_up = torch.softmax(torch.tensor([1.0] + 10 * [-1.0]), dim=0)
    one_down = torch.softmax(torch.tensor([-1.0] + 10 * [1.0]), dim=0)
    return torch.stack([one_up[0] / one_up[1], one_up[0], one_down[0], torch.tensor(1.0)])
