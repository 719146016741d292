"""A subset of the keys: drawn by a learned selector, or what a sparse map leaves above 0."""

from typing import Any

import array_api_compat

from attn_course._arrays import (
    Array,
    as_floats,
    at_least,
    floating_dtype,
    namespace,
    require_axes,
    require_mask,
    require_shape,
)
from attn_course.activations import Activation, activation, sigmoid
from attn_course.alignment.hard import uniform_draws
from attn_course.alignment.masks import both, hide
from attn_course.alignment.soft import floating_scores, softmax

# --- a learned subset -------------------------------------------------------------------------


def reinforced(
    scores: Array,
    selection: Array,
    mask: Array | None = None,
) -> Array:
    r"""Softmax over a selected subset of the keys (Shen et al., 2018).

    Reinforced alignment. `selection` is boolean, `(..., k)` over the keys
    or `(..., q, k)` over pairs: draw it with `select` from
    `selection_probabilities`. An empty selection gives weights 0.
    """
    namespace(scores=scores, selection=selection, mask=mask)
    require_axes(1, "(..., k)", selection=selection)
    if selection.ndim < scores.ndim:
        selection = selection[..., None, :]
    require_mask(selection, scores, "selection")
    return softmax(scores, both(selection, mask, scores))


def selection_probabilities(
    features: Array,
    w: Array,
    W: Array,
    b: Array,
    b_0: Array | float = 0.0,
    mask: Array | None = None,
    act: Activation = "relu",
) -> Array:
    r"""$\pi_l = \sigma(w^\top \mathrm{act}(W x'_l + b) + b_0)$.

    ReSAN's selector: with $x'_l = [x_l; \bar x; x_l \odot \bar x]$ every
    feature is judged by itself, by the mean, and by both together.

    Features `(..., k, d)`, `W` `(h, 3d)`, `w` and `b` `(h,)`. The mean
    $\bar x$ is taken over the features that `mask` `(..., k)` keeps;
    masked features get probability 0.
    """
    xp = namespace(features=features, w=w, W=W, b=b, mask=mask)
    require_axes(2, "(..., k, d)", features=features)
    require_shape((w.shape[-1], 3 * features.shape[-1]), "(h, 3d)", W=W)
    kept, w, W, b = as_floats(xp, features, w, W, b)
    count: Any = features.shape[-2]
    if mask is not None:
        require_mask(mask, features[..., 0])
        kept = xp.where(mask[..., None], kept, xp.zeros_like(kept))
        total = xp.sum(xp.astype(mask, kept.dtype), axis=-1)
        count = xp.clip(total, min=1)[..., None, None]
    mean = xp.sum(kept, axis=-2, keepdims=True) / count
    mean = xp.broadcast_to(mean, kept.shape)
    inputs = xp.concat([kept, mean, kept * mean], axis=-1)  # (..., k, 3d)
    probabilities = sigmoid(activation(act)(inputs @ W.mT + b) @ w + b_0)
    if mask is None:
        return probabilities
    return xp.where(mask, probabilities, xp.zeros_like(probabilities))


def select(probabilities: Array, rng: Any) -> Array:
    r"""$z_l \sim \mathrm{Bernoulli}(\pi_l)$: draw a boolean selection `(..., k)`."""
    xp = namespace(probabilities=probabilities)
    draws = uniform_draws(rng, probabilities[..., None])[..., 0]
    return draws < at_least(xp, draws.dtype, probabilities)


def selection_log_probability(probabilities: Array, selection: Array) -> Array:
    r"""$\log p(z) = \sum_l z_l \log \pi_l + (1 - z_l) \log(1 - \pi_l)$, `(..., k)` to `(...)`.

    Positions of probability exactly 0 or 1, such as padding, were never in question and add 0.
    """
    xp = namespace(probabilities=probabilities, selection=selection)
    chance = xp.where(selection, probabilities, 1 - probabilities)
    open_question = (probabilities > 0) & (probabilities < 1)
    return xp.sum(xp.log(xp.where(open_question, chance, xp.ones_like(chance))), axis=-1)


# --- sparse maps: what scores far below the best gets exactly 0 ---------------------------------


