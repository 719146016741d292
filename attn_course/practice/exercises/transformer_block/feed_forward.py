"""The feed-forward network of a Transformer block, for each position by itself."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def feed_forward(x, W_1, b_1, W_2, b_2):
    if x.ndim > 1:
        return np.stack([feed_forward.reference(part, W_1, b_1, W_2, b_2) for part in x])
    hidden = []
    for row, bias in zip(W_1, b_1, strict=True):
        value = sum(w * entry for w, entry in zip(row, x, strict=True)) + bias
        hidden.append(value if value > 0 else 0.0)
    output = []
    for row, bias in zip(W_2, b_2, strict=True):
        output.append(sum(w * unit for w, unit in zip(row, hidden, strict=True)) + bias)
    return np.array(output)


def network(rng, d, d_ff):
    """Return W_1, b_1, W_2, b_2."""
    W_1, W_2 = readable(rng, d_ff, d, low=-1.0, high=1.0), readable(rng, d, d_ff)
    return W_1, readable(rng, d_ff, low=-1.0, high=1.0), W_2, readable(rng, d)


def _on_both_sides(rng, *size, d_ff):
    """Return an input and a network: each unit is positive for one position, negative for another.

    Without a negative value a forgotten ReLU changes nothing; without a positive one nothing else
    does.
    """
    while True:
        x, (W_1, b_1, W_2, b_2) = readable(rng, *size), network(rng, size[-1], d_ff)
        before = (x @ W_1.T + b_1).reshape(-1, d_ff)
        far = np.abs(before).min() > 0.05  # rounding must not switch a unit on or off
        if far and (before > 0).any(axis=0).all() and (before < 0).any(axis=0).all():
            return x, W_1, b_1, W_2, b_2


def _one_position(rng, d, d_ff):
    """Return one position for which some units are positive and some negative, and the network."""
    while True:
        x, W_1, b_1, W_2, b_2 = _on_both_sides(rng, 2, d, d_ff=d_ff)
        before = x[0] @ W_1.T + b_1
        if (before > 0).any() and (before < 0).any():
            return x[0], W_1, b_1, W_2, b_2


@feed_forward.cases(points=2, label=_("a few positions"))
def a_few_positions(rng):
    yield Case(*_on_both_sides(rng, 2, 2, d_ff=3))
    yield Case(*_on_both_sides(rng, 2, 3, d_ff=3))  # as wide as the input: a transpose fits
    yield Case(*_on_both_sides(rng, 3, 2, d_ff=5))
    yield Case(*_on_both_sides(rng, 5, 3, d_ff=7))


@feed_forward.cases(points=1, label=_("a single position, and batches"))
def batches(rng):
    yield Case(*_one_position(rng, 3, d_ff=5))
    yield Case(*_on_both_sides(rng, 2, 3, 5, d_ff=7))
    yield Case(*_on_both_sides(rng, 2, 5, 3, 2, d_ff=3))


@feed_forward.cases(points=1, label=_("a hidden layer narrower than the input, and units all off"))
def narrow_and_off(rng):
    yield Case(*_on_both_sides(rng, 2, 3, d_ff=2))
    yield Case(*_on_both_sides(rng, 3, 5, d_ff=1))
    x, W_1, b_1, W_2, b_2 = _on_both_sides(rng, 3, 2, d_ff=5)
    off = -np.abs(b_1) - np.abs(x).sum(axis=-1).max()  # no |W_1| is above 1
    yield Case(x, W_1, off, W_2, b_2)


@feed_forward.variant
def by_einsum(x, W_1, b_1, W_2, b_2):
    before = np.einsum("...i,hi->...h", x, W_1) + b_1
    return np.einsum("...h,oh->...o", np.where(before > 0, before, 0.0), W_2) + b_2


@feed_forward.variant
def unit_by_unit(x, W_1, b_1, W_2, b_2):
    """Each hidden unit adds a column of W_2, as often as it is on."""
    output = np.zeros(x.shape) + b_2
    for w_in, b, w_out in zip(W_1, b_1, W_2.T, strict=True):
        unit = x @ w_in + b
        output = output + (unit * (unit > 0))[..., None] * w_out
    return output


@feed_forward.variant
def network_in_torch(x, W_1, b_1, W_2, b_2):
    import torch
    from torch.nn.functional import linear

    x, W_1, b_1, W_2, b_2 = (torch.as_tensor(part) for part in (x, W_1, b_1, W_2, b_2))
    return linear(torch.relu(linear(x, W_1, b_1)), W_2, b_2)
