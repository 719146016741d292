"""Softmax with a sink and softmax-off-by-one: one extra score that belongs to no key."""

from functools import partial

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_course.alignment import softmax, softmax_off_by_one, softmax_with_sink
from attn_course.attention import attend
from attn_course.definitions import alignment as definition

scores_of = arrays(np.float64, (3, 7), elements=st.floats(-50, 50))
masks_of = arrays(np.bool_, (3, 7))
sink_of = st.floats(-50, 50)
HEADS = np.random.default_rng(0).normal(size=(2, 5, 3, 7))  # two examples, five heads
SINKS = np.array([-1.5, 0.0, 0.5, 2.0, 40.0])[:, None, None]


# --- with a sink ----------------------------------------------------------------------------------


@pytest.mark.agrees("alignment.softmax_with_sink", "definitions.alignment.softmax_with_sink")
@given(scores=scores_of, mask=masks_of, sink=sink_of)
def test_softmax_with_a_sink_agrees_with_its_definition_in_loops(scores, mask, sink):
    for i, row in enumerate(softmax_with_sink(scores, sink=sink)):
        wanted = definition.softmax_with_sink(scores[i], sink)
        np.testing.assert_allclose(row, wanted, rtol=1e-12, atol=1e-300)
    for i, row in enumerate(softmax_with_sink(scores, mask, sink)):
        wanted = definition.softmax_with_sink(scores[i], sink, mask[i])
        np.testing.assert_allclose(row, wanted, rtol=1e-12, atol=1e-300)


@pytest.mark.agrees("alignment.softmax_with_sink", "PyTorch")
@given(scores=scores_of, sink=sink_of)
def test_a_sink_is_one_more_column_for_pytorch_that_is_dropped(scores, sink):
    longer = torch.nn.functional.pad(torch.from_numpy(scores), (0, 1), value=sink)
    wanted = torch.softmax(longer, dim=-1)[:, :-1]
    ours = softmax_with_sink(scores, sink=sink)
    np.testing.assert_allclose(ours, wanted.numpy(), rtol=1e-12, atol=1e-300)


@pytest.mark.proves("P13.13")
@given(scores=scores_of, mask=masks_of, sink=sink_of)
def test_a_sink_is_a_key_that_no_mask_hides_and_that_is_dropped(scores, mask, sink):
    longer = np.concatenate([scores, np.full((3, 1), sink)], axis=-1)
    seen = np.concatenate([mask, np.ones((3, 1), dtype=bool)], axis=-1)
    wanted = softmax(longer, seen)[:, :-1]
    np.testing.assert_allclose(
        softmax_with_sink(scores, mask, sink), wanted, rtol=1e-12, atol=1e-300
    )


@pytest.mark.proves("P13.13")
@given(scores=scores_of, mask=masks_of)
def test_a_sink_of_zero_is_off_by_one_and_one_of_minus_infinity_is_softmax(scores, mask):
    np.testing.assert_array_equal(
        softmax_with_sink(scores, mask, 0), softmax_off_by_one(scores, mask)
    )
    np.testing.assert_allclose(
        softmax_with_sink(scores, mask, -np.inf), softmax(scores, mask), rtol=1e-12, atol=1e-300
    )


@pytest.mark.proves("P13.19")
@given(scores=scores_of, sink=sink_of, shift=st.floats(-1000, 1000))
def test_adding_a_constant_to_scores_and_sink_changes_nothing(scores, sink, shift):
    np.testing.assert_allclose(
        softmax_with_sink(scores + shift, sink=sink + shift),
        softmax_with_sink(scores, sink=sink),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.proves("P13.19")
@given(scores=arrays(np.float64, (3, 7), elements=st.floats(-5, 5)), sink=st.floats(-5, 5))
def test_a_sink_shrinks_all_weights_of_a_row_by_one_factor(scores, sink):
    weights = softmax_with_sink(scores, sink=sink)
    spent = weights.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(weights / spent, softmax(scores), rtol=1e-9)
    above = np.log(np.exp(scores).sum(axis=-1, keepdims=True)) - sink
    np.testing.assert_allclose(spent, 1 / (1 + np.exp(-above)), rtol=1e-9)


@pytest.mark.parametrize("library", [np, torch, array_api_strict])
def test_every_head_may_have_a_sink_of_its_own(library):
    weights = np.asarray(softmax_with_sink(library.asarray(HEADS), sink=library.asarray(SINKS)))
    for b, h, i in np.ndindex(2, 5, 3):
        wanted = definition.softmax_with_sink(HEADS[b, h, i], SINKS[h, 0, 0])
        np.testing.assert_allclose(weights[b, h, i], wanted, rtol=1e-12)


def test_a_row_masked_completely_has_weights_and_gradients_0_whatever_the_sink():
    scores = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True, True, False], [False] * 3])
    for number in (-torch.inf, -1000.0, 0.0, 1000.0):
        sink = torch.full((2, 1), number, dtype=torch.float64, requires_grad=True)
        weights = softmax_with_sink(scores.requires_grad_(), mask, sink)
        gradients = torch.autograd.grad(weights.square().sum(), [scores, sink])
        assert (weights[1] == 0).all()
        assert all(torch.isfinite(one).all() and (one[1] == 0).all() for one in gradients)


