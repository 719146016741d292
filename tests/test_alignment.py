"""Alignments against their definitions in loops, and properties P2.1–P2.15."""

import re
from functools import partial
from math import exp

import entmax
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


@given(scores=scores_of, shift=st.floats(-1000, 1000))
def test_p2_1_adding_a_constant_changes_nothing(scores, shift):
    np.testing.assert_allclose(softmax(scores + shift), softmax(scores), rtol=1e-9, atol=1e-12)


@given(scores=scores_of)
def test_p2_2_order_is_kept_and_equal_scores_get_equal_weights(scores):
    scores[:, 1] = scores[:, 0]
    weights = softmax(scores)
    np.testing.assert_array_equal(weights[:, 0], weights[:, 1])
    for row, w in zip(scores, weights, strict=True):
        assert (np.diff(w[np.argsort(row, kind="stable")]) >= 0).all()


@given(scores=scores_of)
def test_p2_3_entropy_lies_between_zero_and_log_n(scores):
    weights = softmax(scores)
    entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(-1)
    assert (entropy >= -1e-9).all()
    assert (entropy <= np.log(7) + 1e-9).all()


def test_p2_3_the_gradient_of_entropy_in_closed_form():
    scores = torch.randn(7, dtype=torch.float64, requires_grad=True)
    weights = softmax(scores)
    entropy = -(weights * weights.log()).sum()
    (gradient,) = torch.autograd.grad(entropy, scores)
    torch.testing.assert_close(gradient, -(weights * (weights.log() + entropy)))


