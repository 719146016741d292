"""Sentences to a document: a sentence exists if it has a word."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.levels._documents import (
    attended,
    attended_at_once,
    different_lengths,
    level,
    without_sentence,
    words_anywhere,
)
from attn_course.practice.inputs import padded, readable
from attn_course.translate import _


@reference
def sentence_level(sentences, mask, W, b, u):
    if mask.ndim > 2:
        documents = zip(sentences, mask, strict=True)
        found = [sentence_level.reference(*document, W, b, u) for document in documents]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    return attended(sentences, [bool(any(real)) for real in mask], W, b, u)


def _document(rng, mask, d, d_w, padding=0.0):
    sentences = readable(rng, *mask.shape[:-1], d)
    sentences = padded(sentences, mask.any(axis=-1), padding)
    return Case(sentences, mask, *level(rng, d, d_w))


@sentence_level.cases(points=1, label=_("one document, sentences of different lengths"))
def every_sentence_exists(rng):
    yield _document(rng, different_lengths(rng, 2, 3), 2, 2)
    yield _document(rng, different_lengths(rng, 3, 5), 2, 7)
    yield _document(rng, words_anywhere(rng), 2, 7)


@sentence_level.cases(points=2, label=_("empty sentences, with anything in their vectors"))
def empty_sentences(rng):
    yield _document(rng, without_sentence(different_lengths(rng, 3, 5), 2), 2, 2)
    yield _document(rng, without_sentence(different_lengths(rng, 3, 5), 0), 2, 7, padding=3.0)
    yield _document(rng, without_sentence(different_lengths(rng, 5, 7), 1), 2, 3, padding=np.nan)


@sentence_level.cases(points=1, label=_("a batch of documents"))
def a_batch(rng):
    yield _document(rng, without_sentence(different_lengths(rng, 2, 3, 5), 1), 7, 2)
    mask = without_sentence(different_lengths(rng, 2, 3, 5, 7), 4)
    yield _document(rng, mask, 2, 11, padding=np.nan)


@sentence_level.cases(points=1, label=_("a document without a sentence: weights 0, vector 0"))
def without_a_sentence(rng):
    mask = different_lengths(rng, 2, 3, 5)
    mask[1] = False
    yield _document(rng, mask, 7, 2)


@sentence_level.variant
def sentences_by_einsum(sentences, mask, W, b, u):
    return attended_at_once(sentences, mask.sum(axis=-1) > 0, W, b, u)


@sentence_level.variant
def sentences_in_torch(sentences, mask, W, b, u):
    import torch

    given = (sentences, mask, W, b, u)
    sentences, mask, W, b, u = (torch.as_tensor(part) for part in given)
    is_empty = ~mask.any(dim=-1)
    sentences = sentences.masked_fill(is_empty[..., None], 0.0)
    scores = torch.tanh(torch.nn.functional.linear(sentences, W, b)) @ u
    weights = torch.softmax(scores.masked_fill(is_empty, -torch.inf), dim=-1).nan_to_num(0.0)
    return (weights[..., None, :] @ sentences)[..., 0, :], weights


@sentence_level.variant
def sentences_in_loops(sentences, mask, W, b, u):
    if sentences.ndim > 2:
        parts = [sentences_in_loops(*part, W, b, u) for part in zip(sentences, mask, strict=True)]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    strength = [
        np.exp(u @ np.tanh(W @ vector + b)) if any(real) else 0.0
        for vector, real in zip(sentences, mask, strict=True)
    ]
    weights = np.array(strength) / (sum(strength) or 1.0)
    document = sum(a * vector for a, vector in zip(weights, sentences, strict=True) if a > 0)
    return document + np.zeros(sentences.shape[-1]), weights
