"""How many parameters has each part of a block, and what do heads and positions change?"""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _

D, D_FF, VOCABULARY = 10, 50, 70


def _linear(d_in, d_out):
    return d_out * d_in + d_out


def _attention(heads):
    """Return the parameters of all heads, counted head by head, and of W_O."""
    d_head = D // heads
    return heads * 3 * _linear(D, d_head) + _linear(heads * d_head, D)


@reference
def where_parameters_are():
    network = _linear(D, D_FF) + _linear(D_FF, D)
    norm = D + D
    wide = 1_000  # any width: with d_ff = 4 d the share of the matrices is always the same
    share = 2 * wide * 4 * wide / (2 * wide * 4 * wide + 4 * wide * wide)
    return [_attention(heads=5), network, 2 * norm, VOCABULARY * D, _attention(heads=2), 0, share]


@where_parameters_are.cases(points=2, label=_("seven counts"))
def no_inputs(rng):
    yield Case()


@where_parameters_are.variant
def counts_as_floats():
    return [440.0, 1060.0, 40.0, 700.0, 440.0, 0.0, 0.66667]


@where_parameters_are.variant
def counts_as_an_array():
    return np.array([440, 1060, 40, 700, 440, 0, 8 / 12])


@where_parameters_are.variant
def counts_as_a_tuple():
    return (440, 1060, 40, 700, 440, 0, 2 / 3)
