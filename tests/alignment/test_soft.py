"""Softmax against its loops, and properties P2.1–P2.8."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_course.alignment import softmax
from attn_course.definitions import alignment as definition

scores_of = arrays(np.float64, (3, 7), elements=st.floats(-50, 50))
masks_of = arrays(np.bool_, (3, 7))


@pytest.mark.agrees("alignment.softmax", "definitions.alignment.softmax")
@given(scores=scores_of, mask=masks_of)
def test_softmax_agrees_with_its_definition_in_loops(scores, mask):
    for row, wanted in zip(softmax(scores), scores, strict=True):
        np.testing.assert_allclose(row, definition.softmax(wanted), rtol=1e-12, atol=1e-300)
    for i, row in enumerate(softmax(scores, mask=mask)):
        np.testing.assert_allclose(
            row, definition.softmax(scores[i], mask[i]), rtol=1e-12, atol=1e-300
        )


@given(scores=scores_of, mask=masks_of)
def test_numpy_and_pytorch_agree(scores, mask):
    theirs = softmax(torch.from_numpy(scores), mask=torch.from_numpy(mask))
    np.testing.assert_allclose(theirs.numpy(), softmax(scores, mask=mask), rtol=1e-12, atol=1e-300)


@pytest.mark.proves("P2.1")
@given(scores=scores_of, shift=st.floats(-1000, 1000))
def test_adding_a_constant_changes_nothing(scores, shift):
    np.testing.assert_allclose(softmax(scores + shift), softmax(scores), rtol=1e-9, atol=1e-12)


@pytest.mark.proves("P2.2")
@given(scores=scores_of)
def test_order_is_kept_and_equal_scores_get_equal_weights(scores):
    scores[:, 1] = scores[:, 0]
    weights = softmax(scores)
    np.testing.assert_array_equal(weights[:, 0], weights[:, 1])
    for row, w in zip(scores, weights, strict=True):
        assert (np.diff(w[np.argsort(row, kind="stable")]) >= 0).all()


@pytest.mark.proves("P2.3")
@given(scores=scores_of)
def test_entropy_lies_between_zero_and_log_n(scores):
    weights = softmax(scores)
    entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(-1)
    assert (entropy >= -1e-9).all()
    assert (entropy <= np.log(7) + 1e-9).all()


@pytest.mark.proves("P2.3")
def test_the_gradient_of_entropy_in_closed_form():
    scores = torch.randn(7, dtype=torch.float64, requires_grad=True)
    weights = softmax(scores)
    entropy = -(weights * weights.log()).sum()
    (gradient,) = torch.autograd.grad(entropy, scores)
    torch.testing.assert_close(gradient, -(weights * (weights.log() + entropy)))


@pytest.mark.proves("P2.4")
def test_temperature_goes_from_one_hot_to_uniform():
    scores = np.array([[1.0, 3.0, 2.0]])
    np.testing.assert_allclose(softmax(scores, temperature=1e-3), [[0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(softmax(scores, temperature=1e9), [[1 / 3] * 3])
    np.testing.assert_allclose(softmax(scores, temperature=2.0), softmax(scores / 2))


@pytest.mark.proves("P2.5")
@given(scores=scores_of, mask=masks_of)
def test_a_mask_is_the_softmax_of_what_is_left(scores, mask):
    weights = softmax(scores, mask=mask)
    assert (weights[~mask] == 0).all()
    for row, keep, w in zip(scores, mask, weights, strict=True):
        if keep.any():
            np.testing.assert_allclose(w[keep], softmax(row[keep]), rtol=1e-12)


@pytest.mark.proves("P2.6")
def test_masked_scores_get_no_gradient_even_when_they_are_nan():
    scores = torch.tensor([[1.0, float("nan"), 2.0], [float("nan")] * 3], requires_grad=True)
    mask = torch.tensor([[True, False, True], [False] * 3])
    weights = softmax(scores, mask=mask)
    (weights * torch.arange(3.0)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[~mask] == 0).all()
    assert scores.grad[0, 0] != 0


@pytest.mark.proves("P2.7")
@given(scores=scores_of)
def test_a_mask_of_ones_is_no_mask(scores):
    np.testing.assert_array_equal(
        softmax(scores, mask=np.ones((3, 7), dtype=bool)), softmax(scores)
    )


@pytest.mark.proves("P2.7")
def test_masking_after_the_softmax_is_not_the_same():
    scores, mask = np.array([[1.0, 2.0, 3.0]]), np.array([[True, True, False]])
    assert np.abs(softmax(scores) * mask - softmax(scores, mask=mask)).max() > 0.1


@pytest.mark.proves("P2.8")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision_needs_no_special_care(dtype):
    scores = torch.tensor([[10.0, -10.0, 1e4], [1.0, 2.0, 3.0]], dtype=dtype)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = softmax(scores, mask=mask)
    assert weights.dtype == dtype
    wanted = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(weights, wanted, atol=1e-8, rtol=0)


def test_huge_scores_stay_finite():
    np.testing.assert_array_equal(softmax(np.array([[1e4, -1e4, 1e300]])), [[0, 0, 1]])


def test_the_axis_can_be_chosen():
    scores = np.random.default_rng(0).normal(size=(2, 7, 3))
    weights = softmax(scores, axis=-2, mask=np.ones((7, 3), dtype=bool))
    np.testing.assert_allclose(weights.sum(-2), 1)
    np.testing.assert_allclose(weights, softmax(scores.swapaxes(-1, -2)).swapaxes(-1, -2))


def test_a_trainable_temperature_gets_its_gradient_at_one_too():
    scores = torch.tensor([[1.0, 3.0, 2.0]], dtype=torch.float64)
    temperature = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: softmax(scores, temperature=t), temperature)
    softmax(scores, temperature=temperature)[0, 1].backward()
    assert temperature.grad != 0


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan")])
def test_a_temperature_that_is_not_above_zero_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be above 0"):
        softmax(np.ones((1, 2)), temperature=temperature)


def test_every_query_may_have_a_temperature_of_its_own():
    scores = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.5]])
    temperature = np.array([[0.5], [2.0]])
    wanted = np.stack([softmax(scores[i], temperature=float(temperature[i, 0])) for i in range(2)])
    np.testing.assert_allclose(softmax(scores, temperature=temperature), wanted)
    with pytest.raises(ValueError, match="temperature must be above 0"):
        softmax(scores, temperature=np.array([[0.5], [0.0]]))
