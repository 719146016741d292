"""How well every feature of one input goes with every feature of the other: a table."""

import numpy as np

from attn_course.definitions.features import affinity_bilinear
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import matrix
from attn_course.practice.inputs import readable, table_by_table
from attn_course.translate import _


@reference
def affinity(features_1, features_2, W_A):
    if features_1.ndim > 2:
        pairs = zip(features_1, features_2, strict=True)
        return np.stack([affinity.reference(first, second, W_A) for first, second in pairs])
    return np.array(affinity_bilinear(features_1, features_2, W_A))


def _inputs(rng, n_1, n_2, d_1, d_2, batch=()):
    # Small enough that tanh does not flatten every entry to 1 or -1.
    parts = [readable(rng, *batch, n, d, low=-1, high=1) for n, d in ((n_1, d_1), (n_2, d_2))]
    return (*parts, matrix(rng, d_1, d_2, low=-1, high=1))


@affinity.cases(points=1, label=_("two inputs of one width"))
def of_one_width(rng):
    yield Case(*_inputs(rng, 2, 3, 2, 2))
    yield Case(*_inputs(rng, 5, 2, 3, 3))


@affinity.cases(points=1, label=_("two inputs of different widths"))
def of_two_widths(rng):
    yield Case(*_inputs(rng, 2, 3, 3, 2))
    yield Case(*_inputs(rng, 7, 5, 2, 3))


@affinity.cases(points=1, label=_("batches of any shape"))
def batches(rng):
    yield Case(*_inputs(rng, 5, 3, 2, 2, batch=(2,)))
    yield Case(*_inputs(rng, 3, 5, 7, 2, batch=(2,)))
    yield Case(*_inputs(rng, 3, 2, 5, 7, batch=(2, 3)))


@affinity.variant
def pair_by_pair(features_1, features_2, W_A):
    return table_by_table(lambda k_1, k_2: np.tanh(k_1 @ W_A @ k_2), features_1, features_2)


@affinity.variant
def by_einsum(features_1, features_2, W_A):
    return np.tanh(np.einsum("...id,de,...je->...ij", features_1, W_A, features_2))


@affinity.variant
def as_the_transpose_of_the_other_table(features_1, features_2, W_A):
    return np.swapaxes(np.tanh(features_2 @ W_A.T @ np.swapaxes(features_1, -1, -2)), -1, -2)


@affinity.variant
def in_torch(features_1, features_2, W_A):
    import torch

    first, second, W = (torch.as_tensor(part) for part in (features_1, features_2, W_A))
    return torch.tanh(first @ W @ second.mT)
