"""Where do the contexts and weights of a sentence go when its words are shuffled?"""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.running_example import WORDS
from attn_course.translate import _

SHUFFLED = ("drinks", "milk", "the", "warm", "small", "cat")


@reference
def shuffled_words():
    old_row_of_the_first = 1 + WORDS.index(SHUFFLED[0])
    row, column = (1 + SHUFFLED.index(word) for word in ("cat", "milk"))
    repeated = ("the", "small", "cat", "drinks", "the", "milk")
    return [old_row_of_the_first, row, column, 0, len(set(repeated))]


@shuffled_words.cases(points=2, label=_("five whole numbers"))
def no_inputs(rng):
    yield Case()


@shuffled_words.variant
def numbers_as_floats():
    return [4.0, 6.0, 2.0, 0.0, 5.0]


@shuffled_words.variant
def numbers_as_an_array():
    return np.array([4, 6, 2, 0, 5])


@shuffled_words.variant
def numbers_as_a_tuple():
    return (4, 6, 2, 0, 5)
