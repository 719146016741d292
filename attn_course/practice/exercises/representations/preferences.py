"""Find two mistakes in a table that says which embedding each class of words prefers."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.representations._embeddings import some_missing
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def preferences(weights, mask, classes, number):
    sums = np.where(mask.any(axis=-1), 1.0, 0.0)
    if weights.ndim != 3 or not np.allclose(weights.sum(axis=-1), sums):
        raise ValueError("the weights of a word sum to 1")  # also in an example made smaller
    total, count = np.zeros((number, weights.shape[-1])), np.zeros(number)
    for word in np.ndindex(classes.shape):
        if mask[word].any():
            total[classes[word]] += weights[word]
            count[classes[word]] += 1
    return total / np.maximum(count, 1)[:, None]


def _text(rng, lengths, E, often):
    """Return sentences of these lengths, padded, with words of `often` classes and of one more.

    Every sentence begins with a word of each class that occurs often, and so may padding be
    labelled. The last class has one word, the next to last position of the longest sentence.
    """
    s, n = len(lengths), max(lengths) + 1
    mask = some_missing(rng, s, n, E) & (np.arange(n) < np.array(lengths)[:, None])[..., None]
    weights = softmax(readable(rng, s, n, E), mask)
    classes = rng.integers(0, often, (s, n))
    classes[:, :often] = np.arange(often)
    classes[np.argmax(lengths), n - 2] = often
    return weights, mask, classes


@preferences.cases(points=1, label=_("sentences of different lengths"))
def different_lengths(rng):
    yield Case(*_text(rng, (2, 4), 3, often=1), 2)
    yield Case(*_text(rng, (6, 3, 4), 2, often=2), 3)


@preferences.cases(points=1, label=_("a class without a word: its row is 0"))
def a_class_without_a_word(rng):
    yield Case(*_text(rng, (4, 2), 3, often=1), 3)
    yield Case(*_text(rng, (3, 6, 4), 2, often=3), 5)


@preferences.variant
def with_one_hot_classes(weights, mask, classes, number):
    members = (classes[..., None] == np.arange(number)) & mask.any(axis=-1)[..., None]
    total = np.einsum("snc,sne->ce", members.astype(float), weights)
    return total / np.maximum(members.sum(axis=(0, 1)), 1)[:, None]


@preferences.variant
def word_by_word(weights, mask, classes, number):
    exists = mask.any(axis=-1)
    table = np.zeros((number, weights.shape[-1]))
    for one in range(number):
        chosen = weights[exists & (classes == one)]  # (words of the class, E)
        if len(chosen):
            table[one] = chosen.mean(axis=0)
    return table


@preferences.variant
def in_torch(weights, mask, classes, number):
    import torch

    weights, mask, classes = (torch.as_tensor(part) for part in (weights, mask, classes))
    exists = mask.any(dim=-1)
    kinds = torch.nn.functional.one_hot(classes[exists], number).to(weights.dtype)
    return kinds.T @ weights[exists] / kinds.sum(dim=0).clamp(min=1)[:, None]
