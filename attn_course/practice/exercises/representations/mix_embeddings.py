"""Mix the embeddings of each word, with weights that a softmax shares out among the types."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.representations._embeddings import (
    mixed,
    projected,
    sentence,
    some_missing,
)
from attn_course.practice.inputs import all_of, softmax
from attn_course.translate import _


@reference
def mix_embeddings(embeddings, mask, W, b, u):
    return mixed(embeddings, mask, W, b, u)


@mix_embeddings.cases(points=2, label=_("one sentence, every word has every embedding"))
def nothing_missing(rng):
    yield Case(*sentence(rng, all_of(3, 2), (2, 1), 2))
    yield Case(*sentence(rng, all_of(5, 3), (2, 3, 7), 2))


@mix_embeddings.cases(points=1, label=_("words that are missing from a vocabulary"))
def some_words_missing(rng):
    yield Case(*sentence(rng, some_missing(rng, 3, 2), (2, 1), 2))
    yield Case(*sentence(rng, some_missing(rng, 5, 3), (2, 3, 7), 2, missing=2.0))
    yield Case(*sentence(rng, some_missing(rng, 5, 2), (3, 2), 7, missing=np.nan))


@mix_embeddings.cases(points=1, label=_("a batch of sentences, with padding"))
def a_padded_batch(rng):
    mask = some_missing(rng, 2, 5, 3)
    mask[0, -2:] = False  # these words have no embedding at all
    yield Case(*sentence(rng, mask, (2, 3, 7), 2))
    mask = some_missing(rng, 3, 5, 2)
    mask[1:, -1] = False
    yield Case(*sentence(rng, mask, (2, 7), 3, missing=np.nan))


@mix_embeddings.variant
def mixed_by_einsum(embeddings, mask, W, b, u):
    mapped = projected(embeddings, mask, W, b)
    weights = softmax(np.einsum("...ed,d->...e", mapped, u), mask)
    return np.einsum("...e,...ed->...d", weights, mapped), weights


@mix_embeddings.variant
def mixed_in_a_running_sum(embeddings, mask, W, b, u):
    numerator = np.zeros((*mask.shape[:-1], len(u)))
    exponentials = np.zeros(mask.shape)
    for i, embedding in enumerate(embeddings):
        there = mask[..., i]
        x = np.where(there[..., None], embedding, 0.0) @ W[i].T + b[i]
        exponentials[..., i] = np.where(there, np.exp(x @ u), 0.0)
        numerator += exponentials[..., i, None] * x
    total = exponentials.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    return numerator / total, exponentials / total


@mix_embeddings.variant
def mixed_in_torch(embeddings, mask, W, b, u):
    import torch

    mask, u = torch.as_tensor(mask), torch.as_tensor(u)
    mapped = [
        torch.nn.functional.linear(
            torch.as_tensor(x).masked_fill(~there[..., None], 0.0),
            torch.as_tensor(W_i),
            torch.as_tensor(b_i),
        )
        for x, there, W_i, b_i in zip(embeddings, mask.unbind(-1), W, b, strict=True)
    ]
    types = torch.stack(mapped, dim=-2)
    scores = (types @ u).masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return (weights[..., None] * types).sum(dim=-2), weights
