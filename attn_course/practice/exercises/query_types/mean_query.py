"""The mean of a question asks a text; both are padded, and their lengths are numbers."""

from functools import partial

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import general
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import padded, readable, softmax
from attn_course.translate import _


@reference
def mean_query(words, n_words, features, n_features, W):
    if words.ndim > 2:
        batch = zip(words, n_words, features, n_features, strict=True)
        found = [mean_query.reference(*one, W) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    for rows, number in ((words, n_words), (features, n_features)):
        if not 0 <= number <= len(rows):  # also where a case is made smaller
            raise ValueError(f"{number} of {len(rows)} rows cannot be real")
    real = words[: int(n_words)]
    query = np.array([sum(column) / max(len(real), 1) for column in real.T])
    is_real = [place < n_features for place in range(len(features))]
    context, weights = attend(query, features, features, partial(general, W=W), is_real)
    return query, np.array(context), np.array(weights)


def _lengths(rng, n, batch):
    """Return numbers from 2 to n - 1, the first two of a batch different: everything is padded."""
    lengths = rng.integers(2, n, batch)
    if batch:
        lengths[..., 0], lengths[..., 1] = 2, n - 1
    return lengths if batch else int(lengths)


def _question(rng, m, n, d_q, d_f, batch=(), padding=0.0, lengths=None):
    n_words, n_features = lengths or (_lengths(rng, m, batch), _lengths(rng, n, batch))
    words, features = (
        padded(
            readable(rng, *batch, size, d), np.arange(size) < np.asarray(length)[..., None], padding
        )
        for size, d, length in ((m, d_q, n_words), (n, d_f, n_features))
    )
    return Case(words, n_words, features, n_features, readable(rng, d_f, d_q))


@mean_query.cases(points=1, label=_("a question and a text without padding"))
def without_padding(rng):
    yield _question(rng, 2, 3, 2, 2, lengths=(2, 3))
    yield _question(rng, 3, 5, 2, 2, lengths=(3, 5))


@mean_query.cases(points=2, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield _question(rng, 3, 5, 2, 2)
    yield _question(rng, 5, 3, 2, 2, padding=3.0)
    yield _question(rng, 5, 7, 2, 3, padding=np.nan)


@mean_query.cases(points=1, label=_("a batch, every question and text with a length of its own"))
def batches(rng):
    yield _question(rng, 5, 7, 2, 3, batch=(2,), padding=3.0)
    yield _question(rng, 5, 7, 3, 2, batch=(3,), padding=np.nan)
    yield _question(rng, 5, 7, 2, 3, batch=(3, 2))


@mean_query.cases(points=1, label=_("no word, or no feature: a query of 0, a context of 0"))
def without_a_word(rng):
    lengths = np.array([0, 3, 1]), np.array([2, 0, 4])
    yield _question(rng, 5, 7, 2, 3, batch=(3,), padding=2.0, lengths=lengths)


@mean_query.variant
def mean_as_a_product(words, n_words, features, n_features, W):
    def is_real(length, size):
        return np.arange(size) < np.asarray(length)[..., None]

    asks = is_real(n_words, words.shape[-2])
    shares = asks / np.maximum(asks.sum(axis=-1, keepdims=True), 1)
    query = (shares[..., None, :] @ padded(words, asks, 0.0))[..., 0, :]
    answers = is_real(n_features, features.shape[-2])
    kept = padded(features, answers, 0.0)
    weights = softmax((kept @ W @ query[..., None])[..., 0], answers)
    return query, (weights[..., None, :] @ kept)[..., 0, :], weights


@mean_query.variant
def mean_of_what_was_cut_out(words, n_words, features, n_features, W):
    if words.ndim > 2:
        batch = zip(words, n_words, features, n_features, strict=True)
        found = [mean_of_what_was_cut_out(*one, W) for one in batch]
        return tuple(np.array(part) for part in zip(*found, strict=True))
    query = words[:n_words].mean(axis=0) if n_words else np.zeros(words.shape[-1])
    real = features[:n_features]
    weights = np.zeros(len(features))
    if n_features:
        scores = real @ W @ query
        weights[:n_features] = np.exp(scores - scores.max())
        weights /= weights.sum()
    return query, weights[:n_features] @ real, weights


@mean_query.variant
def mean_in_torch(words, n_words, features, n_features, W):
    import torch

    def split(vectors, length):
        vectors, length = torch.as_tensor(vectors), torch.as_tensor(length)
        is_real = torch.arange(vectors.shape[-2]) < length[..., None]
        return vectors.masked_fill(~is_real[..., None], 0.0), is_real

    kept, is_real = split(words, n_words)
    query = kept.sum(dim=-2) / is_real.sum(dim=-1, keepdim=True).clamp(min=1)
    kept, is_real = split(features, n_features)
    scores = (kept @ (query @ torch.as_tensor(W).T)[..., None])[..., 0]
    weights = torch.softmax(scores.masked_fill(~is_real, -torch.inf), dim=-1).nan_to_num(0.0)
    return query, (weights[..., None, :] @ kept)[..., 0, :], weights
