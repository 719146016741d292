"""Score keys for queries of another width, with a matrix and a bias."""

import numpy as np

from attn_course import scoring
from attn_course.definitions import scoring as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.scoring._pairs import pair
from attn_course.practice.inputs import readable, table_by_table
from attn_course.translate import _

biased_general = reference(scoring.biased_general)


@biased_general.cases(points=1, label=_("b = 0: the general score"))
def general_tables(rng):
    yield Case(*pair(rng, 1, 3, 2), readable(rng, 2, 2), np.zeros(2))
    yield Case(*pair(rng, 2, 3, 5, 7), readable(rng, 7, 5), np.zeros(7))


@biased_general.cases(points=1, label=_("with a bias"))
def biased_tables(rng):
    yield Case(*pair(rng, 1, 3, 2), readable(rng, 2, 2), readable(rng, 2))
    yield Case(*pair(rng, 5, 2, 7, 3), readable(rng, 3, 7), readable(rng, 3))


@biased_general.cases(points=1, label=_("a batch: queries (..., q, d_q), keys (..., k, d_k)"))
def biased_batches(rng):
    yield Case(*pair(rng, 3, 5, 7, 11, (2,)), readable(rng, 11, 7), readable(rng, 11))
    yield Case(*pair(rng, 7, 3, 2, 5, (3, 2)), readable(rng, 5, 2), readable(rng, 5))


@biased_general.variant
def biased_in_loops(queries, keys, W, b):
    return table_by_table(definition.biased_general, queries, keys, W, b)


@biased_general.variant
def biased_with_mapped_keys(queries, keys, W, b):
    # W^T k can be computed once for all queries; what b adds is the same for all of them.
    return queries @ np.swapaxes(keys @ W, -2, -1) + (keys @ b)[..., None, :]


@biased_general.variant
def biased_in_torch(queries, keys, W, b):
    import torch
    from torch.nn import functional

    queries, keys, W, b = (torch.as_tensor(array) for array in (queries, keys, W, b))
    return functional.linear(queries, W, b) @ keys.mT
