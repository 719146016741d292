r"""Attention correctness: how much of the weight lies where it should?

`right` `(..., q, k)` is boolean, True at the keys a query should attend to, and known before any
model is trained. Weights are `(..., q, k)`, of any array library; `right` and `mask` broadcast to
them (a `right` of `(batch, 1, q, k)` judges every head).

Three rules hold for every function here:

- Weights are divided by their sum first, since those of local-p add up to less than 1.
- A key behind the `mask` (True = may attend) is neither weighed nor right.
- A row without a right key is left out; a row that has one and attends nowhere scores 0.

Always state `uniform_correctness` as well: a large correct region is hit by chance.
"""

from typing import Any

from attn_course._arrays import Array, broadcasts, namespace, require_mask, shape


def attention_correctness(weights: Array, right: Array, mask: Array | None = None) -> float:
    r"""$\mathrm{AC} = \sum_{l \in G} a_l$, survey (46): the mean over rows (Liu C. et al., 2017).

    >>> import numpy as np
    >>> weights = np.array([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]])
    >>> right = np.array([[True, True, False], [False, False, True]])
    >>> round(attention_correctness(weights, right), 6), round(uniform_correctness(right), 6)
    (0.75, 0.5)
    """
    xp, weights, right = _prepared(weights, right, mask)
    return _mean_over_rows(xp, _inside(xp, weights, right), right)


def correctness_by_row(weights: Array, right: Array, mask: Array | None = None) -> Array:
    """Return the correctness of each row, `(..., q)`; NaN for a row without a right key."""
    xp, weights, right = _prepared(weights, right, mask)
    share = _inside(xp, weights, right)
    return xp.where(xp.any(right, axis=-1), share, xp.full_like(share, xp.nan))


def argmax_hits(weights: Array, right: Array, mask: Array | None = None) -> float:
    """Return the share of rows whose largest weight is at a right key.

    Where several keys share the largest weight, a row counts by how many of them are right: so
    uniform weights score as `uniform_correctness` does, wherever the right keys stand.
    """
    xp, weights, right = _prepared(weights, right, mask)
    largest = xp.max(weights, axis=-1, keepdims=True)
    best = xp.astype((weights == largest) & (weights > 0), weights.dtype)
    return _mean_over_rows(xp, _inside(xp, best, right), right)


def uniform_correctness(right: Array, mask: Array | None = None) -> float:
    r"""$|G| / n$, what equal weights over the keys of the mask score: the mean over rows."""
    xp = namespace(right=right, mask=mask)
    both = right if mask is None else right | mask  # for its shape
    return attention_correctness(xp.ones(both.shape, dtype=xp.float64), right, mask)


def _prepared(weights: Array, right: Array, mask: Array | None) -> tuple[Any, Array, Array]:
    """Return the library, the weights that may be seen, and the right keys among them."""
    xp = namespace(weights=weights, right=right, mask=mask)
    _require_right(right, weights)
    if bool(xp.any(weights < 0)):
        raise ValueError(
            "weights must not be negative, but some are. If these are scores, take their softmax."
        )
    right = xp.broadcast_to(right, weights.shape)
    if mask is None:
        return xp, weights, right
    require_mask(mask, weights)
    return xp, xp.where(mask, weights, xp.zeros_like(weights)), right & mask


def _require_right(right: Array, weights: Array) -> None:
    if "bool" not in str(right.dtype) or not broadcasts(shape(right), shape(weights)):
        raise ValueError(
            f"right must be boolean, with a place for each weight {shape(weights)}, but has dtype "
            f"{right.dtype} and shape {shape(right)}. It is True at the keys that should get it."
        )


def _inside(xp: Any, weights: Array, right: Array) -> Array:
    """Return the share of each row's weight at right keys, `(..., q)`; of no weight it is 0."""
    total = xp.sum(weights, axis=-1)
    inside = xp.sum(xp.where(right, weights, xp.zeros_like(weights)), axis=-1)
    return inside / xp.where(total == 0, xp.ones_like(total), total)


def _mean_over_rows(xp: Any, share: Array, right: Array) -> float:
    counts = xp.any(right, axis=-1)
    rows = int(xp.sum(xp.astype(counts, xp.int64)))
    if rows == 0:
        raise ValueError(
            "no row has a right key that it may attend to, so there is nothing to score. "
            "See whether right and mask are both True where weight should go."
        )
    return float(xp.sum(xp.where(counts, share, xp.zeros_like(share)))) / rows
