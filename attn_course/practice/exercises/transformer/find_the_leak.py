"""Find two leaks in the data of a language model: the target, and the mask."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def find_the_leak(words):
    batch, n = words.shape
    if n < 2 or not batch:
        raise ValueError("a word is predicted from at least one word before it")  # made smaller
    inputs, targets = np.zeros((2, batch, n - 1), dtype=int)
    mask = np.zeros((n - 1, n - 1), dtype=bool)
    for i in range(n - 1):
        inputs[:, i] = words[:, i]
        targets[:, i] = words[:, i + 1]
        for j in range(i + 1):  # position i may know all words before its target
            mask[i, j] = True
    return inputs, targets, mask


def _words(rng, batch, n):
    """Return words that are all different, so that every shift changes every number."""
    return 10 + rng.permutation(batch * n).reshape(batch, n)


@find_the_leak.cases(points=1, label=_("one text and two"))
def one_and_two(rng):
    yield Case(_words(rng, 1, 3))
    yield Case(_words(rng, 2, 5))


@find_the_leak.cases(points=1, label=_("longer batches"))
def longer(rng):
    yield Case(_words(rng, 3, 7))
    yield Case(_words(rng, 7, 5))


@find_the_leak.variant
def word_by_word(words):
    n = words.shape[1] - 1
    inputs = [[row[i] for i in range(n)] for row in words]
    targets = [[row[i + 1] for i in range(n)] for row in words]
    return inputs, targets, [[j <= i for j in range(n)] for i in range(n)]


@find_the_leak.variant
def from_the_positions(words):
    positions = np.arange(words.shape[1] - 1)
    mask = positions[:, None] >= positions
    return np.take(words, positions, axis=1), np.take(words, positions + 1, axis=1), mask


@find_the_leak.variant
def in_torch(words):
    import torch

    words = torch.as_tensor(words)
    inputs = words[:, :-1]
    n = inputs.shape[1]
    return inputs, torch.roll(words, -1, dims=1)[:, :-1], torch.ones(n, n).tril().bool()
