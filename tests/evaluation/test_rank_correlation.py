"""Spearman and Kendall, row by row, with SciPy as the oracle."""

import math
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau, spearmanr

from attn_course.evaluation.rank_correlation import kendall, spearman

SHAPE = B, Q, K = 2, 3, 7
tied = arrays(np.float64, SHAPE, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
untied = arrays(np.float64, SHAPE, elements=st.integers(-999, 999), unique=True)
masks = arrays(np.bool_, SHAPE)


def scipy_or_nan(correlation, one, other):
    if len(one) < 2 or len(set(one)) < 2 or len(set(other)) < 2:
        return math.nan  # SciPy says the same, with a warning
    return correlation(one, other).statistic


def tau_a_in_loops(one, other):
    n = len(one)
    total = 0
    for i in range(n):
        for j in range(i):
            total += np.sign(one[i] - one[j]) * np.sign(other[i] - other[j])
    return total / (n * (n - 1) / 2) if n > 1 else math.nan


def assert_rows_agree(ours, oracle, one, other, mask):
    assert ours.shape == (B, Q)
    for place in np.ndindex(B, Q):
        seen = mask[place]
        wanted = oracle(one[place][seen], other[place][seen])
        assert ours[place] == pytest.approx(wanted, abs=1e-12, nan_ok=True)


@pytest.mark.agrees("evaluation.spearman", "SciPy")
@pytest.mark.agrees("evaluation.kendall", "SciPy")
@pytest.mark.parametrize("numbers", [tied, untied], ids=["tied", "untied"])
@given(data=st.data(), mask=masks)
def test_every_row_agrees_with_scipy(numbers, data, mask):
    one, other = data.draw(numbers), data.draw(numbers)
    assert_rows_agree(
        *(spearman(one, other, mask), lambda x, y: scipy_or_nan(spearmanr, x, y)),
        *(one, other, mask),
    )
    assert_rows_agree(
        *(kendall(one, other, mask), lambda x, y: scipy_or_nan(kendalltau, x, y)),
        *(one, other, mask),
    )
    assert_rows_agree(kendall(one, other, mask, ties="a"), tau_a_in_loops, one, other, mask)


@given(one=tied, other=tied, mask=masks)
def test_numpy_and_pytorch_agree(one, other, mask):
    theirs = [torch.from_numpy(array) for array in (one, other, mask)]
    np.testing.assert_allclose(spearman(*theirs).numpy(), spearman(one, other, mask))
    for ties in "ab":
        np.testing.assert_allclose(
            kendall(*theirs, ties=ties).numpy(), kendall(one, other, mask, ties=ties)
        )


@given(one=untied, other=untied)
def test_without_ties_it_is_the_formula_with_differences_of_ranks(one, other):
    ranks = [x.argsort(-1).argsort(-1) for x in (one, other)]
    squares = ((ranks[0] - ranks[1]) ** 2).sum(-1)
    np.testing.assert_allclose(spearman(one, other), 1 - 6 * squares / (K * (K**2 - 1)))
    np.testing.assert_allclose(kendall(one, other, ties="a"), kendall(one, other, ties="b"))


@given(one=untied)
def test_the_order_alone_matters(one):
    for correlation in (spearman, kendall):
        np.testing.assert_allclose(correlation(one, one**3 + one), 1, rtol=1e-12)
        np.testing.assert_allclose(correlation(one, -one), -1, rtol=1e-12)


def test_against_uniform_weights_tau_a_is_zero_and_the_others_do_not_exist():
    weights, marks = np.full(5, 0.2), np.arange(5.0)
    assert kendall(weights, marks, ties="a") == 0
    assert np.isnan(kendall(weights, marks, ties="b"))
    assert np.isnan(spearman(weights, marks))


def test_one_key_has_no_order():
    assert np.isnan(kendall(np.ones(1), np.ones(1), ties="a"))
    mask = np.array([False, True, False])
    assert np.isnan(spearman(np.arange(3.0), np.arange(3.0), mask))


def test_marks_may_be_booleans_or_counts():
    marks = np.array([True, False, True, False, False])
    weights = np.array([0.4, 0.1, 0.3, 0.15, 0.05])
    assert kendall(weights, marks) == pytest.approx(kendalltau(weights, marks).statistic)
    assert spearman(torch.from_numpy(weights), torch.tensor([3, 0, 2, 1, 0])) == pytest.approx(
        spearmanr(weights, [3, 0, 2, 1, 0]).statistic
    )


def test_nan_is_no_tie_unless_it_is_masked():
    one, other = np.array([0.1, np.nan, 0.3, 0.2]), np.arange(4.0)
    assert np.isnan(kendall(one, other, ties="a"))
    mask = np.array([True, False, True, True])
    assert kendall(one, other, mask) == pytest.approx(1 / 3)


def test_maps_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"the first is \(2, 3\), the other \(3,\)"):
        spearman(np.ones((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match="ties must be one of a, b"):
        kendall(np.ones(3), np.ones(3), ties="c")


@pytest.mark.parametrize("choices", [10**6, 40, 2])  # few ties, many, hardly anything else
def test_long_maps_agree_with_scipy_in_memory_that_grows_with_their_length(choices):
    rng = np.random.default_rng(0)
    k = 3001
    one, other = rng.integers(choices, size=(2, k)).astype(float)
    other += one * (rng.random(k) < 0.5)
    spearman(one[:3], other[:3])  # what is loaded once
    tracemalloc.start()
    found = [spearman(one, other), kendall(one, other)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500 * k
    wanted = [spearmanr(one, other).statistic, kendalltau(one, other).statistic]
    np.testing.assert_allclose(found, wanted)


@given(one=tied, other=untied, mask=masks)
def test_a_masked_key_is_a_key_that_is_not_there(one, other, mask):
    for correlation in (spearman, kendall, lambda *maps: kendall(*maps, ties="a")):
        found = correlation(one, other, mask)
        for at in np.ndindex(B, Q):
            there = mask[at]
            wanted = correlation(one[at][there], other[at][there])
            np.testing.assert_allclose(found[at], wanted)
