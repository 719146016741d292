"""Spearman and Kendall of two maps of 3,000 keys against SciPy."""

from functools import partial

from scipy import stats

from attn_course.evaluation import kendall, spearman
from benchmarks.measure import Line, compare_times, random

K = 3_000


def run(repeats: int) -> list[Line]:
    """Return both times."""
    one, other = random(2, K).numpy()
    pairs = {"Spearman": (spearman, stats.spearmanr), "Kendall": (kendall, stats.kendalltau)}
    return [
        compare_times(
            f"{name}, {K:,} keys: time / SciPy",
            partial(ours, one, other),
            partial(theirs, one, other),
            2,
            min(repeats, 7),
        )
        for name, (ours, theirs) in pairs.items()
    ]
