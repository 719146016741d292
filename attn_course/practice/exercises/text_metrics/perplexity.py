"""Perplexity of a corpus, however its sentences are put into batches."""

from math import exp, inf, log

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def perplexity(log_probabilities, mask):
    surprise, tokens = 0.0, 0
    for number, is_real in zip(log_probabilities.ravel(), mask.ravel(), strict=True):
        if is_real:
            surprise, tokens = surprise - number, tokens + 1
    if not tokens:
        raise ValueError("there is one real token at least")  # also where a case is made smaller
    return inf if surprise == inf else exp(surprise / tokens)


def _mask(lengths, n):
    return np.arange(n) < np.array(lengths)[:, None]


def _corpus(rng, lengths, n, padding=0.0):
    """Return log-probabilities with sentences that are easy and hard in turn, and their mask."""
    mask = _mask(lengths, n)
    numbers = readable(rng, *mask.shape, low=-1.5, high=-0.2)
    numbers[::2] -= readable(rng, *numbers[::2].shape, low=0.8, high=2.0)
    return np.where(mask, np.round(numbers, 1), padding), mask


@perplexity.cases(points=2, label=_("sentences of different lengths, and one by itself"))
def different_lengths(rng):
    yield Case(*_corpus(rng, (3, 1), 3))
    yield Case(*_corpus(rng, (1, 4), 4, padding=-0.7))
    yield Case(*_corpus(rng, (5, 2, 3), 5, padding=-2.3))
    numbers, mask = _corpus(rng, (3,), 5, padding=-0.9)
    yield Case(numbers[0], mask[0])  # a single sentence, without another axis


@perplexity.cases(points=2, label=_("the same sentences in other batches: the same number"))
def in_batches(rng):
    numbers, mask = _corpus(rng, (2, 5, 4, 1, 3, 5), 5)
    yield Case(numbers, mask)
    yield Case(numbers.reshape(2, 3, 5), mask.reshape(2, 3, 5))
    yield Case(numbers.reshape(3, 2, 5), mask.reshape(3, 2, 5))
    # Batches of four: two rows of nothing but padding fill up the last one. And longer rows.
    wide = np.pad(numbers, [(0, 2), (0, 2)], constant_values=-1.1)
    wide_mask = np.pad(mask, [(0, 2), (0, 2)])
    yield Case(wide.reshape(2, 4, 7), wide_mask.reshape(2, 4, 7))


@perplexity.cases(points=1, label=_("anything in the padding, even NaN"))
def strange_padding(rng):
    yield Case(*_corpus(rng, (3, 2), 4, padding=np.nan))
    yield Case(*_corpus(rng, (1, 4), 5, padding=-np.inf))
    yield Case(*_corpus(rng, (4, 3), 5, padding=2.5))


@perplexity.cases(points=1, label=_("a token of probability 0, and a text of small probability"))
def small_probabilities(rng):
    numbers, mask = _corpus(rng, (3, 2), 4)
    numbers[0, 1] = -np.inf
    yield Case(numbers, mask)
    mask = _mask((9, 8, 7, 9, 5), 9)
    yield Case(np.where(mask, readable(rng, 5, 9, low=-32.0, high=-28.0), 0.0), mask)


@perplexity.variant
def in_bits(log_probabilities, mask):
    bits = -log_probabilities[mask] / log(2)
    return 2.0 ** np.mean(bits)


@perplexity.variant
def one_sentence_after_another(log_probabilities, mask):
    """A running mean, weighted with the number of tokens."""
    n = mask.shape[-1]
    mean, tokens = 0.0, 0
    for row, real in zip(log_probabilities.reshape(-1, n), mask.reshape(-1, n), strict=True):
        new = int(real.sum())
        if new:
            tokens += new
            mean += (row[real].mean() - mean) * new / tokens if np.isfinite(mean) else 0.0
    return np.exp(-mean)


@perplexity.variant
def in_torch(log_probabilities, mask):
    import torch

    real = torch.as_tensor(log_probabilities)[torch.as_tensor(mask)]
    return torch.exp(-real.mean())
