"""Sentences with padding, and tables of weights that overlap."""

import numpy as np

from attn_course.practice.inputs import all_of, padded, readable


def partly_real(rng, *size):
    """Return a mask (..., n) with two real words at least in each row, and padding anywhere."""
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the positions in each row
    return ranks < rng.integers(2, size[-1], (*size[:-1], 1))  # n itself is left out


def sentence(rng, n, d, batch=(), padding=None):
    """Return words (..., n, d) and their mask; without `padding` every word is real."""
    words = readable(rng, *batch, n, d)
    if padding is None:
        return words, all_of(*batch, n)
    mask = partly_real(rng, *batch, n)
    return padded(words, mask, padding), mask


def with_an_empty_sentence(rng, n, d, padding):
    """Return a batch of two sentences, the second without a word."""
    words, mask = sentence(rng, n, d, batch=(2,), padding=padding)
    mask[1] = False
    return padded(words, mask, padding), mask


def overlapping_weights(rng, *size):
    """Return weights (..., r, n) in twentieths whose rows sum to 1 and overlap everywhere."""
    *rows, n = size
    more = rng.multinomial(20 - n, rng.dirichlet(np.ones(n), rows))  # beyond one for each word
    return (1 + more) / 20


def sentence_by_sentence(one_sentence, words, mask, *parameters):
    """Return what a function of one sentence returns, a tuple of arrays, for a batch of them.

    It refuses a mask that does not fit the words: an input may be made smaller by too much.
    """
    if mask.shape != words.shape[:-1]:
        raise ValueError("the mask has one entry for each word")
    if mask.ndim == 1:
        return tuple(np.array(part) for part in one_sentence(words, mask, *parameters))
    sentences = zip(words, mask, strict=True)
    parts = [sentence_by_sentence(one_sentence, *one, *parameters) for one in sentences]
    return tuple(np.stack(same) for same in zip(*parts, strict=True))
