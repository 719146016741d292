r"""All keys or none: weights that may sum to less than 1.

Softmax must spend all of its weight, so a query with nothing to look for needs a key to leave it
at: a sink (Xiao et al., 2024). Here the sink is one extra score that belongs to no key. The weight
that it receives meets the value 0, so it is spent on nothing.
"""

from typing import Any

from attn_course._arrays import (
    AnyArray,
    Array,
    as_floats,
    broadcasts,
    namespace,
    shape,
    softmax_along,
)
from attn_course.alignment.masks import hide
from attn_course.alignment.soft import floating_scores


def softmax_with_sink(scores: Array, mask: Array | None = None, sink: float | Array = 0.0) -> Array:
    r"""$a_l = \exp(e_l) / (\exp(b) + \sum_j \exp(e_j))$: softmax with one extra score $b$.

    The weights of a row sum to less than 1, and a query whose scores are all far below the sink
    attends to almost nothing. `sink` is a number or an array that broadcasts to `(..., q, 1)`: one
    learned number for each of h heads comes as `(h, 1, 1)`. A sink of 0 is softmax-off-by-one, a
    sink of minus infinity is softmax.

    >>> import numpy as np
    >>> scores = np.zeros((2, 1, 3))  # two heads, one query, three keys
    >>> softmax_with_sink(scores, sink=np.log([[[1.0]], [[7.0]]])).round(2)
    array([[[0.25, 0.25, 0.25]],
    <BLANKLINE>
           [[0.1 , 0.1 , 0.1 ]]])
    """
    xp, scores = floating_scores(scores, mask, axis=-1)
    if isinstance(sink, int | float):
        extra = xp.full_like(scores[..., :1], sink)
    else:
        namespace(scores=scores, sink=sink)
        scores, sink = as_floats(xp, scores, sink)
        extra = _one_for_each_row(xp, sink, scores)
    if mask is None:
        return _without_the_last(xp, scores, extra)
    hidden, row_lives = hide(xp, scores, mask, axis=-1)
    weights = _without_the_last(xp, hidden, extra)
    return weights * xp.astype(row_lives, weights.dtype)


def softmax_off_by_one(scores: Array, mask: Array | None = None) -> Array:
    r"""$a_l = \exp(e_l) / (1 + \sum_j \exp(e_j))$: softmax with one extra score of 0.

    >>> import numpy as np
    >>> softmax_off_by_one(np.array([[0.0, 0.0, 0.0], [-50.0, -50.0, -50.0]])).round(2)
    array([[0.25, 0.25, 0.25],
           [0.  , 0.  , 0.  ]])
    """
    return softmax_with_sink(scores, mask, 0.0)


def _one_for_each_row(xp: Any, sink: AnyArray, scores: AnyArray) -> AnyArray:
    """Return the sinks `(..., q, 1)`, the column that comes after the scores."""
    column = (*shape(scores)[:-1], 1)
    if not broadcasts(shape(sink), column):
        raise ValueError(
            f"sink must be a number or broadcast to {column}, one for each row of the scores, but "
            f"is {shape(sink)}. For one number per head write sink[:, None, None]."
        )
    return xp.broadcast_to(sink, column)


def _without_the_last(xp: Any, scores: AnyArray, extra: AnyArray) -> AnyArray:
    """Return the softmax over scores and extra score, without the weight of the extra score."""
    longer = xp.concat([scores, extra], axis=-1)  # (..., q, k + 1)
    return softmax_along(xp, longer, axis=-1)[..., :-1]
