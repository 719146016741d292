"""Scores that rise from block to block, and what all exercises on blocks refuse."""

import numpy as np


def in_steps(rng, n, block):
    """Return n scores with one decimal; each block's largest exceeds all earlier by 0.5 at least.

    Within a block the order is random. Falling scores would hide a forgotten rescaling.
    """
    steps = np.arange(n) // block * 1.0
    scores = np.round(rng.uniform(-0.4, 0.4, n), 1) + 1.5 * steps - 1.0
    return np.where(scores == 0, 0.1, np.round(scores, 1))


def high(rng, n, block):
    """Return n scores from 900 on, 16 apart; within a block the order is random.

    The logarithm of a sum of such exponentials is the largest score in single precision too.
    Scores closer together would refuse right answers that keep this logarithm.
    """
    steps = np.arange(n)
    for start in range(0, n, block):
        rng.shuffle(steps[start : start + block])
    return 900.0 + 16 * steps


def parts(scores, values, block):
    """Yield the blocks of scores with those of values."""
    for start in range(0, len(scores), block):
        yield scores[start : start + block], values[start : start + block]


def refuse_what_has_no_blocks(scores, values, block):
    """Raise for what no task asks for, so that no example is made smaller than a task allows."""
    if block < 1 or block != int(block):
        raise ValueError("a block has one key at least")
    if not len(scores) or len(scores) != len(values):
        raise ValueError("there is a key, and each key has its value")
