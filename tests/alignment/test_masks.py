"""The masks, entry by entry, and in the library they are asked for in."""

from functools import partial

import array_api_strict
import numpy as np
import pytest
import torch

from attn_course import alignment


def test_a_causal_mask_never_looks_ahead_and_a_window_mask_not_far():
    causal = alignment.causal_mask(3, 7)
    window = alignment.window_mask(5, 7, 2)
    for t, l in np.ndindex(3, 7):
        assert causal[t, l] == (l <= t + 4)
    for t, l in np.ndindex(5, 7):
        assert window[t, l] == (abs(t + 2 - l) <= 2)  # the queries are the last


@pytest.mark.parametrize("library", [np, torch, array_api_strict])
def test_masks_compare_the_positions_they_are_given(library):
    of_queries, of_keys = [[4, 2, 9], [0, 3, 1]], [5, 0, 3, 2]  # in any order, for two examples
    i, j = library.asarray(of_queries), library.asarray(of_keys)
    causal = alignment.causal_mask(i, j)
    window = alignment.window_mask(i, j, 1)
    sliding = alignment.sliding_window_mask(i, j, width=2, sinks=1)
    assert tuple(causal.shape) == (2, 3, 4)
    for b, t, l in np.ndindex(2, 3, 4):
        query, key = of_queries[b][t], of_keys[l]
        assert causal[b, t, l] == (key <= query)
        assert window[b, t, l] == (abs(query - key) <= 1)
        assert sliding[b, t, l] == (key <= query and (query - key < 2 or key < 1))


def test_ranges_numbers_and_arrays_are_the_same_positions():
    wanted = alignment.causal_mask(np.arange(4, 7), np.arange(7))
    np.testing.assert_array_equal(alignment.causal_mask(3, 7), wanted)
    np.testing.assert_array_equal(alignment.causal_mask(range(4, 7), range(7)), wanted)
    mixed = alignment.causal_mask(torch.arange(4, 7), range(7))
    np.testing.assert_array_equal(mixed, wanted)


def test_a_step_after_a_cache_sees_the_last_row_of_the_whole_mask():
    for make in (
        alignment.causal_mask,
        partial(alignment.window_mask, half_width=2),
        partial(alignment.sliding_window_mask, width=3, sinks=1),
    ):
        np.testing.assert_array_equal(make(1, 9), make(9, 9)[-1:])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: alignment.causal_mask(5, 3), "5 queries need 5 keys or more, not 3"),
        (lambda: alignment.causal_mask(2, range(3)), "Give the positions of both"),
        (lambda: alignment.window_mask(3, 3, -1), "half_width must not be negative, but is -1"),
        (lambda: alignment.sliding_window_mask(3, width=0), "width must be at least 1"),
    ],
)
def test_positions_that_say_too_little_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_masks_come_in_the_library_of_like():
    assert isinstance(alignment.causal_mask(3, like=torch.ones(1)), torch.Tensor)
    assert isinstance(alignment.padding_mask(torch.tensor([1, 2]), 3), torch.Tensor)
