"""Beam search: keep the best few hypotheses, and do not extend those that have finished."""

from functools import partial
from itertools import product

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.bahdanau._bigrams import (
    beams,
    drawn_until,
    is_finished,
    likeliest,
    require_a_gap,
    require_signs,
    score,
    score_per_sign,
)
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def beam(table, start, stop, limit, width):
    require_signs(table, start, stop, limit)
    *_before, kept = beams(table, start, stop, limit, width)
    best, *others = [signs for signs in kept if is_finished(signs, stop)] or kept
    require_a_gap([score(table, start, signs) for signs in (best, *others[:1])])
    words = best[:-1] if is_finished(best, stop) else best
    return list(words), score(table, start, best)


def _case(rng, words, start, stop, limit, width, is_wanted, draw=readable):
    """Return the first case whose search is not a close race, and that is wanted.

    `is_wanted` sees the rounds of the search and the words it finds.
    """
    settings = (start, stop, limit, width)

    def is_fit(table):
        try:
            found, _score = beam.reference(table, *settings)
            return is_wanted(table, list(beams(table, *settings)), found)
        except ValueError:  # two scores are nearly equal
            return False

    return Case(drawn_until(rng, words, is_fit, draw), *settings)


def _beats_greedy(table, rounds, found, start, stop):
    """Return whether greedy search finds a sentence that is finished too, and another one."""
    limit = len(rounds)
    first = likeliest(table, start, stop, limit)
    return first != found and max(len(first), len(found)) < limit


def _trap(rng, words, start, stop, length, tempting):
    """Return logits where some words are the best after `start`, but lead to nothing probable.

    The next best word begins a probable sentence of `length` words.
    """
    others = rng.permutation([word for word in range(words) if word not in (start, stop)])
    table = readable(rng, words, words, low=-2.0, high=0.0)
    table[others[:tempting]] = readable(rng, tempting, words, low=-0.4, high=0.4)
    sentence = others[tempting : tempting + length]
    table[sentence, [*sentence[1:], stop]] = readable(rng, length, low=2.4, high=3.0)
    table[start, sentence[0]] = readable(rng, low=1.4, high=1.9)
    table[start, others[:tempting]] = 2.1 + 0.2 * np.arange(tempting)
    return table


def _trap_case(rng, words, start, stop, limit, width, length, tempting=1, rows=0.0):
    wanted = _beats_greedy if tempting < width else _is_too_narrow
    is_wanted = partial(wanted, start=start, stop=stop)

    def draw(rng, *_size):
        eighths = np.round(8 * _trap(rng, words, start, stop, length, tempting)) / 8
        return eighths + rows  # exact in single precision

    return _case(rng, words, start, stop, limit, width, is_wanted, draw)


def _is_too_narrow(table, rounds, found, start, stop):
    """Return whether a wider beam finds another sentence, and this one finds a finished one."""
    limit, width = len(rounds), len(rounds[-1])
    wider, _score = beam.reference(table, start, stop, limit, 2 * width)
    return wider != found and len(found) < limit


def _fork(rng, *_size):
    """Return logits where the best word after 1 forks, and both ways end badly.

    The way from the second best word ends well, but two hypotheses of the first push it out.
    """
    best, second, left, right, good = 2 + rng.permutation(5)
    table = readable(rng, 7, 7, low=-0.2, high=0.2)
    table[1, [best, second]] = 4.0, 3.5
    table[best, [left, right]] = readable(rng, 2, low=4.8, high=5.2)
    table[second, good] = readable(rng, low=2.6, high=2.8)
    table[[left, right], 0] = 1.6, 1.2
    table[good, 0] = readable(rng, low=4.5, high=5.0)
    return table


@beam.cases(points=2, label=_("better than greedy search"))
def better_than_greedy(rng):
    yield _trap_case(rng, 4, start=1, stop=0, limit=3, width=2, length=1)
    yield _trap_case(rng, 5, start=1, stop=0, limit=5, width=2, length=2)
    yield _trap_case(rng, 7, start=0, stop=3, limit=5, width=3, length=3)
    yield _trap_case(rng, 5, start=0, stop=1, limit=5, width=2, length=1, tempting=2)
    yield _trap_case(rng, 7, start=1, stop=0, limit=5, width=2, length=2, tempting=3)
    yield _case(rng, 7, 1, 0, 5, 2, partial(_is_too_narrow, start=1, stop=0), _fork)


def _overtaken(_table, rounds, found, stop):
    """Return whether a hypothesis is finished first, and a longer one wins in the end."""
    finished = ([one for one in kept if is_finished(one, stop)] for kept in rounds)
    lengths = [len(signs) - 1 for signs in next(filter(None, finished), ())]
    return is_finished(rounds[-1][0], stop) and len(found) > min(lengths)


def _pushed_out(table, rounds, _found, start, stop):
    """Return whether a finished hypothesis is dropped that is better than what is left."""
    ever = {signs for kept in rounds for signs in kept if is_finished(signs, stop)}
    best = max(ever, key=partial(score, table, start), default=())
    return best in ever - set(rounds[-1])


def _length_matters(table, rounds, found, start, stop):
    """Return whether scores per sign lead to other sentences: at the end, and in every round."""
    per_sign = partial(score_per_sign, table, start)
    settings = (start, stop, len(rounds), len(rounds[-1]))
    *_before, kept = beams(table, *settings, rank=score_per_sign)
    ends = [[one for one in last if is_finished(one, stop)] for last in (rounds[-1], kept)]
    if not all(ends):
        return False
    at_the_end, in_every_round = (max(last, key=per_sign)[:-1] for last in ends)
    return len({tuple(found), at_the_end, in_every_round}) == 3


