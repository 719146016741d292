"""Write the most probable word again and again, until the stop sign or the limit."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.bahdanau._bigrams import (
    drawn_until,
    likeliest,
    require_signs,
)
from attn_course.practice.inputs import huge
from attn_course.translate import _


@reference
def greedy(table, start, stop, limit):
    require_signs(table, start, stop, limit)
    return likeliest(table, start, stop, limit)


def _stops_after(rng, words, length, start, stop, limit):
    """Return a case with a sentence of `length` words that stops before the limit.

    A row that is read twice is read for ever, so such a sentence never contains a word twice.
    """
    table = drawn_until(
        rng, words, lambda table: len(likeliest(table, start, stop, limit)) == length
    )
    return Case(table, start, stop, limit)


def _never_stops(rng, words, start, stop, limit):
    """Return a case in which the limit ends the sentence, which is of two words at least."""

    def is_wanted(table):
        longer = likeliest(table, start, stop, limit + 3)
        return len(longer) > limit + 2 and len(set(longer)) > 1

    return Case(drawn_until(rng, words, is_wanted), start, stop, limit)


def _comes_back(rng, words, start, stop, limit):
    """Return a case in which the model writes the start sign again and again, but not first.

    The best word that would be new is not the stop sign, so a sentence without repetition goes on.
    """

    def is_wanted(table):
        written = likeliest(table, start, stop, limit)
        if written[1:2] != [start] or written[0] == start:
            return False
        return max(set(range(words)) - set(written), key=lambda word: table[start, word]) != stop

    return Case(drawn_until(rng, words, is_wanted), start, stop, limit)


@greedy.cases(points=1, label=_("sentences that end with the stop sign"))
def sentences_that_end(rng):
    yield _stops_after(rng, 3, 1, start=1, stop=0, limit=5)
    yield _stops_after(rng, 3, 1, start=0, stop=2, limit=7)
    yield _stops_after(rng, 5, 2, start=1, stop=0, limit=7)
    yield _stops_after(rng, 5, 2, start=0, stop=3, limit=5)
    yield _stops_after(rng, 7, 3, start=2, stop=5, limit=11)


@greedy.cases(points=1, label=_("sentences that end at the limit"))
def sentences_without_an_end(rng):
    yield _never_stops(rng, 3, start=0, stop=1, limit=2)
    yield _comes_back(rng, 4, start=2, stop=0, limit=3)
    yield _never_stops(rng, 5, start=1, stop=0, limit=5)
    yield _never_stops(rng, 5, start=3, stop=2, limit=1)


@greedy.cases(points=1, label=_("start and stop the same, ties, an empty sentence, large logits"))
def special_sentences(rng):
    yield _stops_after(rng, 3, 2, start=0, stop=0, limit=5)
    yield _stops_after(rng, 5, 3, start=2, stop=2, limit=7)
    tied = _stops_after(rng, 5, 2, start=1, stop=0, limit=7)
    tied.args[0][:, -1] = tied.args[0].max(axis=-1)  # the last word is as probable as the best one
    yield tied
    yield _stops_after(rng, 3, 0, start=1, stop=0, limit=5)
    yield Case(drawn_until(rng, 5, lambda t: len(likeliest(t, 1, 0, 5)) == 2, huge), 1, 0, 5)


@greedy.variant
def greedy_by_recursion(table, start, stop, limit):
    word = int(np.argmax(table[start]))
    if limit == 0 or word == stop:
        return []
    return [word, *greedy_by_recursion(table, word, stop, limit - 1)]


@greedy.variant
def greedy_with_all_likeliest_words_first(table, start, stop, limit):
    following = np.argmax(table, axis=-1)
    written = [following[start]]
    while len(written) <= limit and written[-1] != stop:
        written.append(following[written[-1]])
    return np.array(written[:-1], dtype=int)


@greedy.variant
def greedy_in_torch(table, start, stop, limit):
    import torch

    probabilities = torch.softmax(torch.as_tensor(table), dim=-1)
    word, written = start, []
    for _step in range(limit):
        word = int(torch.argmax(probabilities[word]))
        if word == stop:
            break
        written.append(word)
    return torch.tensor(written, dtype=torch.long)
