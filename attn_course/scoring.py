r"""Scoring functions: how well does a query match a key?  (chapter 2)

Every function turns queries `(..., q, d_q)` and keys `(..., k, d_k)` into scores
`(..., q, k)`: entry $(i, l)$ is $\mathrm{score}(q_i, k_l)$ of the survey's Table 2.
They take arrays of any library that follows the array API: NumPy to read, PyTorch to train.
Matrices are as in the survey: `W` of the general family is `(d_k, d_q)`, `W_q` and `W_k` of the
additive score are `(d_w, d_q)` and `(d_w, d_k)`.

To hand a score with parameters to `attend`, bind them: `partial(general, W=W)`.

Read next: `alignment`, which turns scores into weights.
"""

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

from attn_course._arrays import (
    AnyArray,
    Array,
    as_floats,
    batch_shape,
    is_tensor,
    namespace,
    require_axes,
    require_choice,
    require_same_width,
    require_shape,
)
from attn_course.activations import Activation, activation

SIMILARITIES = ("cosine", "euclidean", "squared_euclidean")

# Scores that compare every query with every key feature by feature need (q, k, d) numbers in
# between. They are made for a few queries at a time, so that no array of them is larger than
# this, or than one query needs.
BLOCK_BYTES = 32 * 2**20


def additive(
    queries: Array,
    keys: Array,
    w: Array,
    W_q: Array,
    W_k: Array,
    b: Array | None = None,
    act: Activation = "tanh",
) -> Array:
    r"""$e = w^\top \mathrm{act}(W_q q + W_k k + b)$.

    Bahdanau et al. (2015). Also called concat:
    $W_q q + W_k k = [W_q\ W_k]\,[q; k]$. Widths of queries and keys may
    differ. The activation is essential: without it the query would drop
    out of a softmax.

    >>> import numpy as np
    >>> one, keys = np.ones((1, 1)), np.array([[0.0], [1.0]])
    >>> additive(one, keys, np.ones(1), one, one, act="relu")
    array([[1., 2.]])
    """
    xp = namespace(queries=queries, keys=keys, w=w, W_q=W_q, W_k=W_k, b=b)
    _require_pairs(queries, keys)
    d_w = _hidden_width(w, b)
    require_shape((d_w, queries.shape[-1]), "(d_w, d_q)", W_q=W_q)
    require_shape((d_w, keys.shape[-1]), "(d_w, d_k)", W_k=W_k)
    given = queries, keys, w, W_q, W_k, b
    queries, keys, w, W_q, W_k, b = as_floats(xp, *given)
    from_queries = queries @ W_q.mT  # (..., q, d_q) -> (..., q, d_w)
    from_keys = keys @ W_k.mT  # (..., k, d_k) -> (..., k, d_w)
    if b is not None:
        from_keys = from_keys + b
    function = activation(act)
    return _pairwise(
        xp,
        from_queries,
        from_keys,
        compare=lambda q, k: function(q + k) @ w,
    )


def dot(queries: Array, keys: Array) -> Array:
    r"""$e = q^\top k$ (Luong et al., 2015).

    >>> import numpy as np
    >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.,  2.]])
    """
    queries, keys = _comparable(queries, keys, "dot")
    return queries @ keys.mT  # (..., q, d) @ (..., d, k) -> (..., q, k)


def scaled_dot(queries: Array, keys: Array) -> Array:
    r"""$e = q^\top k / \sqrt{d_k}$ (Vaswani et al., 2017).

    The scale keeps the variance of a score at 1 whatever the width of a
    key, so that softmax does not saturate. Queries and keys must have
    the same width.

    >>> import numpy as np
    >>> scaled_dot(np.ones((1, 4)), np.ones((2, 4)))
    array([[2., 2.]])
    """
    queries, keys = _comparable(queries, keys, "scaled_dot")
    # Scaling the queries costs q * d_k divisions; the scores, q * k.
    return (queries / sqrt(keys.shape[-1])) @ keys.mT


def general(queries: Array, keys: Array, W: Array) -> Array:
    r"""$e = k^\top W q$ with `W` `(d_k, d_q)` (Luong et al., 2015).

    >>> import numpy as np
    >>> query, key = np.array([[1.0, 2.0]]), np.array([[1.0]])
    >>> general(query, key, W=np.array([[3.0, 4.0]]))
    array([[11.]])
    """
    mapped, keys = _mapped(queries, keys, W)
    return mapped @ keys.mT


