"""A step of causal attention that keeps the keys and values of all words so far."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def cached_step(x, keys, values, W_q, W_K, W_V):
    if not len(x) or len(keys) != len(values):
        raise ValueError("there is a new word, and as many cached keys as values")  # made smaller
    contexts = []
    for word in x:  # one word at a time: it sees what is in the cache, itself included
        keys = np.concatenate([keys, [W_K @ word]])
        values = np.concatenate([values, [W_V @ word]])
        weights = softmax(keys @ (W_q @ word) / np.sqrt(len(W_K)))
        contexts.append(sum(a * v for a, v in zip(weights, values, strict=True)))
    return np.array(contexts), keys, values


def _case(rng, past, new, d, d_k, d_v):
    matrices = readable(rng, d_k, d), readable(rng, d_k, d), readable(rng, d_v, d)
    cache = readable(rng, past, d_k), readable(rng, past, d_v)
    return Case(readable(rng, new, d), *cache, *matrices)


@cached_step.cases(points=1, label=_("two or three new words after a few others"))
def a_few_words(rng):
    yield _case(rng, 1, 2, 2, 2, 2)
    yield _case(rng, 3, 2, 2, 3, 5)


@cached_step.cases(points=1, label=_("chunks of several words"))
def longer_chunks(rng):
    yield _case(rng, 2, 5, 3, 5, 2)
    yield _case(rng, 5, 3, 7, 2, 3)
    yield _case(rng, 3, 7, 5, 5, 5)


@cached_step.cases(points=1, label=_("an empty cache, a single new word, a chunk after both"))
def at_the_edges(rng):
    yield _case(rng, 0, 3, 2, 5, 3)
    yield _case(rng, 5, 1, 3, 2, 7)
    yield _case(rng, 0, 1, 2, 3, 2)
    yield _case(rng, 7, 3, 2, 3, 5)


@cached_step.variant
def by_comparing_positions(x, keys, values, W_q, W_K, W_V):
    keys, values = np.vstack([keys, x @ W_K.T]), np.vstack([values, x @ W_V.T])
    key_positions = np.arange(len(keys))
    query_positions = key_positions[len(keys) - len(x) :]
    scores = np.einsum("qe,de,kd->qk", x, W_q, keys) / W_K.shape[0] ** 0.5
    later = key_positions > query_positions[:, None]
    scores[later] = -np.inf
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials @ values / exponentials.sum(axis=1, keepdims=True), keys, values


@cached_step.variant
def word_by_word(x, keys, values, W_q, W_K, W_V):
    past = len(keys)
    keys = np.concatenate([keys, x @ W_K.T])
    values = np.concatenate([values, x @ W_V.T])
    contexts = []
    for i, word in enumerate(x):
        seen = past + i + 1
        scores = keys[:seen] @ W_q @ word / np.sqrt(keys.shape[1])
        contexts.append(softmax(scores) @ values[:seen])
    return np.array(contexts), keys, values


@cached_step.variant
def in_torch(x, keys, values, W_q, W_K, W_V):
    import torch
    from torch.nn import functional

    x, keys, values, W_q, W_K, W_V = (
        torch.as_tensor(part) for part in (x, keys, values, W_q, W_K, W_V)
    )
    past = len(keys)
    keys, values = torch.cat([keys, x @ W_K.T]), torch.cat([values, x @ W_V.T])
    visible = torch.ones(len(x), len(keys), dtype=torch.bool).tril(past)
    return functional.scaled_dot_product_attention(x @ W_q.T, keys, values, visible), keys, values
