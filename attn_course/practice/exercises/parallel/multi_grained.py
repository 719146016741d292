"""Two grains on one pair of inputs: means that cross, and the best match of each feature."""

from functools import partial

import numpy as np

from attn_course.definitions import features as definition
from attn_course.definitions.scoring import general
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import (
    average,
    empty_pair,
    example_by_example,
    matrix,
    padded_pair,
    whole_pair,
)
from attn_course.practice.inputs import padded, readable, softmax
from attn_course.translate import _


@reference
def multi_grained(features_1, features_2, mask_1, mask_2, W_1, W_2, w_A):
    def one_example(first, second, real_1, real_2):
        pairs, masks = ((first, first), (second, second)), (real_1, real_2)
        scores = (partial(general, W=W_1), partial(general, W=W_2))
        coarse, _weights = definition.interactive(*pairs, *scores, *masks)
        # What is in the padding is no number: it must not meet anything.
        kept_1, kept_2 = padded(first, real_1, 0.0), padded(second, real_2, 0.0)
        best = definition.scores_max(definition.affinity_concat(kept_1, kept_2, w_A), *masks)
        fine, _weights = definition.parallel(*pairs, best, *masks)
        grains = [[one["c_1"], one["c_2"]] for one in (coarse, fine)]
        return (np.concatenate([*grains[0], *grains[1]]),)

    return example_by_example(one_example, features_1, features_2, mask_1, mask_2)[0]


def _parameters(rng, d):
    """Return two matrices for the means, and one vector for all pairs."""
    matrices = [matrix(rng, d, d, low=-1.0, high=1.0) for _side in range(2)]
    return (*matrices, readable(rng, 3 * d, low=-1.0, high=1.0))


@multi_grained.cases(points=2, label=_("two inputs without padding"))
def without_padding(rng):
    yield Case(*whole_pair(rng, 2, 3, 2, 2), *_parameters(rng, 2))
    yield Case(*whole_pair(rng, 5, 3, 2, 2), *_parameters(rng, 2))


@multi_grained.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield Case(*padded_pair(rng, 3, 5, 2, 2), *_parameters(rng, 2))
    yield Case(*padded_pair(rng, 5, 3, 2, 2, padding=3.0), *_parameters(rng, 2))
    yield Case(*padded_pair(rng, 5, 7, 3, 3, padding=np.nan), *_parameters(rng, 3))


@multi_grained.cases(points=1, label=_("a batch, and inputs without a feature"))
def batches(rng):
    yield Case(*padded_pair(rng, 5, 3, 7, 7, batch=(2,)), *_parameters(rng, 7))
    yield Case(*padded_pair(rng, 3, 5, 2, 2, batch=(2, 2)), *_parameters(rng, 2))
    yield Case(*empty_pair(rng, 5, 7, 2, 2), *_parameters(rng, 2))


def _best(table, columns):
    """Return the largest entry of each row among the real columns; 0 where there is none."""
    best = np.where(columns[..., None, :], table, -np.inf).max(axis=-1)
    return np.where(columns.any(axis=-1, keepdims=True), best, 0.0)


@multi_grained.variant
def side_by_side(features_1, features_2, mask_1, mask_2, W_1, W_2, w_A):
    u, v, z = w_A.reshape(3, -1)
    coarse, fine = [], []
    sides = [(features_1, mask_1, W_1, u, v), (features_2, mask_2, W_2, v, u)]
    for (own, mask, W, of_own, of_others), (others, others_mask, *_rest) in (sides, sides[::-1]):
        kept, others = padded(own, mask, 0.0), padded(others, others_mask, 0.0)
        mean = average(softmax(np.zeros(others_mask.shape), others_mask), others, others_mask)
        scores = np.einsum("...nd,de,...e->...n", kept, W, mean)
        coarse.append(average(softmax(scores, mask), kept, mask))
        table = (kept * z + of_others) @ others.mT + (kept @ of_own)[..., None]
        fine.append(average(softmax(_best(table, others_mask), mask), kept, mask))
    return np.concatenate([*coarse, *fine], axis=-1)


@multi_grained.variant
def grains_in_torch(features_1, features_2, mask_1, mask_2, W_1, W_2, w_A):
    import torch

    mask_1, mask_2, W_1, W_2 = (torch.as_tensor(part) for part in (mask_1, mask_2, W_1, W_2))
    first = torch.as_tensor(features_1).masked_fill(~mask_1[..., None], 0.0)
    second = torch.as_tensor(features_2).masked_fill(~mask_2[..., None], 0.0)

    def mean(rows, mask):
        return rows.sum(dim=-2) / mask.sum(dim=-1, keepdim=True).clamp(min=1)

    def attended(scores, rows, mask):
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
        return (weights[..., None, :] @ rows)[..., 0, :]

    u, v, z = torch.as_tensor(w_A).chunk(3)
    A = (first @ u)[..., :, None] + (second @ v)[..., None, :] + (first * z) @ second.mT
    A = A.masked_fill(~(mask_1[..., :, None] & mask_2[..., None, :]), -torch.inf)
    best_1, best_2 = (A.amax(dim=-1), A.amax(dim=-2))
    parts = [
        attended((first @ (mean(second, mask_2) @ W_1.T)[..., None])[..., 0], first, mask_1),
        attended((second @ (mean(first, mask_1) @ W_2.T)[..., None])[..., 0], second, mask_2),
        attended(best_1.masked_fill(best_1.isinf(), 0.0), first, mask_1),
        attended(best_2.masked_fill(best_2.isinf(), 0.0), second, mask_2),
    ]
    return torch.cat(parts, dim=-1)
