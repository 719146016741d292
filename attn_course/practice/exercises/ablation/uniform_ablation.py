"""Replace learned weights by equal ones over the keys that a query may see."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import ragged_mask, readable, some_of
from attn_course.translate import _


@reference
def uniform_ablation(scores, values, mask):
    if values.ndim > 2:
        masks = np.broadcast_to(mask, (*values.shape[:-2], *mask.shape[-2:]))
        batch = zip(scores, values, masks, strict=True)
        found = [uniform_ablation.reference(*one) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    (m, n), d = scores.shape, values.shape[-1]
    context, weights = np.zeros((m, d)), np.zeros((m, n))
    for row, allowed in enumerate(np.broadcast_to(mask, (m, n))):
        for key in range(n):
            if allowed[key]:
                weights[row, key] = 1 / allowed.sum()
                context[row] += values[key] / allowed.sum()
    return context, weights


def _some_for_each(rng, *size):
    """Return a mask with a row for each query: the rows of an example differ in their number."""
    mask = some_of(rng, *size)
    mask[..., 0, :] = np.arange(size[-1]) == rng.integers(0, size[-1])
    mask[..., 1, :] = np.arange(size[-1]) != rng.integers(0, size[-1])
    return mask


def _attention(rng, m, n, d, batch=(), padding=None):
    scores, values = readable(rng, *batch, m, n), readable(rng, *batch, n, d)
    if padding is None:
        return Case(scores, values, _some_for_each(rng, *batch, m, n))
    mask = ragged_mask(rng, *batch, 1, n)
    return Case(scores, np.where(mask[..., 0, :, None], values, padding), mask)


@uniform_ablation.cases(points=2, label=_("a mask with a row for each query"))
def a_row_for_each_query(rng):
    yield _attention(rng, 2, 4, 3)
    yield _attention(rng, 3, 5, 2)


@uniform_ablation.cases(points=1, label=_("one row of a mask for all queries"))
def one_row_for_all(rng):
    yield _attention(rng, 2, 4, 3, padding=3.0)
    yield _attention(rng, 3, 7, 2, padding=-4.0)


@uniform_ablation.cases(points=1, label=_("scores that are infinite or NaN"))
def scores_that_are_no_numbers(rng):
    for wrong, size in ((-np.inf, (3, 4, 2)), (np.nan, (2, 5, 3)), (np.inf, (4, 3, 2))):
        scores, values, mask = _attention(rng, *size).args
        yield Case(np.where(mask, scores, wrong), values, mask)
    for wrong, size in ((-np.inf, (2, 4, 3)), (np.nan, (3, 5, 2))):  # allowed keys too
        scores, values, mask = _attention(rng, *size).args
        scores[1, mask[1].argmax()] = wrong
        yield Case(scores, values, mask)


@uniform_ablation.cases(points=1, label=_("a batch"))
def batches(rng):
    yield _attention(rng, 3, 5, 4, batch=(2,))
    yield _attention(rng, 4, 3, 5, batch=(2,), padding=3.0)
    yield _attention(rng, 5, 4, 7, batch=(2, 3))


@uniform_ablation.cases(points=1, label=_("a query that may see nothing; padding that is NaN"))
def nothing_to_see(rng):
    scores, values, mask = _attention(rng, 3, 5, 2).args
    mask[2] = False
    yield Case(scores, values, mask)
    scores, values, mask = _attention(rng, 3, 4, 5, batch=(2,)).args
    mask[0, rng.integers(0, 3)] = False
    mask[1, :, rng.integers(0, 4)] = False
    yield Case(scores, np.where(mask.any(axis=-2)[..., None], values, np.nan), mask)
    yield _attention(rng, 2, 5, 3, padding=np.nan)


@uniform_ablation.variant
def softmax_of_zero_scores(scores, values, mask):
    hidden = np.where(np.broadcast_to(mask, scores.shape), 0.0, -np.inf)
    exponentials = np.exp(hidden)
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total > 0, total, 1.0)
    return weights @ np.where(mask.any(axis=-2)[..., None], values, 0.0), weights


@uniform_ablation.variant
def means_by_einsum(scores, values, mask):
    allowed = np.broadcast_to(mask, scores.shape).astype(float)
    number = np.einsum("...mn->...m", allowed)[..., None]
    weights = np.divide(allowed, number, out=np.zeros_like(allowed), where=number > 0)
    return np.einsum("...mn,...nd->...md", weights, np.nan_to_num(values)), weights


@uniform_ablation.variant
def in_torch(scores, values, mask):
    import torch

    scores, values, mask = (torch.as_tensor(part) for part in (scores, values, mask))
    hidden = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    weights = torch.softmax(hidden, dim=-1).nan_to_num(0.0)
    return weights @ values.masked_fill(~mask.any(dim=-2)[..., None], 0.0), weights
