"""Score, align, average: from queries, keys and values to a context, on arrays."""

import sys
from collections.abc import Callable
from math import inf, nan
from typing import Any

from attn_course._arrays import (
    Array,
    as_floats,
    batch_shape,
    namespace,
    require_axes,
    require_mask,
    require_values,
    shape,
)
from attn_course.alignment import softmax
from attn_course.scoring import scaled_dot

Score = Callable[[Array, Array], Array]
Align = Callable[..., Array]


def attend(
    queries: Array,
    keys: Array,
    values: Array,
    score: Score = scaled_dot,
    align: Align = softmax,
    mask: Array | None = None,
) -> tuple[Array, Array]:
    r"""$e = \mathrm{score}(q, K)$, $a = \mathrm{align}(e)$, $c = \sum_l a_l v_l$: survey (2)–(4).

    Returns the context `(..., q, d_v)` and the weights `(..., q, k)`. `score` takes queries and
    keys; `align` takes scores and a mask (True = may attend). Values a query may not attend to
    never reach its context, not even when they are NaN.

    >>> import numpy as np
    >>> keys = np.eye(2)
    >>> context, weights = attend(np.zeros((1, 2)), keys, np.array([[1.0], [3.0]]))
    >>> weights
    array([[0.5, 0.5]])
    >>> context
    array([[2.]])
    """
    namespace(queries=queries, keys=keys, values=values, mask=mask)
    require_axes(2, "(..., k, d_k)", keys=keys)
    require_axes(2, "(..., k, d_v)", values=values)
    require_values(keys, values)
    return attend_by_scores(score(queries, keys), values, align, mask)


def attend_by_scores(
    scores: Array, values: Array, align: Align = softmax, mask: Array | None = None
) -> tuple[Array, Array]:
    r"""$a = \mathrm{align}(e)$, $c = \sum_l a_l v_l$: survey (3)–(4), from scores `(..., q, k)`.

    This is attention without a query: the scores come from the keys alone, one row `(..., 1, k)`,
    as `scoring.no_query` returns it, or from anything else that is not a pair of query and key.

    >>> import numpy as np
    >>> keys, values = np.array([[0.0], [0.0]]), np.array([[1.0], [3.0]])
    >>> context, weights = attend_by_scores(keys.mT, values)  # the score of a key is its only entry
    >>> weights, context
    (array([[0.5, 0.5]]), array([[2.]]))
    """
    namespace(scores=scores, values=values, mask=mask)
    require_axes(2, "(..., q, k)", scores=scores)
    require_axes(2, "(..., k, d_v)", values=values)
    if scores.shape[-1] != values.shape[-2]:
        raise ValueError(
            f"each value needs a score: scores are {shape(scores)}, values are {shape(values)}, "
            f"so {scores.shape[-1]} scores meet {values.shape[-2]} values. "
            "The last axis of the scores must be as long as the axis k of the values."
        )
    if mask is None:
        weights = align(scores)
    else:
        require_mask(mask, scores)
        weights = align(scores, mask=mask)
    return _average(weights, values, mask), weights


def _average(weights: Array, values: Array, mask: Array | None) -> Array:
    """Return weights @ values, where what may not be attended to counts for nothing.

    0 * NaN is NaN, so a broken value behind the mask would spoil the plain product.
    """
    xp = namespace(weights=weights, values=values)
    batch_shape(weights=weights, values=values)
    weights, values = as_floats(xp, weights, values)
    if mask is None:
        return weights @ values
    broken = ~xp.isfinite(values)  # (..., k, d_v)
    if _surely_none(xp, broken):  # nearly always, and then products of this size are saved
        return weights @ values
    context = weights @ xp.where(broken, xp.zeros_like(values), values)
    return with_broken(context, values, mask)


def _surely_none(xp: Any, broken: Array) -> bool:
    """Tell whether nothing is broken; no, where it can't be known while a graph is traced."""
    torch = sys.modules.get("torch")  # whoever compiles has loaded it
    if torch is not None and torch.compiler.is_compiling():
        return False
    try:
        return not bool(xp.any(broken))
    except (RuntimeError, TypeError):
        return False


def with_broken(context: Array, values: Array, mask: Array) -> Array:
    """Return the context with inf and NaN where its query may attend to them.

    `context` `(..., q, d)` is an average in which the broken numbers of the values `(..., k, d)`
    counted as 0. They are added as in a sum: inf gives inf, inf and -inf give NaN.
    """
    xp = namespace(context=context, values=values, mask=mask)
    rows = mask[None, :] if mask.ndim == 1 else mask
    allowed = xp.broadcast_to(rows, (*shape(rows)[:-1], values.shape[-2]))
    found = {inf: values == inf, -inf: values == -inf, nan: xp.isnan(values)}
    for number, where in found.items():
        reached = xp.astype(allowed, values.dtype) @ xp.astype(where, values.dtype) > 0
        context = context + xp.where(reached, number, xp.zeros_like(context))
    return context


def mean_feature(features: Array, mask: Array | None = None) -> Array:
    r"""$\frac1n \sum_l f_l$ over the features `(..., n, d)` that are there: `(..., d)`.

    `mask` `(..., n)` is True where there is a feature; $n$ is their true number. Where there is
    none the mean is 0.
    """
    xp = namespace(features=features, mask=mask)
    if mask is None:
        return xp.mean(features, axis=-2)
    count = xp.sum(xp.astype(mask, xp.int64), axis=-1)[..., None, None]
    length = xp.astype(xp.clip(count, min=1), features.dtype)
    kept = xp.where(mask[..., None], features, 0)
    # Divided before the sum, which might overflow in half precision.
    return xp.sum(kept / length, axis=-2)
