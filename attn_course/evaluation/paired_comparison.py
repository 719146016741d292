r"""Paired comparison: the same seeds with and without a part, and what their differences say.

Both arms of an ablation share each seed, so the differences $d_i = x_i - y_i$ are compared with 0,
and what a lucky seed gives to both cancels out. Everything here is about the mean $\bar d$ and the
spread $s_d$ of these differences. Standard deviations divide by $n - 1$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gamma, inf, isfinite, isnan, nan, sqrt
from statistics import fmean, stdev

import numpy as np

_MOST_FLIPPED = 16  # seeds: 2^16 sums are counted in no time
_ROUNDING = 1e-12  # two sums that differ by less are the same sum, added up in another order


@dataclass(frozen=True)
class Paired:
    """Scores of two arms, a pair for each seed."""

    ones: tuple[float, ...]
    others: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.ones) != len(self.others) or not self.ones:
            raise ValueError(
                "scores must come in pairs, at least one, but there are "
                f"{len(self.ones)} of one arm and {len(self.others)} of the other."
            )

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.ones)

    @property
    def differences(self) -> tuple[float, ...]:
        """One arm less the other, for each seed."""
        return tuple(x - y for x, y in zip(self.ones, self.others, strict=True))

    @property
    def mean(self) -> float:
        """The mean difference."""
        return fmean(self.differences)

    @property
    def sd(self) -> float:
        """The spread of the differences; NaN for one pair, and where a score is not finite.

        Differences that differ by rounding alone are the same, and have no spread.
        """
        found = spread(self.differences)
        largest = max(abs(score) for score in (*self.ones, *self.others))
        return 0.0 if found <= _ROUNDING * largest else found

    @property
    def p_t(self) -> float:
        """Two-sided p of the paired t-test: are the differences 0 on average?

        It assumes normal differences. Without spread there is nothing to test by: NaN, or 1 where
        all differences are 0.
        """
        if isnan(self.sd):
            return nan
        if self.sd == 0:
            return 1.0 if self.mean == 0 else nan
        from scipy import stats

        return float(stats.ttest_rel(self.ones, self.others).pvalue)

    @property
    def p_flip(self) -> float:
        r"""Two-sided p of the sign-flip test, exact, and without an assumption of normality.

        If the part did nothing, each difference might as well have the other sign: p is the share
        of the $2^n$ choices of signs whose mean is at least as far from 0. NaN above 16 pairs.
        """
        if isnan(self.sd) or self.n > _MOST_FLIPPED:
            return nan
        numbers = np.arange(2**self.n)[:, None] >> np.arange(self.n) & 1  # (2^n, n)
        sums = abs((1 - 2 * numbers) @ np.array(self.differences))
        return float(np.mean(sums >= sums[0] - _ROUNDING * abs(np.array(self.differences)).sum()))

    @property
    def smallest_p_flip(self) -> float:
        """The smallest p that so many pairs can give: 0.0625 for five."""
        return 2.0 ** (1 - self.n)

    @property
    def d_z(self) -> float:
        r"""Cohen's $d_z = \bar d / s_d$: how many spreads the mean difference is from 0.

        Infinite where every seed gives the same difference, 0 where that is 0.
        """
        if isnan(self.sd):
            return nan
        if self.sd == 0:
            return 0.0 if self.mean == 0 else inf * (1 if self.mean > 0 else -1)
        return self.mean / self.sd

    @property
    def g_z(self) -> float:
        r"""Hedges' $g_z = d_z\, \Gamma(\nu/2) / (\sqrt{\nu/2}\; \Gamma((\nu-1)/2))$, $\nu = n - 1$.

        Few pairs make $d_z$ too large on average; this takes the excess away. From three pairs on.
        """
        if self.n < 3:
            return nan
        freedom = min(self.n - 1, 300)  # beyond, the factor is 1 and the gammas overflow
        return self.d_z * gamma(freedom / 2) / (sqrt(freedom / 2) * gamma((freedom - 1) / 2))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        r"""$\bar d \pm t\, s_d / \sqrt n$: the interval of confidence for the mean difference."""
        if isnan(self.sd):
            return nan, nan
        from scipy import stats

        half = float(stats.t.ppf((1 + level) / 2, self.n - 1)) * self.sd / sqrt(self.n)
        return self.mean - half, self.mean + half


def spread(scores: Sequence[float]) -> float:
    """Return the standard deviation; NaN for one score, and where one is not finite."""
    return stdev(scores) if len(scores) > 1 and all(map(isfinite, scores)) else nan
