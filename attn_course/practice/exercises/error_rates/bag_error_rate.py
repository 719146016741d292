"""The position-independent error rate: two sentences are compared as bags of words."""

from collections import Counter

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.error_rates._corpora import (
    bag_errors_of,
    corpus,
    edits_of,
    is_telling,
    lengths_of,
    renamed,
)
from attn_course.translate import _


@reference
def bag_error_rate(references, hypotheses):
    words = lengths_of(references).sum()
    if words == 0:
        raise ValueError("there is one word at least")
    return float(bag_errors_of(references, hypotheses).sum() / words)


def _telling(rng, lengths, **settings):
    """Return a corpus on which order matters, and each wrong way to divide has another result."""
    while True:
        references, hypotheses = corpus(rng, lengths, **settings)
        shuffled = [rng.permutation(one) for one in hypotheses]
        errors = bag_errors_of(references, shuffled)
        is_reordered = edits_of(references, shuffled).sum() > errors.sum()
        if is_reordered and is_telling(references, shuffled, errors):
            return Case(references, shuffled)


@bag_error_rate.cases(points=2, label=_("utterances of different lengths, in another order"))
def in_another_order(rng):
    yield Case(*renamed(rng, [[0, 1, 2], [3]], [[2, 0], [4, 5]]))
    yield Case(*renamed(rng, [[0], [1, 2, 3, 4]], [[5, 0], [4, 6, 1]]))
    yield _telling(rng, (3, 5, 2))


@bag_error_rate.cases(points=1, label=_("words that repeat"))
def words_that_repeat(rng):
    yield Case(*renamed(rng, [[0, 0, 1], [2, 3]], [[1, 0], [3, 2, 2, 2]]))
    yield Case(*renamed(rng, [[0, 1, 0, 0], [1, 2]], [[0, 3, 3, 0, 1], [1, 1]]))


@bag_error_rate.cases(points=1, label=_("the same words in different utterances"))
def words_of_another_utterance(rng):
    yield Case(*renamed(rng, [[0, 1], [2, 3, 4]], [[2, 1], [0, 3, 4, 5]]))


@bag_error_rate.cases(points=1, label=_("more heard than said: a rate above 1"))
def more_than_was_said(rng):
    yield Case(*renamed(rng, [[0], [1, 2]], [[3, 4, 0, 5], [2, 6, 7, 8]]))


@bag_error_rate.cases(points=1, label=_("nothing said, or nothing heard, in one utterance"))
def nothing_said_or_heard(rng):
    yield Case(*renamed(rng, [[], [0, 1, 2]], [[3, 4], [2, 0]]))
    yield Case(*renamed(rng, [[0, 1], [2, 3, 4, 5], []], [[], [5, 4, 6], []]))


@bag_error_rate.cases(points=1, label=_("longer utterances"))
def long_utterances(rng):
    yield _telling(rng, (9, 4, 13), words=5)


@bag_error_rate.variant
def crossed_off_one_by_one(references, hypotheses):
    errors = 0
    for said, heard in zip(references, hypotheses, strict=True):
        left = list(heard)
        lost = 0
        for word in said:
            if word in left:
                left.remove(word)
            else:
                lost += 1
        errors += max(lost, len(left))  # a lost word and an added one are one substitution
    return errors / sum(map(len, references))


@bag_error_rate.variant
def by_histograms(references, hypotheses):
    errors = words = 0
    for said, heard in zip(references, hypotheses, strict=True):
        both = np.concatenate([said, heard]).astype(int)
        size = int(both.max(initial=0)) + 1
        more = np.bincount(said, minlength=size) - np.bincount(heard, minlength=size)
        errors += max(np.maximum(more, 0).sum(), np.maximum(-more, 0).sum())
        words += len(said)
    return errors / words


@bag_error_rate.variant
def by_subtracted_counters(references, hypotheses):
    pairs = list(zip(references, hypotheses, strict=True))
    errors = [
        (Counter(one.tolist()) - Counter(other.tolist())).total() + max(len(other) - len(one), 0)
        for one, other in pairs
    ]
    return np.sum(errors) / sum(len(said) for said, _heard in pairs)
