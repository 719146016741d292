"""BLEU of a corpus: counts are added up before they are divided."""

from collections import Counter
from functools import partial
from itertools import pairwise
from math import exp, log, prod

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.text_metrics._sentences import (
    WORDS,
    clipped,
    drawn_until,
    ngrams,
    sentence,
)
from attn_course.translate import _


@reference
def corpus_bleu(candidates, references, n):
    c = sum(len(candidate) for candidate in candidates)
    r = sum(_closest(*pair) for pair in zip(candidates, references, strict=True))
    penalty = 1.0 if c >= r else exp(1 - r / c)
    logarithms = []
    for order in range(1, n + 1):
        matches, total = _pooled(candidates, references, order)
        if matches == 0:
            return 0.0, penalty
        logarithms.append(log(matches / total))
    return penalty * exp(sum(logarithms) / n), penalty


def _closest(candidate, references):
    lengths = sorted(len(one) for one in references)
    return min(lengths, key=lambda length: abs(length - len(candidate)))  # the first of equals


def _pooled(candidates, references, n):
    counts = [clipped(*pair, n) for pair in zip(candidates, references, strict=True)]
    return sum(matches for matches, _total in counts), sum(total for _matches, total in counts)


def _altered(rng, words, length, vocabulary):
    """Return a sentence of a length that shares most words with another."""
    start = rng.integers(0, max(1, len(words) - length + 1))
    kept = [*words[start : start + length]]
    kept += sentence(rng, length - len(kept), vocabulary)
    for place in rng.choice(length, size=max(1, length // 4), replace=False) if length else ():
        kept[place] = WORDS[rng.integers(0, vocabulary)]
    return kept


def _case(rng, lengths, n, is_telling, vocabulary=5):
    """Return a case; `lengths` has a tuple per sentence, with the candidate's length first."""

    def draw():
        candidates, references = [], []
        for length, *others in lengths:
            first = sentence(rng, max(length, *others), vocabulary)
            candidates.append(_altered(rng, first, length, vocabulary))
            references.append([_altered(rng, first, other, vocabulary) for other in others])
        return candidates, references

    return Case(*drawn_until(draw, partial(is_telling, n=n)), n)


def _has_no_zero(candidates, references, n):
    """Return whether every order has matches in the corpus, but is not all right."""
    counts = [_pooled(candidates, references, order) for order in range(1, n + 1)]
    return all(0 < matches < total for matches, total in counts)


def _sentences_differ(candidates, references, n):
    """Return whether each sentence has a BLEU of its own, and the mean of them is another."""
    if not _has_no_zero(candidates, references, n):
        return False
    found = [
        corpus_bleu.reference([candidate], [own], n)[0]
        for candidate, own in zip(candidates, references, strict=True)
    ]
    pooled = corpus_bleu.reference(candidates, references, n)[0]
    shares = [matches / total for matches, total in _orders(candidates, references, n)]
    return (
        min(found) > 0
        and abs(found[0] - found[1]) > 0.05
        and abs(pooled - sum(found) / len(found)) > 0.02
        and all(abs(one - other) > 0.05 for one, other in pairwise(shares))
    )


def _means_differ(candidates, references, n):
    """Return whether the arithmetic mean of the precisions is clearly not the geometric one."""
    if not _sentences_differ(candidates, references, n):
        return False
    shares = [matches / total for matches, total in _orders(candidates, references, n)]
    return sum(shares) / n - prod(shares) ** (1 / n) > 0.03


def _orders(candidates, references, n):
    return [_pooled(candidates, references, order) for order in range(1, n + 1)]


@corpus_bleu.cases(points=2, label=_("two sentences, counts added up"))
def two_sentences(rng):
    yield _case(rng, ((5, 5), (2, 3)), 1, _sentences_differ)
    yield _case(rng, ((7, 6), (3, 4)), 2, _means_differ)
    yield _case(rng, ((3, 5), (8, 6)), 2, _sentences_differ)
    yield _case(rng, ((9, 9), (5, 6)), 3, _sentences_differ)


@corpus_bleu.cases(points=1, label=_("too few words, too many words"))
def too_short_and_too_long(rng):
    yield _case(rng, ((4, 7), (3, 4)), 2, _sentences_differ)
    yield _case(rng, ((7, 5), (5, 4)), 2, _sentences_differ)
    yield _case(rng, ((4, 7), (8, 5)), 2, _sentences_differ)  # c = r: one is short, one is long
    yield _case(rng, ((3, 7), (2, 4)), 1, _sentences_differ)  # less than half of the words


@corpus_bleu.cases(points=2, label=_("several references, the closest length counts"))
def several_references(rng):
    yield _case(rng, ((5, 9, 6), (3, 4, 8)), 2, _sentences_differ)  # the closest is longer
    yield _case(rng, ((6, 8, 4), (4, 9, 5)), 2, _sentences_differ)  # a tie
    yield _case(rng, ((4, 3, 5), (5, 7, 8)), 2, _sentences_differ)  # a tie, with a penalty
    yield _case(rng, ((4, 2, 7, 5), (6, 8, 7, 3)), 2, _sentences_differ)


def _has_a_zero(candidates, references, n):
    """Return whether the last order has no match, and all others have some."""
    *before, (matches, total) = _orders(candidates, references, n)
    return matches == 0 < total and all(0 < one < other for one, other in before)


def _one_has_a_zero(candidates, references, n):
    """Return whether one sentence would score 0 by itself, but the corpus does not."""
    pairs = zip(candidates, references, strict=True)
    alone = [corpus_bleu.reference([one], [own], n)[0] for one, own in pairs if one]
    return _has_no_zero(candidates, references, n) and min(alone) == 0 < max(alone)


@corpus_bleu.cases(points=1, label=_("an order without a match, and very short sentences"))
def zeros(rng):
    yield _case(rng, ((5, 7), (3, 4)), 2, _has_a_zero, vocabulary=4)
    yield _case(rng, ((7, 6), (1, 2)), 2, _one_has_a_zero)
    yield _case(rng, ((6, 7), (0, 3)), 2, _has_no_zero)  # an empty candidate
    short = [["the", "cat"], ["a"]]
    yield Case(short, [[["the", "cat", "sees"]], [["a", "dog"], ["a"]]], 2)  # a single pair
    yield Case(short, [[["the", "cat"]], [["a", "dog"], ["a"]]], 3)  # no n-gram of three words


@corpus_bleu.cases(points=1, label=_("up to four words, three sentences"))
def four_words(rng):
    yield _case(rng, ((9, 10), (7, 7, 8), (5, 6)), 4, _has_no_zero, vocabulary=3)


@corpus_bleu.variant
def as_a_product(candidates, references, n):
    """The n-th root of a product, without logarithms."""
    c = sum(map(len, candidates))
    r = 0
    for candidate, own in zip(candidates, references, strict=True):
        distance = min(abs(len(one) - len(candidate)) for one in own)
        lengths = {len(one) for one in own}
        r += (
            len(candidate) - distance
            if len(candidate) - distance in lengths
            else (len(candidate) + distance)
        )
    shares = []
    for order in range(1, n + 1):
        matches = total = 0
        for candidate, own in zip(candidates, references, strict=True):
            said = Counter(ngrams(candidate, order))
            most: Counter = Counter()
            for one in own:
                most |= Counter(ngrams(one, order))
            matches, total = matches + (said & most).total(), total + said.total()
        shares.append(matches / max(total, 1))
    penalty = min(1.0, exp(1 - r / c))
    return penalty * prod(shares) ** (1 / n), penalty


@corpus_bleu.variant
def with_arrays(candidates, references, n):
    """Logarithms of 0 are minus infinity, and the exponential makes a 0 of them."""
    pairs = list(zip(candidates, references, strict=True))
    counts = np.array([[clipped(*pair, order) for order in range(1, n + 1)] for pair in pairs])
    matches, totals = counts.sum(axis=0).T
    lengths = np.array([(len(candidate), _closest(candidate, own)) for candidate, own in pairs])
    c, r = lengths.sum(axis=0)
    penalty = np.exp(min(0.0, 1 - r / c))
    with np.errstate(divide="ignore"):
        return penalty * np.exp(np.log(matches / np.maximum(totals, 1)).mean()), penalty
