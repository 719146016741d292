"""All keys: every key gets a share of the weight, by its score."""

from typing import Any

from attn_course._arrays import (
    Array,
    as_floats,
    namespace,
    require_axes,
    require_keys,
    require_mask,
    softmax_along,
)
from attn_course.alignment.masks import hide


def softmax(
    scores: Array,
    mask: Array | None = None,
    temperature: float | Array = 1.0,
    axis: int = -1,
) -> Array:
    r"""$a_l = \exp(e_l) / \sum_j \exp(e_j)$, survey (25): soft alignment.

    `temperature` divides the scores first: towards 0 the weights become
    one-hot, towards infinity uniform; an array that broadcasts to the scores
    gives, say, each query its own. With a `mask` the sum runs over the
    keys the query may attend to.

    >>> import numpy as np
    >>> softmax(np.array([[1.0, 1.0, 1.0, 1.0]]))
    array([[0.25, 0.25, 0.25, 0.25]])
    >>> mask = np.array([[True, False], [False, False]])
    >>> softmax(np.ones((2, 2)), mask)
    array([[1., 0.],
           [0., 0.]])
    """
    xp, scores = floating_scores(scores, mask, axis)
    if not _all_above_zero(temperature):
        raise ValueError(
            f"temperature must be above 0, but is {temperature}. "
            "For one-hot weights take the largest score instead."
        )
    if not isinstance(temperature, float) or temperature != 1.0:
        if mask is not None:  # NaN behind the mask would reach a trained temperature's gradient
            require_mask(mask, scores)
            scores = xp.where(mask, scores, 0.0)
        scores = scores / temperature  # a trained 1.0 keeps its gradient
    if mask is None:
        return softmax_along(xp, scores, axis)
    hidden, row_lives = hide(xp, scores, mask, axis)
    weights = softmax_along(xp, hidden, axis)
    # exp(-inf) is 0: only rows masked out whole have weights to lose.
    return weights * xp.astype(row_lives, weights.dtype)


def _all_above_zero(temperature: float | Array) -> bool:
    above = temperature > 0
    return bool(above.all()) if hasattr(above, "all") else bool(above)


def floating_scores(scores: Array, mask: Array | None, axis: int) -> tuple[Any, Array]:
    """Return the array library, and the scores as floating numbers."""
    xp = namespace(scores=scores, mask=mask)
    require_axes(1, "(..., q, k)", scores=scores)
    require_keys(scores, axis)
    (scores,) = as_floats(xp, scores)
    return xp, scores
