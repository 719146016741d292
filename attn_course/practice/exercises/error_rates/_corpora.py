"""Utterances as said and as heard, which the exercises of page 08b draw their cases from."""

from collections import Counter

import numpy as np

from attn_course.definitions.evaluation import edit_distance


def heard_as(rng, reference, words, change=0.4):
    """Return the reference with words lost, exchanged and added."""
    heard = []
    for word in reference:
        if rng.random() < change / 2:
            heard.append(rng.choice(words))
        if rng.random() > change / 2:
            heard.append(word if rng.random() > change else rng.choice(words))
    return np.array(heard, dtype=int)


def corpus(rng, lengths, words=6, change=0.4):
    """Return references of these lengths and what was heard, as lists of integer arrays."""
    vocabulary = 1 + np.arange(words)
    references = [rng.choice(vocabulary, n) for n in lengths]
    return references, [heard_as(rng, one, vocabulary, change) for one in references]


def renamed(rng, *corpora):
    """Return corpora of small numbers with other numbers for the same words, as arrays."""
    names = 1 + rng.permutation(9)
    return tuple([names[np.array(one, dtype=int)] for one in sentences] for sentences in corpora)


def edits_of(references, hypotheses):
    """Return the edit distance of each pair."""
    return np.array([edit_distance(*pair) for pair in zip(references, hypotheses, strict=True)])


def bag_errors_of(references, hypotheses):
    """Return the errors of each pair that are left if order does not count."""
    return np.array(
        [
            max(len(one), len(other)) - (Counter(one.tolist()) & Counter(other.tolist())).total()
            for one, other in zip(references, hypotheses, strict=True)
        ]
    )


def lengths_of(sentences):
    """Return the number of words of each sentence."""
    return np.array([len(one) for one in sentences])


def is_telling(references, hypotheses, errors):
    """Return whether a corpus tells a ratio of sums from the other ways to divide."""
    said, heard = lengths_of(references), lengths_of(hypotheses)
    real = said > 0
    rates = [
        errors.sum() / said.sum(),
        errors.sum() / heard.sum(),
        errors.sum() / np.maximum(said, heard).sum(),
        (errors[real] / said[real]).mean(),
        (errors / np.maximum(said, 1)).mean(),
        errors.sum() / len(said),
        errors.mean(),
    ]
    right, *others = rates
    return 0 < right != 1 and all(abs(right - other) > 1e-3 for other in others)
