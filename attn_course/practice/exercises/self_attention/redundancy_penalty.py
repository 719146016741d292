"""Lin's penalty: how much do the rows of a table of weights say the same?"""

import numpy as np

from attn_course.definitions import queries as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.self_attention._sentences import overlapping_weights
from attn_course.translate import _


@reference
def redundancy_penalty(weights):
    if not np.allclose(weights.sum(axis=-1), 1):
        raise ValueError("each row of weights sums to 1")  # also made smaller
    if weights.ndim == 2:
        return np.array(definition.penalty(weights))
    return np.stack([redundancy_penalty.reference(one) for one in weights])


@redundancy_penalty.cases(points=2, label=_("one table of weights"))
def one_table(rng):
    yield Case(overlapping_weights(rng, 2, 3))
    yield Case(overlapping_weights(rng, 3, 5))
    yield Case(overlapping_weights(rng, 5, 2))


@redundancy_penalty.cases(points=1, label=_("a batch of tables: one number each"))
def a_batch(rng):
    yield Case(overlapping_weights(rng, 2, 3, 5))
    yield Case(overlapping_weights(rng, 3, 2, 5, 7))


@redundancy_penalty.cases(points=1, label=_("rows apart, rows equal, padding"))
def special_rows(rng):
    apart = np.eye(5)[rng.permutation(5)[:3]]
    equal = np.tile(np.eye(5)[rng.integers(5)], (3, 1))
    half = np.array([[0.5, 0.5, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 1, 0]])
    yield Case(np.stack([apart, equal, half]))


@redundancy_penalty.variant
def by_trace(weights):
    gap = weights @ np.swapaxes(weights, -1, -2) - np.eye(weights.shape[-2])
    return np.trace(gap @ gap, axis1=-2, axis2=-1)  # symmetric, so its square has the norm


@redundancy_penalty.variant
def by_norm(weights):
    overlaps = np.einsum("...in,...jn->...ij", weights, weights)
    return np.linalg.norm(overlaps - np.eye(weights.shape[-2]), axis=(-2, -1)) ** 2


@redundancy_penalty.variant
def pair_by_pair(weights):
    r = weights.shape[-2]
    total = np.zeros(weights.shape[:-2])
    for i in range(r):
        for j in range(r):
            overlap = (weights[..., i, :] * weights[..., j, :]).sum(axis=-1)
            total = total + (overlap - (i == j)) ** 2
    return total


@redundancy_penalty.variant
def in_torch(weights):
    import torch

    weights = torch.as_tensor(weights)
    overlaps = weights @ weights.mT
    return (overlaps - torch.eye(weights.shape[-2], dtype=weights.dtype)).pow(2).sum((-2, -1))
