"""What cases are drawn from, and what variants in loops are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_course.practice.inputs import (
    all_of,
    apart,
    huge,
    padded,
    ragged_mask,
    readable,
    row_by_row,
    softmax,
    some_of,
    table_by_table,
)

rngs = st.integers(0, 2**32 - 1).map(np.random.default_rng)
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@given(rngs, sizes)
def test_readable_numbers_have_one_decimal_and_are_never_zero(rng, size):
    numbers = readable(rng, *size)
    assert numbers.shape == tuple(size)
    assert (numbers == np.round(numbers, 1)).all()
    assert (numbers != 0).all()
    assert (np.abs(numbers) <= 2).all()


@given(rngs)
def test_readable_numbers_are_in_the_range_that_is_asked_for(rng):
    numbers = readable(rng, 100, low=1, high=3)
    assert ((numbers >= 1) & (numbers <= 3)).all()


def test_readable_numbers_come_from_the_generator_alone():
    one, same, other = (readable(np.random.default_rng(seed), 5) for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()


@given(rngs, st.integers(1, 12))
def test_places_apart_are_neither_too_near_nor_too_far(rng, n):
    places = apart(rng, n)
    assert places.shape == (n,)
    assert (places == np.round(places, 1)).all()
    gaps = np.diff(np.sort(places))
    # Rounding moves each end by half a decimal at most.
    assert (gaps > 0.4 - 0.1 - 1e-9).all()
    assert (gaps < 1.0 + 0.1 + 1e-9).all()


def test_places_apart_are_in_no_order():
    orders = {tuple(np.argsort(apart(np.random.default_rng(seed), 4))) for seed in range(30)}
    assert len(orders) > 5


@given(rngs, st.integers(1, 4), st.integers(2, 6), st.booleans())
def test_huge_scores_need_the_largest_of_their_own_row(rng, rows, keys, batched):
    size = (3, rows, keys) if batched else (rows, keys)
    scores = huge(rng, *size)
    assert scores.shape == size
    # Single precision holds them exactly.
    assert (scores.astype(np.float32) == scores).all()
    # In each row one key is far below the others, which are near each other.
    best = scores.max(-1, keepdims=True)
    assert ((best - scores > 2900).sum(-1) == 1).all()
    assert ((best - scores < 5).sum(-1) == keys - 1).all()
    # Rows are near 1000 and near -1000 in turn: exp gives infinity, or nothing at all.
    heights = best[..., 0]
    assert (np.abs(heights[..., ::2] - 1000) <= 2).all()
    assert (np.abs(heights[..., 1::2] + 1000) <= 2).all()
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(scores).sum(-1)[..., ::2]).all()
        assert (np.exp(scores).sum(-1)[..., 1::2] == 0).all()


@given(rngs, st.lists(st.integers(1, 4), max_size=2), st.integers(2, 6))
def test_a_mask_of_some_has_a_true_and_a_false_in_every_row(rng, batch, keys):
    mask = some_of(rng, *batch, keys)
    assert mask.shape == (*batch, keys)
    assert mask.dtype == bool
    assert mask.any(-1).all()
    assert not mask.all(-1).any()


def test_a_mask_of_some_is_any_of_them():
    seen = {tuple(some_of(np.random.default_rng(seed), 3)) for seed in range(100)}
    assert len(seen) == 2**3 - 2


def test_a_mask_of_all_hides_nothing():
    mask = all_of(2, 3)
    assert (mask.shape, mask.dtype, mask.all()) == ((2, 3), bool, True)


@given(rngs, st.lists(st.integers(1, 4), max_size=2), st.integers(2, 6))
def test_a_ragged_mask_has_real_features_first_and_padding_in_every_row(rng, batch, n):
    mask = ragged_mask(rng, *batch, n)
    assert mask.shape == (*batch, n)
    assert mask[..., 0].all()
    assert not mask[..., -1].any()
    # Once there is padding, there is nothing else behind it.
    assert (np.diff(mask.astype(int), axis=-1) <= 0).all()


def test_padding_comes_where_the_mask_is_false():
    features = np.arange(8.0).reshape(2, 2, 2)
    mask = np.array([[True, False], [False, True]])
    filled = padded(features, mask, 9.0)
    assert filled.tolist() == [[[0, 1], [9, 9]], [[9, 9], [6, 7]]]
    assert np.isnan(padded(features, mask, np.nan)[0, 1]).all()
    assert features[0, 1].tolist() == [2, 3]  # what was given is left as it was


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_row_by_row_calls_a_function_on_every_row(shape):
    scores = np.random.default_rng(0).normal(size=shape)
    others = np.random.default_rng(1).normal(size=shape)
    seen = []

    def one_row(row, other):
        seen.append(row.shape)
        return row * other.sum()

    result = row_by_row(one_row, scores, others)
    np.testing.assert_allclose(result, scores * others.sum(-1, keepdims=True))
    assert set(seen) == {(4,)}
    assert len(seen) == scores.size // 4


def test_row_by_row_may_give_one_number_a_row():
    scores = np.arange(6.0).reshape(2, 3)
    assert row_by_row(np.sum, scores).tolist() == [3, 12]


def test_row_by_row_refuses_rows_without_a_partner():
    with pytest.raises(ValueError, match="shorter"):
        row_by_row(lambda row, other: row, np.zeros((3, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_table_by_table_calls_a_function_on_every_pair(batch):
    rng = np.random.default_rng(0)
    queries, keys = rng.normal(size=(*batch, 4, 5)), rng.normal(size=(*batch, 6, 5))
    scores = table_by_table(lambda q, k, scale: scale * sum(q * k), queries, keys, 2.0)
    np.testing.assert_allclose(scores, 2 * queries @ np.swapaxes(keys, -2, -1))


def test_table_by_table_refuses_batches_of_two_lengths():
    with pytest.raises(ValueError, match="shorter"):
        table_by_table(lambda q, k: 0, np.zeros((3, 1, 2)), np.zeros((2, 1, 2)))


@given(rngs, st.integers(1, 4), st.integers(1, 4))
def test_softmax_is_the_usual_one_without_a_mask(rng, rows, keys):
    scores = rng.normal(size=(rows, keys))
    exponentials = np.exp(scores)
    for axis in (-1, 0):
        wanted = exponentials / exponentials.sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(softmax(scores, axis=axis), wanted)


@given(rngs)
def test_softmax_copes_with_huge_scores(rng):
    scores = huge(rng, 2, 4, 3)
    np.testing.assert_allclose(softmax(scores).sum(-1), 1)


def test_softmax_gives_nothing_to_masked_keys_and_to_a_row_without_keys():
    scores = np.array([[1.0, 1.0, 5.0], [1.0, 2.0, 3.0]])
    mask = np.array([[True, True, False], [False, False, False]])
    assert softmax(scores, mask).tolist() == [[0.5, 0.5, 0], [0, 0, 0]]
    assert softmax(scores.T, mask.T, axis=0).T.tolist() == [[0.5, 0.5, 0], [0, 0, 0]]
