"""Refined features: the context is added to the word, and the sum is normalised."""

from math import sqrt

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _

EPSILON = 1e-5


@reference
def refine(features, contexts, gain, bias):
    if contexts.shape != features.shape:
        raise ValueError("words and contexts have the same shape")  # also made smaller
    if not gain.shape == bias.shape == features.shape[-1:]:
        raise ValueError("gain and bias have one number for each number of a word")

    def one_word(numbers):
        mean = sum(numbers) / len(numbers)
        variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
        return [
            g * (number - mean) / sqrt(variance + EPSILON) + b
            for number, g, b in zip(numbers, gain, bias, strict=True)
        ]

    return np.apply_along_axis(one_word, -1, features + contexts)


def _words(rng, *size):
    features, contexts = readable(rng, *size), readable(rng, *size)
    return features, contexts, readable(rng, size[-1]), readable(rng, size[-1])


@refine.cases(points=2, label=_("the words of one sentence"))
def one_sentence(rng):
    yield Case(*_words(rng, 2, 3))
    yield Case(*_words(rng, 3, 5))
    yield Case(*_words(rng, 5, 3))


@refine.cases(points=1, label=_("a single word, and a batch of sentences"))
def other_shapes(rng):
    yield Case(*_words(rng, 7))
    yield Case(*_words(rng, 2, 3, 5))
    yield Case(*_words(rng, 2, 3, 5, 7))


@refine.cases(points=1, label=_("numbers that are nearly or exactly equal"))
def hardly_any_variance(rng):
    features, contexts, gain, bias = _words(rng, 2, 3)
    level = np.round(features[:, :1])
    # Differences of hundredths and a few thousandths: their variance is near epsilon.
    yield Case(level + features / 256, contexts / 256, gain, bias)
    yield Case(np.broadcast_to(level, (2, 3)).copy(), np.ones((2, 3)), gain, bias)


@refine.variant
def with_numpy_var(features, contexts, gain, bias):
    total = features + contexts
    centred = total - total.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt(total.var(axis=-1, keepdims=True) + EPSILON) + bias


@refine.variant
def by_matrices(features, contexts, gain, bias):
    d = features.shape[-1]
    centred = (features + contexts) @ (np.eye(d) - 1 / d)  # subtracts the mean
    variance = np.einsum("...d,...d->...", centred, centred)[..., None] / d
    return gain * centred * (variance + EPSILON) ** -0.5 + bias


@refine.variant
def in_torch(features, contexts, gain, bias):
    import torch

    total, gain, bias = (torch.as_tensor(part) for part in (features + contexts, gain, bias))
    return torch.nn.functional.layer_norm(total, total.shape[-1:], gain, bias, EPSILON)
