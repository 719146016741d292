"""Words to sentences: one vector per sentence, by attention without a query."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.levels._documents import (
    attended,
    attended_at_once,
    different_lengths,
    level,
    without_sentence,
)
from attn_course.practice.inputs import all_of, padded, readable, row_by_row
from attn_course.translate import _


@reference
def word_level(words, mask, W, b, u):
    def sentence(real, features):
        return attended(features, real, W, b, u)[0]

    def weights(real, features):
        return attended(features, real, W, b, u)[1]

    return row_by_row(sentence, mask, words), row_by_row(weights, mask, words)


def _document(rng, s, n, d, d_w, batch=(), mask=None, padding=0.0):
    mask = different_lengths(rng, *batch, s, n) if mask is None else mask
    words = padded(readable(rng, *batch, s, n, d), mask, padding)
    return Case(words, mask, *level(rng, d, d_w))


@word_level.cases(points=1, label=_("one document, nothing masked"))
def one_whole_document(rng):
    yield _document(rng, 2, 3, 2, 2, mask=all_of(2, 3))
    yield _document(rng, 3, 5, 2, 7, mask=all_of(3, 5))


@word_level.cases(points=1, label=_("sentences of different lengths, with anything in the padding"))
def different_sentences(rng):
    yield _document(rng, 2, 3, 2, 2, padding=3.0)
    yield _document(rng, 3, 5, 2, 7, padding=np.nan)


@word_level.cases(points=1, label=_("a batch of documents"))
def a_batch(rng):
    yield _document(rng, 3, 5, 2, 7, batch=(2,), padding=5.0)
    yield _document(rng, 2, 3, 5, 7, batch=(3, 2), padding=np.nan)


@word_level.cases(points=1, label=_("a sentence without a word: weights 0, vector 0"))
def without_a_word(rng):
    mask = without_sentence(different_lengths(rng, 2, 3), 1)
    yield _document(rng, 2, 3, 2, 2, mask=mask)
    mask = without_sentence(different_lengths(rng, 2, 3, 5), 0)
    yield _document(rng, 3, 5, 2, 7, batch=(2,), mask=mask, padding=4.0)


@word_level.variant
def words_by_einsum(words, mask, W, b, u):
    return attended_at_once(words, mask, W, b, u)


@word_level.variant
def words_in_torch(words, mask, W, b, u):
    import torch

    words, mask, W, b, u = (torch.as_tensor(part) for part in (words, mask, W, b, u))
    words = words.masked_fill(~mask[..., None], 0.0)
    scores = torch.tanh(torch.nn.functional.linear(words, W, b)) @ u
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
    return (weights[..., None, :] @ words)[..., 0, :], weights


@word_level.variant
def words_in_loops(words, mask, W, b, u):
    if words.ndim > 2:
        parts = [words_in_loops(*part, W, b, u) for part in zip(words, mask, strict=True)]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    strength = [
        np.exp(u @ np.tanh(W @ word + b)) if real else 0.0
        for word, real in zip(words, mask, strict=True)
    ]
    weights = np.array(strength) / (sum(strength) or 1.0)
    sentence = sum(a * word for a, word in zip(weights, words, strict=True) if a > 0)
    return sentence + np.zeros(words.shape[-1]), weights
