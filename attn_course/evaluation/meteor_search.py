r"""The search behind METEOR's links: fewest crossings, then fewest chunks.

It goes from left to right over the candidate. What was decided so far matters later only through a
`_State`, and the cheapest way to each state is kept; so it is exact while it keeps all states. Two
things keep them few:

- a cost holds, besides the crossings there are, those with settled links that the words to come
  can't avoid (`OpenWord.least`): a way that leads nowhere good is dear from the start
- a narrow search comes first, and what it finds is a bound for the wide one
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

_Cost: TypeAlias = tuple[float, float]  # crossings, chunks: compared in this order
_Way: TypeAlias = tuple[_Cost, Any]  # its cost, and its links as a chain (chain, link)

_NARROW = 20  # states kept after each word


class OpenWord:
    """A word that is more often free on one side than on the other: which are linked?

    `tokens` are its places in the candidate, `places` those in the reference, `crossed[t][k]` how
    many settled links a link from token t to place k crosses. It takes as many links as it can,
    and they do not cross one another.
    """

    def __init__(self, tokens: list[int], places: list[int], crossed: list[list[int]]) -> None:
        self.tokens = tokens
        self.places = places
        self.crossed = crossed
        self.bits = sum(1 << j for j in places)
        # least[t][k]: the fewest settled links crossed from token t and place k on
        a, b = len(tokens), len(places)
        self.least = [[0] * (b + 1) for _ in range(a + 1)]
        for t in reversed(range(a)):
            for k in reversed(range(b)):
                ways = [crossed[t][k] + self.least[t + 1][k + 1]]
                if a - t < b - k:  # more places than tokens: one may stay empty
                    ways.append(self.least[t][k + 1])
                if a - t > b - k:  # more tokens than places: one may go without
                    ways.append(self.least[t + 1][k])
                self.least[t][k] = min(ways)

    def choices(self, t: int, k: int) -> Iterable[tuple[int | None, int]]:
        """Yield the place for token t, the places from k on being free, and what it adds at least.

        The place None is no link.
        """
        spare = len(self.places) - k - (len(self.tokens) - t)
        if spare < 0:
            yield None, self.least[t + 1][k] - self.least[t][k]
        for choice in range(k, min(k + max(spare, 0) + 1, len(self.places))):
            cost = self.crossed[t][choice] + self.least[t + 1][choice + 1] - self.least[t][k]
            yield self.places[choice], cost


class _Step(NamedTuple):
    """What is to be decided for one word of the candidate."""

    settled: int | None  # its place in the reference, if that is no question
    word: OpenWord | None
    t: int  # which of the open word's tokens it is
    pending: int  # all places of words that are open later on, as bits


class _State(NamedTuple):
    """What matters of the links so far for those to come. Sets of places are bits."""

    taken: int  # reference places that open words took
    gone: int  # places that they took or passed over
    before: int | None  # the place of the word just before, for the chunks


def search(
    open_words: Sequence[OpenWord], settled: dict[int, int], n: int, most_states: int
) -> tuple[dict[int, int], bool]:
    """Return the links of the `open_words` of a candidate of n words, and if none are better.

    `most_states` are kept in all, so that the time grows with n and no faster; where that is too
    few, the cheapest are kept, and the links are good but not proved to be the best.
    """
    steps = [_Step(settled.get(i), None, 0, 0) for i in range(n)]
    for word in open_words:
        for t, i in enumerate(word.tokens):
            steps[i] = _Step(None, word, t, 0)
    pending = 0
    for i in reversed(range(n)):
        steps[i] = steps[i]._replace(pending=pending)
        word_here = steps[i].word
        pending |= word_here.bits if word_here else 0
    start = float(sum(word.least[0][0] for word in open_words)), 0.0
    narrow, wide = _NARROW, most_states // max(n, 1)
    cost, links, is_exact = _sweep(steps, start, narrow, bound=(inf, inf))
    if not is_exact and wide > narrow:
        _, better, is_exact = _sweep(steps, start, wide, bound=cost)
        links = better or links
    return links, is_exact


def _sweep(
    steps: Sequence[_Step], start: _Cost, width: int, bound: _Cost
) -> tuple[_Cost, dict[int, int], bool]:
    """Return the cheapest way's cost and links, and whether all states within `bound` were kept.

    Where some were not, it may happen that all that were kept grow too dear: then no links.
    """
    states: dict[_State, _Way] = {_State(taken=0, gone=0, before=None): (start, None)}
    is_exact = True
    for i, step in enumerate(steps):
        following: dict[_State, _Way] = {}
        for state, (cost, chain) in states.items():
            for place, added in _choices(step, state):
                new = _follow(step, state, place)
                starts_chunk = place is not None and place - 1 != state.before
                new_cost = cost[0] + added, cost[1] + starts_chunk
                known = following.get(new)
                if new_cost <= bound and (known is None or new_cost < known[0]):
                    following[new] = new_cost, (chain, (i, place))
        if len(following) > width:
            is_exact = False
            cheapest = sorted(following.items(), key=lambda item: item[1][0])
            following = dict(cheapest[:width])
        states = following
    cost, chain = min(states.values(), key=lambda way: way[0], default=(bound, None))
    links = {}
    while chain is not None:
        chain, (i, place) = chain
        if place is not None and steps[i].word is not None:
            links[i] = place
    return cost, links, is_exact


def _choices(step: _Step, state: _State) -> Iterable[tuple[int | None, int]]:
    """Yield the places that the word may take, and the crossings that each adds."""
    if step.word is None:
        yield step.settled, 0
        return
    first_free = (state.gone & step.word.bits).bit_count()
    for place, added in step.word.choices(step.t, first_free):
        # links of earlier open words that end behind this place
        yield place, added + (0 if place is None else (state.taken >> place).bit_count())


def _follow(step: _Step, state: _State, place: int | None) -> _State:
    """Return the state after the word took `place`; states with the same future are the same.

    Below the first place still to be had, it does not matter what was taken: no link to come ends
    there, so none crosses a link that ends there. Those places are marked all.
    """
    taken, gone, _ = state
    if step.word is not None and place is not None:
        taken |= 1 << place
        gone |= step.word.bits & (2 << place) - 1
    to_be_had = step.pending & ~gone
    if not to_be_had:
        return _State(0, step.pending, place)
    below = (to_be_had & -to_be_had) - 1
    return _State(taken | below, gone | below, place)
