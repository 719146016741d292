"""Find two bugs in the activated general score."""

import numpy as np

from attn_course import scoring
from attn_course.definitions import scoring as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.scoring._pairs import gentle_matrix, pair
from attn_course.practice.inputs import table_by_table
from attn_course.translate import _


@reference
def activated_general(queries, keys, W, b):
    return scoring.activated_general(queries, keys, W, b)


def _to_activate(rng, q, k, d_q, d_k, b, batch=()):
    queries, keys = pair(rng, q, k, d_q, d_k, batch)
    return Case(queries, keys, gentle_matrix(rng, queries, keys), b)


@activated_general.cases(points=1, label=_("one table, b above 0"))
def activated_tables(rng):
    yield _to_activate(rng, 1, 3, 2, 2, 0.5)
    yield _to_activate(rng, 2, 3, 5, 7, 0.8)


@activated_general.cases(points=1, label=_("one table, b below 0"))
def activated_below_zero(rng):
    yield _to_activate(rng, 1, 2, 3, 2, -0.7)
    yield _to_activate(rng, 5, 2, 3, 7, -1.2)


@activated_general.cases(points=1, label=_("a batch: queries (..., q, d_q), keys (..., k, d_k)"))
def activated_batches(rng):
    yield _to_activate(rng, 3, 5, 7, 2, 0.6, batch=(2,))
    yield _to_activate(rng, 7, 3, 2, 5, -0.9, batch=(3, 2))


@activated_general.variant
def activated_in_loops(queries, keys, W, b):
    return table_by_table(definition.activated_general, queries, keys, W, b)


@activated_general.variant
def activated_and_turned_last(queries, keys, W, b):
    return np.swapaxes(np.tanh(keys @ W @ np.swapaxes(queries, -2, -1) + b), -2, -1)


@activated_general.variant
def activated_in_torch(queries, keys, W, b):
    import torch

    queries, keys, W = (torch.as_tensor(array) for array in (queries, keys, W))
    return torch.tanh(torch.einsum("...qj,ij,...ki->...qk", queries, W, keys) + b)
