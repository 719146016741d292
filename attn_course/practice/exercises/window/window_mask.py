"""Show each query the last few keys and the first few."""

import numpy as np

from attn_course.definitions.alignment import sliding_window
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def window_mask(query_positions, key_positions, width, sinks):
    if width < 1 or sinks < 0:  # an input may be made smaller by too much
        raise ValueError("width is at least 1, and sinks is not negative")
    if np.shape(query_positions)[:-1] != np.shape(key_positions)[:-1]:
        raise ValueError("queries and keys belong to the same texts")
    if np.ndim(query_positions) > 1:
        texts = zip(query_positions, key_positions, strict=True)
        return np.stack([window_mask.reference(i, j, width, sinks) for i, j in texts])
    return np.array([sliding_window(i, key_positions, width, sinks) for i in query_positions])


def _kept(rng, width, sinks):
    """Return the positions of a cache that has dropped what left the window, and of one query."""
    now = int(rng.integers(20, 60))
    keys = np.concatenate([np.arange(sinks), np.arange(now - width - 1, now + 1)])
    return np.array([now]), keys


def _anywhere(rng, *size, most=20):
    """Return positions `(..., n)` in no order, different within a row."""
    rows = [rng.choice(most, size[-1], replace=False) for _ in range(int(np.prod(size[:-1])))]
    return np.array(rows).reshape(size)


@window_mask.cases(points=1, label=_("a text longer than the window, no sinks"))
def no_sinks(rng):
    yield Case(np.arange(3), np.arange(3), 2, 0)
    yield Case(np.arange(6), np.arange(6), 3, 0)
    yield Case(np.arange(5), np.arange(5), 1, 0)


@window_mask.cases(points=1, label=_("a window and sinks"))
def with_sinks(rng):
    yield Case(np.arange(4), np.arange(4), 2, 1)
    yield Case(np.arange(9), np.arange(9), 3, 2)
    yield Case(np.arange(7), np.arange(7), 2, 3)
    yield Case(np.arange(5), np.arange(5), 9, 2)  # wider than the text


@window_mask.cases(points=1, label=_("queries after a cache, and keys in any order"))
def after_a_cache(rng):
    yield Case(*_kept(rng, 3, 1), 3, 1)
    yield Case(np.arange(5, 8), np.arange(8), 3, 2)
    yield Case(*_kept(rng, 5, 2), 5, 2)
    yield Case(np.arange(9, 12), np.arange(6, 12), 2, 3)  # the sinks have been dropped, too
    yield Case(_anywhere(rng, 3), _anywhere(rng, 11), 4, 3)


@window_mask.cases(points=1, label=_("a batch, in which every text has its own positions"))
def a_batch(rng):
    yield Case(_anywhere(rng, 2, 3), _anywhere(rng, 2, 7), 5, 4)
    yield Case(_anywhere(rng, 2, 3, 5), _anywhere(rng, 2, 3, 11), 3, 2)


@window_mask.variant
def in_a_list_of_lists(query_positions, key_positions, width, sinks):
    if query_positions.ndim > 1:
        texts = zip(query_positions, key_positions, strict=True)
        return [in_a_list_of_lists(i, j, width, sinks) for i, j in texts]
    return [
        [bool(i - width < j <= i or j < min(sinks, i + 1)) for j in key_positions]
        for i in query_positions
    ]


@window_mask.variant
def by_the_distance(query_positions, key_positions, width, sinks):
    distance = np.expand_dims(query_positions, -1) - np.expand_dims(key_positions, -2)
    far_back = distance >= width
    ordinary = np.expand_dims(key_positions, -2) >= sinks
    return ~((distance < 0) | (far_back & ordinary))
