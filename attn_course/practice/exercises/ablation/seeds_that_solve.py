"""Count the seeds that solve a task, with a part and without it, and test the two counts."""

from math import comb

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def seeds_that_solve(mechanism, ablation, solved_at):
    n, m = len(mechanism), len(ablation)
    if n == 0 or m == 0:
        raise ValueError("there is one seed at least")  # also where an example is made smaller
    solved, without = (sum(score >= solved_at for score in part) for part in (mechanism, ablation))
    at_least_as_rare = every_table = 0
    for k in range(n + 1):
        for other in range(m + 1):
            if k + other == solved + without:
                ways = comb(n, k) * comb(m, other)
                every_table += ways
                if ways <= comb(n, solved) * comb(m, without):
                    at_least_as_rare += ways
    return int(solved), int(without), at_least_as_rare / every_table


def _scores(rng, seeds, solved, line):
    """Return scores with two decimals, so many of them above the line, in any order."""
    above = np.round(rng.uniform(line + 0.02, 1.0, solved), 2)
    below = np.round(rng.uniform(0.0, line - 0.02, seeds - solved), 2)
    return rng.permutation(np.concatenate([above, below]))


def _seeds(rng, n, solved, m, without, line=0.75):
    return Case(_scores(rng, n, solved, line), _scores(rng, m, without, line), line)


@seeds_that_solve.cases(points=2, label=_("different numbers of seeds"))
def different_numbers(rng):
    yield _seeds(rng, 3, 3, 5, 1)
    yield _seeds(rng, 5, 4, 7, 2)
    yield _seeds(rng, 9, 7, 6, 3, line=0.5)
    yield _seeds(rng, 6, 1, 8, 6)
    # 0 and 2 successes are equally probable: 11 choose 3 ways each. Rounding loses such ties.
    yield _seeds(rng, 6, 0, 11, 3)


@seeds_that_solve.cases(points=1, label=_("equal numbers of seeds"))
def equal_numbers(rng):
    yield _seeds(rng, 5, 5, 5, 1)
    yield _seeds(rng, 7, 7, 7, 4)
    yield _seeds(rng, 8, 7, 8, 2, line=0.5)


@seeds_that_solve.cases(
    points=1, label=_("a score equal to solved_at, and a training run that ended in NaN")
)
def on_the_line(rng):
    # With these numbers it matters whether a training that ended in NaN counts as a seed.
    for numbers, line in (((4, 3, 6, 1), 0.75), ((7, 6, 5, 1), 0.5)):
        for nan_in in (None, 0, 1):
            case = _seeds(rng, *numbers, line)
            mechanism, ablation, _line = case.args
            mechanism[mechanism.argmax()] = ablation[ablation.argmax()] = line
            if nan_in is not None:
                case.args[nan_in][case.args[nan_in].argmin()] = np.nan
            yield case


@seeds_that_solve.cases(points=1, label=_("all seeds solve the task, or none does"))
def all_or_none(rng):
    yield _seeds(rng, 4, 4, 3, 3)
    yield _seeds(rng, 3, 0, 5, 0)
    yield _seeds(rng, 6, 6, 4, 0)


@seeds_that_solve.variant
def by_dealing_out_the_seeds(mechanism, ablation, solved_at):
    """Deal out the seeds in every possible way, and count the successes of the first variant."""
    from collections import Counter
    from itertools import combinations

    solved = [bool(score >= solved_at) for score in (*mechanism, *ablation)]
    found = sum(solved[: len(mechanism)])
    deals = Counter(sum(deal) for deal in combinations(solved, len(mechanism)))
    rare = sum(often for often in deals.values() if often <= deals[found])
    return found, sum(solved) - found, rare / sum(deals.values())


@seeds_that_solve.variant
def with_scipy(mechanism, ablation, solved_at):
    from scipy.stats import fisher_exact

    counts = [int(np.sum(np.asarray(part) >= solved_at)) for part in (mechanism, ablation)]
    failed = [len(mechanism) - counts[0], len(ablation) - counts[1]]
    return (*counts, fisher_exact([counts, failed]).pvalue)


@seeds_that_solve.variant
def table_after_table(mechanism, ablation, solved_at):
    """Multiply from one table to the next, with the share of each in the whole."""
    from math import isclose

    a, b = (int(np.count_nonzero(part >= solved_at)) for part in (mechanism, ablation))
    n, m = len(mechanism), len(ablation)
    lowest, highest = max(0, a + b - m), min(n, a + b)
    shares = {lowest: 1.0}
    for k in range(lowest, highest):
        up = (n - k) * (a + b - k) / ((k + 1) * (m - a - b + k + 1))
        shares[k + 1] = shares[k] * up
    rare = [s for s in shares.values() if s < shares[a] or isclose(s, shares[a])]
    return a, b, sum(rare) / sum(shares.values())
