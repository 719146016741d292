"""Split columns into heads: an exchange of axes that no reshape can replace."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def split_heads(x, heads):
    d = x.shape[-1]
    if heads < 1 or d % heads:
        raise ValueError(f"the number of heads must divide the {d} columns of x, but is {heads}")
    size = d // heads
    return np.stack([x[..., j * size : (j + 1) * size] for j in range(heads)], axis=-3)


def _numbered(n, d):
    """Return 1, 2, 3, … in rows: a learner sees where each number went."""
    return np.arange(1.0, n * d + 1).reshape(n, d)


@split_heads.cases(points=1, label=_("two heads and three"))
def a_few_heads(rng):
    yield Case(_numbered(3, 4), 2)
    yield Case(_numbered(5, 6), 2)
    yield Case(_numbered(4, 6), 2)  # two heads divide the rows too: a split of the rows runs
    yield Case(readable(rng, 2, 15), 3)
    yield Case(readable(rng, 7, 6), 3)


@split_heads.cases(points=1, label=_("a batch"))
def batches(rng):
    yield Case(_numbered(10, 6).reshape(2, 5, 6), 3)
    yield Case(readable(rng, 2, 3, 10), 5)
    yield Case(readable(rng, 2, 3, 5, 14), 2)


@split_heads.cases(points=1, label=_("the two ends: a head per column, and a single head"))
def the_two_ends(rng):
    yield Case(_numbered(2, 3), 3)
    yield Case(readable(rng, 2, 3, 5), 5)
    yield Case(readable(rng, 3, 5), 1)


@split_heads.variant
def heads_by_slices(x, heads):
    return np.stack(np.split(x, heads, axis=-1), axis=-3)


@split_heads.variant
def heads_number_by_number(x, heads):
    size = x.shape[-1] // heads
    split = np.zeros((*x.shape[:-2], heads, x.shape[-2], size))
    for column in range(x.shape[-1]):
        split[..., column // size, :, column % size] = x[..., column]
    return split


@split_heads.variant
def heads_in_torch(x, heads):
    import torch

    return torch.as_tensor(x).unflatten(-1, (heads, -1)).transpose(-3, -2)
