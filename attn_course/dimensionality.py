r"""Dimensionality: one weight per value, or one for every entry of it.  (chapter 4)

- `single` takes weights `(..., q, k)`: each value counts as a whole.
- `multi` takes weights `(..., q, k, d_v)`: each entry of each value has a weight of its own,
  and every entry's weights add up to 1 over the keys (axis -2, not -1).

Papers call an entry of a value a feature; elsewhere in this package a feature is a whole vector.

`multi_scores` are scores of that shape; `attend_multi` scores, aligns and averages with them.
Without a query, `multi_no_query` scores the keys alone, for `attend_multi_by_scores`.
"""

from collections.abc import Callable

from attn_course._arrays import (
    Array,
    namespace,
    require_axes,
    require_mask,
    require_shape,
    require_values,
    shape,
)
from attn_course.activations import Activation, activation
from attn_course.alignment import softmax
from attn_course.attention import Align, attend, attend_by_scores
from attn_course.attention.mask_policy import all_finite


def single(weights: Array, values: Array) -> Array:
    r"""$c = \sum_l a_l v_l$ with a number $a_l$ for each value, survey (4).

    >>> import numpy as np
    >>> single(np.array([[0.5, 0.5]]), np.array([[1.0, 2.0], [3.0, 8.0]]))
    array([[2., 5.]])
    """
    namespace(weights=weights, values=values)
    require_axes(2, "(..., q, k)", weights=weights)
    return weights @ values  # (..., q, k) @ (..., k, d_v) -> (..., q, d_v)


def multi(weights: Array, values: Array) -> Array:
    r"""$c = \sum_l a_l \circ v_l$ with a vector $a_l$ for each value, survey (32).

    >>> import numpy as np
    >>> weights = np.array([[[1.0, 0.0], [0.0, 1.0]]])  # first entry of 1, second of 2
    >>> multi(weights, np.array([[1.0, 2.0], [3.0, 8.0]]))
    array([[1., 8.]])
    """
    xp = namespace(weights=weights, values=values)
    require_axes(3, "(..., q, k, d_v)", weights=weights)
    if shape(weights)[-2:] != shape(values)[-2:]:
        raise ValueError(
            f"every entry of every value needs a weight: weights are {shape(weights)}, values "
            f"are {shape(values)}; the last two axes, (k, d_v), must agree."
        )
    return xp.sum(weights * values[..., None, :, :], axis=-2)  # (..., q, k, d_v) -> (..., q, d_v)


def multi_scores(
    queries: Array,
    keys: Array,
    W_d: Array,
    W_q: Array,
    W_k: Array,
    b: Array | None = None,
    act: Activation = "tanh",
) -> Array:
    r"""$e_l = W_d^\top \mathrm{act}(W_q q + W_k k_l + b) \in \mathbb{R}^{d_v}$, survey (30).

    The additive score with a matrix `W_d` `(d_w, d_v)` where `w` was: scores `(..., q, k, d_v)`.
    """
    namespace(queries=queries, keys=keys, W_d=W_d, W_q=W_q, W_k=W_k, b=b)
    require_axes(2, "(d_w, d_v)", W_d=W_d)
    require_shape((W_d.shape[-2], queries.shape[-1]), "(d_w, d_q)", W_q=W_q)
    require_shape((W_d.shape[-2], keys.shape[-1]), "(d_w, d_k)", W_k=W_k)
    from_queries = (queries @ W_q.mT)[..., :, None, :]  # (..., q, 1, d_w)
    from_keys = (keys @ W_k.mT)[..., None, :, :]  # (..., 1, k, d_w)
    inside = from_queries + from_keys if b is None else from_queries + from_keys + b
    return activation(act)(inside) @ W_d  # (..., q, k, d_w) @ (d_w, d_v) -> (..., q, k, d_v)


