"""Say what shape weights and context have, and what all the weights add up to."""

import numpy as np

from attn_course.alignment import softmax
from attn_course.dimensionality import multi
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def predicted_shapes():
    batch, q, k, d_v = 2, 3, 5, 7
    weights = softmax(np.zeros((batch, q, k, d_v)), axis=-2)
    context = multi(weights, np.zeros((batch, k, d_v)))
    return [weights.shape, context.shape, round(weights.sum())]


@predicted_shapes.cases(points=2, label=_("two shapes and a sum"))
def nothing_goes_in(rng):
    yield Case()


@predicted_shapes.variant
def shapes_as_lists():
    return [[2, 3, 5, 7], [2, 3, 7], 42]


@predicted_shapes.variant
def shapes_as_tuples():
    return ((2, 3, 5, 7), (2, 3, 7), 42.0)


@predicted_shapes.variant
def shapes_of_tensors():
    import torch

    weights = torch.softmax(torch.zeros(2, 3, 5, 7), dim=-2)
    return [weights.shape, (weights * torch.zeros(2, 1, 5, 7)).sum(dim=-2).shape, weights.sum()]
