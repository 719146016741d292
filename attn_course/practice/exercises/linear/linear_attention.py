"""Sum up keys and values first, and let the queries ask the sums."""

import numpy as np

from attn_course.definitions import scale as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, ragged_mask, readable
from attn_course.translate import _

PADDING = 7.0  # large, so that a padded key that counts is noticed


@reference
def linear_attention(queries, keys, values, mask):
    if not (mask.shape == keys.shape[:-1] == values.shape[:-1]):
        raise ValueError("each key has its value and its entry of the mask")  # also made smaller
    if not mask.any(axis=-1).all():
        raise ValueError("each text has a key that is real")
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys have the same width")
    if queries.ndim > 2:
        texts = zip(queries, keys, values, mask, strict=True)
        return np.stack([linear_attention.reference(*text) for text in texts])
    return np.array([definition.linear_attention(q, keys, values, mask) for q in queries])


def _text(rng, *batch, q, k, d, d_v, mask=None):
    mask = all_of(*batch, k) if mask is None else mask
    keys = padded(readable(rng, *batch, k, d), mask, PADDING)
    values = padded(readable(rng, *batch, k, d_v), mask, PADDING)
    return Case(readable(rng, *batch, q, d), keys, values, mask)


@linear_attention.cases(points=1, label=_("one text without padding"))
def one_text(rng):
    yield _text(rng, q=1, k=2, d=2, d_v=1)
    yield _text(rng, q=2, k=3, d=2, d_v=1)
    yield _text(rng, q=3, k=5, d=2, d_v=7)


@linear_attention.cases(points=1, label=_("a batch of texts with padding"))
def with_padding(rng):
    yield _text(rng, q=2, k=3, d=2, d_v=1, mask=np.array([True, False, True]))
    # Padding may be anywhere: the first keys, as many as are real, are others.
    yield _text(rng, 2, q=3, k=5, d=2, d_v=3, mask=ragged_mask(rng, 2, 5)[:, ::-1].copy())
    yield _text(rng, 2, 3, q=2, k=5, d=3, d_v=4, mask=ragged_mask(rng, 2, 3, 5))


@linear_attention.cases(points=1, label=_("keys far below 0, whose features are tiny"))
def far_below(rng):
    for k, d in ((2, 1), (3, 2)):
        keys = readable(rng, k, d) - 40
        yield Case(readable(rng, 2, d), keys, readable(rng, k, 2), all_of(k))
    keys = readable(rng, 2, 3, 2) - 37
    yield Case(readable(rng, 2, 5, 2), keys, readable(rng, 2, 3, 4), ragged_mask(rng, 2, 3))


@linear_attention.variant
def weights_first(queries, keys, values, mask):
    def phi(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    pairs = phi(queries) @ np.swapaxes(phi(keys), -1, -2) * mask[..., None, :]
    return pairs / pairs.sum(axis=-1, keepdims=True) @ values


@linear_attention.variant
def one_product_with_a_column_of_ones(queries, keys, values, mask):
    def phi(x):
        return np.exp(np.minimum(x, 0)) + np.maximum(x, 0)

    columns = np.concatenate([values, np.ones_like(values[..., :1])], axis=-1)
    sums = np.einsum("...kd,...kv->...dv", phi(keys) * mask[..., None], columns)
    both = phi(queries) @ sums
    return both[..., :-1] / both[..., -1:]


@linear_attention.variant
def means_instead_of_sums(queries, keys, values, mask):
    def phi(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    real = mask[..., None] / mask.sum(axis=-1)[..., None, None]
    features = phi(keys) * real
    above = phi(queries) @ (np.swapaxes(features, -1, -2) @ values)
    return above / (phi(queries) * features.sum(axis=-2, keepdims=True)).sum(-1, keepdims=True)
