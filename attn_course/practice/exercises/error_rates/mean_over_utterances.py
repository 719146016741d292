"""A mean of error rates that should be a ratio of sums."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def mean_over_utterances(edits, lengths):
    if lengths.sum() == 0:
        raise ValueError("there is one word at least")
    return np.array([sum(row.tolist()) / sum(lengths.tolist()) for row in edits])


def _counts(rng, systems, utterances, empty=()):
    """Return edits and lengths, no two utterances equally long, some of them without a word."""
    lengths = 1 + rng.permutation(12)[:utterances]
    lengths[list(empty)] = 0
    edits = rng.integers(0, lengths + 3, (systems, utterances))
    edits[:, list(empty)] = rng.integers(1, 5, (systems, len(empty)))
    return Case(edits, lengths)


@mean_over_utterances.cases(points=2, label=_("two systems, utterances of different lengths"))
def two_systems(rng):
    # The mean of the rates prefers the first system, the ratio of the sums the second.
    n = int(rng.integers(8, 13))
    yield Case(np.array([[0, n // 2], [1, 1]]), np.array([1, n]))
    yield _counts(rng, 2, 3)
    yield _counts(rng, 2, 5)


@mean_over_utterances.cases(points=1, label=_("an utterance in which nothing was said"))
def nothing_said(rng):
    n = int(rng.integers(3, 7))  # the first system is above 1
    yield Case(np.array([[n, 1], [1, 2]]), np.array([0, n]))
    yield _counts(rng, 2, 3, empty=(1,))
    yield _counts(rng, 2, 5, empty=(0, 3))


@mean_over_utterances.cases(points=1, label=_("a single system, three systems, five systems"))
def more_systems(rng):
    yield _counts(rng, 1, 4, empty=(2,))
    yield _counts(rng, 3, 5)
    yield _counts(rng, 5, 2)


@mean_over_utterances.variant
def in_loops(edits, lengths):
    rates = []
    for row in edits:
        total = words = 0
        for wrong, n in zip(row, lengths, strict=True):
            total += wrong
            words += n
        rates.append(total / words)
    return rates


@mean_over_utterances.variant
def mean_edits_over_mean_length(edits, lengths):
    return edits.mean(axis=1) / lengths.mean()


@mean_over_utterances.variant
def mean_weighted_by_length(edits, lengths):
    said = lengths > 0
    rates = np.average(edits[:, said] / lengths[said], axis=1, weights=lengths[said])
    return rates + edits[:, ~said].sum(axis=1) / lengths.sum()


@mean_over_utterances.variant
def by_a_product_of_matrices(edits, lengths):
    return edits @ np.full(len(lengths), 1 / lengths.sum())
