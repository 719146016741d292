"""How wide is the output, how many parameters are there, and which weight does one word get?"""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def predicted_sizes():
    left, right, target, d = 3, 7, 4, 6
    return [left + right + 2 * target, 4 * d**2 + 4, 1]


@predicted_sizes.cases(points=1, label=_("width, parameters, weight"))
def no_inputs(rng):
    yield Case()


@predicted_sizes.variant
def sizes_as_floats():
    return [18.0, 148.0, 1.0]


@predicted_sizes.variant
def sizes_as_an_array():
    return np.array([18, 148, 1])


@predicted_sizes.variant
def sizes_as_a_tuple():
    return (18, 148, 1)
