"""Queries with keys, and a matrix between them: what the cases of this chapter are drawn from."""

import numpy as np

from attn_course.practice.inputs import readable


def pair(rng, q, k, d_q, d_k=None, batch=()):
    """Return readable queries and keys; of the same width, unless `d_k` says otherwise."""
    return readable(rng, *batch, q, d_q), readable(rng, *batch, k, d_k or d_q)


def gentle_matrix(rng, queries, keys):
    """Return a matrix for which the largest score is about 1: neither tanh nor softmax saturate."""
    W = rng.uniform(-1, 1, (keys.shape[-1], queries.shape[-1]))
    scores = np.einsum("...qj,ij,...ki->...qk", queries, W, keys)
    return np.round(W / np.abs(scores).max(), 3)
