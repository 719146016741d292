"""Attention correctness against loops over rows and keys."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_course.alignment import local_predictive, softmax
from attn_course.evaluation.correctness import (
    argmax_hits,
    attention_correctness,
    correctness_by_row,
    uniform_correctness,
)

SHAPE = B, Q, K = 2, 3, 7
weights_of = arrays(np.float64, SHAPE, elements=st.floats(0, 1, allow_subnormal=False))
booleans = arrays(np.bool_, SHAPE)


def by_rows(weights, right, mask):
    """The mass inside of each row, None for a row that has no right key."""
    answer = []
    for row, good, seen in zip(weights, right, mask, strict=True):
        keys = range(len(row))
        if not any(good[l] and seen[l] for l in keys):
            answer.append(None)
            continue
        total = sum(row[l] for l in keys if seen[l])
        inside = sum(row[l] for l in keys if seen[l] and good[l])
        answer.append(inside / total if total else 0.0)
    return answer


def flat(array):
    return array.reshape(-1, K)


@given(weights=weights_of, right=booleans, mask=booleans)
def test_correctness_agrees_with_loops(weights, right, mask):
    assume((right & mask).any())
    rows = by_rows(flat(weights), flat(right), flat(mask))
    ours = correctness_by_row(weights, right, mask)
    assert ours.shape == (B, Q)
    for value, wanted in zip(ours.ravel(), rows, strict=True):
        assert math.isnan(value) if wanted is None else value == pytest.approx(wanted, abs=1e-12)
    counted = [row for row in rows if row is not None]
    wanted = sum(counted) / len(counted)
    assert attention_correctness(weights, right, mask) == pytest.approx(wanted, abs=1e-12)


@given(right=booleans, mask=booleans)
def test_the_uniform_baseline_is_the_share_of_right_keys(right, mask):
    assume((right & mask).any())
    rows = [
        (good & seen).sum() / seen.sum()
        for good, seen in zip(flat(right), flat(mask), strict=True)
        if (good & seen).any()
    ]
    assert uniform_correctness(right, mask) == pytest.approx(np.mean(rows))
    uniform = softmax(np.zeros(SHAPE), mask=mask)
    assert attention_correctness(uniform, right, mask) == pytest.approx(np.mean(rows))
    assert argmax_hits(uniform, right, mask) == pytest.approx(np.mean(rows))


@given(weights=weights_of, right=booleans, mask=booleans)
def test_numpy_and_pytorch_agree(weights, right, mask):
    assume((right & mask).any())
    theirs = [torch.from_numpy(array) for array in (weights, right, mask)]
    for score in (attention_correctness, argmax_hits):
        assert score(*theirs) == pytest.approx(score(weights, right, mask), abs=1e-12)
    assert uniform_correctness(*theirs[1:]) == pytest.approx(uniform_correctness(right, mask))


@given(weights=weights_of, right=booleans, scale=st.floats(0.01, 1))
def test_weights_need_not_add_up_to_one(weights, right, scale):
    assume(right.any())
    score = attention_correctness(weights, right)
    assert attention_correctness(scale * weights, right) == pytest.approx(score, abs=1e-9)


def test_local_p_can_score_one_though_its_weights_are_small():
    weights = local_predictive(np.zeros((1, 5)), np.array([2.5]), half_width=1.0)
    right = weights > 0
    assert weights.sum() < 0.7
    assert attention_correctness(weights, right) == pytest.approx(1)


def test_it_is_one_where_all_weight_is_inside_and_zero_where_none_is():
    right = np.array([[True, True, False, False, False]])
    assert attention_correctness(np.array([[0.4, 0.6, 0, 0, 0]]), right) == 1
    assert attention_correctness(np.array([[0, 0, 0.2, 0.5, 0.3]]), right) == 0


def test_rows_without_a_right_key_are_left_out():
    weights = np.array([[0.5, 0.5], [0.9, 0.1]])
    right = np.array([[False, False], [True, False]])
    assert attention_correctness(weights, right) == pytest.approx(0.9)
    assert uniform_correctness(right) == 0.5
    assert argmax_hits(weights, right) == 1


def test_a_right_key_behind_the_mask_does_not_count():
    weights = np.array([[0.5, 0.3, 0.2]])
    right = np.array([[True, True, False]])
    mask = np.array([[False, True, True]])
    assert attention_correctness(weights, right, mask) == pytest.approx(0.6)
    assert uniform_correctness(right, mask) == 0.5


def test_a_row_that_attends_nowhere_scores_zero():
    right = np.array([[True, False], [True, False]])
    weights = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert attention_correctness(weights, right) == 0.5
    assert argmax_hits(weights, right) == 0.5


def test_a_tie_for_the_largest_weight_is_shared():
    right = np.array([[False, True, True, False, False]])
    assert argmax_hits(np.array([[0.3, 0.3, 0.1, 0.3, 0.0]]), right) == pytest.approx(1 / 3)
    assert argmax_hits(np.array([[0.1, 0.5, 0.1, 0.3, 0.0]]), right) == 1
    assert argmax_hits(np.array([[0.5, 0.4, 0.1, 0.0, 0.0]]), right) == 0


def test_one_right_answer_judges_every_head():
    weights = softmax(np.random.default_rng(0).standard_normal((2, 3, 5, 7)))
    right = np.zeros((2, 1, 5, 7), bool)
    right[..., 2] = True
    wanted = weights[..., 2].mean()
    assert attention_correctness(weights, right) == pytest.approx(wanted)


def test_nan_in_the_weights_is_not_left_out():
    right = np.array([[True, False], [True, False]])
    assert math.isnan(attention_correctness(np.array([[np.nan, 0.1], [1.0, 0.0]]), right))


def test_scores_are_not_taken_for_weights():
    right = np.array([[True, False]])
    with pytest.raises(ValueError, match="take their softmax"):
        attention_correctness(np.array([[1.5, -0.5]]), right)


def test_where_nothing_is_right_there_is_nothing_to_score():
    with pytest.raises(ValueError, match="no row has a right key"):
        attention_correctness(np.ones((2, 3)), np.zeros((2, 3), bool))


@pytest.mark.parametrize(
    "right", [np.ones((2, 3)), np.ones((3, 2), bool), np.ones((1, 2, 3), bool)]
)
def test_right_must_be_boolean_and_fit(right):
    with pytest.raises(ValueError, match="right must be boolean"):
        attention_correctness(np.ones((2, 3)), right)
