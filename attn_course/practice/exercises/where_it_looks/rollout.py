"""Rollout: heads averaged, the residual added, and the layers multiplied in order."""

from functools import reduce

import numpy as np

from attn_course.evaluation import attention_rollout
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.where_it_looks._weights import shares
from attn_course.translate import _


@reference
def rollout(weights):
    if weights.ndim > 4:
        return np.stack([rollout.reference(one) for one in weights])
    if weights.shape[0] < 1 or weights.shape[1] < 1:
        raise ValueError("there is one layer and one head at least")  # also in smaller cases
    return attention_rollout(list(weights), heads=True)


@rollout.cases(points=2, label=_("two layers and three, several heads"))
def layers_and_heads(rng):
    yield Case(shares(rng, 2, 3, 4, 4))
    yield Case(shares(rng, 3, 2, 4, 4))


@rollout.cases(points=1, label=_("a batch"))
def batches(rng):
    yield Case(shares(rng, 2, 3, 4, 5, 5))
    yield Case(shares(rng, 3, 2, 4, 2, 5, 5))


@rollout.cases(points=1, label=_("positions that attend nowhere, weights that sum to less than 1"))
def rows_that_sum_to_less(rng):
    weights = shares(rng, 2, 3, 5, 5)
    weights[:, :, rng.integers(5)] = 0.0
    yield Case(weights)
    yield Case(np.round(shares(rng, 3, 2, 4, 4) * rng.uniform(0.4, 0.9, (3, 2, 4, 1)), 2))


@rollout.cases(points=1, label=_("a single layer, a single head"))
def single(rng):
    yield Case(shares(rng, 1, 3, 4, 4))
    yield Case(shares(rng, 3, 1, 4, 4))


@rollout.variant
def from_the_top_down(weights):
    mixed = np.moveaxis(weights, -4, 0).mean(axis=-3)
    reached = np.eye(weights.shape[-1])
    for layer in mixed[::-1]:
        layer = layer + np.eye(weights.shape[-1])
        reached = reached @ (layer / layer.sum(axis=-1, keepdims=True))
    return reached


@rollout.variant
def with_half_of_each(weights):
    def step(layer):
        half = 0.5 * layer + 0.5 * np.eye(layer.shape[-1])
        return np.einsum("...ij,...i->...ij", half, 1 / half.sum(axis=-1))

    layers = [
        step(weights[..., number, :, :, :].mean(axis=-3)) for number in range(weights.shape[-4])
    ]
    return reduce(lambda below, layer: np.einsum("...ij,...jk->...ik", layer, below), layers)


@rollout.variant
def in_torch(weights):
    import torch

    steps = torch.as_tensor(weights).mean(dim=-3)
    steps = steps + torch.eye(steps.shape[-1], dtype=steps.dtype)
    steps = steps / steps.sum(dim=-1, keepdim=True)
    return (
        torch.linalg.multi_dot(tuple(steps.flip(0)))
        if steps.ndim == 3 and len(steps) > 1
        else (reduce(lambda below, layer: layer @ below, steps.unbind(dim=-3)))
    )
