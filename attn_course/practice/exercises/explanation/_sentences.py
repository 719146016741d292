"""Attention weights with two decimals, predictions, and the divergences, written in loops."""

from math import exp, log

import numpy as np


def shares(rng, *size, zeros=0):
    """Return rows of two decimals that sum to 1, no two entries of a row equal except the zeros.

    `zeros` entries of each row, in random positions, are 0.
    """
    rows = np.zeros((int(np.prod(size[:-1], dtype=int)), size[-1]))
    for row in rows:
        real = rng.permutation(size[-1])[zeros:]
        row[real] = _parts(rng, len(real)) / 50
    return rows.reshape(size)


def _parts(rng, number):
    """Return positive whole numbers, all different, that sum to 50."""
    while True:
        cuts = np.sort(rng.choice(np.arange(1, 50), number - 1, replace=False))
        parts = np.diff(cuts, prepend=0, append=50)
        if len(set(parts.tolist())) == number:
            return parts


def require_distributions(*rows):
    """Raise for what no task asks for, which a case made smaller may be."""
    for row in rows:
        if (row < 0).any() or not np.allclose(row.sum(axis=-1), 1, atol=1e-4):
            raise ValueError("weights are not negative and sum to 1")


def tvd(one, other):
    """Return the total variation distance of two distributions."""
    return sum(abs(p - q) for p, q in zip(one, other, strict=True)) / 2


def jsd(one, other):
    """Return the Jensen–Shannon divergence of two distributions, in natural logarithms."""
    total = 0.0
    for p, q in zip(one, other, strict=True):
        m = (p + q) / 2
        total += (p * log(p / m) if p > 0 else 0.0) + (q * log(q / m) if q > 0 else 0.0)
    return total / 2


def shared_out(scores):
    """Return the softmax of a list of scores; nothing for nothing."""
    best = max(scores, default=0.0)
    exponentials = [exp(e - best) for e in scores]
    return [x / sum(exponentials) for x in exponentials]


def prediction(values, weights, W):
    """Return the probabilities softmax(W c) of one sentence, c the weighted sum of its values."""
    context = np.zeros(W.shape[-1])
    for a, v in zip(weights, values, strict=True):
        context = context + a * v
    return shared_out([float(row @ context) for row in W])
