"""One vector asks the words of an input: score, align, average."""

from functools import partial

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import activated_general
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import padded, ragged_mask, readable, row_by_row
from attn_course.translate import _


@reference
def ask(query, features, mask, W, b):
    score = partial(activated_general, W=W, b=b)

    def answer(q, words, real):
        return attend(q, words, words, score, real)[0]

    def weights(q, words, real):
        return attend(q, words, words, score, real)[1]

    inputs = (query, features, mask)
    return row_by_row(answer, *inputs), row_by_row(weights, *inputs)


def _question(rng, n, d_q, d, batch=(), padding=0.0):
    mask = ragged_mask(rng, *batch, n)
    features = padded(readable(rng, *batch, n, d), mask, padding)
    return readable(rng, *batch, d_q), features, mask, readable(rng, d, d_q), 0.6


@ask.cases(points=2, label=_("one query, padded words"))
def one_query(rng):
    yield Case(*_question(rng, 3, 2, 2))
    yield Case(*_question(rng, 5, 2, 3))
    # A single word gets all the weight, also where its score is low and its exponential below 1.
    query, _features, _mask, W, b = _question(rng, 2, 2, 3)
    Wq = W @ query
    word = np.round(-2 * Wq / (Wq @ Wq), 2)
    yield Case(query, np.stack([word, np.zeros(3)]), np.array([True, False]), W, b)


@ask.cases(points=1, label=_("a batch, with anything in the padding"))
def a_batch(rng):
    yield Case(*_question(rng, 3, 2, 5, batch=(2,), padding=3.0))
    yield Case(*_question(rng, 7, 3, 5, batch=(2,), padding=np.nan))


@ask.cases(points=1, label=_("an input without a word: weights 0, answer 0"))
def without_a_word(rng):
    query, features, _mask, W, b = _question(rng, 3, 2, 5, batch=(2,))
    yield Case(query, features, np.array([[True, True, False], [False] * 3]), W, b)


@ask.variant
def question_in_torch(query, features, mask, W, b):
    import torch

    query, features, mask, W = (torch.as_tensor(part) for part in (query, features, mask, W))
    words = features.masked_fill(~mask[..., None], 0.0)
    scores = torch.tanh((words @ (query @ W.T)[..., None])[..., 0] + b)
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
    return (weights[..., None, :] @ words)[..., 0, :], weights


@ask.variant
def question_with_einsum(query, features, mask, W, b):
    words = padded(features, mask, 0.0)
    scores = np.tanh(np.einsum("...nd,de,...e->...n", words, W, query) + b)
    exponentials = np.exp(scores) * mask  # tanh is at most 1: nothing can overflow
    weights = exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)
    return np.einsum("...n,...nd->...d", weights, words), weights


@ask.variant
def question_in_loops(query, features, mask, W, b):
    if query.ndim > 1:
        parts = [question_in_loops(*part, W, b) for part in zip(query, features, mask, strict=True)]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    Wq = [sum(w * q for w, q in zip(row, query, strict=True)) for row in W]
    strength = [
        np.exp(np.tanh(sum(k * x for k, x in zip(word, Wq, strict=True)) + b)) if real else 0.0
        for word, real in zip(features, mask, strict=True)
    ]
    weights = np.array(strength) / (sum(strength) or 1.0)
    answer = sum(a * word for a, word in zip(weights, features, strict=True) if a > 0)
    return answer + np.zeros(features.shape[-1]), weights
