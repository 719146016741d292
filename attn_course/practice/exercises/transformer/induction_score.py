"""How much of its attention does a head pay to the words that followed earlier copies?"""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def induction_score(weights, words):
    n = words.shape[-1]
    if weights.shape != (*words.shape, n) or np.triu(weights, 1).any():
        raise ValueError("each word has a row of weights, 0 for later words")  # also made smaller
    if words.ndim > 1:
        pairs = zip(weights, words, strict=True)
        return np.stack([induction_score.reference(*one) for one in pairs])
    of_queries = []
    for i in range(n):
        after_a_copy = [j for j in range(1, i + 1) if words[j - 1] == words[i]]
        if after_a_copy:
            of_queries.append(sum(weights[i, j] for j in after_a_copy))
    return np.array(np.mean(of_queries) if of_queries else 0.0)


def _weights(rng, *size):
    """Return causal weights (..., n, n) in twentieths, none of them 0 up to the diagonal."""
    n = size[-1]
    weights = np.zeros((*size, n))
    for *place, i in np.ndindex(size):
        more = rng.multinomial(20 - (i + 1), rng.dirichlet(np.ones(i + 1)))
        weights[(*place, i, slice(i + 1))] = (1 + more) / 20
    return weights


def _words(rng, *size, last_is_new=False):
    """Return words of which one has two earlier copies, one follows its copy, and some have none.

    If the last word has an earlier copy, then without a causal mask every word has one that
    "follows a copy"; if it is new, every word but the last.
    """
    while True:
        words = rng.integers(3, size=size)
        if all(_is_telling(row, last_is_new) for row in words.reshape(-1, size[-1])):
            return words


def _is_telling(row, last_is_new):
    copies = [sum(word == row[i] for word in row[:i]) for i in range(len(row))]
    follows = any(row[:-1] == row[1:])
    right_end = (copies[-1] == 0) == last_is_new
    return max(copies) >= 2 and copies.count(0) >= 2 and follows and right_end


def _inattentive(weights, words):
    """Return weights of which the first query with a copy looks at position 0, after no word."""
    weights = weights.copy()
    for place in np.ndindex(words.shape[:-1]):
        row = words[place].tolist()
        first = next(i for i, word in enumerate(row) if word in row[:i])
        weights[(*place, first)] = np.eye(len(row))[0]
    return weights


@induction_score.cases(points=1, label=_("one text"))
def one_text(rng):
    yield Case(_weights(rng, 3), np.array([4, 6, 4]))
    yield Case(_weights(rng, 4), np.array([3, 8, 3, 3]))
    yield Case(_weights(rng, 5), _words(rng, 5, last_is_new=True))
    yield Case(_weights(rng, 7), _words(rng, 7))
    words = np.array([3, 8, 3, 3])
    yield Case(_inattentive(_weights(rng, 4), words), words)


@induction_score.cases(points=1, label=_("a batch of texts"))
def a_batch(rng):
    yield Case(_weights(rng, 2, 5), _words(rng, 2, 5, last_is_new=True))
    yield Case(_weights(rng, 3, 2, 7), _words(rng, 3, 2, 7))
    words = _words(rng, 2, 5)
    yield Case(_inattentive(_weights(rng, 2, 5), words), words)


@induction_score.cases(points=1, label=_("a text in which no word occurs twice: 0"))
def without_a_copy(rng):
    words = _words(rng, 3, 5)
    words[1] = rng.permutation(5)
    yield Case(_weights(rng, 5), rng.permutation(5))
    yield Case(_weights(rng, 3, 5), words)


@induction_score.variant
def copies_moved_by_one(weights, words):
    """Where are the copies? One position to the right of each is what counts."""
    n = words.shape[-1]
    copy = (words[..., :, None] == words[..., None, :]) & np.tri(n, k=-1, dtype=bool)
    found = (weights[..., 1:] * copy[..., :-1]).sum(axis=-1)
    number = copy.any(axis=-1).sum(axis=-1)
    return np.where(number > 0, found.sum(axis=-1) / np.maximum(number, 1), 0.0)


@induction_score.variant
def query_by_query(weights, words):
    if words.ndim > 1:
        return [query_by_query(*pair) for pair in zip(weights, words, strict=True)]
    shares = []
    for i in range(1, len(words)):
        before = words[:i] == words[i]
        if before.any():
            shares.append(weights[i, 1 : i + 1] @ before)
    return sum(shares) / len(shares) if shares else 0.0


@induction_score.variant
def in_torch(weights, words):
    import torch

    weights, words = torch.as_tensor(weights), torch.as_tensor(words)
    n = words.shape[-1]
    before = torch.nn.functional.pad(words[..., :-1], (1, 0), value=-1)  # -1: there is none
    after = (words[..., :, None] == before[..., None, :]) & torch.ones(n, n).tril().bool()
    number = after.any(dim=-1).sum(dim=-1)
    return (weights * after).sum(dim=(-2, -1)) / number.clamp(min=1)
