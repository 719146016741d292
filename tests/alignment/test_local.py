"""Local alignments against their definitions in loops, and properties P2.12–P2.14."""

from functools import partial
from math import exp

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_course import alignment
from attn_course.alignment import softmax
from attn_course.attention import attend
from attn_course.definitions import alignment as definition

scores_of = arrays(np.float64, (3, 7), elements=st.floats(-50, 50))
masks_of = arrays(np.bool_, (3, 7))
FIXTURE = np.array([[0.1, 0.4, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2]])


@pytest.mark.agrees("alignment.local_monotonic", "definitions.alignment.local_monotonic")
@pytest.mark.agrees("alignment.local_predictive", "definitions.alignment.local_predictive")
@given(scores=scores_of, mask=masks_of, centre=st.floats(0.1, 7.5), half_width=st.integers(1, 4))
def test_local_alignments_agree_with_their_definitions_in_loops(scores, mask, centre, half_width):
    centres = np.array([centre, 1.0, 7.0])
    monotonic = alignment.local_monotonic(scores, centres, half_width, mask)
    predictive = alignment.local_predictive(scores, centres, half_width, mask)
    again = alignment.local_predictive(scores, centres, half_width, mask, renormalise=True)
    for i, (row, keep) in enumerate(zip(scores, mask, strict=True)):
        at = (row, centres[i], half_width, keep)
        np.testing.assert_allclose(monotonic[i], definition.local_monotonic(*at), atol=1e-12)
        np.testing.assert_allclose(predictive[i], definition.local_predictive(*at), atol=1e-12)
        wanted = definition.local_predictive(*at, renormalise=True)
        np.testing.assert_allclose(again[i], wanted, atol=1e-9)


@pytest.mark.proves("P2.12")
def test_a_window_over_everything_is_global_and_with_the_gaussian_it_is_not():
    steps = np.array([4.0])
    everything = alignment.local_monotonic(FIXTURE, steps, half_width=8)
    np.testing.assert_allclose(everything, softmax(FIXTURE))
    with_gaussian = alignment.local_predictive(FIXTURE, steps, half_width=8)
    assert 0.8 < with_gaussian.sum() < 0.9
    wide = alignment.local_predictive(FIXTURE, steps, half_width=1e6)
    np.testing.assert_allclose(wide, softmax(FIXTURE), atol=1e-9)


@pytest.mark.proves("P2.13")
@pytest.mark.parametrize(
    ("p", "places", "total"),
    [
        (4.0, [2, 3, 4, 5, 6], 0.456164),
        (3.4, [2, 3, 4, 5], 0.583900),
        (0.6, [1, 2], 0.608434),
        (8.0, [6, 7, 8], 0.528044),
    ],
)
def test_the_window_is_clipped_and_the_gaussian_shrinks_the_row(p, places, total):
    weights = alignment.local_predictive(FIXTURE, np.array([p]), half_width=2)
    assert list(np.flatnonzero(weights[0]) + 1) == places
    assert weights.sum() == pytest.approx(total, abs=1e-6)


@pytest.mark.proves("P2.13")
def test_the_weights_of_the_fixture():
    weights = alignment.local_predictive(FIXTURE, np.array([3.4]), half_width=2)
    wanted = [0, 0.120139, 0.162171, 0.241931, 0.059659, 0, 0, 0]
    np.testing.assert_allclose(weights[0], wanted, atol=1e-6)


def test_the_gaussian_factor_at_the_edge_of_the_window_is_exp_minus_two():
    plain = alignment.local_monotonic(FIXTURE, np.array([4.0]), half_width=2)
    faded = alignment.local_predictive(FIXTURE, np.array([4.0]), half_width=2)
    assert faded[0, 1] / plain[0, 1] == pytest.approx(exp(-2))


@pytest.mark.proves("P2.14")
def test_local_alignment_depends_on_the_order_of_the_keys():
    order = np.array([7, 1, 2, 3, 4, 5, 6, 0])
    align = partial(alignment.local_monotonic, steps=np.array([1.0]), half_width=2)
    keys, values = np.eye(8), np.arange(8.0)[:, None]
    context, _ = attend(FIXTURE, keys, values, align=align)
    permuted, _ = attend(FIXTURE, keys[order], values[order], align=align)
    assert abs(context - permuted).item() > 0.1


def test_the_gaussian_is_what_trains_the_position():
    for renormalise in (False, True):
        p = torch.tensor([3.4], dtype=torch.float64, requires_grad=True)
        weights = alignment.local_predictive(
            torch.from_numpy(FIXTURE), p, 2, renormalise=renormalise
        )
        (weights * torch.arange(8)).sum().backward()
        assert p.grad.abs().item() > 1e-3
    p = torch.tensor([3.4], dtype=torch.float64, requires_grad=True)
    assert not alignment.local_monotonic(torch.from_numpy(FIXTURE), p, 2).requires_grad


def test_the_gradient_with_respect_to_the_position_in_closed_form():
    p = torch.tensor([3.4], dtype=torch.float64, requires_grad=True)
    weights = alignment.local_predictive(torch.from_numpy(FIXTURE), p, 2)
    for place in range(1, 9):
        (gradient,) = torch.autograd.grad(weights[0, place - 1], p, retain_graph=True)
        a = weights[0, place - 1].item()
        assert gradient.item() == pytest.approx(a * (place - 3.4) / 1**2)


@pytest.mark.agrees("alignment.predict_positions", "definitions.alignment.predict_position")
def test_positions_agree_with_their_definition_and_lie_between_zero_and_the_length():
    rng = np.random.default_rng(0)
    queries, w_p, W_p = rng.normal(size=(2, 3, 5)), rng.normal(size=7), rng.normal(size=(7, 5))
    lengths = np.array([4, 11])
    positions = alignment.predict_positions(queries, w_p, W_p, lengths)
    wanted = [
        [definition.predict_position(q, w_p, W_p, int(n)) for q in qs]
        for qs, n in zip(queries, lengths, strict=True)
    ]
    np.testing.assert_allclose(positions, wanted)
    assert (positions > 0).all()
    assert (positions < lengths[:, None]).all()


def test_integer_scores_keep_positions_between_the_keys():
    whole, positions = np.array([[1, 2, 1, 3]]), np.array([2.5])
    for renormalise in (False, True):
        wanted = alignment.local_predictive(whole.astype(float), positions, 2, None, renormalise)
        ours = alignment.local_predictive(whole, positions, 2, None, renormalise)
        np.testing.assert_allclose(ours, wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_windows_find_places_that_half_precision_has_no_number_for(dtype):
    scores, places = torch.zeros(2, 3001, dtype=dtype), torch.tensor([257.0, 2049.0])
    for align in (alignment.local_monotonic, alignment.local_predictive):
        weights = align(scores, places, 1)
        assert weights.dtype == dtype
        kept = [torch.nonzero(row)[:, 0].add(1).tolist() for row in weights]
        assert kept == [[256, 257, 258], [2048, 2049, 2050]]


def test_half_widths_and_places_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="must not be negative, but is -1"):
        alignment.local_monotonic(FIXTURE, np.array([1.0]), half_width=-1)
    with pytest.raises(ValueError, match="half_width must be above 0"):
        alignment.local_predictive(FIXTURE, np.array([1.0]), half_width=0)
    with pytest.raises(ValueError, match="each query needs its place"):
        alignment.local_monotonic(FIXTURE, np.array([1.0, 2.0]), half_width=1)
    with pytest.raises(ValueError, match="each query needs its place"):
        alignment.local_monotonic(FIXTURE, np.ones((2, 1)), half_width=1)
