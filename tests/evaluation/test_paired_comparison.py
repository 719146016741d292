"""Paired comparison: SciPy's t-test and permutation test as oracles, and the cases at the edge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attn_course.evaluation.paired_comparison import Paired, spread

scores = st.integers(-50, 50).map(lambda i: i / 7)
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=7)


def paired(rows):
    ones, others = zip(*rows, strict=True)
    return Paired(ones, others)


@pytest.mark.agrees("evaluation.Paired", "SciPy")
@given(rows=pairs)
def test_both_tests_agree_with_scipy(rows):
    one = paired(rows)
    if one.sd > 1e-9:
        assert one.p_t == pytest.approx(stats.ttest_rel(one.ones, one.others).pvalue)
    oracle = stats.permutation_test(
        (one.ones, one.others),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    # SciPy doubles the smaller tail, which is the same: flipping every sign mirrors the sums.
    assert one.p_flip == pytest.approx(min(1, oracle.pvalue))


@given(rows=pairs)
def test_turned_around_the_effect_changes_its_sign_alone(rows):
    one, turned = paired(rows), paired([(y, x) for x, y in rows])
    assert turned.mean == pytest.approx(-one.mean)
    assert turned.p_t == pytest.approx(one.p_t, nan_ok=True)
    assert turned.p_flip == one.p_flip
    assert one.p_flip >= one.smallest_p_flip


def test_differences_that_differ_by_rounding_alone_have_no_spread():
    one = paired([(0.0, -1 / 7), (5 / 7, 4 / 7)])  # both are 1/7, but for the last digit
    assert (one.sd, one.d_z) == (0.0, math.inf)
    assert math.isnan(one.p_t)


def test_d_z_is_the_mean_difference_in_spreads_and_g_z_is_smaller():
    one = paired([(3.0, 1.0), (4.0, 1.0), (2.0, 1.0), (5.0, 1.0), (6.0, 1.0)])
    assert one.d_z == pytest.approx(3 / stats.tstd([2, 3, 1, 4, 5]))
    # 1 - 3 / (4 nu - 1) is the usual approximation of the factor
    assert one.g_z / one.d_z == pytest.approx(1 - 3 / (4 * 4 - 1), abs=5e-3)
    assert one.p_flip == one.smallest_p_flip == 0.0625


def test_hedges_factor_takes_the_bias_of_few_pairs_away():
    rng = np.random.default_rng(0)
    draws = rng.normal(1.0, 1.0, size=(2000, 5))
    found = [Paired(tuple(row), (0.0,) * 5) for row in draws]
    assert np.mean([one.d_z for one in found]) > 1.15
    assert np.mean([one.g_z for one in found]) == pytest.approx(1, abs=0.05)


def test_with_many_pairs_the_factor_is_one():
    rng = np.random.default_rng(0)
    one = Paired(tuple(rng.normal(1, 1, 1000)), (0.0,) * 1000)
    assert one.g_z == pytest.approx(one.d_z, rel=0.01)
    assert math.isnan(one.p_flip)  # too many signs to flip them all


@pytest.mark.agrees("evaluation.Paired", "SciPy")
@given(rows=pairs)
def test_the_interval_is_scipys(rows):
    one = paired(rows)
    if one.sd > 1e-9:
        wanted = stats.ttest_rel(one.ones, one.others).confidence_interval()
        assert one.interval() == pytest.approx((wanted.low, wanted.high))


def test_without_spread_the_effect_is_infinite_or_none():
    same = Paired((1.0, 1.0, 1.0), (0.5, 0.5, 0.5))
    assert (same.d_z, same.interval()) == (math.inf, (0.5, 0.5))
    assert math.isnan(same.p_t)
    assert Paired((0.5, 0.5), (1.0, 1.0)).d_z == -math.inf
    nothing = Paired((0.5, 0.7), (0.5, 0.7))
    assert (nothing.d_z, nothing.p_t, nothing.p_flip) == (0, 1, 1)


def test_one_pair_tests_nothing():
    one = Paired((1.0,), (0.0,))
    assert one.mean == 1
    for number in (one.sd, one.p_t, one.p_flip, one.d_z, one.g_z, *one.interval()):
        assert math.isnan(number)
    assert math.isnan(spread([1.0]))


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_training_that_diverged_is_not_a_significant_difference(broken):
    one = Paired((1.0, broken, 1.0), (0.5, 0.5, 0.4))
    for number in (one.sd, one.p_t, one.p_flip, one.d_z, one.g_z, *one.interval()):
        assert math.isnan(number)


def test_scores_come_in_pairs():
    with pytest.raises(ValueError, match="2 of one arm and 1 of the other"):
        Paired((1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match="at least one"):
        Paired((), ())
