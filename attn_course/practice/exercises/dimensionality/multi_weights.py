"""Turn scores into weights that sum to 1 over the keys, separately for each feature."""

import numpy as np

from attn_course import alignment
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def multi_weights(scores, mask):
    return alignment.softmax(scores, mask=mask[..., None], axis=-2)


@multi_weights.cases(points=2, label=_("a few queries, nothing masked"))
def scores_of_a_few_queries(rng):
    yield Case(readable(rng, 1, 2, 3), all_of(1, 2))
    yield Case(readable(rng, 2, 3, 5), all_of(2, 3))
    yield Case(rng.normal(size=(5, 7, 2)), all_of(5, 7))


@multi_weights.cases(points=1, label=_("some keys masked, and anything may stand there"))
def scores_with_a_mask(rng):
    yield Case(readable(rng, 2, 3, 5), some_of(rng, 2, 3))
    mask = some_of(rng, 2, 5)
    yield Case(padded(readable(rng, 2, 5, 3), mask, 900.0), mask)
    mask = some_of(rng, 3, 7)
    yield Case(padded(rng.normal(size=(3, 7, 2)), mask, np.nan), mask)


@multi_weights.cases(points=1, label=_("a batch: scores (..., q, k, d_v), mask (..., q, k)"))
def scores_in_a_batch(rng):
    yield Case(rng.normal(size=(2, 3, 5, 7)), some_of(rng, 2, 3, 5))
    yield Case(rng.normal(size=(2, 3, 5, 7, 2)), some_of(rng, 2, 3, 5, 7))


@multi_weights.cases(points=1, label=_("a query that may attend nowhere has weights 0"))
def scores_masked_out_whole(rng):
    mask = some_of(rng, 3, 5)
    mask[rng.integers(3)] = False
    yield Case(readable(rng, 3, 5, 2), mask)


@multi_weights.cases(points=1, label=_("scores far from 0"))
def scores_far_from_zero(rng):
    offsets = np.array([1000.0, -1000.0])[:, None, None]
    yield Case(readable(rng, 2, 3, 5) + offsets, all_of(2, 3))
    yield Case(readable(rng, 2, 5, 3) + offsets, some_of(rng, 2, 5))


@multi_weights.variant
def weights_in_loops(scores, mask):
    if scores.ndim > 3:
        return np.stack([weights_in_loops(e, m) for e, m in zip(scores, mask, strict=True)])
    weights = np.zeros(scores.shape)
    for query, row in enumerate(scores):
        allowed = np.flatnonzero(mask[query])
        for feature in range(scores.shape[-1] if len(allowed) else 0):
            best = max(row[key, feature] for key in allowed)
            exponentials = [np.exp(row[key, feature] - best) for key in allowed]
            for key, exponential in zip(allowed, exponentials, strict=True):
                weights[query, key, feature] = exponential / sum(exponentials)
    return weights


@multi_weights.variant
def weights_in_torch(scores, mask):
    import torch

    scores, mask = torch.as_tensor(scores), torch.as_tensor(mask)
    hidden = scores.masked_fill(~mask[..., None], -torch.inf)
    return torch.softmax(hidden, dim=-2).nan_to_num(0.0)


@multi_weights.variant
def weights_with_heads_in_front(scores, mask):
    heads = np.moveaxis(scores, -1, 0)  # (d_v, ..., q, k)
    return np.moveaxis(softmax(heads, mask), 0, -1)
