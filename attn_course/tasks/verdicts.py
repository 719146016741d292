"""What scores over seeds allow to say: who wins, who is more reliable, what is not decided.

Each task fixes beforehand from which score on a training counts as solved. A model that solves it
from some seeds and not from others has no meaningful mean: "3 of 5 seeds" says what was seen.

- "wins" or "loses": every seed of one model is better than every seed of the other, from five
  seeds or more; by chance that happens in 1 of 126 cases.
- "more reliable" or "less reliable": more seeds solve the task, and Fisher's exact test finds such
  a difference by chance in less than 5 % of cases.
- "ties": the ranges overlap, and the medians differ by less than 0.02.
- "not decided": everything else, and trainings that ended in NaN.
- "too few seeds": fewer than five.
"""

from collections.abc import Sequence
from math import isnan
from statistics import mean, median

FEWEST_SEEDS = 5
SIGNIFICANT = 0.05
NEGLIGIBLE = 0.02  # between two medians


def verdict(
    mechanism: Sequence[float],
    ablation: Sequence[float],
    solved_at: float,
    higher_is_better: bool = True,
) -> str:
    """Return the verdict on the first model, compared with the second.

    >>> verdict([0.98, 0.99, 0.97, 0.98, 0.99], [0.3, 0.2, 0.4, 0.3, 0.3], solved_at=0.9)
    'wins'
    """
    if min(len(mechanism), len(ablation)) < FEWEST_SEEDS:
        return "too few seeds"
    if any(isnan(score) for score in (*mechanism, *ablation)):
        return "not decided"
    sign = 1 if higher_is_better else -1
    one, other = [sign * score for score in mechanism], [sign * score for score in ablation]
    if min(one) > max(other):
        return "wins"
    if max(one) < min(other):
        return "loses"
    counts = [number_solved(scores, sign * solved_at) for scores in (one, other)]
    if differ_in_solved(counts[0], len(one), counts[1], len(other)):
        return "more reliable" if counts[0] > counts[1] else "less reliable"
    return "ties" if abs(median(one) - median(other)) < NEGLIGIBLE else "not decided"


def number_solved(scores: Sequence[float], solved_at: float, higher_is_better: bool = True) -> int:
    """Return how many trainings have solved their task."""
    sign = 1 if higher_is_better else -1
    return sum(sign * score >= sign * solved_at for score in scores)


def differ_in_solved(solved: int, seeds: int, other_solved: int, other_seeds: int) -> bool:
    """Return whether Fisher's exact test finds that the two numbers of solved seeds differ."""
    from scipy.stats import fisher_exact

    table = [[solved, seeds - solved], [other_solved, other_seeds - other_solved]]
    return bool(fisher_exact(table).pvalue < SIGNIFICANT)


def is_mixed(scores: Sequence[float], solved_at: float, higher_is_better: bool = True) -> bool:
    """Return whether some seeds have solved the task and others have not."""
    return 0 < number_solved(scores, solved_at, higher_is_better) < len(scores)


def told(scores: Sequence[float], solved_at: float, higher_is_better: bool = True) -> str:
    """Return scores in a few words: mean and standard deviation, or how many seeds solved it.

    >>> told([0.98, 0.99, 0.97], 0.9), told([0.98, 0.31, 0.97], 0.9)
    ('0.980 ± 0.010', 'solved by 2 of 3 seeds')
    """
    from attn_course.evaluation.paired_comparison import spread
    from attn_course.translate import _

    if is_mixed(scores, solved_at, higher_is_better):
        solved = number_solved(scores, solved_at, higher_is_better)
        return _("solved by {solved} of {seeds} seeds").format(solved=solved, seeds=len(scores))
    sd = spread(list(scores))
    return f"{mean(scores):.3f} ± " + ("–" if isnan(sd) else f"{sd:.3f}")
