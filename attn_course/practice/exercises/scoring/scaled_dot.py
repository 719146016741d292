"""Find two bugs in a scaled dot product."""

import numpy as np

from attn_course import scoring
from attn_course.definitions import scoring as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.scoring._pairs import pair
from attn_course.practice.inputs import table_by_table
from attn_course.translate import _

scaled_dot = reference(scoring.scaled_dot)


@scaled_dot.cases(points=1, label=_("one table"))
def scaled_tables(rng):
    yield Case(*pair(rng, 1, 2, 3))
    yield Case(*pair(rng, 2, 3, 5))
    yield Case(*pair(rng, 5, 3, 2))


@scaled_dot.cases(points=1, label=_("a batch: queries (..., q, d_k), keys (..., k, d_k)"))
def scaled_batches(rng):
    yield Case(*pair(rng, 3, 5, 7, batch=(2,)))
    yield Case(*pair(rng, 7, 2, 11, batch=(5, 3)))


@scaled_dot.variant
def scaled_in_loops(queries, keys):
    return table_by_table(definition.scaled_dot, queries, keys)


@scaled_dot.variant
def scaled_on_both_sides(queries, keys):
    fourth_root = keys.shape[-1] ** 0.25
    return (queries / fourth_root) @ np.swapaxes(keys / fourth_root, -2, -1)


@scaled_dot.variant
def scaled_in_torch(queries, keys):
    import torch

    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    return torch.einsum("...qd,...kd->...qk", queries, keys) * keys.shape[-1] ** -0.5
