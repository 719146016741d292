"""A window: the keys around a place that the step gives, or that the query predicts."""

from typing import Any

import array_api_compat

from attn_course._arrays import (
    Array,
    as_floats,
    broadcasts,
    floating_dtype,
    namespace,
    require_axes,
    require_shape,
    shape,
)
from attn_course.activations import sigmoid
from attn_course.alignment.masks import both
from attn_course.alignment.soft import softmax


def local_monotonic(
    scores: Array,
    steps: Array,
    half_width: float,
    mask: Array | None = None,
) -> Array:
    r"""Softmax over the window $\lvert l - p\rvert \le D$ around $p = t$.

    Local-m, survey (27). `steps` `(..., q)` are the output steps, counted
    from 1 as the keys are. The window is clipped to the keys there are;
    padding is clipped by the `mask`.

    >>> import numpy as np
    >>> scores, steps = np.zeros((1, 5)), np.array([2.0])
    >>> local_monotonic(scores, steps, half_width=1)[0].round(3)
    array([0.333, 0.333, 0.333, 0.   , 0.   ])
    """
    xp = namespace(scores=scores, steps=steps, mask=mask)
    offsets = _offsets(xp, scores, steps, half_width)
    return softmax(scores, both(abs(offsets) <= half_width, mask, scores))


def local_predictive(
    scores: Array,
    positions: Array,
    half_width: float,
    mask: Array | None = None,
    renormalise: bool = False,
) -> Array:
    r"""$\mathrm{softmax}_{\mathcal W(p)}(e)_l \exp(-(l-p)^2 / 2\sigma^2)$.

    Local-p, survey (27)–(29), over the window $\lvert l - p\rvert \le D$,
    with $\sigma = D/2$.

    `positions` `(..., q)` are real numbers in $(0, S)$, from
    `predict_positions`; keys are counted from 1. The Gaussian multiplies
    and is not renormalised, so a row adds up to less than 1. It is what
    lets a gradient reach the position. `renormalise` makes each row add
    up to 1 again.
    """
    xp = namespace(scores=scores, positions=positions, mask=mask)
    if half_width == 0:
        raise ValueError("half_width must be above 0, as sigma = D/2 is.")
    offsets = _offsets(xp, scores, positions, half_width)
    window = both(abs(offsets) <= half_width, mask, scores)
    if mask is not None:  # a query that may attend nowhere may have no position
        offsets = xp.where(mask, offsets, 0.0)
    fade = -(offsets**2) / (2 * (half_width / 2) ** 2)
    if renormalise:
        weights = softmax(scores + fade, window)
    else:
        weights = softmax(scores, window) * xp.exp(fade)
    return xp.astype(weights, floating_dtype(xp, scores))


def predict_positions(
    queries: Array,
    w_p: Array,
    W_p: Array,
    lengths: Array,
) -> Array:
    r"""$p = S \cdot \mathrm{sigmoid}(w_p^\top \tanh(W_p q))$: survey (28).

    Queries `(..., q, d_q)`, `W_p` `(d_p, d_q)` a matrix, `w_p` `(d_p,)` a
    vector; `lengths` `(...)` is the true source length $S$ of each
    example. Returns positions `(..., q)` in $(0, S)$.
    """
    xp = namespace(queries=queries, w_p=w_p, W_p=W_p, lengths=lengths)
    require_axes(2, "(..., q, d_q)", queries=queries)
    d_p, d_q = w_p.shape[-1], queries.shape[-1]
    require_shape((d_p, d_q), "(d_p, d_q)", W_p=W_p)
    queries, w_p, W_p = as_floats(xp, queries, w_p, W_p)
    fraction = sigmoid(xp.tanh(queries @ W_p.mT) @ w_p)  # (..., q)
    return xp.astype(lengths, fraction.dtype)[..., None] * fraction


def _offsets(xp: Any, scores: Array, centres: Array, half_width: float) -> Array:
    """Return $l - p$ for every query and key, `(..., q, k)`, keys counted from 1.

    In single precision at least: half precision has no place 257.
    """
    require_axes(2, "(..., q, k)", scores=scores)
    if half_width < 0:
        raise ValueError(f"half_width must not be negative, but is {half_width}.")
    if not broadcasts(shape(centres), shape(scores)[:-1]):
        raise ValueError(
            f"each query needs its place: scores are {shape(scores)}, places are {shape(centres)}. "
            f"Give (..., q) places with q = {scores.shape[-2]}."
        )
    dtype = xp.result_type(floating_dtype(xp, scores), xp.float32)
    device = array_api_compat.device(scores)
    place = xp.arange(1, scores.shape[-1] + 1, dtype=dtype, device=device)
    return place - xp.astype(centres, dtype)[..., None]
