"""Masks: which keys a query may attend to.

A mask is boolean, True where a query may attend, and broadcasts to the scores `(..., q, k)`.
"""

from math import inf
from typing import Any

import array_api_compat
import numpy as np

from attn_course._arrays import Array, namespace, require_mask


def padding_mask(lengths: Array, k: int) -> Array:
    """Return the mask `(..., 1, k)` that shows the first `lengths` keys.

    >>> import numpy as np
    >>> padding_mask(np.array([2, 0]), 3).astype(int).tolist()
    [[[1, 1, 0]], [[0, 0, 0]]]
    """
    xp = namespace(lengths=lengths)
    place = xp.arange(k, device=array_api_compat.device(lengths))
    return (place < lengths[..., None])[..., None, :]


def causal_mask(
    q: int,
    k: int | None = None,
    like: Array | None = None,
) -> Array:
    """Return the mask `(q, k)` that lets query t see keys 1 to t only.

    With more keys than queries the queries are the last ones, as in
    cached decoding. The mask is NumPy's, or of the library (and device)
    of `like`.

    >>> causal_mask(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal_mask(1, 3).astype(int).tolist()
    [[1, 1, 1]]
    """
    k = q if k is None else k
    if k < q:
        raise ValueError(f"{q} queries need {q} keys or more, not {k}.")
    return _like(np.tril(np.ones((q, k), dtype=bool), k - q), like)


def window_mask(q: int, k: int, half_width: int, like: Array | None = None) -> Array:
    """Return the mask `(q, k)` that lets query t see keys t - D to t + D.

    >>> window_mask(3, 4, half_width=1).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]
    """
    if half_width < 0:
        raise ValueError(f"half_width must not be negative, but is {half_width}.")
    return _like(np.abs(np.arange(q)[:, None] - np.arange(k)) <= half_width, like)


def _like(mask: np.ndarray, like: Array | None) -> Array:
    if like is None:
        return mask
    return namespace(like=like).asarray(mask, device=array_api_compat.device(like))


def hide(
    xp: Any,
    scores: Array,
    mask: Array,
    axis: int,
) -> tuple[Array, Array]:
    """Return scores with -inf where the mask is False.

    In rows masked out whole a finite number stands instead: it keeps
    softmax and its gradient free of NaN, and the caller sets those
    weights to 0. Also returns which rows are not masked out whole.
    """
    require_mask(mask, scores)
    row_lives = xp.any(mask, axis=axis, keepdims=True)
    zeros = xp.zeros_like(row_lives, dtype=scores.dtype)
    elsewhere = xp.where(row_lives, -inf, zeros)
    return xp.where(mask, scores, elsewhere), row_lives


def both(window: Array, mask: Array | None, scores: Array) -> Array:
    """Return where the window and the mask for these scores are both True."""
    if mask is None:
        return window
    require_mask(mask, scores)
    return window & mask
