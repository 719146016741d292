"""Sentences of few words, so that n-grams repeat, and pairs of them that are worth comparing."""

from collections.abc import Callable
from typing import Any

WORDS = ("the", "cat", "milk", "a", "dog", "sees", "warm", "and")
_MOST_DRAWS = 20_000


def sentence(rng, length, vocabulary=4):
    """Return a list of words, drawn from the first words of the vocabulary."""
    return [WORDS[place] for place in rng.integers(0, vocabulary, length)]


def ngrams(words, n):
    """Return all n-grams of a sentence, one by one."""
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def clipped(candidate, references, n):
    """Return how many n-grams of a candidate match, and how many there are, counted in loops."""
    said = ngrams(candidate, n)
    matches = 0
    for ngram in set(said):
        most = max(ngrams(reference, n).count(ngram) for reference in references)
        matches += min(said.count(ngram), most)
    return matches, len(said)


def drawn_until(draw: Callable[[], Any], is_telling: Callable[..., bool]) -> Any:
    """Return the first of many draws that shows the difference that its case is made for."""
    for _draw in range(_MOST_DRAWS):
        drawn = draw()
        if is_telling(*drawn):
            return drawn
    raise AssertionError("no draw shows the difference: ask for less, or for longer sentences")
