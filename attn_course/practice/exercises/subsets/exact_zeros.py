"""Say which weights are exactly 0, and what a drawn subset teaches."""

import numpy as np

from attn_course import alignment
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def exact_zeros():
    five = np.array([3.0, 3.0, 2.4, 1.0, 0.0])
    crowd = np.concatenate([np.full(4, np.log(1000)), np.zeros(1000)])
    nothing = alignment.selection_log_probability(np.full(3, 0.5), np.zeros(3, dtype=bool))
    return [
        float(alignment.sparsemax(np.array([0.6, 0.0]))[0]),
        float(alignment.sparsemax(np.array([1.2, 0.0]))[0]),
        int((alignment.sparsemax(five) == 0).sum()),
        float(alignment.softmax(crowd)[4:].sum()),
        float(alignment.sparsemax(crowd)[0]),
        float(np.exp(nothing)),
        2 * (1 - 1 / 4),
    ]


@exact_zeros.cases(points=2, label=_("seven numbers"))
def no_inputs(rng):
    yield Case()


@exact_zeros.variant
def numbers_as_decimals():
    return [0.8, 1.0, 3.0, 0.2, 0.25, 0.125, 1.5]


@exact_zeros.variant
def numbers_as_an_array():
    return np.array([4 / 5, 1, 3, 1 / 5, 1 / 4, 1 / 8, 3 / 2], dtype=np.float32)


@exact_zeros.variant
def numbers_as_a_tuple():
    return (4 / 5, 1, 3, 1 / 5, 1 / 4, 1 / 8, 3 / 2)
