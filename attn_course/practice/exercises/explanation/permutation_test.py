"""How far does the prediction move when the weights are permuted? The median tells."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.explanation._sentences import (
    prediction,
    require_distributions,
    shares,
    tvd,
)
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def permutation_test(values, weights, W, permutations):
    if weights.ndim > 1:
        pairs = zip(values, weights, strict=True)
        return np.stack([permutation_test.reference(v, a, W, permutations) for v, a in pairs])
    require_distributions(weights)
    if len(W) < 2:
        raise ValueError("with one class nothing can change")  # where a case is made smaller
    if (np.sort(permutations, axis=-1) != np.arange(len(weights))).any() or not len(permutations):
        raise ValueError("these are not permutations")  # where a case is made smaller
    whole = prediction(values, weights, W)
    changes = sorted(tvd(prediction(values, weights[pi], W), whole) for pi in permutations)
    middle = len(changes) // 2
    if len(changes) % 2:
        return np.array(changes[middle])
    return np.array((changes[middle - 1] + changes[middle]) / 2)


def _sentence(rng, n, d, classes, number, batch=()):
    values, weights = readable(rng, *batch, n, d), shares(rng, *batch, n)
    W = readable(rng, classes, d, low=-1.5, high=1.5)
    return Case(values, weights, W, _permutations(rng, number, n))


def _permutations(rng, number, n):
    """Return permutations (number, n): the first is a rotation, none leaves everything in place."""
    rows = [np.roll(np.arange(n), int(rng.choice([-1, 1])))]
    while len(rows) < number:
        drawn = rng.permutation(n)
        if (drawn != np.arange(n)).any():
            rows.append(drawn)
    return np.array(rows)


@permutation_test.cases(points=2, label=_("one sentence, an odd number of permutations"))
def odd_number(rng):
    yield _sentence(rng, 3, 2, 4, number=1)
    yield _sentence(rng, 4, 2, 3, number=5)


@permutation_test.cases(points=1, label=_("an even number of permutations"))
def even_number(rng):
    yield _sentence(rng, 3, 4, 5, number=2)
    yield _sentence(rng, 5, 3, 2, number=4)


@permutation_test.cases(points=1, label=_("a batch, with the same permutations for every sentence"))
def batches(rng):
    yield _sentence(rng, 3, 4, 5, number=7, batch=(2,))
    yield _sentence(rng, 5, 4, 7, number=6, batch=(2, 3))


@permutation_test.variant
def by_einsum(values, weights, W, permutations):
    permuted = weights[..., permutations]  # (..., p, n)
    moved = softmax(np.einsum("...pn,...nd,cd->...pc", permuted, values, W))
    whole = softmax(np.einsum("...n,...nd,cd->...c", weights, values, W))
    return np.median(0.5 * np.abs(moved - whole[..., None, :]).sum(axis=-1), axis=-1)


@permutation_test.variant
def values_moved_back(values, weights, W, permutations):
    whole = softmax((weights[..., None] * values).sum(axis=-2) @ W.T)
    changes = []
    for pi in permutations:
        moved = values[..., np.argsort(pi), :]  # value l goes where its weight is now
        changed = softmax((weights[..., None] * moved).sum(axis=-2) @ W.T)
        changes.append(np.maximum(changed - whole, 0).sum(axis=-1))
    return np.quantile(changes, 0.5, axis=0)


@permutation_test.variant
def in_torch(values, weights, W, permutations):
    import torch

    values, weights, W = (torch.as_tensor(part) for part in (values, weights, W))
    pi = torch.as_tensor(permutations)
    moved = torch.softmax(weights[..., pi] @ values @ W.T, dim=-1)  # (..., p, classes)
    whole = torch.softmax((weights[..., None, :] @ values) @ W.T, dim=-1)
    return (0.5 * (moved - whole).abs().sum(dim=-1)).quantile(0.5, dim=-1)
