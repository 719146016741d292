"""Say what softmax, masks and windows do to small examples."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def predicted_weights():
    two_scores = np.array([1000.0, 1000.0 + np.log(3)])
    row = np.zeros(4)
    window = definition.window(8, centre=7.5, half_width=2)
    return [
        float(alignment.softmax(two_scores)[1]),
        float(alignment.softmax(two_scores, temperature=0.5)[1]),
        float(alignment.softmax(row[:3])[:2].sum()),
        float(alignment.softmax(row - 1e9)[0]),
        sum(window),
    ]


@predicted_weights.cases(points=2, label=_("five numbers"))
def no_inputs(rng):
    yield Case()


@predicted_weights.variant
def numbers_as_decimals():
    return [0.75, 0.9, 0.6667, 0.25, 3.0]


@predicted_weights.variant
def numbers_as_an_array():
    return np.array([3 / 4, 9 / 10, 2 / 3, 1 / 4, 3], dtype=np.float32)


@predicted_weights.variant
def numbers_as_a_tuple():
    return (3 / 4, 9 / 10, 2 / 3, 1 / 4, 3)
