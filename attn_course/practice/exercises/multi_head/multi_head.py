"""Multi-head attention in full: project, split, attend, merge, mix."""

import numpy as np

from attn_course.definitions import queries as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def multi_head(queries, keys, values, mask, W_q, W_K, W_V, W_O, heads):
    if mask.ndim > 1:
        examples = zip(queries, keys, values, mask, strict=True)
        found = [multi_head.reference(*one, W_q, W_K, W_V, W_O, heads) for one in examples]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    matrices = zip(*(np.split(W, heads) for W in (W_q, W_K, W_V)), strict=True)
    per_head = list(matrices)
    found = [
        definition.multi_head(query, keys, values, per_head, W_O, mask=mask) for query in queries
    ]
    contexts, weights = zip(*found, strict=True)
    return np.stack(contexts), np.stack(weights, axis=1)


def _layer(rng, heads, d_head, d_head_v, d_q, d_k, d_v, d_out):
    return (
        readable(rng, heads * d_head, d_q, low=-1.0, high=1.0),
        readable(rng, heads * d_head, d_k, low=-1.0, high=1.0),
        readable(rng, heads * d_head_v, d_v, low=-1.0, high=1.0),
        readable(rng, d_out, heads * d_head_v, low=-1.0, high=1.0),
        heads,
    )


def _inputs(rng, q, k, d_q, d_k, d_v, batch=(), mask=None, padding=0.0):
    mask = some_of(rng, *batch, k) if mask is None else mask
    batch = mask.shape[:-1]
    keys, values = readable(rng, *batch, k, d_k), readable(rng, *batch, k, d_v)
    queries = readable(rng, *batch, q, d_q)
    return queries, padded(keys, mask, padding), padded(values, mask, padding), mask


@multi_head.cases(points=2, label=_("one width for everything, no padding"))
def one_width(rng):
    yield Case(*_inputs(rng, 1, 2, 2, 2, 2, mask=all_of(2)), *_layer(rng, 2, 1, 1, 2, 2, 2, 2))
    yield Case(*_inputs(rng, 2, 3, 4, 4, 4, mask=all_of(3)), *_layer(rng, 2, 2, 2, 4, 4, 4, 4))
    yield Case(*_inputs(rng, 5, 3, 6, 6, 6, mask=all_of(3)), *_layer(rng, 3, 2, 2, 6, 6, 6, 6))


@multi_head.cases(points=1, label=_("widths that differ"))
def different_widths(rng):
    yield Case(*_inputs(rng, 2, 3, 3, 2, 5, mask=all_of(3)), *_layer(rng, 2, 2, 3, 3, 2, 5, 7))
    yield Case(*_inputs(rng, 3, 5, 2, 7, 3, mask=all_of(5)), *_layer(rng, 3, 5, 2, 2, 7, 3, 5))


@multi_head.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield Case(*_inputs(rng, 2, 3, 2, 2, 2, padding=3.0), *_layer(rng, 2, 1, 1, 2, 2, 2, 2))
    yield Case(*_inputs(rng, 2, 5, 2, 3, 3, padding=np.nan), *_layer(rng, 2, 2, 3, 2, 3, 3, 5))


@multi_head.cases(points=1, label=_("a batch, and an input without a key"))
def batches(rng):
    layer = _layer(rng, 2, 2, 2, 4, 4, 4, 4)
    different = np.array([[True, True, False], [False, True, True]])
    yield Case(*_inputs(rng, 2, 3, 4, 4, 4, mask=different, padding=2.0), *layer)  # batch = heads
    yield Case(*_inputs(rng, 3, 5, 2, 3, 5, batch=(7,)), *_layer(rng, 3, 2, 5, 2, 3, 5, 2))
    yield Case(
        *_inputs(rng, 2, 3, 2, 3, 5, batch=(2, 3), padding=np.nan),
        *_layer(rng, 2, 3, 2, 2, 3, 5, 7),
    )
    empty = np.array([[True, False, True], [False] * 3, [True, True, False]])
    yield Case(*_inputs(rng, 2, 3, 2, 2, 2, mask=empty, padding=2.0), *_layer(rng, 2, 1, 1, 2, 2, 2, 2))


@multi_head.variant
def head_by_head(queries, keys, values, mask, W_q, W_K, W_V, W_O, heads):
    """W_O in blocks: the output is the sum of what each head contributes."""
    kept = padded(values, mask, 0.0)
    d_head = len(W_q) // heads
    contexts, weights = 0.0, []
    blocks = (np.split(W_q, heads), np.split(W_K, heads), np.split(W_V, heads))
    for M_q, M_k, M_v, M_o in zip(*blocks, np.split(W_O, heads, axis=1), strict=True):
        scores = (queries @ M_q.T) @ (keys @ M_k.T).mT / np.sqrt(d_head)
        weights.append(softmax(scores, mask[..., None, :]))
        contexts = contexts + weights[-1] @ (kept @ M_v.T) @ M_o.T
    return contexts, np.stack(weights, axis=-3)


@multi_head.variant
def heads_by_einsum(queries, keys, values, mask, W_q, W_K, W_V, W_O, heads):
    M_q, M_k, M_v = (W.reshape(heads, -1, W.shape[-1]) for W in (W_q, W_K, W_V))
    q = np.einsum("...qi,hdi->...hqd", queries, M_q) / np.sqrt(M_q.shape[1])
    scores = np.einsum("...hqd,hdi,...ki->...hqk", q, M_k, keys)
    weights = softmax(scores, mask[..., None, None, :])
    found = np.einsum("...hqk,...ki,hdi->...qhd", weights, padded(values, mask, 0.0), M_v)
    return found.reshape(*queries.shape[:-1], -1) @ W_O.T, weights


@multi_head.variant
def heads_in_torch(queries, keys, values, mask, W_q, W_K, W_V, W_O, heads):
    import torch

    queries, keys, values, mask, W_q, W_K, W_V, W_O = (
        torch.as_tensor(part) for part in (queries, keys, values, mask, W_q, W_K, W_V, W_O)
    )

    def split(x):
        return x.unflatten(-1, (heads, -1)).transpose(-3, -2)

    q, k = split(queries @ W_q.T), split(keys.masked_fill(~mask[..., None], 0.0) @ W_K.T)
    v = split(values.masked_fill(~mask[..., None], 0.0) @ W_V.T)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    hidden = scores.masked_fill(~mask[..., None, None, :], -torch.inf)
    weights = torch.softmax(hidden, dim=-1).nan_to_num(0.0)
    return (weights @ v).transpose(-3, -2).flatten(-2) @ W_O.T, weights
