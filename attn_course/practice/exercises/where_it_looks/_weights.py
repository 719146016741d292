"""Weights that a learner can add up by hand, and links that tell the error rates apart."""

import numpy as np

from attn_course.practice.inputs import padded


def shares(rng, *size):
    """Return rows of positive weights in hundredths, no two of a row equal, that sum to 1."""
    rows = np.array([_row(rng, size[-1]) for _ in range(int(np.prod(size[:-1])))])
    return rows.reshape(size)


def _row(rng, n):
    while True:
        cuts = np.sort(rng.choice(np.arange(1, 100), n - 1, replace=False))
        parts = np.diff(cuts, prepend=0, append=100)
        if len(set(parts)) == n:
            return parts / 100


def with_padding(weights, mask, padding):
    """Return the weights with `padding` where the mask is False."""
    return padded(weights[..., None], mask, padding)[..., 0]


def drawn_links(rng, q, k):
    """Return predicted, sure and possible links on which no two ways to count agree."""
    while True:
        sure = rng.random((q, k)) < 0.35
        possible = sure | (rng.random((q, k)) < 0.3)
        predicted = rng.random((q, k)) < 0.45
        rates = _ways_to_count(predicted, sure, possible)
        if all(abs(one - rates[0]) > 0.02 for one in rates[1:]):
            return predicted, sure, possible


def _ways_to_count(predicted, sure, possible):
    """Return the error rate, then what natural mistakes make of it; 0 for all without hits."""
    A, S, P = (int(links.sum()) for links in (predicted, sure, possible))
    A_S, A_P = int((predicted & sure).sum()), int((predicted & possible).sum())
    if 0 in (A, A_S) or len({A, S, P}) < 3 or A_P == A:
        return [0.0, 0.0]
    precision, recall = A_P / A, A_S / S
    return [
        1 - (A_S + A_P) / (A + S),
        (A_S + A_P) / (A + S),
        1 - 2 * A_S / (A + S),
        1 - 2 * A_P / (A + S),
        1 - 2 * A_P / (A + P),
        1 - (A_S + A_P) / (A + P),
        1 - (A_S + S) / (A + S),  # predicted and sure exchanged
        1 - (A_S + A_P) / (A + S + P),
        1 - 2 * precision * recall / (precision + recall),
        1 - precision,
        1 - recall,
        0.0,
        1.0,
    ]