@beam.cases(points=2, label=_("finished hypotheses compete with the others"))
def finished_early(rng):
    yield _case(rng, 3, 1, 0, 5, 2, partial(_overtaken, stop=0))
    yield _case(rng, 5, 1, 2, 7, 3, partial(_overtaken, stop=2))
    yield _case(rng, 3, 2, 0, 5, 2, partial(_pushed_out, start=2, stop=0))
    yield _case(rng, 5, 2, 0, 5, 3, partial(_pushed_out, start=2, stop=0))
    yield _case(rng, 5, 1, 4, 5, 3, partial(_length_matters, start=1, stop=4))


def _nothing_finished(table, rounds, found, start, stop):
    is_open = not any(is_finished(signs, stop) for signs in rounds[-1])
    return is_open and found != likeliest(table, start, stop, len(rounds))


def _finished_is_not_the_best(_table, rounds, found, stop):
    """Return whether the first of the last beam is not finished, but another one is."""
    return not is_finished(rounds[-1][0], stop) and len(found) < len(rounds)


@beam.cases(points=1, label=_("the limit"))
def at_the_limit(rng):
    yield _case(rng, 3, 1, 0, 3, 2, partial(_nothing_finished, start=1, stop=0))
    yield _case(rng, 3, 0, 1, 3, 3, partial(_finished_is_not_the_best, stop=1))
    yield _case(rng, 5, 3, 2, 2, 3, partial(_finished_is_not_the_best, stop=2))


def _is_greedy(table, rounds, found, start, stop):
    return 1 < len(found) < len(rounds) and found == likeliest(table, start, stop, len(rounds))


def _all_finished(_table, rounds, found, stop, length):
    return len(found) == length and all(is_finished(signs, stop) for signs in rounds[-1])


@beam.cases(points=1, label=_("other widths, start and stop the same, large logits"))
def special_searches(rng):
    yield _case(rng, 3, 1, 1, 5, 2, partial(_all_finished, stop=1, length=2))
    yield _case(rng, 5, 1, 0, 7, 1, partial(_is_greedy, start=1, stop=0))
    yield _case(rng, 3, 0, 2, 5, 5, partial(_overtaken, stop=2))  # more hypotheses than words
    yield _trap_case(rng, 5, start=1, stop=0, limit=5, width=2, length=2, rows=1000.0)
    heights = 1000.0 * (-1) ** np.arange(5)[:, None]  # np.exp overflows or vanishes
    yield _trap_case(rng, 5, start=1, stop=0, limit=5, width=2, length=2, rows=heights)


def _log_probabilities(table):
    shifted = table - table.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@beam.variant
def beam_with_arrays(table, start, stop, limit, width):
    """A finished hypothesis can only write the stop sign again, for nothing."""
    gains = _log_probabilities(table)
    words, scores = np.full((1, 1), start), np.zeros(1)
    done = np.zeros(1, dtype=bool)
    for _round in range(limit):
        again = np.where(np.arange(len(table)) == stop, 0.0, -np.inf)
        candidates = scores[:, None] + np.where(done[:, None], again, gains[words[:, -1]])
        flat = candidates.ravel()
        best = np.argsort(-flat)[: min(width, np.isfinite(flat).sum())]
        parents, new = best // len(table), best % len(table)
        words = np.concatenate([words[parents], new[:, None]], axis=1)
        scores, done = flat[best], done[parents] | (new == stop)
    chosen = int(np.argmax(np.where(done, scores, -np.inf))) if done.any() else 0
    written = words[chosen, 1:].tolist()
    return (written[: written.index(stop)] if done[chosen] else written), scores[chosen]


@beam.variant
def beam_that_stops_when_the_best_is_finished(table, start, stop, limit, width):
    """Scores only fall, so nothing overtakes a finished hypothesis that is the best."""
    gains = _log_probabilities(table)
    kept = [(0.0, (start,), False)]
    for _round in range(limit):
        candidates = [one for one in kept if one[2]]
        for (total, words, done), word in product(kept, range(len(table))):
            if not done:
                candidates.append((total + gains[words[-1], word], (*words, word), word == stop))
        kept = sorted(candidates, reverse=True)[:width]
        if kept[0][2]:
            break
    total, words, done = next((one for one in kept if one[2]), kept[0])
    return words[1:-1] if done else words[1:], total


@beam.variant
def beam_in_torch(table, start, stop, limit, width):
    import torch

    gains = torch.log_softmax(torch.as_tensor(table), dim=-1)
    kept: list = [([], torch.zeros((), dtype=gains.dtype), False)]
    for _round in range(limit):
        candidates = [one for one in kept if one[2]]
        for words, total, done in kept:
            if done:
                continue
            last = words[-1] if words else start
            best = torch.topk(gains[last], min(width, len(table)))  # no more can survive
            for gain, word in zip(best.values, best.indices.tolist(), strict=True):
                longer = words if word == stop else [*words, word]
                candidates.append((longer, total + gain, word == stop))
        kept = sorted(candidates, key=lambda one: -float(one[1]))[:width]
    words, total, _done = ([one for one in kept if one[2]] or kept)[0]
    return words, total
