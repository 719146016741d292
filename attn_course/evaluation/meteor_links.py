r"""The links of METEOR: which word of the candidate matches which word of the reference?

This is the part of METEOR where implementations differ: `link_words` finds the alignment with the
fewest crossings, not the first that comes along.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import accumulate
from typing import TypeAlias

from attn_course._extras import missing
from attn_course.evaluation._tokens import Tokens
from attn_course.evaluation.meteor_search import OpenWord, search

Link: TypeAlias = tuple[int, int]  # places in candidate and reference, from 0


def link_words(
    candidate: Tokens,
    reference: Tokens,
    *,
    stem: Callable[[str], str] | None = None,
    most_states: int = 40_000,
) -> tuple[list[Link], bool]:
    """Return METEOR's links between equal words, in the order of the candidate.

    Two stages: first words that are the same, then, among the words left over, those of the same
    stem. Each stage takes as many links as there can be, each word at most once. Where a word
    repeats there is a choice, and a stage takes the fewest crossings with one another and with
    the links that stand; of those with as few, the fewest chunks.

    The second value is True where the search was complete: then no alignment has fewer
    crossings. It is cut when it has looked at `most_states` half-done alignments, which happens to
    texts of a hundred words and more in which many words repeat, hardly to sentences.

    >>> link_words("the cat".split(), "the cat saw the dog".split())
    ([(0, 0), (1, 1)], True)
    """
    stem = stem or porter()
    links, exact = _stage(candidate, reference, {}, most_states)
    candidate_stems, reference_stems = ([stem(word) for word in s] for s in (candidate, reference))
    links, stems_exact = _stage(candidate_stems, reference_stems, links, most_states)
    return sorted(links.items()), exact and stems_exact


def count_crossings(links: Sequence[Link]) -> int:
    """Return how many pairs of links cross: one begins before the other and ends after it.

    >>> count_crossings([(0, 2), (1, 0), (2, 1)])
    2
    """
    ends = [j for _, j in sorted(links)]
    return sum(j > later for place, j in enumerate(ends) for later in ends[place + 1 :])


def count_chunks(links: Sequence[Link]) -> int:
    """Return the number of runs of links that stand side by side in both sentences.

    >>> count_chunks([(0, 0), (1, 1), (3, 2)])
    2
    """
    present = set(links)
    return sum((i - 1, j - 1) not in present for i, j in present)


def _stage(
    candidate: Sequence[str], reference: Sequence[str], standing: dict[int, int], most_states: int
) -> tuple[dict[int, int], bool]:
    """Add the links of one stage to those that are `standing`; return all, and if none is better.

    A word that is as often free on both sides leaves no choice: in the best alignment links of
    the same word never cross, since to swap their ends would save a crossing. The others are open.
    """
    tokens, places = _free(candidate, standing), _free(reference, set(standing.values()))
    settled = dict(standing)
    for word, own in tokens.items():
        if len(own) == len(places[word]):
            settled.update(zip(own, places[word], strict=True))
    crossed = _crossings_with(settled, len(candidate))
    open_words = [
        OpenWord(own, places[word], [[crossed(i, j) for j in places[word]] for i in own])
        for word, own in tokens.items()
        if 0 < len(places[word]) != len(own)
    ]
    chosen, is_exact = search(open_words, settled, len(candidate), most_states)
    return settled | chosen, is_exact


def _free(words: Sequence[str], occupied: Collection[int]) -> dict[str, list[int]]:
    """Return the positions of each word, without those that are `occupied`."""
    places = defaultdict(list)
    for place, word in enumerate(words):
        if place not in occupied:
            places[word].append(place)
    return places


def _crossings_with(settled: dict[int, int], n: int) -> Callable[[int, int], int]:
    """Return the function that says how many settled links a link (i, j) crosses."""
    # Sets of reference places are bits of an integer, and so the sum of disjoint sets is their
    # union: ends_before[i] are the places to which the first i words are linked.
    ends_before = list(
        accumulate((1 << settled[i] if i in settled else 0 for i in range(n)), initial=0)
    )

    def crossed(i: int, j: int) -> int:
        ends_after = ends_before[-1] - ends_before[i]
        return (ends_before[i] >> j).bit_count() + (ends_after & (1 << j) - 1).bit_count()

    return crossed


@cache
def porter() -> Callable[[str], str]:
    """Return Porter's stemmer for English, loaded when it is first wanted."""
    try:
        import snowballstemmer
    except ImportError as fault:
        raise missing("snowballstemmer", "meteor") from fault
    return snowballstemmer.stemmer("porter").stemWord
