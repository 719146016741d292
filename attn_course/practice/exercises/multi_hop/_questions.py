"""Padded questions and padded facts, and one hop and a chain of them for a single question."""

from functools import partial

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import general
from attn_course.practice.inputs import all_of, padded, readable


def partly_real(rng, *size):
    """Return a mask (..., n) with two real rows at least in each, and padding anywhere."""
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the positions in each row
    return ranks < rng.integers(2, size[-1], (*size[:-1], 1))  # n itself is left out


def words_and_facts(rng, m, n, d_q, d_f, batch=(), padding=0.0):
    """Return words, features and their masks; without padding if it is None."""
    if padding is None:
        masks = all_of(*batch, m), all_of(*batch, n)
        padding = 0.0
    else:
        masks = partly_real(rng, *batch, m), partly_real(rng, *batch, n)
    words, features = (
        padded(readable(rng, *batch, size, d), mask, padding)
        for size, d, mask in zip((m, n), (d_q, d_f), masks, strict=True)
    )
    return words, features, *masks


def matrices(rng, d_q, d_f):
    """Return W_q and W, small enough that no hop has all its weight in one position."""
    W_q = readable(rng, d_q, d_q + d_f, low=-1.0, high=1.0)
    return W_q, readable(rng, d_f, d_q + d_f, low=-1.0, high=1.0)


def hop(query, context, words, features, word_mask, mask, W_q, W):
    """Return new query, new context and weights of one question, computed in loops."""
    score_q, score = partial(general, W=W_q), partial(general, W=W)
    query, _weights = attend([*query, *context], words, words, score_q, word_mask)
    context, weights = attend([*query, *context], features, features, score, mask)
    return query, context, weights


def mean_of_real(vectors, mask):
    """Return the mean of the real rows of one input, 0 where there are none."""
    total, number = np.zeros(vectors.shape[-1]), 0
    for vector, is_real in zip(vectors, mask, strict=True):
        if is_real:
            total, number = total + vector, number + 1
    return total / max(number, 1)
