"""Clipped counts of n-grams: how many of a candidate's n-grams stand in a reference?"""

from collections import Counter
from functools import partial

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.text_metrics._sentences import (
    clipped,
    drawn_until,
    ngrams,
    sentence,
)
from attn_course.translate import _


@reference
def modified_precision(candidate, references, n):
    return clipped(candidate, references, n)


def _counts_that_differ(candidate, references, n):
    """Return the counts of other readings of the task: no two may be equal where it matters."""
    said = Counter(ngrams(candidate, n))
    counts = [Counter(ngrams(one, n)) for one in references]
    most = {ngram: max(count[ngram] for count in counts) for ngram in said}
    added = {ngram: sum(count[ngram] for count in counts) for ngram in said}
    earliest = {g: next((count[g] for count in counts if count[g]), 0) for g in said}
    glued = Counter(ngrams([word for one in references for word in one], n))
    return {
        "right": sum(min(said[g], most[g]) for g in said),
        "not clipped": sum(said[g] for g in said if most[g]),
        "once each": sum(1 for g in said if most[g]),
        "glued": sum(min(said[g], glued[g]) for g in said),
        "added up": sum(min(said[g], added[g]) for g in said),
        "one by one": sum(min(said[g], count[g]) for g in said for count in counts),
        "first": sum(min(said[g], counts[0][g]) for g in said),
        "last": sum(min(said[g], counts[-1][g]) for g in said),
        "earliest": sum(min(said[g], earliest[g]) for g in said),
        "mean": sum(min(said[g], count[g]) for g in said for count in counts) / len(counts),
        "at the mean": sum(min(said[g], added[g] / len(counts)) for g in said),
        "best": max(sum(min(said[g], count[g]) for g in said) for count in counts),
    }


def _is_clipped(candidate, references, n):
    """Return whether a match is clipped, one is not, and repetitions count."""
    found = _counts_that_differ(candidate, references, n)
    return found["once each"] < found["right"] < found["not clipped"] < len(ngrams(candidate, n))


def _needs_every_reference(candidate, references, n):
    """Return whether neither a single reference nor the sum of their counts would do."""
    found = _counts_that_differ(candidate, references, n)
    right = found.pop("right")
    del found["earliest"]
    glued_differs = n == 1 or found["glued"] != found["added up"]
    return right not in found.values() and found["first"] != found["last"] and glued_differs


def _tells_all_apart(candidate, references, n):
    """Return whether also what the first reference that has an n-gram allows is another count."""
    found = _counts_that_differ(candidate, references, n)
    if found["earliest"] in (found["right"], found["best"], found["first"], found["last"]):
        return False
    means_differ = abs(found["mean"] - found["at the mean"]) > 0.1
    return means_differ and _needs_every_reference(candidate, references, n)


def _the_first_has_most(candidate, references, n):
    """Return whether, of two references, the first has more matches by itself."""
    found = _counts_that_differ(candidate, references, n)
    return found["first"] > found["last"] and _needs_every_reference(candidate, references, n)


def _the_last_has_most(candidate, references, n):
    found = _counts_that_differ(candidate, references, n)
    return found["first"] < found["last"] and _needs_every_reference(candidate, references, n)


def _case(rng, lengths, n, is_telling, vocabulary=3):
    """Return a case; `lengths` has the length of the candidate first."""

    def draw():
        candidate, *references = (sentence(rng, length, vocabulary) for length in lengths)
        return candidate, references

    candidate, references = drawn_until(draw, partial(is_telling, n=n))
    return Case(candidate, references, n)


@modified_precision.cases(points=2, label=_("one reference, single words and pairs"))
def one_reference(rng):
    yield _case(rng, (6, 5), 1, _is_clipped)
    yield _case(rng, (7, 5), 2, _is_clipped, vocabulary=2)
    yield _case(rng, (9, 8), 2, _is_clipped)


@modified_precision.cases(points=2, label=_("several references"))
def several_references(rng):
    yield _case(rng, (7, 5, 4), 1, _the_first_has_most)
    yield _case(rng, (8, 6, 7), 2, _the_last_has_most, vocabulary=2)
    yield _case(rng, (9, 5, 7, 4), 1, _tells_all_apart, vocabulary=4)


def _order_matters(candidate, references, n):
    """Return whether n-grams as tuples, as sorted words and as sets have different matches."""
    forms = (tuple, lambda ngram: tuple(sorted(ngram)), frozenset)
    matches = []
    for form in forms:
        said = Counter(map(form, ngrams(candidate, n)))
        most: Counter = Counter()
        for one in references:
            most |= Counter(map(form, ngrams(one, n)))
        matches.append((said & most).total())
    return 0 < matches[0] < matches[1] < matches[2] < len(ngrams(candidate, n))


@modified_precision.cases(points=1, label=_("longer n-grams"))
def longer(rng):
    yield _case(rng, (8, 6), 3, _order_matters)
    yield _case(rng, (9, 7, 8), 4, _order_matters, vocabulary=2)


def _has_nothing(candidate, references, n):
    return clipped(candidate, references, n)[0] == 0


@modified_precision.cases(points=1, label=_("no match, and a sentence shorter than n"))
def nothing_in_common(rng):
    yield _case(rng, (5, 6), 2, _has_nothing)
    yield Case(sentence(rng, 2), [sentence(rng, 5), sentence(rng, 4)], 4)
    yield Case([], [sentence(rng, 3)], 1)
    words = sentence(rng, 3)
    yield Case(words, [sentence(rng, 2), [*words, "and"]], 3)  # a reference shorter than n too


@modified_precision.cases(points=1, label=_("words that are nearly the same"))
def nearly_the_same(_rng):
    # "The" is not "the", and "a" is a part of "cat" and of "and".
    yield Case(["The", "a", "a", "a", "cat"], [["the", "cat", "and", "cat", "cat"]], 1)
    # "a the" and "at he" differ only in where the space is.
    yield Case(["a", "the", "cat", "sees"], [["at", "he", "cat", "sees"]], 2)


@modified_precision.variant
def by_ticking_off(candidate, references, n):
    """Tick off an n-gram of a copy of the references for each one said."""
    left = [ngrams(one, n) for one in references]
    matches = 0
    for ngram in ngrams(candidate, n):
        found = [one for one in left if ngram in one]
        matches += bool(found)
        for one in found:
            one.remove(ngram)
    return matches, len(ngrams(candidate, n))


@modified_precision.variant
def with_counters(candidate, references, n):
    def count(words):
        return Counter(zip(*(words[start:] for start in range(n)), strict=False))

    most: Counter = Counter()
    for one in references:
        most |= count(one)
    said = count(candidate)
    return (said & most).total(), said.total()


@modified_precision.variant
def with_sorted_lists(candidate, references, n):
    said = sorted(ngrams(candidate, n))
    matches, place = 0, 0
    while place < len(said):
        run = sum(1 for one in said if one == said[place])
        allowed = [sum(1 for one in ngrams(words, n) if one == said[place]) for words in references]
        matches += min(run, max(allowed))
        place += run
    return [matches, len(said)]
