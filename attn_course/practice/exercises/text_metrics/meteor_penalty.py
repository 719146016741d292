"""METEOR's penalty: in how many pieces do the matching words come?"""

import numpy as np

from attn_course.definitions.evaluation import chunks as chunks_of
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def meteor_penalty(links):
    if links.ndim != 2 or links.shape[1] != 2:
        raise ValueError("a link has two ends")  # also where a case is made smaller
    pairs = [(int(i), int(j)) for i, j in links]
    if not pairs:
        return 0, 0.0
    chunks = chunks_of(pairs)
    return chunks, 0.5 * (chunks / len(pairs)) ** 3


def _links(rng, runs, gaps=(), shuffle=True):
    """Return links in runs of given lengths: the runs are in any order in the reference.

    `gaps` are the numbers of the runs before which the candidate has a word without a link.
    """
    order = rng.permutation(len(runs))
    while len(runs) > 1 and all(order == np.arange(len(runs))):
        order = rng.permutation(len(runs))
    starts, at = {}, int(rng.integers(0, 2))
    for run in order:
        starts[run] = at
        at += runs[run] + int(rng.integers(0, 2))
    found, place = [], int(rng.integers(0, 2))
    for run, length in enumerate(runs):
        place += run in gaps
        found += [(place + step, starts[run] + step) for step in range(length)]
        place += length
    pairs = np.array(found)
    return rng.permutation(pairs) if shuffle else pairs


@meteor_penalty.cases(points=2, label=_("links in the order of the candidate"))
def in_order(rng):
    yield Case(np.array([[1, 2], [2, 0]]))
    yield Case(_links(rng, (2, 1), shuffle=False))
    yield Case(_links(rng, (3, 2), shuffle=False))
    yield Case(_links(rng, (1, 3, 1), shuffle=False))


@meteor_penalty.cases(points=1, label=_("words without a link between the others"))
def with_gaps(rng):
    # The second run goes on where the first ended in one of the sentences, but not in the other.
    yield Case(np.array([[0, 0], [1, 1], [3, 2]]))
    yield Case(np.array([[0, 1], [1, 2], [2, 4], [3, 5], [4, 6]]))
    yield Case(np.array([[0, 2], [1, 3], [3, 5], [4, 6], [5, 7]]))  # on one diagonal, with a gap
    yield Case(np.array([[0, 0], [1, 3], [2, 2], [3, 5], [4, 6]]))  # back on a diagonal
    yield Case(np.array([[0, 3], [4, 1], [5, 2]]))
    yield Case(_links(rng, (2, 3, 2), gaps=(1, 2), shuffle=False))


@meteor_penalty.cases(points=1, label=_("links in any order, and words in reverse"))
def in_any_order(rng):
    yield Case(np.array([[2, 1], [0, 3], [1, 0]]))
    yield Case(_links(rng, (3, 1, 2)))
    yield Case(_links(rng, (4, 2, 1), gaps=(1,)))
    yield Case(np.array([[0, 4], [1, 3], [2, 2], [3, 1]]))  # neighbours, but backwards


@meteor_penalty.cases(points=1, label=_("one chunk, one link, no link"))
def extremes(rng):
    yield Case(_links(rng, (5,)))
    yield Case(np.array([[3, 1]]))
    yield Case(np.zeros((0, 2), dtype=int))
    yield Case(_links(rng, (1, 1, 1, 1), gaps=(2,)))


@meteor_penalty.variant
def beginnings_in_a_set(links):
    """A chunk begins at a link that no link precedes on both sides."""
    present = {(int(i), int(j)) for i, j in links}
    chunks = sum((i - 1, j - 1) not in present for i, j in present)
    return chunks, 0.5 * (chunks / max(len(present), 1)) ** 3


@meteor_penalty.variant
def with_differences(links):
    if not len(links):
        return 0, 0
    steps = np.diff(links[np.argsort(links[:, 1])], axis=0)
    chunks = 1 + np.count_nonzero((steps != 1).any(axis=1))
    return chunks, chunks**3 / (2 * len(links) ** 3)


@meteor_penalty.variant
def with_a_table(links):
    """Links as ones in a table: a chunk is a piece of a diagonal."""
    m = len(links)
    table = np.zeros((2 + links.max(initial=0),) * 2, dtype=int)
    table[1 + links[:, 0], 1 + links[:, 1]] = 1
    chunks = m - int((table[1:, 1:] * table[:-1, :-1]).sum())
    return (chunks, (chunks / m) ** 3 / 2) if m else (0, 0.0)
