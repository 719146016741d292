"""Self-attention: every word asks every word, with padding that neither asks nor answers."""

from math import sqrt

import numpy as np

from attn_course.definitions import queries as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.self_attention._sentences import (
    sentence,
    sentence_by_sentence,
    with_an_empty_sentence,
)
from attn_course.practice.inputs import padded, readable, softmax
from attn_course.translate import _


@reference
def self_attention(features, mask, W_Q, W_K, W_V):
    if W_Q.shape != W_K.shape:
        raise ValueError("W_Q and W_K have the same shape")  # also made smaller
    if any(W.ndim != 2 or W.shape[1] != features.shape[-1] for W in (W_Q, W_K, W_V)):
        raise ValueError("the rows of W_Q, W_K and W_V are as wide as a word")

    def one_sentence(words, real, W_Q, W_K, W_V):
        pairs = [[asks and answers for answers in real] for asks in real]
        return definition.self_attention(padded(words, real, 0.0), W_Q, W_K, W_V, pairs)

    return sentence_by_sentence(one_sentence, features, mask, W_Q, W_K, W_V)


def _maps(rng, d, d_k, d_v):
    return readable(rng, d_k, d), readable(rng, d_k, d), readable(rng, d_v, d)


@self_attention.cases(points=2, label=_("one sentence without padding"))
def one_whole_sentence(rng):
    yield Case(*sentence(rng, 3, 2), *_maps(rng, 2, 2, 2))
    yield Case(*sentence(rng, 5, 3), *_maps(rng, 3, 3, 3))
    yield Case(*sentence(rng, 3, 2), *_maps(rng, 2, 5, 7))


@self_attention.cases(points=1, label=_("padding, with anything in it, even NaN"))
def one_padded_sentence(rng):
    yield Case(*sentence(rng, 3, 2, padding=3.0), *_maps(rng, 2, 2, 2))
    yield Case(*sentence(rng, 7, 2, padding=np.nan), *_maps(rng, 2, 3, 5))


@self_attention.cases(points=1, label=_("a batch of sentences"))
def a_batch(rng):
    yield Case(*sentence(rng, 5, 2, batch=(3,), padding=0.0), *_maps(rng, 2, 7, 2))
    yield Case(*sentence(rng, 5, 3, batch=(2, 3), padding=np.nan), *_maps(rng, 3, 2, 7))


@self_attention.cases(points=1, label=_("a sentence without a word: weights 0, contexts 0"))
def without_a_word(rng):
    yield Case(*with_an_empty_sentence(rng, 3, 2, padding=2.0), *_maps(rng, 2, 5, 3))


@self_attention.variant
def by_einsum(features, mask, W_Q, W_K, W_V):
    kept = padded(features, mask, 0.0)
    scores = np.einsum("...id,kd,ke,...je->...ij", kept, W_Q, W_K, kept, optimize=True)
    pairs = mask[..., :, None] * mask[..., None, :]
    weights = softmax(scores / sqrt(len(W_K)), pairs)
    return np.einsum("...ij,...jd,vd->...iv", weights, kept, W_V, optimize=True), weights


@self_attention.variant
def word_by_word(features, mask, W_Q, W_K, W_V):
    kept = padded(features, mask, 0.0)
    rows = []
    for i in range(kept.shape[-2]):
        query = kept[..., i, :] @ W_Q.T / len(W_Q) ** 0.5
        scores = ((kept @ W_K.T) * query[..., None, :]).sum(axis=-1)
        rows.append(softmax(scores, mask) * mask[..., i, None])
    weights = np.stack(rows, axis=-2)
    return (weights @ kept) @ W_V.T, weights  # the map may also come after the average


@self_attention.variant
def in_torch(features, mask, W_Q, W_K, W_V):
    import torch

    given = (features, mask, W_Q, W_K, W_V)
    features, mask, W_Q, W_K, W_V = (torch.as_tensor(part) for part in given)
    kept = features.masked_fill(~mask[..., None], 0.0)
    scores = (kept @ W_Q.T) @ (kept @ W_K.T).mT / len(W_K) ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask[..., None, :], -torch.inf), dim=-1)
    weights = weights.masked_fill(~mask[..., None], 0.0).nan_to_num(0.0)
    return weights @ (kept @ W_V.T), weights
