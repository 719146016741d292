"""The smallest model that writes: logits of the next word, given the word before and nothing else.

`table[before, word]` is the logit of `word` after `before`.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from attn_course.practice.inputs import readable

Table = NDArray[np.float64]
Signs = tuple[int, ...]  # what was written so far, with the stop sign if there was one
_NARROW = 1e-3  # candidates whose scores are this close may change places when they are rounded


def drawn_until(
    rng: np.random.Generator,
    words: int,
    is_wanted: Callable[[Table], bool],
    draw: Callable[..., Table] = readable,
) -> Table:
    """Return the first drawn table that is wanted."""
    while True:
        table = draw(rng, words, words)
        if is_wanted(table):
            return table


def require_signs(table: Table, start: int, stop: int, limit: int) -> None:
    """Raise ValueError for what the tasks exclude."""
    words = len(table)
    if table.shape != (words, words) or not (0 <= start < words and 0 <= stop < words):
        raise ValueError("start and stop are words of the table")
    if not isinstance(limit, int) or limit < 1:
        raise ValueError("limit must be a whole number, at least 1")


def likeliest(table: Table, start: int, stop: int, limit: int) -> list[int]:
    """Return what greedy search writes."""
    words: list[int] = []
    while len(words) < limit:
        row = list(table[words[-1] if words else start])
        word = row.index(max(row))  # the first of equal ones
        if word == stop:
            break
        words.append(word)
    return words


def score(table: Table, start: int, signs: Signs) -> float:
    """Return the log probability of all signs, one after the other."""
    total = 0.0
    for before, word in pairwise((start, *signs)):
        row = table[before]
        best = max(row)
        total += row[word] - best - log(sum(exp(logit - best) for logit in row))
    return total


def is_finished(signs: Signs, stop: int) -> bool:
    """Return whether the last sign is the stop sign."""
    return signs[-1:] == (stop,)


def score_per_sign(table: Table, start: int, signs: Signs) -> float:
    """Return the mean log probability, which the exercise does not ask for."""
    return score(table, start, signs) / len(signs)


def beams(
    table: Table,
    start: int,
    stop: int,
    limit: int,
    width: int,
    rank: Callable[[Table, int, Signs], float] = score,
) -> Iterator[list[Signs]]:
    """Yield the hypotheses that are kept in each round, the best first.

    Raises ValueError where the choice is so close that rounding could change it.
    """
    kept: list[Signs] = [()]
    for _round in range(limit):
        candidates = []
        for signs in kept:
            ends = [()] if is_finished(signs, stop) else [(word,) for word in range(len(table))]
            candidates += [signs + end for end in ends]
        candidates.sort(key=lambda signs: -rank(table, start, signs))
        kept, dropped = candidates[:width], candidates[width : width + 1]
        require_a_gap([rank(table, start, signs) for signs in kept[-1:] + dropped])
        yield kept


def require_a_gap(scores: list[float]) -> None:
    """Raise ValueError if the first two scores are nearly equal."""
    if len(scores) > 1 and scores[0] - scores[1] < _NARROW * max(1.0, abs(scores[0])):
        raise ValueError("two scores are nearly equal, so rounding decides")
