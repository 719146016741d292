"""Learned subsets and sparse maps against loops and the entmax library, and property P2.15."""

import entmax
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_course import alignment
from attn_course.alignment import softmax
from attn_course.definitions import alignment as definition

masks_of = arrays(np.bool_, (3, 7))
FIXTURE = np.array([[0.1, 0.4, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2]])


# --- a learned subset --------------------------------------------------------------------------


@pytest.mark.proves("P2.15")
def test_selecting_everything_is_soft_one_key_is_hard_and_nothing_is_zero():
    everything, one, nothing = np.ones(8, bool), np.arange(8) == 3, np.zeros(8, bool)
    np.testing.assert_array_equal(alignment.reinforced(FIXTURE, everything), softmax(FIXTURE))
    np.testing.assert_array_equal(alignment.reinforced(FIXTURE, one)[0], one.astype(float))
    np.testing.assert_array_equal(alignment.reinforced(FIXTURE, nothing), np.zeros((1, 8)))


def test_the_selection_and_the_mask_both_count():
    selection = np.array([True, True, False])
    weights = alignment.reinforced(
        np.zeros((2, 3)), selection, mask=np.array([[True, False, True]])
    )
    np.testing.assert_array_equal(weights, [[1, 0, 0], [1, 0, 0]])


@pytest.mark.agrees(
    "alignment.selection_probabilities",
    "definitions.alignment.selection_probabilities",
)
def test_selection_probabilities_agree_with_loops_and_ignore_padding():
    rng = np.random.default_rng(0)
    x, w, W = rng.normal(size=(7, 5)), rng.normal(size=3), rng.normal(size=(3, 15))
    b, b_0 = rng.normal(size=3), 0.3
    probabilities = alignment.selection_probabilities(x, w, W, b, b_0)
    wanted = definition.selection_probabilities(x, w, W, b, b_0)
    np.testing.assert_allclose(probabilities, wanted)
    padded = np.concatenate([x, np.full((2, 5), np.nan)])
    masked = alignment.selection_probabilities(padded, w, W, b, b_0, mask=np.arange(9) < 7)
    np.testing.assert_allclose(masked, [*wanted, 0, 0])


def test_selections_are_drawn_with_their_probabilities():
    probabilities = np.array([0.0, 0.2, 0.9, 1.0])
    many = np.broadcast_to(probabilities, (20_000, 4))
    drawn = alignment.select(many, np.random.default_rng(0))
    assert drawn.dtype == bool
    np.testing.assert_allclose(drawn.mean(0), probabilities, atol=0.012)


@pytest.mark.agrees(
    "alignment.selection_log_probability",
    "definitions.alignment.selection_log_probability",
)
def test_the_probability_of_a_selection_agrees_with_loops_and_its_gradient_is_finite():
    probabilities = torch.tensor([0.0, 0.3, 0.8, 1.0], dtype=torch.float64, requires_grad=True)
    selection = torch.tensor([False, True, False, True])
    log_p = alignment.selection_log_probability(probabilities, selection)
    log_p.backward()
    assert log_p.item() == pytest.approx(
        definition.selection_log_probability([0.3, 0.8], [True, False])
    )
    assert torch.isfinite(probabilities.grad).all()


# --- sparse maps -------------------------------------------------------------------------------

SPARSE = {"sparsemax": entmax.sparsemax, "entmax15": entmax.entmax15}
SPARSE_LOOPS = {"sparsemax": definition.sparsemax, "entmax15": definition.entmax15}


@pytest.mark.agrees("alignment.sparsemax", "definitions.alignment.sparsemax", "entmax")
@pytest.mark.agrees("alignment.entmax15", "definitions.alignment.entmax15", "entmax")
@pytest.mark.parametrize("name", SPARSE)
@given(scores=arrays(np.float64, (3, 7), elements=st.floats(-5, 5)), mask=masks_of)
def test_sparse_maps_agree_with_loops_and_with_the_entmax_library(name, scores, mask):
    ours = getattr(alignment, name)
    np.testing.assert_allclose(ours(scores), SPARSE[name](torch.from_numpy(scores)), atol=1e-7)
    masked = ours(scores, mask=mask)
    for row, keep, weights in zip(scores, mask, masked, strict=True):
        np.testing.assert_allclose(weights, SPARSE_LOOPS[name](row, keep), atol=1e-7)


@pytest.mark.agrees("alignment.sparsemax", "entmax")
@pytest.mark.agrees("alignment.entmax15", "entmax")
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_maps_have_the_gradient_of_the_entmax_library(name):
    scores = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    cotangent = torch.randn(3, 7, dtype=torch.float64)
    (ours,) = torch.autograd.grad(getattr(alignment, name)(scores), scores, cotangent)
    (theirs,) = torch.autograd.grad(SPARSE[name](scores), scores, cotangent)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_maps_give_exact_zeros_and_stay_finite(name):
    weights = getattr(alignment, name)(np.array([[1e4, 0.0, -1e4], [0.0, 0.1, -9.0]]))
    np.testing.assert_allclose(weights[0], [1, 0, 0])
    assert weights[1, 2] == 0
    np.testing.assert_allclose(weights.sum(-1), 1)


@pytest.mark.parametrize("name", SPARSE)
def test_a_score_of_minus_infinity_gets_no_weight_and_no_gradient(name):
    scores = torch.tensor([[1.0, 0.5, -torch.inf], [0.5, -torch.inf, -200.0]])
    ours = scores.clone().requires_grad_()
    theirs = scores.clone().requires_grad_()
    weights, wanted = getattr(alignment, name)(ours), SPARSE[name](theirs)
    torch.testing.assert_close(weights, wanted)
    cotangent = torch.tensor([[1.0, 2.0, 3.0]])
    (weights * cotangent).sum().backward()
    (wanted * cotangent).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.agrees("alignment.sparsemax", "entmax")
@pytest.mark.agrees("alignment.entmax15", "entmax")
@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("k", [307, 3001])  # no bfloat16 is 257, no float16 is 2049
def test_sparse_maps_over_many_keys_agree_with_the_entmax_library_in_any_precision(name, dtype, k):
    generator = torch.Generator().manual_seed(0)
    for spread in (0.001, 1.0):
        scores = (spread * torch.randn(3, k, generator=generator)).to(dtype)
        weights = getattr(alignment, name)(scores)
        wanted = SPARSE[name](scores.double())
        assert weights.dtype == dtype
        torch.testing.assert_close(weights, wanted.to(dtype), rtol=0.02, atol=1e-6)
        torch.testing.assert_close(
            weights.double().sum(-1), torch.ones(3).double(), atol=0.01, rtol=0
        )
