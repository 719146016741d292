"""The table of edit distances between all prefixes of two sequences."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.error_rates._corpora import renamed
from attn_course.translate import _


@reference
def edit_table(reference, hypothesis):
    table = [list(range(len(hypothesis) + 1))]
    for i, said in enumerate(reference, start=1):
        row = [i]
        for j, heard in enumerate(hypothesis, start=1):
            diagonal = table[-1][j - 1] + (0 if said == heard else 1)
            row.append(min(table[-1][j] + 1, row[-1] + 1, diagonal))
        table.append(row)
    return np.array(table)


def _pair(rng, said, heard):
    """Return a case with other numbers for the words of two small sequences."""
    (one,), (other,) = renamed(rng, [said], [heard])
    return Case(one, other)


@edit_table.cases(points=2, label=_("short sequences"))
def short_sequences(rng):
    yield _pair(rng, [0, 1], [2, 1, 3])
    yield _pair(rng, [0, 1, 2, 3], [0, 2, 4])
    yield _pair(rng, [0, 1, 2], [1, 0, 2, 3, 4])


@edit_table.cases(points=1, label=_("tokens that repeat"))
def repeated_tokens(rng):
    yield _pair(rng, [0, 1, 0, 0, 2], [0, 0, 1])
    yield _pair(rng, [0, 1, 1, 0], [2, 0, 1, 0, 0, 1])


@edit_table.cases(points=1, label=_("an empty reference, an empty hypothesis, or both"))
def nothing_said_or_heard(rng):
    yield _pair(rng, [], [0, 1, 0])
    yield _pair(rng, [0, 1], [])
    yield _pair(rng, [], [])


@edit_table.cases(points=1, label=_("longer sequences"))
def longer_sequences(rng):
    # Neighbours are exchanged twice: that costs two edits each time.
    yield _pair(rng, [0, 1, 2, 3, 4, 5, 6], [1, 0, 2, 3, 5, 4, 6, 7, 8])
    for n, m in ((7, 11), (13, 8)):
        yield Case(rng.integers(1, 5, n), rng.integers(1, 5, m))


@edit_table.variant
def by_recursion_from_the_end(reference, hypothesis):
    from functools import cache

    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        if reference[i - 1] == hypothesis[j - 1]:
            return distance(i - 1, j - 1)  # a hit is never worse than an edit
        return 1 + min(distance(i - 1, j), distance(i, j - 1), distance(i - 1, j - 1))

    n, m = len(reference), len(hypothesis)
    return [[distance(i, j) for j in range(m + 1)] for i in range(n + 1)]


@edit_table.variant
def row_by_row_with_a_running_minimum(reference, hypothesis):
    steps = np.arange(len(hypothesis) + 1)
    table = [steps]
    for said in reference:
        row = table[-1] + 1  # a deletion
        row[1:] = np.minimum(row[1:], table[-1][:-1] + (said != hypothesis))
        # An insertion after position k costs row[k] + (j - k): the least of all, at once.
        table.append(np.minimum.accumulate(row - steps) + steps)
    return np.stack(table)


@edit_table.variant
def diagonal_by_diagonal(reference, hypothesis):
    n, m = len(reference), len(hypothesis)
    table = np.add.outer(np.arange(n + 1), np.arange(m + 1)).astype(float)
    for both in range(2, n + m + 1):  # i + j is the same along such a diagonal
        for i in range(max(1, both - m), min(n, both - 1) + 1):
            j = both - i
            hit = table[i - 1, j - 1] + float(reference[i - 1] != hypothesis[j - 1])
            table[i, j] = min(hit, 1 + table[i - 1, j], 1 + table[i, j - 1])
    return table


@edit_table.variant
def shortest_paths(reference, hypothesis):
    from collections import deque

    n, m = len(reference), len(hypothesis)
    table = np.full((n + 1, m + 1), -1)
    reached = deque([(0, 0, 0)])
    while reached:  # hits go to the front, edits to the back
        i, j, cost = reached.popleft()
        if i > n or j > m or table[i, j] >= 0:
            continue
        table[i, j] = cost
        if i < n and j < m and reference[i] == hypothesis[j]:
            reached.appendleft((i + 1, j + 1, cost))
        reached.extend([(i + 1, j, cost + 1), (i, j + 1, cost + 1), (i + 1, j + 1, cost + 1)])
    return table
