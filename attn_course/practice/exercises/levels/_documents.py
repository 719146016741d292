"""Documents whose sentences differ in length, and one level of attention in loops and on arrays."""

from functools import partial

import numpy as np

from attn_course.definitions.features import without_query
from attn_course.definitions.scoring import no_query
from attn_course.practice.inputs import padded, readable, softmax


def attended(features, mask, W, b, u):
    """Return the context and the weights of the features of one level, computed in loops."""
    score = partial(no_query, w=u, W=W, b=b)
    context, weights = without_query(features, features, score, mask)
    return np.array(context), np.array(weights)


def attended_at_once(features, mask, W, b, u):
    """Return the same for a batch, computed on arrays."""
    kept = padded(features, mask, 0.0)
    weights = softmax(np.tanh(np.einsum("...nd,md->...nm", kept, W) + b) @ u, mask)
    return np.einsum("...n,...nd->...d", weights, kept), weights


def different_lengths(rng, *size):
    """Return a mask (..., s, n) whose sentences have different numbers of words, anywhere in them.

    One sentence of each document has no padding, so that a mistake that counts only such sentences
    differs from one that counts none. A document must not have more sentences than positions.
    """
    *batch, s, n = size
    lengths = np.array([_lengths(rng, s, n) for _document in range(int(np.prod(batch)))])
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the positions in each sentence
    return ranks < lengths.reshape(*batch, s, 1)


def _lengths(rng, s, n):
    others = rng.permutation(np.arange(1, n))[: s - 1]
    return rng.permutation([n, *others])


def words_anywhere(rng):
    """Return the mask of three sentences in some order that tell apart what makes a sentence.

    One has a word at its first position alone, one at its last, one has two words in the middle.
    """
    sentences = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 1, 0, 0]], dtype=bool)
    return rng.permutation(sentences)


def without_sentence(mask, number):
    """Return the mask with the sentence of this number emptied in every document."""
    return mask & (np.arange(mask.shape[-2]) != number)[:, None]


def level(rng, d, d_w):
    """Return the parameters W, b, u of one level."""
    return readable(rng, d_w, d), readable(rng, d_w), readable(rng, d_w)
