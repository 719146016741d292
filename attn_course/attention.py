r"""The general attention model: score, align, average.  (chapter 0)

Equations (1)–(5) of the survey, in rows: queries `(..., q, d_q)`, keys `(..., k, d_k)`,
values `(..., k, d_v)`, scores and weights `(..., q, k)`, contexts `(..., q, d_v)`.

- `attend` is equations (2)–(4), for arrays of any library. Everything else calls it.
- `mean_feature` is what attention with equal weights gives: the query of several mechanisms.
- `AttentionModel` adds equation (1), the keys and values made from features.
- `TaskModel` puts the four models together: features, query, attention, output.
- `SoftmaxOutput` is equation (5).
"""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import torch
from torch import Tensor, nn

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
    scores = score(queries, keys)  # (..., q, k)
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
    if torch.compiler.is_compiling():
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


def mean_feature(features: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""$\frac1n \sum_l f_l$ over the features `(..., n, d)` that are there: `(..., d)`.

    `mask` `(..., n)` is True where there is a feature; $n$ is their true number. Where there is
    none the mean is 0.
    """
    if mask is None:
        return features.mean(dim=-2)
    length = mask.sum(dim=-1)[..., None, None].clamp(min=1).to(features.dtype)
    # Divided before the sum, which might overflow in half precision.
    return (features.where(mask[..., None], 0) / length).sum(dim=-2)


class AttentionModel(nn.Module):
    r"""$K = W_K F$, $V = W_V F$ (survey (1)), then `attend`.

    Features `(..., n, d_f)` and queries `(..., q, d_q)` give contexts `(..., q, d_v)` and weights
    `(..., q, n)`. A width of None leaves that map out: the features themselves are the keys, or
    the values. `score` may be an `nn.Module` with parameters of its own.
    """

    def __init__(
        self,
        d_f: int,
        d_k: int | None = None,
        d_v: int | None = None,
        score: Score = scaled_dot,
        align: Align = softmax,
    ) -> None:
        super().__init__()
        self.key_map = nn.Identity() if d_k is None else nn.Linear(d_f, d_k, bias=False)
        self.value_map = nn.Identity() if d_v is None else nn.Linear(d_f, d_v, bias=False)
        self.d_v = d_f if d_v is None else d_v
        self.score = score
        self.align = align

    def forward(
        self, features: Tensor, queries: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts and weights."""
        keys = self.key_map(features)  # (..., n, d_f) -> (..., n, d_k)
        values = self.value_map(features)  # (..., n, d_f) -> (..., n, d_v)
        return attend(queries, keys, values, self.score, self.align, mask)


class SoftmaxOutput(nn.Module):
    r"""$\hat y = \mathrm{softmax}(W_c c + b_c)$, survey (5): contexts `(..., d_v)` to classes.

    Train on `logits` with a cross-entropy that takes logits: it is the same model, and stable.
    """

    def __init__(self, d_v: int, d_y: int) -> None:
        super().__init__()
        self.logits = nn.Linear(d_v, d_y)

    def forward(self, contexts: Tensor) -> Tensor:
        """Return the probability of each class."""
        return torch.softmax(self.logits(contexts), dim=-1)


class TaskModel(nn.Module):
    """The four models of the survey: features and query, then attention, then output.

    - `feature_model` turns inputs into features `(..., n, d_f)`.
    - `query_model` turns its own inputs into queries `(..., q, d_q)`; where it is asked without
      inputs (a learned query, a query made from the features) it receives the features.
    - `attention` takes features, queries and a mask; returns contexts and weights.
    - `output_model` turns contexts `(..., q, d_v)` into predictions.

    Returns predictions and weights: the weights are part of the answer in this course.
    """

    def __init__(
        self,
        feature_model: nn.Module,
        query_model: nn.Module,
        attention: nn.Module,
        output_model: nn.Module,
    ) -> None:
        super().__init__()
        self.feature_model = feature_model
        self.query_model = query_model
        self.attention = attention
        self.output_model = output_model

    def contexts(
        self, inputs: Tensor, query_inputs: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts and weights, before the output model."""
        features = self.feature_model(inputs)
        queries = self.query_model(features if query_inputs is None else query_inputs)
        contexts, weights = self.attention(features, queries, mask)
        return contexts, weights

    def forward(
        self, inputs: Tensor, query_inputs: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return predictions and weights."""
        contexts, weights = self.contexts(inputs, query_inputs, mask)
        return self.output_model(contexts), weights