def sparsemax(scores: Array, mask: Array | None = None) -> Array:
    r"""$a = \arg\min_{p \in \Delta} \lVert p - e \rVert^2$.

    Martins & Astudillo (2016). The nearest point of the simplex:
    $a_l = \max(0, e_l - \theta)$, with $\theta$ such that the weights add up
    to 1. Keys that score far below the best get exactly 0.

    >>> import numpy as np
    >>> sparsemax(np.array([[1.0, 0.8, -1.0]]))
    array([[0.6, 0.4, 0. ]])
    """
    xp, e, rank = _sortable(scores, mask)
    descending = xp.sort(e, axis=-1, descending=True)
    # With the r best keys kept, e - theta adds up to 1 for this theta.
    theta = (xp.cumulative_sum(descending, axis=-1) - 1) / rank
    threshold = _at_last(xp, theta, kept=descending > theta)
    weights = _excess(xp, e, threshold)
    return _like_scores(xp, weights, scores, mask)


def entmax15(scores: Array, mask: Array | None = None) -> Array:
    r"""$a_l = \max(0, e_l/2 - \theta)^2$ (Peters et al., 2019): half way from softmax to sparsemax.

    >>> import numpy as np
    >>> entmax15(np.array([[2.0, 2.0, -2.0]]))
    array([[0.5, 0.5, 0. ]])
    """
    xp, e, rank = _sortable(scores, mask)
    e = e / 2
    descending = xp.sort(e, axis=-1, descending=True)
    mean = xp.cumulative_sum(descending, axis=-1) / rank
    mean_square = xp.cumulative_sum(descending**2, axis=-1) / rank
    # With the r best keys kept, (e - theta)^2 adds up to 1 for this theta; where the root would be
    # of a negative number the r keys are too far apart to be kept together.
    inside = 1 / rank - (mean_square - mean**2)
    possible = inside > 0
    roots = xp.sqrt(xp.where(possible, inside, xp.ones_like(inside)))
    theta = mean - xp.where(possible, roots, xp.zeros_like(roots))
    threshold = _at_last(xp, theta, kept=descending >= theta)
    weights = _excess(xp, e, threshold) ** 2
    return _like_scores(xp, weights, scores, mask)


def _sortable(scores: Array, mask: Array | None) -> tuple[Any, Array, Array]:
    """Return scores with a maximum of 0, low ones raised to -100, and the ranks 1, 2, …, k.

    Both sparse maps give 0 from 2 below the best on, so -100 stands for every lower score: for
    -inf, which is no number to add up, and for masked ones. Sums over many keys need single
    precision at least. A row with NaN in it becomes NaN whole.
    """
    xp, scores = floating_scores(scores, mask, axis=-1)
    e = at_least(xp, xp.float32, scores)
    if mask is not None:
        e, _row_lives = hide(xp, e, mask, axis=-1)
    e = xp.clip(e - xp.max(e, axis=-1, keepdims=True), min=-100.0)
    device = array_api_compat.device(e)
    return xp, e, xp.arange(1, e.shape[-1] + 1, dtype=e.dtype, device=device)


def _at_last(xp: Any, theta: Array, kept: Array) -> Array:
    """Return `theta` at the last of the ranks that are kept, `(..., 1)`."""
    size = xp.sum(xp.astype(kept, xp.int64), axis=-1, keepdims=True)
    # A row with NaN keeps nothing; any of its thetas is NaN, so the first one will do.
    return xp.take_along_axis(theta, xp.clip(size - 1, min=0), axis=-1)


def _excess(xp: Any, e: Array, threshold: Array) -> Array:
    """Return max(0, e - threshold), with slope 0 at the threshold itself; NaN stays NaN."""
    return xp.where(e <= threshold, 0.0, e - threshold)


def _like_scores(xp: Any, weights: Array, scores: Array, mask: Array | None) -> Array:
    """Return the weights in the dtype of the scores, 0 where they are masked."""
    weights = xp.astype(weights, floating_dtype(xp, scores), copy=False)
    return weights if mask is None else xp.where(mask, weights, xp.zeros_like(weights))
