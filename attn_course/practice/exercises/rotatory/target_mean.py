"""The mean of a padded target, over its true length."""

import numpy as np

from attn_course.definitions import features as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import padded, ragged_mask, readable, row_by_row
from attn_course.translate import _


@reference
def target_mean(target, mask):
    return row_by_row(
        lambda real, words: np.array(definition.mean(words, real)),
        mask,
        target,
    )


@target_mean.cases(points=1, label=_("one target, padded with zeros"))
def one_target(rng):
    for n, d, words in ((3, 2, 1), (5, 3, rng.integers(2, 5))):  # of one word the mean is the word
        mask = np.arange(n) < words
        yield Case(padded(readable(rng, n, d), mask, 0.0), mask)


@target_mean.cases(points=1, label=_("a batch, and anything may stand in the padding"))
def a_batch(rng):
    mask = ragged_mask(rng, 2, 3)
    yield Case(padded(readable(rng, 2, 3, 2), mask, 7.0), mask)
    mask = ragged_mask(rng, 7, 5)
    yield Case(padded(readable(rng, 7, 5, 3), mask, np.nan), mask)


@target_mean.cases(points=1, label=_("a target without a word has the mean 0"))
def nothing(rng):
    mask = np.array([[True, False, True], [False, False, False]])
    yield Case(readable(rng, 2, 3, 5), mask)


@target_mean.variant
def mean_with_loops(target, mask):
    def mean(real, words):
        chosen = [word for word, is_word in zip(words, real, strict=True) if is_word]
        return sum(chosen) / len(chosen) if chosen else np.zeros(words.shape[-1])

    return row_by_row(mean, mask, target)


@target_mean.variant
def mean_as_equal_weights(target, mask):
    weights = mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1)
    return (weights[..., None, :] @ padded(target, mask, 0.0))[..., 0, :]


@target_mean.variant
def mean_in_torch(target, mask):
    import torch

    mask = torch.tensor(mask)
    words = torch.tensor(target, dtype=torch.float32).masked_fill(~mask[..., None], 0)
    return words.sum(dim=-2) / mask.sum(dim=-1).clamp(min=1)[..., None]
