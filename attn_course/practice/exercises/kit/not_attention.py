"""Five lines that look like attention: each runs, has the right shape, and ignores its query."""

from collections.abc import Callable
from functools import partial

import numpy as np

from attn_course.definitions import scoring
from attn_course.definitions.attention import attend
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _

DIFFERENT = np.array([-9.0, -7.0, -5.0, -3.0, -1.0, 2.0, 4.0, 6.0, 8.0])  # a weight must matter


def _leaky_relu(x):
    return np.where(x > 0, x, 0.2 * x)


@reference
def not_attention(name, queries, keys, values, edges, W_q, W_k, w):
    additive = partial(scoring.additive, w=w, W_q=W_q, W_k=W_k)
    scores: dict[str, Callable[..., float]] = {
        "additive": additive,
        "graph": partial(additive, act="leaky_relu"),
        "mean": scoring.dot,
        "column": additive,
        "decode": scoring.dot,
    }
    q, k = len(queries), len(keys)
    if q > k:
        raise ValueError(f"{q} queries can't be the last of {k} positions")
    if name == "mean":
        queries = [sum(queries) / q]
    contexts = []
    for t, query in enumerate(queries):
        mask = None
        if name == "graph":
            mask = list(edges[t])
        if name == "decode":
            mask = [l <= k - q + t for l in range(k)]
        contexts.append(attend(query, keys, values, scores[name], mask)[0])
    return np.array(contexts)


def _case(rng, name, q, k, d, d_v, d_w, *, isolated=False):
    """Return a case in which no query has the same weights with an activation and without one."""
    edges = np.arange(k) != rng.integers(0, k, (q, 1))  # every query lacks one key
    seen = edges if name == "graph" else np.ones((q, k), dtype=bool)
    act = _leaky_relu if name == "graph" else np.tanh
    while True:
        queries, keys, w = readable(rng, q, d), readable(rng, k, d), readable(rng, d_w)
        W_q, W_k = (readable(rng, d_w, d, low=-1.5, high=1.5) for _side in range(2))
        hidden = (queries @ W_q.T)[:, None, :] + (keys @ W_k.T)[None, :, :]
        apart = np.abs(softmax(act(hidden) @ w, seen) - softmax(hidden @ w, seen))
        if (apart.max(axis=-1) > 0.05).all():
            break
    if isolated:
        edges[-1] = False
    values = rng.permuted(np.tile(DIFFERENT[:, None], d_v), axis=0)[:k]
    return Case(name, queries, keys, values, edges, W_q, W_k, w)


@not_attention.cases(points=1, label=_("additive"))
def additive_cases(rng):
    yield _case(rng, "additive", 1, 2, 2, 1, 2)
    yield _case(rng, "additive", 2, 3, 2, 1, 2)
    yield _case(rng, "additive", 2, 5, 3, 2, 7)


@not_attention.cases(points=1, label=_("graph"))
def graph_cases(rng):
    yield _case(rng, "graph", 1, 3, 2, 1, 2)
    yield _case(rng, "graph", 2, 5, 3, 2, 7)
    yield _case(rng, "graph", 3, 5, 2, 2, 3, isolated=True)


@not_attention.cases(points=1, label=_("mean"))
def mean_cases(rng):
    yield _case(rng, "mean", 1, 2, 2, 1, 2)
    yield _case(rng, "mean", 2, 3, 2, 1, 2)
    yield _case(rng, "mean", 3, 5, 2, 2, 7)


@not_attention.cases(points=1, label=_("column"))
def column_cases(rng):
    yield _case(rng, "column", 1, 2, 2, 1, 2)
    yield _case(rng, "column", 2, 3, 2, 1, 2)
    yield _case(rng, "column", 2, 5, 3, 2, 7)


@not_attention.cases(points=1, label=_("decode: one query, several, and one per key"))
def decode_cases(rng):
    yield _case(rng, "decode", 1, 2, 2, 1, 2)
    yield _case(rng, "decode", 1, 5, 3, 2, 2)
    yield _case(rng, "decode", 2, 5, 3, 2, 7)
    yield _case(rng, "decode", 3, 7, 2, 2, 2)
    yield _case(rng, "decode", 3, 3, 2, 2, 2)


@not_attention.variant
def scores_and_masks_first(name, queries, keys, values, edges, W_q, W_k, w):
    """All five end in the same softmax; only scores and masks differ."""
    q, k = len(queries), len(keys)
    act = _leaky_relu if name == "graph" else np.tanh
    if name == "mean":
        queries = queries.sum(axis=0)[None] / q
    if name in ("mean", "decode"):
        scores = np.einsum("qd,kd->qk", queries, keys)
    else:
        pairs = np.einsum("qd,md->qm", queries, W_q)[:, None] + np.einsum("kd,md->km", keys, W_k)
        scores = np.einsum("qkm,m->qk", act(pairs), w)
    mask = np.ones(scores.shape, dtype=bool)
    if name == "graph":
        mask = edges
    if name == "decode":
        mask = np.arange(k) - (k - q) <= np.arange(q)[:, None]
    return softmax(scores, mask) @ values


@not_attention.variant
def lines_in_torch(name, queries, keys, values, edges, W_q, W_k, w):
    import torch
    from torch.nn import functional

    queries, keys, values, edges, W_q, W_k, w = (
        torch.as_tensor(part) for part in (queries, keys, values, edges, W_q, W_k, w)
    )
    hidden = (queries @ W_q.T)[:, None, :] + keys @ W_k.T
    if name == "additive":
        return torch.softmax(torch.tanh(hidden) @ w, dim=-1) @ values
    if name == "graph":
        scores = functional.leaky_relu(hidden, 0.2) @ w
        weights = torch.softmax(scores.masked_fill(~edges, -torch.inf), dim=-1)
        return weights.nan_to_num(0.0) @ values
    if name == "mean":
        return torch.softmax(queries.mean(dim=0, keepdim=True) @ keys.T, dim=-1) @ values
    if name == "column":
        column = torch.tanh(hidden) @ w[:, None]  # (q, k, 1)
        return (torch.softmax(column, dim=1) * values).sum(dim=1)
    last = torch.ones(len(keys), len(keys)).tril()[-len(queries) :].bool()
    scores = (queries @ keys.T).masked_fill(~last, -torch.inf)
    return torch.softmax(scores, dim=-1) @ values