def test_p2_4_temperature_goes_from_one_hot_to_uniform():
    scores = np.array([[1.0, 3.0, 2.0]])
    np.testing.assert_allclose(softmax(scores, temperature=1e-3), [[0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(softmax(scores, temperature=1e9), [[1 / 3] * 3])
    np.testing.assert_allclose(softmax(scores, temperature=2.0), softmax(scores / 2))


@given(scores=scores_of, mask=masks_of)
def test_p2_5_a_mask_is_the_softmax_of_what_is_left(scores, mask):
    weights = softmax(scores, mask=mask)
    assert (weights[~mask] == 0).all()
    for row, keep, w in zip(scores, mask, weights, strict=True):
        if keep.any():
            np.testing.assert_allclose(w[keep], softmax(row[keep]), rtol=1e-12)


def test_p2_6_masked_scores_get_no_gradient_even_when_they_are_nan():
    scores = torch.tensor([[1.0, float("nan"), 2.0], [float("nan")] * 3], requires_grad=True)
    mask = torch.tensor([[True, False, True], [False] * 3])
    weights = softmax(scores, mask=mask)
    (weights * torch.arange(3.0)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[~mask] == 0).all()
    assert scores.grad[0, 0] != 0


@given(scores=scores_of)
def test_p2_7_a_mask_of_ones_is_no_mask(scores):
    np.testing.assert_array_equal(
        softmax(scores, mask=np.ones((3, 7), dtype=bool)), softmax(scores)
    )


def test_p2_7_masking_after_the_softmax_is_not_the_same():
    scores, mask = np.array([[1.0, 2.0, 3.0]]), np.array([[True, True, False]])
    assert np.abs(softmax(scores) * mask - softmax(scores, mask=mask)).max() > 0.1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_p2_8_half_precision_needs_no_special_care(dtype):
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


# --- sparse maps -------------------------------------------------------------------------------

SPARSE = {"sparsemax": entmax.sparsemax, "entmax15": entmax.entmax15}
SPARSE_LOOPS = {"sparsemax": definition.sparsemax, "entmax15": definition.entmax15}


@pytest.mark.parametrize("name", SPARSE)
@given(scores=arrays(np.float64, (3, 7), elements=st.floats(-5, 5)), mask=masks_of)
def test_sparse_maps_agree_with_loops_and_with_the_entmax_library(name, scores, mask):
    ours = getattr(alignment, name)
    np.testing.assert_allclose(ours(scores), SPARSE[name](torch.from_numpy(scores)), atol=1e-7)
    masked = ours(scores, mask=mask)
    for row, keep, weights in zip(scores, mask, masked, strict=True):
        np.testing.assert_allclose(weights, SPARSE_LOOPS[name](row, keep), atol=1e-7)


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


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15", "hard"])
@pytest.mark.parametrize("masked", [False, True])
def test_nan_is_passed_on_in_its_own_row_alone(name, masked):
    scores = np.array([[1.0, np.nan, 0.5, 2.0], [1.0, 0.0, 0.5, 2.0]])
    mask = np.array([True, True, True, False]) if masked else None
    parameters = {"rng": np.random.default_rng(0)} if name == "hard" else {}
    weights = getattr(alignment, name)(scores, mask=mask, **parameters)
    assert np.isnan(weights[0, :3]).all()
    np.testing.assert_allclose(weights[1].sum(), 1)


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


# --- hard --------------------------------------------------------------------------------------


def test_hard_draws_the_key_on_which_the_same_number_falls_in_the_definition():
    rng = np.random.default_rng(5)
    scores, mask = rng.normal(size=(13, 7, 5)), rng.random((13, 7, 5)) < 0.7
    mask[3, 2] = False
    found = alignment.hard(scores, np.random.default_rng(6), mask=mask)
    numbers = np.random.default_rng(6).random((13, 7, 1))[..., 0]
    for at in np.ndindex(13, 7):
        assert found[at].tolist() == definition.hard(scores[at], numbers[at], mask[at])
    assert len({tuple(row) for row in found.reshape(-1, 5)}) == 6  # each key, and none


def test_hard_weights_are_one_hot_and_never_on_a_masked_key():
    rng = np.random.default_rng(0)
    scores, mask = rng.normal(size=(500, 3, 7)), rng.random((3, 7)) < 0.5
    mask[1] = False
    weights = alignment.hard(scores, rng, mask=mask)
    assert set(np.unique(weights)) == {0.0, 1.0}
    np.testing.assert_array_equal(weights.sum(-1), np.broadcast_to([1, 0, 1], (500, 3)))
    assert (weights * ~mask == 0).all()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_p2_9_hard_attention_is_soft_attention_on_average(library):
    scores = np.array([[0.0, 1.0, -1.0, 2.0]])
    values = np.array([[1.0], [2.0], [3.0], [5.0]])
    many = np.repeat(scores[None], 40_000, axis=0)
    if library == "numpy":
        weights = alignment.hard(many, np.random.default_rng(0))
    else:
        weights = alignment.hard(torch.from_numpy(many), torch.Generator().manual_seed(0)).numpy()
    soft = softmax(scores)
    np.testing.assert_allclose(weights.mean(0), soft, atol=0.01)  # four standard errors
    np.testing.assert_allclose((weights @ values).mean(0), soft @ values, atol=0.03)


def test_p2_10_enumerated_reinforce_is_exact_for_every_baseline():
    rng = np.random.default_rng(0)
    scores, rewards = rng.normal(size=5), rng.normal(size=5)
    exact = alignment.expected_reward_gradient(scores, rewards)
    np.testing.assert_allclose(exact, definition.expected_reward_gradient(scores, rewards))
    a = softmax(scores)
    for baseline in (0.0, -3.0, rewards.mean()):
        terms = [
            a[m]
            * alignment.score_function_gradient(
                scores, np.eye(5)[m][None], rewards[m : m + 1], baseline
            )
            for m in range(5)
        ]
        np.testing.assert_allclose(np.sum(terms, axis=0), exact, atol=1e-14)


def test_the_exact_gradient_is_autograds():
    scores = torch.randn(5, dtype=torch.float64, requires_grad=True)
    rewards = torch.randn(5, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((softmax(scores) * rewards).sum(), scores)
    torch.testing.assert_close(alignment.expected_reward_gradient(scores, rewards), gradient)


def test_p2_10_the_optimal_baseline_has_the_least_variance():
    rng = np.random.default_rng(0)
    scores, rewards = rng.normal(size=5), rng.normal(size=5) + 3
    a = softmax(scores)

    def variance(baseline):
        each = [
            alignment.score_function_gradient(
                scores, np.eye(5)[m][None], rewards[m : m + 1], baseline
            )
            for m in range(5)
        ]
        mean = sum(p * g for p, g in zip(a, each, strict=True))
        return sum(p * ((g - mean) ** 2).sum() for p, g in zip(a, each, strict=True))

    best = alignment.optimal_baseline(scores, rewards)
    assert variance(best) < variance(best + 0.1)
    assert variance(best) < variance(best - 0.1)
    assert variance(best) < variance(0.0) / 2
    assert abs(best - (a * rewards).sum()) > 1e-3  # it is not the mean reward


def test_p2_11_one_hot_weights_make_hard_and_soft_the_same():
    scores = np.array([[0.0, 1e3, 0.0]])
    for seed in range(5):
        drawn = alignment.hard(scores, np.random.default_rng(seed))
        np.testing.assert_array_equal(drawn, softmax(scores))


class Fixed(np.random.Generator):
    """A generator that always draws the same number."""

    def __init__(self, number):
        super().__init__(np.random.PCG64(0))
        self.number = number

    def random(self, size):
        return np.full(size, self.number)


def test_the_smallest_draw_passes_over_a_masked_key_at_the_front():
    weights = alignment.hard(np.zeros((1, 3)), Fixed(0.0), mask=np.array([[False, True, True]]))
    np.testing.assert_array_equal(weights, [[0, 1, 0]])


def test_the_largest_draw_finds_a_key_though_rounded_weights_add_up_to_less_than_one():
    scores = np.zeros((1, 3), dtype=np.float16)  # three times 0.3333 in half precision: 0.9995
    assert softmax(scores).sum(dtype=np.float64) < 0.9999
    weights = alignment.hard(scores, Fixed(0.9999))
    np.testing.assert_array_equal(weights, [[0, 0, 1]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_one_of_many_equal_keys_is_drawn_in_half_precision(dtype):
    k = 307
    scores = torch.zeros(20 * k, 1, k, dtype=dtype)
    weights = alignment.hard(scores, torch.Generator().manual_seed(0))
    assert (weights.sum(-1) == 1).all()
    times_drawn = weights.double().sum((0, 1))
    assert (times_drawn > 0).all()
    assert times_drawn.max() < 20 + 6 * 20**0.5  # six standard deviations


def test_no_gradient_flows_through_the_draw():
    scores = torch.randn(1, 5, requires_grad=True)
    assert not alignment.hard(scores, torch.Generator()).requires_grad


def test_temperature_towards_zero_is_the_best_key():
    scores = np.array([[0.3, 0.1, 0.2]])
    np.testing.assert_allclose(softmax(scores, temperature=1e-4), [[1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "rng", "wanted"),
    [
        (np.ones((1, 2)), torch.Generator(), "rng must be a np.random.Generator"),
        (torch.ones(1, 2), np.random.default_rng(0), "rng must be a torch.Generator"),
        (np.ones((1, 2)), 0, "but is a int"),
    ],
)
def test_a_generator_of_another_library_is_refused(scores, rng, wanted):
    with pytest.raises(ValueError, match=wanted):
        alignment.hard(scores, rng)


# --- local -------------------------------------------------------------------------------------

FIXTURE = np.array([[0.1, 0.4, -0.2, 0.3, 0.0, 0.5, -0.1, 0.2]])


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


def test_p2_12_a_window_over_everything_is_global_and_with_the_gaussian_it_is_not():
    steps = np.array([4.0])
    everything = alignment.local_monotonic(FIXTURE, steps, half_width=8)
    np.testing.assert_allclose(everything, softmax(FIXTURE))
    with_gaussian = alignment.local_predictive(FIXTURE, steps, half_width=8)
    assert 0.8 < with_gaussian.sum() < 0.9
    wide = alignment.local_predictive(FIXTURE, steps, half_width=1e6)
    np.testing.assert_allclose(wide, softmax(FIXTURE), atol=1e-9)


@pytest.mark.parametrize(
    ("p", "places", "total"),
    [
        (4.0, [2, 3, 4, 5, 6], 0.456164),
        (3.4, [2, 3, 4, 5], 0.583900),
        (0.6, [1, 2], 0.608434),
        (8.0, [6, 7, 8], 0.528044),
    ],
)
def test_p2_13_the_window_is_clipped_and_the_gaussian_shrinks_the_row(p, places, total):
    weights = alignment.local_predictive(FIXTURE, np.array([p]), half_width=2)
    assert list(np.flatnonzero(weights[0]) + 1) == places
    assert weights.sum() == pytest.approx(total, abs=1e-6)


def test_p2_13_the_weights_of_the_fixture():
    weights = alignment.local_predictive(FIXTURE, np.array([3.4]), half_width=2)
    wanted = [0, 0.120139, 0.162171, 0.241931, 0.059659, 0, 0, 0]
    np.testing.assert_allclose(weights[0], wanted, atol=1e-6)


def test_the_gaussian_factor_at_the_edge_of_the_window_is_exp_minus_two():
    plain = alignment.local_monotonic(FIXTURE, np.array([4.0]), half_width=2)
    faded = alignment.local_predictive(FIXTURE, np.array([4.0]), half_width=2)
    assert faded[0, 1] / plain[0, 1] == pytest.approx(exp(-2))


def test_p2_14_local_alignment_depends_on_the_order_of_the_keys():
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


# --- reinforced --------------------------------------------------------------------------------


def test_p2_15_selecting_everything_is_soft_one_key_is_hard_and_nothing_is_zero():
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


def test_the_probability_of_a_selection_agrees_with_loops_and_its_gradient_is_finite():
    probabilities = torch.tensor([0.0, 0.3, 0.8, 1.0], dtype=torch.float64, requires_grad=True)
    selection = torch.tensor([False, True, False, True])
    log_p = alignment.selection_log_probability(probabilities, selection)
    log_p.backward()
    assert log_p.item() == pytest.approx(
        definition.selection_log_probability([0.3, 0.8], [True, False])
    )
    assert torch.isfinite(probabilities.grad).all()


# --- masks and attend --------------------------------------------------------------------------


def test_a_causal_mask_never_looks_ahead_and_a_window_mask_not_far():
    causal = alignment.causal_mask(3, 7)
    window = alignment.window_mask(5, 7, 2)
    for t, l in np.ndindex(3, 7):
        assert causal[t, l] == (l <= t + 4)
    for t, l in np.ndindex(5, 7):
        assert window[t, l] == (abs(t - l) <= 2)


def test_masks_come_in_the_library_of_like():
    assert isinstance(alignment.causal_mask(3, like=torch.ones(1)), torch.Tensor)
    assert isinstance(alignment.padding_mask(torch.tensor([1, 2]), 3), torch.Tensor)


ALIGNMENTS = {
    "softmax": softmax,
    "sparsemax": alignment.sparsemax,
    "entmax15": alignment.entmax15,
    "hard": partial(alignment.hard, rng=torch.Generator().manual_seed(0)),
    "local_monotonic": partial(
        alignment.local_monotonic, steps=torch.tensor([1.0, 2.0, 7.0]), half_width=2
    ),
    "local_predictive": partial(
        alignment.local_predictive, positions=torch.tensor([0.5, 3.3, 6.9]), half_width=2
    ),
    "reinforced": partial(alignment.reinforced, selection=torch.arange(7) % 2 == 0),
}


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_every_alignment_can_be_handed_to_attend_with_its_zero_policy(name):
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 2)
    values[:, 6] = torch.nan
    mask = torch.ones(2, 3, 7, dtype=torch.bool)
    mask[..., 6] = False
    mask[0, 1] = False
    context, weights = attend(queries, keys, values, align=ALIGNMENTS[name], mask=mask)
    assert torch.isfinite(context).all()
    assert (weights[~mask] == 0).all()
    assert (context[0, 1] == 0).all()
    assert (weights.sum(-1) <= 1 + 1e-6).all()


@pytest.mark.parametrize("name", [name for name in ALIGNMENTS if name != "hard"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_extreme_scores_in_any_precision_stay_finite(name, dtype):
    scores = torch.tensor([[1e4, -1e4, 0, 1, 2, 3, 4]] * 3, dtype=dtype, requires_grad=True)
    weights = ALIGNMENTS[name](scores, mask=torch.ones(3, 7, dtype=torch.bool))
    weights.sum().backward()
    assert weights.dtype == dtype
    assert torch.isfinite(weights).all()
    assert torch.isfinite(scores.grad).all()


BAD_MASKS = {
    "local_monotonic": {"steps": np.array([2.0]), "half_width": 1},
    "local_predictive": {"positions": np.array([2.0]), "half_width": 1},
    "reinforced": {"selection": np.ones(8, dtype=bool)},
    "softmax": {},
    "sparsemax": {},
    "entmax15": {},
    "hard": {"rng": np.random.default_rng(0)},
}


@pytest.mark.parametrize("name", BAD_MASKS)
@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (np.ones((1, 8)), "mask must be boolean"),
        (np.ones((1, 7), dtype=bool), "mask must broadcast to the scores"),
    ],
)
def test_a_mask_that_is_none_is_refused_by_every_alignment(name, mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        getattr(alignment, name)(FIXTURE, mask=mask, **BAD_MASKS[name])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: alignment.local_monotonic(np.zeros(5), np.array([2.0]), 1),
            "scores must be (..., q, k), but came as (5,)",
        ),
        (lambda: softmax(np.array(1.0)), "scores must be (..., q, k), but came as ()"),
        (
            lambda: alignment.reinforced(FIXTURE, [True, False]),
            "selection must be an array (NumPy, PyTorch, …), but is a list",
        ),
        (
            lambda: alignment.reinforced(FIXTURE, np.ones(8)),
            "selection must be boolean",
        ),
        (
            lambda: alignment.reinforced(FIXTURE, np.ones(7, dtype=bool)),
            "selection must broadcast to the scores (1, 8), but is (1, 7)",
        ),
        (
            lambda: alignment.selection_probabilities(
                np.ones(5), np.ones(3), np.ones((3, 15)), np.ones(3)
            ),
            "features must be (..., k, d), but came as (5,)",
        ),
        (
            lambda: alignment.selection_probabilities(
                np.ones((7, 5)), np.ones(3), np.ones((3, 15)), np.ones(3), mask=np.ones(7)
            ),
            "mask must be boolean",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
