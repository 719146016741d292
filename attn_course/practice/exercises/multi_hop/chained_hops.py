"""Hops in a chain: each begins where the hop before it has ended."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.multi_hop._questions import (
    hop,
    matrices,
    mean_of_real,
    words_and_facts,
)
from attn_course.practice.inputs import padded, softmax
from attn_course.translate import _


@reference
def chained_hops(words, features, word_mask, mask, W_q, W, hops):
    if words.ndim > 2:
        batch = zip(words, features, word_mask, mask, strict=True)
        found = [chained_hops.reference(*one, W_q, W, hops) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    if hops < 1:
        raise ValueError("there is one hop at least")  # also where a case is made smaller
    query, context = mean_of_real(words, word_mask), mean_of_real(features, mask)
    all_weights = []
    for _hop in range(hops):
        query, context, weights = hop(query, context, words, features, word_mask, mask, W_q, W)
        all_weights.append(weights)
    return np.array(query), np.array(context), np.array(all_weights)


def _chain(rng, m, n, d_q, d_f, hops, batch=(), padding=None):
    inputs = words_and_facts(rng, m, n, d_q, d_f, batch, padding)
    return Case(*inputs, *matrices(rng, d_q, d_f), hops)


@chained_hops.cases(points=2, label=_("two hops and three, no padding"))
def without_padding(rng):
    yield _chain(rng, 2, 3, 2, 2, hops=2)
    yield _chain(rng, 3, 5, 2, 2, hops=3)


@chained_hops.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield _chain(rng, 4, 7, 2, 3, hops=2, padding=3.0)
    yield _chain(rng, 7, 4, 3, 2, hops=3, padding=np.nan)


@chained_hops.cases(points=1, label=_("a batch, and a single hop"))
def batches(rng):
    yield _chain(rng, 3, 5, 2, 2, hops=3, batch=(2,), padding=4.0)
    yield _chain(rng, 4, 7, 2, 3, hops=2, batch=(2, 3), padding=np.nan)
    yield _chain(rng, 4, 7, 2, 3, hops=1, batch=(2,), padding=4.0)


@chained_hops.cases(points=1, label=_("no word, or no fact: means of 0"))
def without_a_word(rng):
    case = _chain(rng, 4, 7, 2, 3, hops=2, batch=(3,), padding=2.0)
    _words, _features, word_mask, mask, _W_q, _W, _hops = case.args
    word_mask[0] = mask[1] = False
    mask[2] = np.arange(7) == 1  # one real fact is its own mean
    yield case


@chained_hops.variant
def hops_by_einsum(words, features, word_mask, mask, W_q, W, hops):
    def answer(asking, vectors, real, matrix):
        kept = padded(vectors, real, 0.0)
        weights = softmax(np.einsum("...nd,de,...e->...n", kept, matrix, asking), real)
        return np.einsum("...n,...nd->...d", weights, kept), weights

    # A matrix of zeros makes all weights equal, so its answer is the mean.
    nothing = np.zeros((*words.shape[:-2], 1))
    query, _a = answer(nothing, words, word_mask, np.zeros((words.shape[-1], 1)))
    context, _a = answer(nothing, features, mask, np.zeros((features.shape[-1], 1)))
    all_weights = []
    for _hop in range(hops):
        query, _a = answer(np.concatenate([query, context], axis=-1), words, word_mask, W_q)
        context, a = answer(np.concatenate([query, context], axis=-1), features, mask, W)
        all_weights.append(a)
    return query, context, np.stack(all_weights, axis=-2)


@chained_hops.variant
def hops_in_torch(words, features, word_mask, mask, W_q, W, hops):
    import torch

    def answer(asking, kept, real, matrix):
        scores = (kept @ (asking @ matrix.T)[..., None])[..., 0]
        weights = torch.softmax(scores.masked_fill(~real, -torch.inf), dim=-1).nan_to_num(0.0)
        return (weights[..., None, :] @ kept)[..., 0, :], weights

    given = (words, features, word_mask, mask, W_q, W)
    words, features, word_mask, mask, W_q, W = (torch.as_tensor(part) for part in given)
    words = words.masked_fill(~word_mask[..., None], 0.0)
    features = features.masked_fill(~mask[..., None], 0.0)
    query = words.sum(dim=-2) / word_mask.sum(dim=-1, keepdim=True).clamp(min=1)
    context = features.sum(dim=-2) / mask.sum(dim=-1, keepdim=True).clamp(min=1)
    all_weights = []
    for _hop in range(hops):
        query, _a = answer(torch.cat([query, context], dim=-1), words, word_mask, W_q)
        context, a = answer(torch.cat([query, context], dim=-1), features, mask, W)
        all_weights.append(a)
    return query, context, torch.stack(all_weights, dim=-2)
