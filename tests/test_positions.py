"""Positions against their definitions in loops, and properties P9.6 and P10.1–P10.8."""

import math
import re

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_course.alignment import causal_mask, softmax
from attn_course.definitions import positions as definition
from attn_course.positions import (
    PAIRS,
    LearnedPositions,
    alibi_slopes,
    distance_bias,
    positions_of,
    rotate,
    sinusoidal_positions,
)

B, H, Q, K, D = 2, 5, 3, 7, 22  # d has to be even, and 2 would hide a mixed convention
seeds = st.integers(0, 2**32 - 1)
places = st.integers(0, 5000)
both_pairs = pytest.mark.parametrize("pairs", PAIRS)


def draw(*size, seed=0):
    return np.random.default_rng(seed).normal(size=size)


def scores(queries, keys, i, j, pairs, key_pairs=None):
    """Return the product of one query at i and one key at j, both rotated."""
    query = rotate(queries[None], np.array([i]), pairs)[0]
    key = rotate(keys[None], np.array([j]), key_pairs or pairs)[0]
    return query @ key


# --- sinusoids ---------------------------------------------------------------------------------


@pytest.mark.agrees("positions.sinusoidal_positions", "definitions.positions.sinusoidal_position")
@settings(max_examples=20)
@given(pos=st.integers(0, 10_000), half=st.integers(1, 7))
def test_sinusoids_agree_with_their_definition_in_loops(pos, half):
    ours = sinusoidal_positions(np.array([[pos, 3]]), 2 * half)
    assert ours.shape == (1, 2, 2 * half)
    np.testing.assert_allclose(ours[0, 0], definition.sinusoidal_position(pos, 2 * half), atol=1e-9)
    np.testing.assert_allclose(ours[0, 1], definition.sinusoidal_position(3, 2 * half), atol=1e-9)


@pytest.mark.proves("P9.6")
@settings(max_examples=20)
@given(pos=st.integers(0, 500), delta=st.integers(-500, 500))
def test_a_shift_of_positions_is_a_rotation_that_does_not_depend_on_where(pos, delta):
    if pos + delta < 0:
        delta = -delta
    here, there = sinusoidal_positions(np.array([pos, pos + delta]), D)
    for i in range(D // 2):
        angle = delta / 10000 ** (2 * i / D)
        cos, sin = math.cos(angle), math.sin(angle)
        rotation = np.array([[cos, sin], [-sin, cos]])
        pair = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(there[pair], rotation @ here[pair], atol=1e-9)


@pytest.mark.proves("P9.6")
def test_products_of_sinusoids_depend_on_the_distance_alone():
    waves = sinusoidal_positions(50, D)
    similar = waves @ waves.T
    for delta in range(50):
        diagonal = similar.diagonal(delta)
        np.testing.assert_allclose(diagonal, diagonal[0])
    np.testing.assert_allclose(similar[0, 0], D / 2)


def test_an_odd_width_has_no_pairs():
    with pytest.raises(ValueError, match="d must be even, as sines and cosines come in pairs"):
        sinusoidal_positions(3, 5)


def test_a_number_is_short_for_a_range_and_a_range_for_an_array():
    whole = sinusoidal_positions(7, D)
    np.testing.assert_array_equal(sinusoidal_positions(range(2, 7), D), whole[2:])
    np.testing.assert_array_equal(sinusoidal_positions(np.arange(2, 7), D), whole[2:])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_sinusoids_come_in_the_library_and_dtype_of_like(dtype):
    ours = sinusoidal_positions(7, D, like=torch.ones(1, dtype=dtype))
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours.double(), sinusoidal_positions(7, D), atol=2e-2)


def test_positions_count_real_tokens_only():
    mask = np.array([[False, False, True, True, False], [True, False, True, True, True]])
    wanted = [[0, 0, 0, 1, 1], [0, 0, 1, 2, 3]]
    assert positions_of(mask).tolist() == wanted
    assert positions_of(torch.from_numpy(mask)).tolist() == wanted


# --- learned positions -------------------------------------------------------------------------


