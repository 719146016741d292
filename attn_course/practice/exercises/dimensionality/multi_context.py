"""Average the values, each feature with its own weights, and let no padding through."""

import numpy as np

from attn_course.dimensionality import attend_multi_by_scores
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.dimensionality._masked_values import (
    nan_at_the_last_key,
    one_may_look,
    visible,
)
from attn_course.practice.inputs import all_of, readable, some_of
from attn_course.translate import _


@reference
def multi_context(weights, values, mask):
    def already_weights(scores, mask):
        return scores

    return attend_multi_by_scores(weights, values, already_weights, mask)[0]


def _average(rng, q, k, d_v, batch=(), mask=None):
    """Return weights with one decimal before they are shared out, values, and a mask."""
    mask = some_of(rng, *batch, q, k) if mask is None else mask
    shares = np.round(rng.uniform(0.2, 2.0, (*mask.shape, d_v)), 1)
    shares = np.where(mask[..., None], shares, 0.0)
    total = shares.sum(axis=-2, keepdims=True)
    return shares / np.where(total > 0, total, 1), readable(rng, *batch, k, d_v), mask


def _with_padding(rng, average, padding):
    """Return the three with one more key that no query may attend to, anywhere among the keys."""
    weights, values, mask = average
    at = int(rng.integers(values.shape[-2] + 1))
    return (
        np.insert(weights, at, 0.0, axis=-2),
        np.insert(values, at, padding, axis=-2),
        np.insert(mask, at, False, axis=-1),
    )


@multi_context.cases(points=1, label=_("a few queries"))
def averages_of_a_few(rng):
    yield Case(*_average(rng, 1, 2, 3, mask=all_of(1, 2)))
    yield Case(*_average(rng, 2, 3, 5))
    yield Case(*_average(rng, 5, 7, 2))


@multi_context.cases(points=1, label=_("a batch: weights (..., q, k, d_v), values (..., k, d_v)"))
def averages_in_a_batch(rng):
    yield Case(*_average(rng, 3, 5, 7, batch=(2,)))
    yield Case(*_average(rng, 5, 7, 2, batch=(2, 3)))


@multi_context.cases(points=1, label=_("NaN behind the mask, and a query that attends nowhere"))
def averages_with_padding(rng):
    yield Case(*_with_padding(rng, _average(rng, 2, 2, 5), np.nan))
    weights, values, mask = _average(rng, 2, 3, 2, mask=one_may_look(2, 3))
    yield Case(weights, nan_at_the_last_key(values), mask)
    weights, values, mask = _average(rng, 1, 3, 2, mask=all_of(1, 3))
    weights[..., :2, :] += weights[..., 2:, :] / 2
    weights[..., 2:, :] = 0.0  # as a softmax leaves it; the key may be seen all the same
    yield Case(weights, nan_at_the_last_key(values), mask)
    mask = some_of(rng, 2, 3, 5)
    mask[1, rng.integers(3)] = False
    yield Case(*_with_padding(rng, _average(rng, 3, 5, 2, batch=(2,), mask=mask), np.nan))


@multi_context.variant
def context_in_loops(weights, values, mask):
    if weights.ndim > 3:
        parts = zip(weights, values, mask, strict=True)
        return np.stack([context_in_loops(*part) for part in parts])
    context = np.zeros((weights.shape[0], weights.shape[2]))
    for query, key, feature in np.ndindex(weights.shape):
        if mask[query, key]:
            context[query, feature] += weights[query, key, feature] * values[key, feature]
    return context


@multi_context.variant
def context_by_einsum(weights, values, mask):
    return np.einsum("...qkd,...qkd->...qd", weights, visible(values, mask))


@multi_context.variant
def context_as_heads(weights, values, mask):
    rows = np.moveaxis(weights, -1, -3)[..., None, :]  # (..., d_v, q, 1, k)
    columns = np.moveaxis(visible(values, mask), -1, -3)[..., None]  # (..., d_v, q, k, 1)
    return (rows @ columns)[..., 0, 0].mT


@multi_context.variant
def context_in_torch(weights, values, mask):
    import torch

    weights = torch.tensor(weights, dtype=torch.float32)
    parts = weights * torch.tensor(values, dtype=torch.float32).unsqueeze(-3)
    return parts.masked_fill(~torch.tensor(mask)[..., None], 0.0).sum(dim=-2)
