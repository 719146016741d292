"""Score, align, average: from queries, keys and values to a context, on arrays."""

from collections.abc import Callable
from math import nan
from typing import TypeAlias

from attn_course._arrays import (
    Array,
    as_floats,
    batch_shape,
    namespace,
    require_axes,
    require_values,
    shape,
)
from attn_course.alignment import entmax15, softmax, sparsemax
from attn_course.attention.mask_policy import (
    all_finite,
    any_nan,
    pair_mask,
    require_pairs,
    whole,
    with_broken_values,
    without_gradient,
)
from attn_course.scoring import scaled_dot

Score: TypeAlias = Callable[[Array, Array], Array]
Align: TypeAlias = Callable[..., Array]

# The alignments that need scores and a mask alone, by name.
ALIGNS: dict[str, Align] = {"softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15}


def find_align(align: Align | str) -> Align:
    """Return the alignment of this name; a function is returned as it is.

    >>> find_align("sparsemax").__name__
    'sparsemax'
    """
    if callable(align):
        return align
    if align not in ALIGNS:
        raise ValueError(
            f"align must be one of {', '.join(ALIGNS)}, or a function of scores and a mask, but is "
            f"{align!r}. Bind what else an alignment needs with functools.partial."
        )
    return ALIGNS[align]


def attend(
    queries: Array,
    keys: Array,
    values: Array,
    score: Score = scaled_dot,
    align: Align | str = softmax,
    mask: Array | None = None,
    *,
    key_mask: Array | None = None,
    causal: bool = False,
) -> tuple[Array, Array]:
    r"""$e = \mathrm{score}(q, K)$, $a = \mathrm{align}(e)$, $c = \sum_l a_l v_l$: survey (2)–(4).

    Returns the context `(..., q, d_v)` and the weights `(..., q, k)`. `score` is a function of
    queries and keys; `align` is a function of scores and a mask, or a name of `ALIGNS`.

    A query may attend where all masks that are given are True: `mask` broadcasts to
    `(..., q, k)`, `key_mask` is `(..., k)` and says which keys are real, `causal` lets a query see
    the keys up to its own (the last query is at the last key). What is masked has no effect, on
    contexts and gradients, even if it is NaN or inf: see `attention.mask_policy`.

    >>> import numpy as np
    >>> keys = np.eye(2)
    >>> context, weights = attend(np.zeros((1, 2)), keys, np.array([[1.0], [3.0]]))
    >>> weights
    array([[0.5, 0.5]])
    >>> context
    array([[2.]])
    >>> attend(np.zeros((1, 2)), keys, keys, key_mask=np.array([True, False]))[1]
    array([[1., 0.]])
    """
    namespace(queries=queries, keys=keys, values=values, mask=mask, key_mask=key_mask)
    require_axes(2, "(..., k, d_k)", keys=keys)
    require_axes(2, "(..., k, d_v)", values=values)
    require_values(keys, values)
    align = find_align(align)
    scores = score(queries, keys)  # (..., q, k)
    mask = pair_mask(mask, key_mask, causal, queries, keys)
    if mask is None:
        return _aligned(scores, values, align)
    require_pairs(mask, scores)
    if all_finite(queries, keys, values):
        return _aligned(scores, values, align, mask)
    return _attend_apart(queries, keys, values, scores, score, align, mask)  # costs twice as much


def attend_by_scores(
    scores: Array, values: Array, align: Align | str = softmax, mask: Array | None = None
) -> tuple[Array, Array]:
    r"""$a = \mathrm{align}(e)$, $c = \sum_l a_l v_l$: survey (3)–(4), from scores `(..., q, k)`.

    This is attention without a query: the scores come from the keys alone, one row `(..., 1, k)`,
    as `scoring.no_query` returns it, or from anything else that is not a pair of query and key.
    Whoever computes scores from features that are masked and may be broken cleans them first, with
    `mask_policy.without_unseen`: a broken score has a broken gradient.

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
    align = find_align(align)
    if mask is None:
        return _aligned(scores, values, align)
    require_pairs(mask, scores)
    if all_finite(values):
        return _aligned(scores, values, align, mask)
    context, weights = _aligned(scores, whole(values), align, mask)
    return with_broken_values(context, values, mask), weights


def _aligned(
    scores: Array, values: Array, align: Align, mask: Array | None = None
) -> tuple[Array, Array]:
    weights = align(scores) if mask is None else align(scores, mask=mask)
    return _average(weights, values), weights


def _average(weights: Array, values: Array) -> Array:
    xp = namespace(weights=weights, values=values)
    batch_shape(weights=weights, values=values)
    weights, values = as_floats(xp, weights, values)
    return weights @ values


def _attend_apart(
    queries: Array,
    keys: Array,
    values: Array,
    scores: Array,
    score: Score,
    align: Align,
    mask: Array,
) -> tuple[Array, Array]:
    """Return what `attend` does where some inputs are broken: their effect ends at the mask."""
    xp = namespace(scores=scores)
    true_scores = without_gradient(scores)
    true_weights = align(true_scores, mask=mask)
    lost = any_nan(true_weights)  # these queries see a broken score
    # No product that is differentiated has a broken factor.
    differentiable = score(whole(queries), whole(keys))
    scores = xp.where(xp.isfinite(true_scores), differentiable, true_scores)
    weights = align(xp.where(lost, xp.zeros_like(scores), scores), mask=mask)
    context = with_broken_values(_average(weights, whole(values)), values, mask)
    context = xp.where(lost, xp.full_like(context, nan), context)
    return context, xp.where(lost, true_weights, weights)


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
