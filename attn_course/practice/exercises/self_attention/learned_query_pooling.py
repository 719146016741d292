"""Learned queries sum up a sentence: one context and one row of weights per query."""

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import dot
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.self_attention._sentences import (
    sentence,
    sentence_by_sentence,
    with_an_empty_sentence,
)
from attn_course.practice.inputs import padded, readable, softmax
from attn_course.translate import _


@reference
def learned_query_pooling(features, mask, queries):
    if queries.ndim != 2 or queries.shape[1] != features.shape[-1]:
        raise ValueError("the queries are rows as wide as a word")  # also made smaller

    def one_sentence(words, real, queries):
        words = padded(words, real, 0.0)
        found = [attend(query, words, words, dot, real) for query in queries]
        return [context for context, _weights in found], [weights for _context, weights in found]

    return sentence_by_sentence(one_sentence, features, mask, queries)


@learned_query_pooling.cases(points=1, label=_("one sentence without padding"))
def one_whole_sentence(rng):
    yield Case(*sentence(rng, 3, 2), readable(rng, 2, 2))
    yield Case(*sentence(rng, 5, 2), readable(rng, 3, 2))
    yield Case(*sentence(rng, 3, 7), readable(rng, 5, 7))


@learned_query_pooling.cases(points=1, label=_("padding, with anything in it, even NaN"))
def one_padded_sentence(rng):
    yield Case(*sentence(rng, 5, 2, padding=3.0), readable(rng, 3, 2))
    yield Case(*sentence(rng, 7, 3, padding=np.nan), readable(rng, 2, 3))


@learned_query_pooling.cases(points=1, label=_("a batch of sentences"))
def a_batch(rng):
    yield Case(*sentence(rng, 5, 3, batch=(2,), padding=0.0), readable(rng, 7, 3))
    yield Case(*sentence(rng, 5, 2, batch=(3, 2), padding=np.nan), readable(rng, 3, 2))


@learned_query_pooling.cases(points=1, label=_("a sentence without a word: weights 0, contexts 0"))
def without_a_word(rng):
    yield Case(*with_an_empty_sentence(rng, 5, 2, padding=2.0), readable(rng, 3, 2))


@learned_query_pooling.variant
def by_einsum(features, mask, queries):
    kept = padded(features, mask, 0.0)
    weights = softmax(np.einsum("rd,...nd->...rn", queries, kept), mask[..., None, :])
    return np.einsum("...rn,...nd->...rd", weights, kept), weights


@learned_query_pooling.variant
def query_by_query(features, mask, queries):
    kept = padded(features, mask, 0.0)
    weights = np.stack([softmax(kept @ query, mask) for query in queries], axis=-2)
    return (weights[..., None] * kept[..., None, :, :]).sum(axis=-2), weights


@learned_query_pooling.variant
def in_torch(features, mask, queries):
    import torch

    features, mask, queries = (torch.as_tensor(part) for part in (features, mask, queries))
    kept = features.masked_fill(~mask[..., None], 0.0)
    scores = (queries @ kept.mT).masked_fill(~mask[..., None, :], -torch.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ kept, weights