def biased_general(
    queries: Array,
    keys: Array,
    W: Array,
    b: Array,
) -> Array:
    r"""$e = k^\top (W q + b)$, `b` a **vector** (Sordoni et al., 2016).

    The bias `(d_k,)` adds $k^\top b$, which differs from key to key and
    so survives a softmax.

    >>> import numpy as np
    >>> one, keys = np.ones((1, 1)), np.array([[1.0], [2.0]])
    >>> biased_general(one, keys, W=one, b=np.ones(1))
    array([[2., 4.]])
    """
    namespace(queries=queries, keys=keys, W=W, b=b)
    mapped, keys = _mapped(queries, keys, W)
    require_shape((keys.shape[-1],), "(d_k,)", b=b)
    return dot(mapped + b, keys)


def activated_general(
    queries: Array,
    keys: Array,
    W: Array,
    b: Array | float = 0.0,
    act: Activation = "tanh",
) -> Array:
    r"""$e = \mathrm{act}(k^\top W q + b)$, `b` a **number**.

    Ma et al. (2017). With tanh every score lies in $(-1, 1)$, so no
    weight can exceed another by more than $e^2 \approx 7.4$ times.
    Outside the activation the bias would cancel in a softmax.

    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> activated_general(one, one, W=one, b=-3.0, act="relu")
    array([[0.]])
    """
    bias_shape = tuple(getattr(b, "shape", ()))
    if prod(bias_shape) != 1:
        raise ValueError(
            "activated_general has one bias for all keys, a number, "
            f"but b is {bias_shape}. A vector belongs to `biased_general`."
        )
    mapped, keys = _mapped(queries, keys, W)
    return activation(act)(mapped @ keys.mT + b)


def similarity(
    queries: Array,
    keys: Array,
    kind: str = "cosine",
    scale: float = 1.0,
) -> Array:
    r"""Cosine, or minus a distance, so that closer means higher.

    Graves et al. (2014).

    - `"cosine"`: $\beta \cos(q, k)$; with a zero vector it is 0.
    - `"euclidean"`: $-\beta \lVert q - k \rVert$.
    - `"squared_euclidean"`: $-\tfrac{\beta}{2} \lVert q - k \rVert^2$, the
      Gaussian kernel's.

    `scale` is $\beta$: a plain cosine lies in $[-1, 1]$ and leaves a
    softmax nearly flat.

    >>> import numpy as np
    >>> keys = np.array([[3.0, 0.0], [0.0, 2.0]])
    >>> similarity(np.array([[1.0, 0.0]]), keys)
    array([[1., 0.]])
    >>> similarity(np.array([[0.0, 0.0]]), keys, kind="euclidean")
    array([[-3., -2.]])
    """
    xp = namespace(queries=queries, keys=keys)
    queries, keys = _comparable(queries, keys, "similarity")
    require_choice("kind", kind, SIMILARITIES)
    if kind == "cosine":
        return (scale * _unit(xp, queries)) @ _unit(xp, keys).mT
    if kind == "squared_euclidean":
        return -0.5 * scale * _squared_distances(xp, queries, keys)
    # In units of the largest entry: the squares of 1e25, or 1e-25, are no single precision numbers.
    unit = xp.maximum(_largest_finite(xp, queries), _largest_finite(xp, keys))
    unit = xp.where(unit > 0, unit, xp.ones_like(unit))
    return -scale * unit * _distances(xp, queries / unit, keys / unit)


def no_query(
    keys: Array, w: Array, W: Array, b: Array | None = None, act: Activation = "tanh"
) -> Array:
    r"""$\mathrm{score}(k) = w^\top \mathrm{act}(W k + b)$, survey (33): the query left out.

    Keys `(..., k, d_k)` give scores `(..., 1, k)`: one row, as if there were one query. `W` is
    `(d_w, d_k)`. It is the additive score for a query that is always the same.

    >>> import numpy as np
    >>> no_query(np.array([[1.0], [2.0]]), w=np.ones(1), W=np.ones((1, 1)), act="relu")
    array([[1., 2.]])
    """
    xp = namespace(keys=keys, w=w, W=W, b=b)
    require_axes(2, "(..., k, d_k)", keys=keys)
    require_shape((_hidden_width(w, b), keys.shape[-1]), "(d_w, d_k)", W=W)
    keys, W, w, b = as_floats(xp, keys, W, w, b)
    hidden = keys @ W.mT  # (..., k, d_k) -> (..., k, d_w)
    if b is not None:
        hidden = hidden + b
    return (activation(act)(hidden) @ w)[..., None, :]  # (..., k) -> (..., 1, k)


