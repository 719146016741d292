"""The masks, entry by entry, and in the library they are asked for in."""

from functools import partial

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_course import alignment
from attn_course.attention import attend
from attn_course.definitions import alignment as definition


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


# --- a sliding window and sinks -------------------------------------------------------------------

positions_of = st.lists(st.integers(0, 30), min_size=1, max_size=7)


@pytest.mark.agrees("alignment.sliding_window_mask", "definitions.alignment.sliding_window")
@given(i=positions_of, j=positions_of, width=st.integers(1, 9), sinks=st.integers(0, 5))
def test_a_sliding_window_agrees_with_its_definition_in_loops(i, j, width, sinks):
    mask = alignment.sliding_window_mask(np.array(i), np.array(j), width=width, sinks=sinks)
    for row, position in zip(mask, i, strict=True):
        assert row.tolist() == definition.sliding_window(position, j, width, sinks)


@pytest.mark.agrees("alignment.sliding_window_mask", "PyTorch")
@given(n=st.integers(1, 11), width=st.integers(1, 13))
def test_without_sinks_a_sliding_window_is_a_band_between_two_triangles(n, width):
    band = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - width)
    ours = alignment.sliding_window_mask(n, width=width, like=band)
    assert torch.equal(ours, band)


@pytest.mark.proves("P13.14")
@given(n=st.integers(1, 11), width=st.integers(1, 13), sinks=st.integers(0, 5))
def test_a_query_sees_the_last_keys_itself_included_and_the_sinks(n, width, sinks):
    mask = alignment.sliding_window_mask(n, width=width, sinks=sinks)
    for i in range(n):
        seen = {*range(max(0, i - width + 1), i + 1), *range(min(sinks, i + 1))}
        assert set(np.flatnonzero(mask[i])) == seen
    if width >= n:
        np.testing.assert_array_equal(mask, alignment.causal_mask(n))


@pytest.mark.proves("P13.14")
@given(n=st.integers(1, 11), width=st.integers(1, 6))
def test_a_causal_window_is_the_earlier_half_of_a_two_sided_one(n, width):
    two_sided = alignment.window_mask(n, n, half_width=width - 1)
    mask = alignment.sliding_window_mask(n, width=width)
    np.testing.assert_array_equal(mask, two_sided & alignment.causal_mask(n))


@pytest.mark.proves("P13.18")
@pytest.mark.parametrize("layers", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_a_stack_of_windows_reaches_as_far_as_its_depth_allows_and_no_farther(layers, width):
    n = 23
    mask = alignment.sliding_window_mask(n, width=width, like=torch.ones(1))
    x = torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()
    contexts = x
    for _ in range(layers):
        contexts, _weights = attend(contexts, contexts, contexts, mask=mask)
    (gradient,) = torch.autograd.grad(contexts[-1].sum(), x)
    reached = gradient.abs().sum(dim=-1) > 0
    assert reached.tolist() == [n - 1 - j <= layers * (width - 1) for j in range(n)]


@pytest.mark.proves("P13.20")
@given(width=st.integers(1, 5), sinks=st.integers(0, 3), now=st.integers(0, 12))
def test_a_cache_without_what_has_left_the_window_leads_to_the_same_context(width, sinks, now):
    x = np.random.default_rng(0).normal(size=(13, 3))
    query, earlier = x[now : now + 1], np.arange(now + 1)
    masked, _weights = attend(
        query,
        x,
        x,
        mask=alignment.sliding_window_mask(
            range(now, now + 1), range(13), width=width, sinks=sinks
        ),
    )
    kept = earlier[(earlier > now - width) | (earlier < sinks)]
    assert len(kept) <= width + sinks
    dropped, _weights = attend(query, x[kept], x[kept])
    np.testing.assert_allclose(dropped, masked, rtol=1e-12)
