"""Softmax with one extra score for each head, whose weight is spent on nothing."""

import numpy as np

from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, readable, softmax, some_of
from attn_course.translate import _


@reference
def with_sink(scores, mask, sink):
    if np.ndim(scores) < 3 or np.shape(sink) != np.shape(scores)[-3:-2]:
        raise ValueError("there is one sink for each head")  # also made smaller
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros(scores.shape)
    for place in np.ndindex(*scores.shape[:-1]):
        head = place[-2]
        weights[place] = definition.softmax_with_sink(scores[place], sink[head], mask[place])
    return weights


def _nothing_for_the_last(mask):
    """Return the mask with nothing to attend to for the last query."""
    mask[..., -1, :] = False
    return mask


@with_sink.cases(points=1, label=_("several heads, each with its own sink; nothing is masked"))
def several_heads(rng):
    yield Case(readable(rng, 2, 1, 2), all_of(1, 2), readable(rng, 2))
    yield Case(readable(rng, 3, 2, 5), all_of(2, 5), readable(rng, 3))
    yield Case(readable(rng, 2, 3, 5) - 6, all_of(3, 5), readable(rng, 2))  # next to no weight


@with_sink.cases(points=1, label=_("a mask, and a query that may attend nowhere"))
def masked(rng):
    yield Case(readable(rng, 2, 1, 3), some_of(rng, 1, 3), readable(rng, 2))
    yield Case(readable(rng, 3, 2, 5), some_of(rng, 3, 2, 5), readable(rng, 3))
    yield Case(readable(rng, 2, 3, 5), _nothing_for_the_last(some_of(rng, 3, 5)), readable(rng, 2))


@with_sink.cases(points=1, label=_("a batch, and scores and sinks near 1000 and near -1000"))
def large_numbers(rng):
    yield Case(readable(rng, 2, 3, 5, 7), some_of(rng, 5, 7), readable(rng, 3))
    heights = np.array([1000.0, -1000.0])  # one for each head, in steps that single precision has
    scores = heights[:, None, None] + rng.integers(-8, 9, (2, 3, 5)) / 4
    yield Case(scores, some_of(rng, 3, 5), heights + rng.integers(-8, 9, 2) / 4)
    yield Case(scores, all_of(3, 5), rng.integers(-8, 9, 2) / 4)
    yield Case(rng.integers(-8, 9, (2, 3, 5)) / 4, all_of(3, 5), heights)
    yield _far_apart(rng)
    # Where nothing is seen, the sink alone is the largest number, and it may be very low.
    low = -1000 + rng.integers(-8, 9, (2, 3, 5)) / 4
    yield Case(low, _nothing_for_the_last(some_of(rng, 3, 5)), low[:, 0, 0] + 1)


def _far_apart(rng):
    """Return a low query beside a high one, and a low one with a masked key that is high.

    Each row has a largest number of its own, and masked scores have no part in it.
    """
    scores = np.array([1000.0, -1000.0, -1000.0])[:, None] + rng.integers(-8, 9, (2, 3, 4)) / 4
    mask = all_of(3, 4)
    scores[:, 2, 1], mask[2, 1] = 1000, False
    return Case(scores, mask, -1000 + rng.integers(-8, 9, 2) / 4)


@with_sink.variant
def softmax_with_one_more_column(scores, mask, sink):
    column = np.broadcast_to(sink[:, None, None], (*scores.shape[:-1], 1))
    seen = np.broadcast_to(mask, scores.shape)
    seen = np.concatenate([seen, np.ones_like(seen[..., :1])], axis=-1)
    return softmax(np.concatenate([scores, column], axis=-1), seen)[..., :-1]


@with_sink.variant
def softmax_times_what_is_spent(scores, mask, sink):
    # The share that is spent is a sigmoid of the log-sum-exp above the sink.
    hidden = np.where(mask, scores, -np.inf)
    spent = np.logaddexp.reduce(hidden, axis=-1, keepdims=True) - sink[:, None, None]
    return softmax(scores, np.broadcast_to(mask, scores.shape)) * (np.tanh(spent / 2) + 1) / 2


@with_sink.variant
def in_torch(scores, mask, sink):
    import torch

    hidden = torch.as_tensor(scores).masked_fill(~torch.as_tensor(mask), -torch.inf)
    column = torch.as_tensor(sink)[:, None, None].expand(*hidden.shape[:-1], 1)
    return torch.softmax(torch.cat([hidden, column.to(hidden.dtype)], dim=-1), dim=-1)[..., :-1]
