"""One hop: the question is asked anew, then the facts are, together with the old context."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.multi_hop._questions import hop, matrices, words_and_facts
from attn_course.practice.inputs import padded, readable, softmax
from attn_course.translate import _


@reference
def one_hop(query, context, words, features, word_mask, mask, W_q, W):
    if query.ndim > 1:
        batch = zip(query, context, words, features, word_mask, mask, strict=True)
        found = [one_hop.reference(*one, W_q, W) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    found = hop(query, context, words, features, word_mask, mask, W_q, W)
    return tuple(np.array(part) for part in found)


def _hop(rng, m, n, d_q, d_f, batch=(), padding=None):
    inputs = words_and_facts(rng, m, n, d_q, d_f, batch, padding)
    query, context = readable(rng, *batch, d_q), readable(rng, *batch, d_f)
    return Case(query, context, *inputs, *matrices(rng, d_q, d_f))


@one_hop.cases(points=2, label=_("one question without padding"))
def one_question(rng):
    yield _hop(rng, 2, 3, 2, 2)
    yield _hop(rng, 3, 5, 2, 2)


@one_hop.cases(points=1, label=_("two widths, padding with anything in it, even NaN"))
def padded_questions(rng):
    yield _hop(rng, 4, 7, 2, 3, padding=3.0)
    yield _hop(rng, 7, 4, 3, 2, padding=np.nan)


@one_hop.cases(points=1, label=_("a batch of questions"))
def batches(rng):
    yield _hop(rng, 3, 5, 2, 2, batch=(2,), padding=4.0)
    yield _hop(rng, 4, 7, 2, 3, batch=(2, 3), padding=np.nan)


@one_hop.cases(points=1, label=_("no word, or no fact: a query of 0, a context of 0"))
def without_a_word(rng):
    case = _hop(rng, 4, 7, 2, 3, batch=(2,), padding=2.0)
    _query, _context, _words, _features, word_mask, mask, _W_q, _W = case.args
    word_mask[0] = mask[1] = False
    yield case


def _answer(asking, vectors, mask, W):
    kept = padded(vectors, mask, 0.0)
    weights = softmax(np.einsum("...nd,de,...e->...n", kept, W, asking), mask)
    return np.einsum("...n,...nd->...d", weights, kept), weights


@one_hop.variant
def hop_by_einsum(query, context, words, features, word_mask, mask, W_q, W):
    both = np.concatenate([query, context], axis=-1)
    query, _weights = _answer(both, words, word_mask, W_q)
    both = np.concatenate([query, context], axis=-1)
    return (query, *_answer(both, features, mask, W))


@one_hop.variant
def hop_with_matrices_in_two_parts(query, context, words, features, word_mask, mask, W_q, W):
    d_q = query.shape[-1]
    words, features = padded(words, word_mask, 0.0), padded(features, mask, 0.0)
    asked = query @ W_q[:, :d_q].T + context @ W_q[:, d_q:].T
    a_q = softmax((words @ asked[..., None])[..., 0], word_mask)
    query = (a_q[..., None, :] @ words)[..., 0, :]
    asked = query @ W[:, :d_q].T + context @ W[:, d_q:].T
    weights = softmax((features @ asked[..., None])[..., 0], mask)
    return query, (weights[..., None, :] @ features)[..., 0, :], weights


@one_hop.variant
def hop_in_torch(query, context, words, features, word_mask, mask, W_q, W):
    import torch

    def answer(asking, vectors, real, matrix):
        vectors, real = torch.as_tensor(vectors), torch.as_tensor(real)
        kept = vectors.masked_fill(~real[..., None], 0.0)
        scores = (kept @ (asking @ torch.as_tensor(matrix).T)[..., None])[..., 0]
        weights = torch.softmax(scores.masked_fill(~real, -torch.inf), dim=-1).nan_to_num(0.0)
        return (weights[..., None, :] @ kept)[..., 0, :], weights

    query, context = torch.as_tensor(query), torch.as_tensor(context)
    query, _weights = answer(torch.cat([query, context], dim=-1), words, word_mask, W_q)
    return (query, *answer(torch.cat([query, context], dim=-1), features, mask, W))