def _mapped(queries: Array, keys: Array, W: Array) -> tuple[Array, Array]:
    """Return W q for every query, `(..., q, d_k)`, and the keys in the same dtype."""
    xp = namespace(queries=queries, keys=keys, W=W)
    _require_pairs(queries, keys)
    require_shape((keys.shape[-1], queries.shape[-1]), "(d_k, d_q)", W=W)
    queries, keys, W = as_floats(xp, queries, keys, W)
    return queries @ W.mT, keys


def _comparable(queries: Array, keys: Array, formula: str) -> tuple[Array, Array]:
    """Return queries and keys ready for a product, entry by entry."""
    xp = namespace(queries=queries, keys=keys)
    _require_pairs(queries, keys)
    require_same_width(queries, keys, formula)
    queries, keys = as_floats(xp, queries, keys)
    return queries, keys


def _require_pairs(queries: Array, keys: Array) -> None:
    require_axes(2, "(..., q, d_q)", queries=queries)
    require_axes(2, "(..., k, d_k)", keys=keys)
    batch_shape(queries=queries, keys=keys)


def _hidden_width(w: Array, b: Array | None) -> int:
    """Return d_w; raise unless the bias has it too."""
    require_axes(1, "(d_w,)", w=w)
    d_w: int = w.shape[-1]
    if b is not None:
        require_shape((d_w,), "(d_w,)", b=b)
    return d_w


def _unit(xp: Any, vectors: Array) -> Array:
    """Return the vectors with length 1; zero vectors stay zero.

    They are divided by their largest entry first: squares of large or small entries may be more,
    or less, than the dtype can hold.
    """
    largest = xp.max(abs(vectors), axis=-1, keepdims=True)
    vectors = vectors / xp.where(largest > 0, largest, xp.ones_like(largest))
    squares = xp.sum(vectors**2, axis=-1, keepdims=True)
    return vectors / xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))


def _largest_finite(xp: Any, vectors: AnyArray) -> AnyArray:
    """Return the largest size of a finite entry, `(..., 1, 1)`, as a constant of no gradient."""
    if is_tensor(vectors):
        vectors = vectors.detach()
    finite = xp.where(xp.isfinite(vectors), abs(vectors), xp.zeros_like(vectors))
    if 0 in finite.shape[-2:]:
        return xp.zeros((*finite.shape[:-2], 1, 1), dtype=finite.dtype, device=finite.device)
    return xp.max(finite, axis=(-2, -1), keepdims=True)


def _distances(xp: Any, queries: AnyArray, keys: AnyArray) -> AnyArray:
    """Return |q - k| of every query and key, with gradient 0 where they are equal."""
    if is_tensor(queries):
        import torch

        wide = torch.promote_types(queries.dtype, torch.float32)
        by_differences = "donot_use_mm_for_euclid_dist"
        found = torch.cdist(queries.to(wide), keys.to(wide), compute_mode=by_differences)
        return found.to(queries.dtype)
    squares = _squared_distances(xp, queries, keys)
    return xp.sqrt(squares)


def _squared_distances(xp: Any, queries: Array, keys: Array) -> Array:
    # By differences, not by |q|^2 - 2qk + |k|^2, which loses all digits for close points.
    return _pairwise(xp, queries, keys, lambda q, k: xp.sum((q - k) ** 2, axis=-1))


def _pairwise(
    xp: Any, queries: Array, keys: Array, compare: Callable[[Array, Array], Array]
) -> Array:
    """Return `compare` of every query with every key, a block of queries at a time.

    `compare` takes `(..., q, 1, d)` and `(..., 1, k, d)` and returns `(..., q, k)`.
    """
    q, k, d = queries.shape[-2], keys.shape[-2], keys.shape[-1]
    batch = prod(batch_shape(queries=queries, keys=keys))
    bytes_a_query = 8 * batch * k * d
    block = max(1, BLOCK_BYTES // max(1, bytes_a_query))
    parts = [
        compare(queries[..., start : min(start + block, q), None, :], keys[..., None, :, :])
        for start in range(0, max(q, 1), block)
    ]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-2)
