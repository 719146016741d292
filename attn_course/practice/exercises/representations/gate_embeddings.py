"""Mix the embeddings of each word, with a gate for each type that does not depend on the others."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.representations._embeddings import (
    mixed,
    projected,
    sentence,
    some_missing,
)
from attn_course.practice.inputs import all_of
from attn_course.translate import _


@reference
def gate_embeddings(embeddings, mask, W, b, u, beta):
    return mixed(embeddings, mask, W, b, u, beta, "gate")


def _beta(rng):
    """Return a number far enough from 0 and 1 that leaving it out, or multiplying, is seen."""
    return float(np.round(rng.choice([-1, 1]) * rng.uniform(0.4, 0.8), 1))


@gate_embeddings.cases(points=2, label=_("one sentence, every word has every embedding"))
def nothing_missing(rng):
    yield Case(*sentence(rng, all_of(3, 2), (2, 1), 2), _beta(rng))
    yield Case(*sentence(rng, all_of(5, 3), (2, 3, 7), 2), _beta(rng))


@gate_embeddings.cases(points=1, label=_("words that are missing from a vocabulary"))
def some_words_missing(rng):
    yield Case(*sentence(rng, some_missing(rng, 3, 2), (2, 1), 2), _beta(rng))
    yield Case(*sentence(rng, some_missing(rng, 5, 3), (2, 3, 7), 2, missing=2.0), _beta(rng))
    yield Case(*sentence(rng, some_missing(rng, 5, 2), (3, 2), 7, missing=np.nan), _beta(rng))


@gate_embeddings.cases(points=1, label=_("a batch of sentences, with padding"))
def a_padded_batch(rng):
    mask = some_missing(rng, 2, 5, 3)
    mask[0, -2:] = False  # these words have no embedding at all
    yield Case(*sentence(rng, mask, (2, 3, 7), 2), _beta(rng))
    mask = some_missing(rng, 3, 5, 2)
    mask[1:, -1] = False
    yield Case(*sentence(rng, mask, (2, 7), 3, missing=np.nan), _beta(rng))


@gate_embeddings.variant
def gated_by_tanh(embeddings, mask, W, b, u, beta):
    mapped = projected(embeddings, mask, W, b)
    gates = mask * (1 + np.tanh((mapped @ u + beta) / 2)) / 2  # the sigmoid, without overflow
    return np.einsum("...e,...ed->...d", gates, mapped), gates


@gate_embeddings.variant
def gated_in_a_running_sum(embeddings, mask, W, b, u, beta):
    total, gates = 0.0, []
    for i, embedding in enumerate(embeddings):
        there = mask[..., i]
        x = np.where(there[..., None], embedding, 0.0) @ W[i].T + b[i]
        gates.append(np.where(there, 1 / (1 + np.exp(-beta) / np.exp(x @ u)), 0.0))
        total = total + gates[-1][..., None] * x
    return total, np.stack(gates, axis=-1)


@gate_embeddings.variant
def gated_in_torch(embeddings, mask, W, b, u, beta):
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
    gates = torch.sigmoid(types @ u + beta).masked_fill(~mask, 0.0)
    return (gates[..., None] * types).sum(dim=-2), gates