def multi_no_query(
    keys: Array, W_d: Array, W_k: Array, b: Array | None = None, act: Activation = "tanh"
) -> Array:
    r"""$e_l = W_d^\top \mathrm{act}(W_k k_l + b)$: `multi_scores` with the query left out.

    Keys `(..., k, d_k)` give scores `(..., 1, k, d_v)`: one row, as if there were one query.

    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> multi_no_query(np.array([[1.0], [2.0]]), W_d=np.array([[1.0, 3.0]]), W_k=one, act="relu")
    array([[[1., 3.],
            [2., 6.]]])
    """
    namespace(keys=keys, W_d=W_d, W_k=W_k, b=b)
    require_axes(2, "(..., k, d_k)", keys=keys)
    require_axes(2, "(d_w, d_v)", W_d=W_d)
    require_shape((W_d.shape[-2], keys.shape[-1]), "(d_w, d_k)", W_k=W_k)
    inside = keys @ W_k.mT  # (..., k, d_k) -> (..., k, d_w)
    if b is not None:
        inside = inside + b
    return (activation(act)(inside) @ W_d)[..., None, :, :]  # (..., k, d_v) -> (..., 1, k, d_v)


def attend_multi(
    queries: Array,
    keys: Array,
    values: Array,
    score: Callable[[Array, Array], Array],
    align: Align = softmax,
    mask: Array | None = None,
) -> tuple[Array, Array]:
    """Score, align and average with a weight for every entry.

    Returns the context `(..., q, d_v)` and the weights `(..., q, k, d_v)`.
    `score` returns `(..., q, k, d_v)`, such as `multi_scores` with its parameters bound; `mask`
    broadcasts to `(..., q, k)` and is the same for all entries of a value.
    """
    xp = namespace(queries=queries, keys=keys, values=values, mask=mask)
    require_values(keys, values)
    scores = score(queries, keys)
    if mask is None or all_finite(queries, keys, values):
        return attend_multi_by_scores(scores, values, align, mask)
    mask = _mask_for_entries(mask, scores, values)

    def per_entry(asked: Array, looked_at: Array) -> Array:
        return xp.moveaxis(score(asked[..., 0, :, :], looked_at[..., 0, :, :]), -1, -3)

    # Some numbers are broken: `attend` keeps them apart, with each entry as a head of its own.
    columns = values.mT[..., None]  # (..., k, d_v) -> (..., d_v, k, 1)
    context, weights = attend(
        queries[..., None, :, :], keys[..., None, :, :], columns, per_entry, align, mask
    )
    return context[..., 0].mT, xp.moveaxis(weights, -3, -1)


def attend_multi_by_scores(
    scores: Array, values: Array, align: Align = softmax, mask: Array | None = None
) -> tuple[Array, Array]:
    """Align and average by scores `(..., q, k, d_v)`, such as those of `multi_no_query`.

    Each entry is a head of its own, with values of width 1: that is how `attend_by_scores` does it.
    """
    xp = namespace(scores=scores, values=values, mask=mask)
    mask = _mask_for_entries(mask, scores, values)
    heads = xp.moveaxis(scores, -1, -3)  # (..., q, k, d_v) -> (..., d_v, q, k)
    columns = values.mT[..., None]  # (..., k, d_v) -> (..., d_v, k, 1)
    context, weights = attend_by_scores(heads, columns, align, mask)
    return context[..., 0].mT, xp.moveaxis(weights, -3, -1)


def _mask_for_entries(mask: Array | None, scores: Array, values: Array) -> Array | None:
    """Check scores `(..., q, k, d_v)`; return the mask for each entry, `(..., 1, q, k)`."""
    xp = namespace(scores=scores, values=values, mask=mask)
    require_axes(3, "(..., q, k, d_v)", scores=scores)
    if shape(scores)[-2:] != shape(values)[-2:]:
        raise ValueError(
            f"every entry of a value needs a score: scores are {shape(scores)}, values are "
            f"{shape(values)}; the last two axes, (k, d_v), must agree."
        )
    if mask is None:
        return None
    require_mask(mask, scores[..., 0])
    return xp.broadcast_to(mask, shape(scores)[:-1])[..., None, :, :]