def test_learned_positions_are_rows_of_a_table_that_is_trained():
    layer = LearnedPositions(longest=7, d=3)
    positions = torch.tensor([[2, 0], [6, 6]])
    rows = layer(positions)
    torch.testing.assert_close(rows, layer.P[positions])
    rows.sum().backward()
    assert layer.P.grad.sum(dim=-1).tolist() == [3, 0, 3, 0, 0, 0, 6]
    torch.testing.assert_close(layer(range(2, 5)), layer.P[2:5])
    torch.testing.assert_close(layer(5), layer.P[:5])
    assert layer(range(0)).shape == (0, 3)


@pytest.mark.parametrize(("asked", "wrong"), [(range(5, 8), 7), (torch.tensor([[-1, 3]]), -1)])
def test_a_learned_table_says_which_position_it_does_not_know(asked, wrong):
    sentence = f"the positions 0 to 6, but position {wrong} was asked for."
    with pytest.raises(ValueError, match=re.escape(sentence)):
        LearnedPositions(longest=7, d=3)(asked)


@pytest.mark.parametrize(("longest", "d"), [(0, 3), (7, 0)])
def test_a_table_needs_rows_and_columns(longest, d):
    with pytest.raises(ValueError, match=f"at least 1, but are {longest} and {d}"):
        LearnedPositions(longest, d)


# --- rotations ---------------------------------------------------------------------------------


@pytest.mark.agrees("positions.rotate", "definitions.positions.rotate")
@both_pairs
@settings(max_examples=20)
@given(seed=seeds, pos=places)
def test_rotation_agrees_with_complex_numbers_in_loops(pairs, seed, pos):
    features = draw(B, 2, D, seed=seed)
    ours = rotate(features, np.array([pos, 3]), pairs)
    assert ours.shape == features.shape
    for rows, turned in zip(features, ours, strict=True):
        for row, place, got in zip(rows, (pos, 3), turned, strict=True):
            np.testing.assert_allclose(got, definition.rotate(row, place, pairs), atol=1e-9)


@pytest.mark.proves("P10.1")
@both_pairs
@settings(max_examples=20)
@given(seed=seeds, pos=places)
def test_rotation_keeps_norms(pairs, seed, pos):
    features = draw(K, D, seed=seed)
    turned = rotate(features, range(pos, pos + K), pairs)
    np.testing.assert_allclose(
        np.linalg.norm(turned, axis=-1), np.linalg.norm(features, axis=-1), rtol=1e-12
    )


@pytest.mark.proves("P10.2")
@both_pairs
@settings(max_examples=20)
@given(seed=seeds, i=places, j=places, shift=places)
def test_scores_depend_on_the_distance_only(pairs, seed, i, j, shift):
    query, key = draw(2, D, seed=seed)
    here = scores(query, key, i, j, pairs)
    np.testing.assert_allclose(scores(query, key, i + shift, j + shift, pairs), here, atol=1e-8)
    if abs(i - j) < 500:  # and they do depend on it: the fastest pair turns by a whole radian
        assert abs(scores(query, key, i + 1, j, pairs) - here) > 1e-6


@pytest.mark.proves("P10.3")
@both_pairs
@settings(max_examples=20)
@given(seed=seeds, first=places, second=places)
def test_rotations_add_up_and_position_0_changes_nothing(pairs, seed, first, second):
    features = draw(1, D, seed=seed)
    np.testing.assert_array_equal(rotate(features, np.array([0]), pairs), features)
    twice = rotate(rotate(features, np.array([first]), pairs), np.array([second]), pairs)
    np.testing.assert_allclose(
        twice, rotate(features, np.array([first + second]), pairs), atol=1e-8
    )


