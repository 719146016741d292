"""Let each of h heads weigh its own block of features, from h = 1 to h = d_v."""

import numpy as np

from attn_course.dimensionality import attend_multi_by_scores
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.dimensionality._masked_values import (
    nan_at_the_last_key,
    one_may_look,
    visible,
)
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def heads_context(scores, values, mask):
    by_feature = np.repeat(scores, values.shape[-1] // scores.shape[-1], axis=-1)
    return attend_multi_by_scores(by_feature, values, mask=mask)[0]


def _heads(rng, q, k, h, size, batch=(), mask=None):
    """Return scores of h heads, values of h blocks, and a mask."""
    mask = some_of(rng, *batch, q, k) if mask is None else mask
    return readable(rng, *batch, q, k, h), readable(rng, *batch, k, h * size), mask


@heads_context.cases(points=1, label=_("two heads and three"))
def a_few_heads(rng):
    yield Case(*_heads(rng, 1, 3, 2, 2, mask=all_of(1, 3)))
    yield Case(*_heads(rng, 2, 5, 2, 3))
    yield Case(*_heads(rng, 5, 7, 3, 2))


@heads_context.cases(points=1, label=_("the two ends: one head, and one per feature"))
def the_two_ends(rng):
    yield Case(*_heads(rng, 2, 5, 1, 3))
    yield Case(*_heads(rng, 2, 3, 5, 1))


@heads_context.cases(points=1, label=_("batches, anything behind the mask, large scores"))
def heads_in_a_batch(rng):
    scores, values, mask = _heads(rng, 2, 3, 2, 2, mask=one_may_look(2, 3))
    yield Case(scores, nan_at_the_last_key(values), mask)
    scores, values, mask = _heads(rng, 1, 3, 2, 2, mask=all_of(1, 3))
    scores[..., 2, :] = -1000.0  # a weight of 0, and the key may be seen all the same
    yield Case(scores, nan_at_the_last_key(values), mask)
    scores, values, mask = _heads(rng, 2, 5, 2, 3)
    yield Case(padded(scores, mask, 900.0), values, mask)
    scores, values, mask = _heads(rng, 2, 7, 3, 5, batch=(2,))
    mask[..., 4] = False
    mask[0, 1] = False
    values[..., 4, :] = np.nan
    yield Case(scores, values, mask)
    _scores, values, mask = _heads(rng, 2, 5, 2, 3)
    offsets = np.array([1000.0, -1000.0])[:, None, None]
    scores = offsets + rng.integers(-8, 9, (2, 5, 2)) / 4  # single precision holds these
    yield Case(padded(scores, mask, 1900.0), values, mask)
    yield Case(*_heads(rng, 3, 5, 2, 2, batch=(2, 3)))


@heads_context.variant
def heads_one_by_one(scores, values, mask):
    size = values.shape[-1] // scores.shape[-1]
    blocks = []
    for head in range(scores.shape[-1]):
        weights = softmax(scores[..., head], mask)  # (..., q, k)
        block = visible(values[..., head * size : (head + 1) * size], mask)
        blocks.append((weights[..., None, :] @ block)[..., 0, :])
    return np.concatenate(blocks, axis=-1)


@heads_context.variant
def heads_with_reshaped_values(scores, values, mask):
    weights = softmax(scores, mask[..., None], axis=-2)
    blocks = visible(values, mask).reshape(*scores.shape, -1)  # (..., q, k, h, size)
    context = np.einsum("...qkh,...qkhs->...qhs", weights, blocks)
    return context.reshape(*context.shape[:-2], -1)


@heads_context.variant
def heads_in_torch(scores, values, mask):
    import torch

    scores, mask = torch.tensor(scores, dtype=torch.float32), torch.tensor(mask)
    values = torch.tensor(values, dtype=torch.float32)
    scores = scores.repeat_interleave(values.shape[-1] // scores.shape[-1], dim=-1)
    hidden = scores.masked_fill(~mask[..., None], -torch.inf)
    weights = torch.softmax(hidden, dim=-2).nan_to_num(0.0)
    parts = (weights * values[..., None, :, :]).masked_fill(~mask[..., None], 0.0)
    return parts.sum(dim=-2)
