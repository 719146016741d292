"""Many query heads that share a few key-value heads."""

import numpy as np

from attn_course.definitions import scale as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def grouped_heads(queries, keys, values):
    heads, kv_heads = queries.shape[-3], keys.shape[-3]
    if not kv_heads or heads % kv_heads or kv_heads != values.shape[-3]:
        raise ValueError("the key-value heads divide the query heads")  # also made smaller
    if keys.shape[-2] != values.shape[-2] or not keys.shape[-2]:
        raise ValueError("each key has its value, and there is one at least")
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys have the same width")
    if queries.ndim > 3:
        texts = zip(queries, keys, values, strict=True)
        return np.stack([grouped_heads.reference(*text) for text in texts])
    columns = [
        definition.grouped_query(queries[:, i], keys, values) for i in range(queries.shape[1])
    ]
    return np.stack(columns, axis=1)  # one query of each head after the other


def _case(rng, heads, kv_heads, q, k, d, d_v, *batch):
    shared = readable(rng, *batch, kv_heads, k, d), readable(rng, *batch, kv_heads, k, d_v)
    return Case(readable(rng, *batch, heads, q, d), *shared)


@grouped_heads.cases(points=1, label=_("two heads for each key-value head"))
def pairs(rng):
    yield _case(rng, 4, 2, 1, 2, 2, 1)
    yield _case(rng, 6, 3, 2, 3, 2, 5)
    yield _case(rng, 4, 2, 3, 2, 5, 3)


@grouped_heads.cases(points=1, label=_("other shares, down to one key-value head, up to all"))
def other_shares(rng):
    yield _case(rng, 6, 2, 2, 3, 2, 2)
    yield _case(rng, 10, 2, 3, 2, 5, 7)
    yield _case(rng, 3, 1, 2, 5, 2, 3)
    yield _case(rng, 3, 3, 2, 5, 2, 3)


@grouped_heads.cases(points=1, label=_("a batch, and a batch of batches"))
def a_batch(rng):
    yield _case(rng, 4, 2, 2, 3, 2, 5, 3)
    yield _case(rng, 6, 2, 3, 5, 2, 7, 2)
    yield _case(rng, 6, 3, 2, 5, 7, 3, 3, 2)


@grouped_heads.variant
def head_by_head(queries, keys, values):
    share = queries.shape[-3] // keys.shape[-3]
    contexts = []
    for head in range(queries.shape[-3]):
        k, v = keys[..., head // share, :, :], values[..., head // share, :, :]
        scores = queries[..., head, :, :] @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
        contexts.append(softmax(scores) @ v)
    return np.stack(contexts, axis=-3)


@grouped_heads.variant
def without_a_copy(queries, keys, values):
    *batch, heads, q, d = queries.shape
    kv_heads = keys.shape[-3]
    shared = queries.reshape(*batch, kv_heads, heads // kv_heads, q, d)
    scores = np.einsum("...gsqd,...gkd->...gsqk", shared, keys) / np.sqrt(d)
    contexts = np.einsum("...gsqk,...gkv->...gsqv", softmax(scores), values)
    return contexts.reshape(*batch, heads, q, -1)


@grouped_heads.variant
def in_torch(queries, keys, values):
    import torch
    from torch.nn import functional

    q, k, v = (torch.as_tensor(x) for x in (queries, keys, values))
    return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