@pytest.mark.proves("P10.4")
@given(seed=seeds, pos=places)
@settings(max_examples=20)
def test_the_two_conventions_agree_after_a_permutation(seed, pos):
    features = draw(K, D, seed=seed)
    order = [m + half for m in range(D // 2) for half in (0, D // 2)]  # 0, d/2, 1, d/2 + 1, …
    positions = range(pos, pos + K)
    np.testing.assert_allclose(
        rotate(features[:, order], positions, "interleaved"),
        rotate(features, positions, "half")[:, order],
        rtol=1e-12,
    )


@pytest.mark.proves("P10.5")
@given(seed=seeds, i=st.integers(0, 50), j=st.integers(0, 50))
@settings(max_examples=20)
def test_a_product_of_mixed_conventions_depends_on_more_than_the_distance(seed, i, j):
    query, key = draw(2, D, seed=seed)
    moved = [scores(query, key, i + shift, j + shift, "interleaved", "half") for shift in range(20)]
    assert np.ptp(moved) > 0.1


def test_a_width_of_two_cannot_tell_the_conventions_apart():
    features = draw(K, 2)
    np.testing.assert_array_equal(rotate(features), rotate(features, pairs="half"))


@both_pairs
def test_a_cache_rotates_new_words_by_their_own_positions(pairs):
    features = draw(B, H, K, D)
    whole = rotate(features, pairs=pairs)
    np.testing.assert_allclose(rotate(features[..., 4:, :], range(4, K), pairs), whole[..., 4:, :])
    last = rotate(features[..., -1:, :], np.array([K - 1]), pairs)
    np.testing.assert_allclose(last, whole[..., -1:, :])


@both_pairs
def test_each_text_of_a_batch_may_have_its_own_positions(pairs):
    features, positions = draw(B, H, K, D), np.array([range(K), range(10, 10 + K)])
    turned = rotate(features, positions[:, None, :], pairs)
    for text, place, wanted in zip(features, positions, turned, strict=True):
        np.testing.assert_allclose(rotate(text, place, pairs), wanted)


@both_pairs
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_rotation_in_pytorch_keeps_the_dtype_and_has_numpys_numbers(pairs, dtype):
    features = torch.from_numpy(draw(B, K, D)).to(dtype)
    turned = rotate(features, range(4000, 4000 + K), pairs)
    assert turned.dtype == dtype
    wanted = rotate(features.double().numpy(), range(4000, 4000 + K), pairs)
    # The result is rounded once: half precision loses nothing on the way.
    half = dtype in (torch.float16, torch.bfloat16)
    rtol = torch.finfo(dtype).eps * (0.51 if half else 100)
    np.testing.assert_allclose(turned.double(), wanted, rtol=rtol, atol=1e-5 if half else rtol)


@both_pairs
def test_gradients_flow_through_a_rotation(pairs):
    features = torch.from_numpy(draw(B, 3, 6)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotate(x, range(5, 8), pairs), features)


def test_arrays_of_the_standard_are_enough():
    features = array_api_strict.asarray(draw(K, D))
    for pairs in PAIRS:
        wanted = rotate(np.asarray(features), pairs=pairs)
        np.testing.assert_allclose(np.asarray(rotate(features, pairs=pairs)), wanted)
    slopes = alibi_slopes(3, like=features)
    np.testing.assert_allclose(
        np.asarray(distance_bias(slopes, Q, K)), distance_bias(alibi_slopes(3), Q, K)
    )
    np.testing.assert_allclose(
        np.asarray(sinusoidal_positions(K, D, like=features)), sinusoidal_positions(K, D)
    )


@pytest.mark.parametrize(
    ("features", "positions", "pairs", "sentence"),
    [
        (draw(7, 5), None, "half", "d must be even, as rotate turns features in pairs, but is 5."),
        (draw(7, 4), None, "split", "pairs must be one of interleaved, half, but is 'split'."),
        (draw(4), None, "half", "features must be (..., n, d), but came as (4,)."),
        (draw(3, 4), 9, "half", "For 3 words that begin there, write range(9, 9 + 3)."),
        (
            draw(2, 5, 7, 4),
            np.zeros((2, 7)),
            "half",
            "positions must broadcast to (2, 5, 7), but are (2, 7). For features with heads",
        ),
    ],
)
def test_rotation_says_what_it_needs(features, positions, pairs, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        rotate(features, positions, pairs)


# --- biases ------------------------------------------------------------------------------------


@pytest.mark.agrees("positions.alibi_slopes", "definitions.positions.alibi_slopes")
@pytest.mark.parametrize("heads", range(1, 40))
def test_slopes_agree_with_their_definition_in_loops(heads):
    np.testing.assert_allclose(alibi_slopes(heads), definition.alibi_slopes(heads), rtol=1e-12)


@pytest.mark.proves("P10.6")
@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16, 64])
def test_slopes_of_a_power_of_two_are_a_geometric_series_that_ends_at_one_in_256(heads):
    slopes = alibi_slopes(heads)
    np.testing.assert_allclose(slopes[1:] / slopes[:-1], slopes[0])
    assert slopes[-1] == 2**-8


@pytest.mark.proves("P10.6")
def test_other_numbers_of_heads_borrow_from_the_next_power_of_two():
    twelve = alibi_slopes(12)
    np.testing.assert_array_equal(twelve[:8], alibi_slopes(8))
    np.testing.assert_array_equal(twelve[8:], alibi_slopes(16)[:8:2])
    assert len(set(alibi_slopes(15))) == 15


@pytest.mark.agrees("positions.distance_bias", "definitions.positions.distance_bias")
@given(seed=seeds)
@settings(max_examples=20)
def test_the_bias_agrees_with_its_definition_in_loops(seed):
    rng = np.random.default_rng(seed)
    slopes = rng.random(H)
    i, j = rng.integers(0, 100, size=(B, Q)), rng.integers(0, 100, size=(B, K))
    ours = distance_bias(slopes, i, j)
    assert ours.shape == (B, H, Q, K)
    for b, h, q, k in np.ndindex(*ours.shape):
        wanted = definition.distance_bias(slopes[h], i[b, q], j[b, k])
        np.testing.assert_allclose(ours[b, h, q, k], wanted)


@pytest.mark.proves("P10.7")
@given(start=places)
def test_the_bias_depends_on_the_distance_only(start):
    slopes = alibi_slopes(H)
    moved = distance_bias(slopes, range(start, start + Q), range(start, start + K))
    np.testing.assert_array_equal(moved, distance_bias(slopes, range(Q), range(K)))
    np.testing.assert_array_equal(
        distance_bias(slopes, Q, K), distance_bias(slopes, range(K - Q, K), range(K))
    )


@pytest.mark.proves("P10.8")
@given(seed=seeds)
@settings(max_examples=20)
def test_behind_a_causal_mask_a_bias_by_the_key_alone_gives_the_same_weights(seed):
    plain, slopes = draw(H, K, K, seed=seed), alibi_slopes(H)
    mask = causal_mask(K)
    weights = softmax(plain + distance_bias(slopes, K), mask)
    by_the_key = slopes[:, None, None] * np.arange(K)
    np.testing.assert_allclose(weights, softmax(plain + by_the_key, mask), atol=1e-12)
    both_sides = softmax(plain + distance_bias(slopes, K)) - softmax(plain + by_the_key)
    assert abs(both_sides).max() > 1e-3  # without the mask it is another bias


@pytest.mark.proves("P10.8")
def test_two_keys_with_equal_scores_have_weights_in_the_ratio_of_their_distances():
    weights = softmax(distance_bias(np.array([0.5]), range(9, 10), range(10)))[0, 0]
    np.testing.assert_allclose(weights[1:] / weights[:-1], math.exp(0.5))
    np.testing.assert_array_equal(distance_bias(np.zeros(1), 5), 0)


def test_slopes_and_bias_come_in_the_library_and_dtype_of_like():
    slopes = alibi_slopes(12, like=torch.ones(1))
    assert slopes.dtype == torch.float32
    bias = distance_bias(slopes, Q, K)
    assert bias.dtype == torch.float32
    np.testing.assert_allclose(bias, distance_bias(alibi_slopes(12), Q, K), rtol=1e-6)


def test_a_bias_needs_a_slope_per_head():
    with pytest.raises(ValueError, match=r"slopes must be \(heads,\), .* but are \(2, 3\)"):
        distance_bias(np.ones((2, 3)), 4)
    with pytest.raises(ValueError, match="heads must be at least 1, but is 0"):
        alibi_slopes(0)
