"""The word error rate of a corpus: edits are summed, words are summed, then they are divided."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.error_rates._corpora import (
    corpus,
    edits_of,
    is_telling,
    lengths_of,
    renamed,
)
from attn_course.translate import _


@reference
def word_error_rate(references, hypotheses):
    words = lengths_of(references).sum()
    if words == 0:
        raise ValueError("there is one word at least")
    return float(edits_of(references, hypotheses).sum() / words)


def _telling(rng, lengths, **settings):
    """Return a corpus on which each wrong way to divide has another result."""
    while True:
        references, hypotheses = corpus(rng, lengths, **settings)
        if is_telling(references, hypotheses, edits_of(references, hypotheses)):
            return Case(references, hypotheses)


@word_error_rate.cases(points=2, label=_("a few utterances of different lengths"))
def a_few_utterances(rng):
    yield Case(*renamed(rng, [[0], [1, 2, 3]], [[4, 5], [2, 3]]))
    yield Case(*renamed(rng, [[0, 1, 2], [4]], [[3, 0, 1], [4, 5]]))
    yield _telling(rng, (2, 5, 3))
    yield _telling(rng, (6, 1, 4, 2))


@word_error_rate.cases(points=1, label=_("a word that moves to the next utterance"))
def words_at_the_border(rng):
    yield Case(*renamed(rng, [[0, 1], [2, 3, 4]], [[0], [1, 2, 3, 5]]))
    yield Case(*renamed(rng, [[0, 1, 2, 3], [4, 5]], [[0, 1, 2, 3, 4], [5]]))


@word_error_rate.cases(points=1, label=_("more heard than said: a rate above 1"))
def more_than_was_said(rng):
    yield Case(*renamed(rng, [[0], [1, 2]], [[3, 4, 0, 5], [6, 1, 7]]))
    yield Case(*renamed(rng, [[0, 1]], [[2, 3, 4, 1, 5]]))


@word_error_rate.cases(points=1, label=_("nothing said, or nothing heard, in one utterance"))
def nothing_said_or_heard(rng):
    yield Case(*renamed(rng, [[], [0, 1, 2]], [[3, 4], [0, 2]]))
    yield Case(*renamed(rng, [[0, 1], [2, 3, 4, 5], []], [[], [2, 6, 4, 5], []]))


@word_error_rate.cases(points=1, label=_("longer utterances, where a greedy matching goes wrong"))
def long_utterances(rng):
    # A matching that begins with the first longest run loses two hits here.
    yield Case(*renamed(rng, [[0, 1, 2, 1], [3, 4]], [[1, 1, 1, 1], [3, 5, 4]]))
    yield _telling(rng, (9, 4, 13), words=4, change=0.5)


@word_error_rate.variant
def two_rows_at_a_time(references, hypotheses):
    edits = 0
    for said, heard in zip(references, hypotheses, strict=True):
        row = list(range(len(heard) + 1))
        for i, word in enumerate(said):
            above, row = row, [i + 1]
            for j, other in enumerate(heard):
                row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + int(word != other)))
        edits += row[-1]
    return edits / sum(map(len, references))


@word_error_rate.variant
def mean_edits_over_mean_length(references, hypotheses):
    from functools import cache

    edits = []
    for said, heard in zip(references, hypotheses, strict=True):

        @cache
        def distance(i, j, said=tuple(said), heard=tuple(heard)):
            if i == 0 or j == 0:
                return i + j
            if said[i - 1] == heard[j - 1]:
                return distance(i - 1, j - 1)
            return 1 + min(distance(i - 1, j), distance(i, j - 1), distance(i - 1, j - 1))

        edits.append(distance(len(said), len(heard)))
    return np.mean(edits) / np.mean([len(said) for said in references])


@word_error_rate.variant
def in_torch(references, hypotheses):
    import torch

    edits = torch.tensor(0)
    for said, heard in zip(references, hypotheses, strict=True):
        said, heard = torch.as_tensor(said), torch.as_tensor(heard)
        steps = torch.arange(len(heard) + 1)
        row = steps
        for word in said:
            best = torch.minimum(row[1:] + 1, row[:-1] + (word != heard).long())
            best = torch.cat([row[:1] + 1, best])
            row = torch.cummin(best - steps, dim=0).values + steps
        edits = edits + row[-1]
    return edits / sum(len(said) for said in references)
