"""Put the heads next to each other again, one row per word."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def merge_heads(x):
    return np.concatenate([x[..., j, :, :] for j in range(x.shape[-3])], axis=-1)


def _numbered(heads, n, size):
    """Return heads whose merged rows count 1, 2, 3, …: a learner sees where each number went."""
    merged = np.arange(1.0, heads * n * size + 1).reshape(n, heads, size)
    return merged.swapaxes(0, 1).copy()


@merge_heads.cases(points=1, label=_("two heads and three"))
def a_few_heads(rng):
    yield Case(_numbered(2, 3, 2))
    yield Case(_numbered(2, 5, 3))
    yield Case(readable(rng, 3, 2, 5))
    yield Case(readable(rng, 3, 7, 2))


@merge_heads.cases(points=1, label=_("a batch"))
def batches(rng):
    yield Case(readable(rng, 2, 3, 5, 2))
    yield Case(readable(rng, 2, 5, 3, 2))
    yield Case(readable(rng, 2, 5, 2, 3, 7))


@merge_heads.cases(points=1, label=_("the two ends: a head per column, and a single head"))
def the_two_ends(rng):
    yield Case(_numbered(3, 2, 1))
    yield Case(readable(rng, 2, 5, 3, 1))
    yield Case(readable(rng, 1, 3, 5))


@merge_heads.variant
def columns_number_by_number(x):
    *batch, heads, n, size = x.shape
    merged = np.zeros((*batch, n, heads * size))
    for column in range(heads * size):
        merged[..., column] = x[..., column // size, :, column % size]
    return merged


@merge_heads.variant
def rows_by_einsum(x):
    rows = np.einsum("...hnd->...nhd", x)
    return rows.reshape(*rows.shape[:-2], -1)


@merge_heads.variant
def heads_in_torch(x):
    import torch

    return torch.as_tensor(x).transpose(-3, -2).flatten(-2)