def test_scores_and_a_learned_sink_get_the_right_gradients():
    scores = torch.from_numpy(HEADS).requires_grad_()
    sink = torch.from_numpy(SINKS).requires_grad_()
    mask = torch.rand(3, 7, generator=torch.Generator().manual_seed(0)) < 0.6
    assert torch.autograd.gradcheck(lambda e, s: softmax_with_sink(e, mask, s), (scores, sink))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_huge_scores_and_sinks_stay_finite(dtype):
    scores = torch.tensor([[6e4, 0.0], [-6e4, -6e4], [-6e4, -6e4]], dtype=dtype)
    sink = torch.tensor([[-6e4], [6e4], [-6e4]], dtype=dtype)
    wanted = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1 / 3, 1 / 3]], dtype=dtype)
    torch.testing.assert_close(softmax_with_sink(scores, sink=sink), wanted)


def test_a_sink_of_another_precision_makes_the_weights_the_wider_of_the_two():
    weights = softmax_with_sink(torch.zeros(1, 3), sink=torch.zeros(1, 1, dtype=torch.float64))
    assert weights.dtype == torch.float64


def test_whole_numbers_are_sinks_too_in_a_library_that_mixes_no_types():
    scores = array_api_strict.asarray(HEADS[0, 0])
    weights = softmax_with_sink(scores, sink=array_api_strict.asarray([[0], [1], [2]]))
    wanted = softmax_with_sink(HEADS[0, 0], sink=np.array([[0.0], [1.0], [2.0]]))
    np.testing.assert_allclose(np.asarray(weights), wanted, rtol=1e-12)


def test_a_nan_sink_is_passed_on_in_its_own_row_alone():
    weights = softmax_with_sink(np.zeros((2, 3)), sink=np.array([[np.nan], [0.0]]))
    assert np.isnan(weights[0]).all()
    np.testing.assert_allclose(weights[1], 0.25)


def test_attend_accepts_a_bound_sink_and_leaves_the_rest_of_the_weight_unspent():
    queries, keys = np.zeros((5, 1, 3)), np.zeros((5, 2, 3))
    values = np.ones((5, 2, 1))
    context, weights = attend(queries, keys, values, align=partial(softmax_with_sink, sink=SINKS))
    np.testing.assert_allclose(weights[:, 0, 0], 1 / (2 + np.exp(SINKS[:, 0, 0])))
    np.testing.assert_allclose(context[:, 0], weights.sum(axis=-1))


@pytest.mark.parametrize("shape", [(5,), (7,), (3, 7), (4, 1, 1)])
def test_a_sink_that_is_not_one_for_each_row_is_refused(shape):
    with pytest.raises(ValueError, match=r"sink must be a number or broadcast to \(2, 5, 3, 1\)"):
        softmax_with_sink(HEADS, sink=np.zeros(shape))


# --- off by one: a sink of 0 ----------------------------------------------------------------------


@pytest.mark.agrees("alignment.softmax_off_by_one", "definitions.alignment.softmax_off_by_one")
@given(scores=scores_of, mask=masks_of)
def test_softmax_off_by_one_agrees_with_its_definition_in_loops(scores, mask):
    for i, row in enumerate(softmax_off_by_one(scores)):
        wanted = definition.softmax_off_by_one(scores[i])
        np.testing.assert_allclose(row, wanted, rtol=1e-12, atol=1e-300)
    for i, row in enumerate(softmax_off_by_one(scores, mask)):
        wanted = definition.softmax_off_by_one(scores[i], mask[i])
        np.testing.assert_allclose(row, wanted, rtol=1e-12, atol=1e-300)


@pytest.mark.proves("P2.16")
@given(scores=scores_of, mask=masks_of)
def test_off_by_one_is_softmax_with_a_key_of_score_zero_that_is_dropped(scores, mask):
    longer = np.concatenate([scores, np.zeros((3, 1))], axis=-1)
    seen = np.concatenate([mask, np.ones((3, 1), dtype=bool)], axis=-1)
    np.testing.assert_allclose(
        softmax_off_by_one(scores, mask), softmax(longer, seen)[:, :-1], rtol=1e-12, atol=1e-300
    )


@pytest.mark.proves("P2.16")
@given(scores=arrays(np.float64, (3, 7), elements=st.floats(-30, 30)), mask=masks_of)
def test_rows_of_off_by_one_sum_to_less_than_one(scores, mask):
    assert (softmax_off_by_one(scores).sum(-1) < 1).all()
    assert (softmax_off_by_one(scores, mask).sum(-1) < 1).all()


@pytest.mark.proves("P2.16")
def test_off_by_one_is_softmax_for_large_scores_and_nothing_for_small_ones():
    scores = np.array([[1.0, 3.0, 2.0]])
    np.testing.assert_allclose(softmax_off_by_one(scores + 50), softmax(scores), rtol=1e-12)
    np.testing.assert_allclose(softmax_off_by_one(scores - 50), np.zeros((1, 3)), atol=1e-20)
    moved = softmax_off_by_one(scores + 1) - softmax_off_by_one(scores)
    assert np.abs(moved).max() > 0.01  # unlike softmax, a constant changes the weights


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_huge_scores_of_off_by_one_stay_finite(dtype):
    scores = torch.tensor([[6e4, -6e4, 0.0], [-6e4] * 3], dtype=dtype)
    wanted = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(softmax_off_by_one(scores), wanted, atol=0, rtol=0)


def test_the_gradient_of_off_by_one_is_that_of_softmax_with_the_extra_key():
    scores = torch.randn(2, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True] * 5 + [False] * 2, [False] * 7])
    scores = torch.cat([scores, scores[:1] + 9], dim=0).requires_grad_()  # a row far above 0
    mask = torch.cat([mask, mask[:1]], dim=0)
    assert torch.autograd.gradcheck(lambda e: softmax_off_by_one(e, mask), scores)
