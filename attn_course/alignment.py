r"""Alignment: from scores to weights.  (chapter 3)

An alignment turns scores `(..., q, k)` into weights `(..., q, k)`, one row a query. Masks are
boolean, True where a query may attend, and broadcast to the scores. A row that may attend
nowhere gets weights 0 (and so context 0 and gradient 0), never NaN.

Every alignment takes scores and a mask, so it can be handed to `attend` once the rest is bound:
`attend(…, align=partial(local_monotonic, steps=steps, half_width=2))`.

- all keys: `softmax`, and `sparsemax`, `entmax15`, which can give exact zeros
- one key: `hard`, trained by `score_function_gradient`
- a window: `local_monotonic`, `local_predictive` with `predict_positions`
- a learned subset: `reinforced` with `selection_probabilities`
- masks: `padding_mask`, `causal_mask`, `window_mask`

Read next: `attention`, which scores, aligns and averages.
"""

from math import inf
from typing import Any

import array_api_compat
import numpy as np

from attn_course._arrays import (
    Array,
    as_floats,
    at_least,
    broadcasts,
    floating_dtype,
    namespace,
    require_axes,
    require_keys,
    require_mask,
    require_shape,
    shape,
    softmax_along,
)
from attn_course.activations import Activation, activation, sigmoid

# --- all keys ---------------------------------------------------------------------------------


def softmax(
    scores: Array,
    mask: Array | None = None,
    temperature: float | Array = 1.0,
    axis: int = -1,
) -> Array:
    r"""$a_l = \exp(e_l) / \sum_j \exp(e_j)$, survey (25): soft alignment.

    `temperature` divides the scores first: towards 0 the weights become
    one-hot, towards infinity uniform. With a `mask` the sum runs over the
    keys the query may attend to.

    >>> import numpy as np
    >>> softmax(np.array([[1.0, 1.0, 1.0, 1.0]]))
    array([[0.25, 0.25, 0.25, 0.25]])
    >>> mask = np.array([[True, False], [False, False]])
    >>> softmax(np.ones((2, 2)), mask)
    array([[1., 0.],
           [0., 0.]])
    """
    xp, scores = _floating(scores, mask, axis)
    if not temperature > 0:
        raise ValueError(
            f"temperature must be above 0, but is {temperature}. "
            "For one-hot weights take the largest score instead."
        )
    if not isinstance(temperature, float) or temperature != 1.0:
        scores = scores / temperature  # a trained 1.0 keeps its gradient
    if mask is None:
        return softmax_along(xp, scores, axis)
    hidden, row_lives = _hide(xp, scores, mask, axis)
    weights = softmax_along(xp, hidden, axis)
    # exp(-inf) is 0: only rows masked out whole have weights to lose.
    return weights * xp.astype(row_lives, weights.dtype)


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
    threshold = _at_last(xp, theta, rank, kept=descending > theta)
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
    threshold = _at_last(xp, theta, rank, kept=descending >= theta)
    weights = _excess(xp, e, threshold) ** 2
    return _like_scores(xp, weights, scores, mask)


def _sortable(scores: Array, mask: Array | None) -> tuple[Any, Array, Array]:
    """Return scores with a maximum of 0, low ones raised to -100, and the ranks 1, 2, …, k.

    Both sparse maps give 0 from 2 below the best on, so -100 stands for every lower score: for
    -inf, which is no number to add up, and for masked ones. Sums over many keys need single
    precision at least. A row with NaN in it becomes NaN whole.
    """
    xp, scores = _floating(scores, mask, axis=-1)
    e = at_least(xp, xp.float32, scores)
    if mask is not None:
        e, _row_lives = _hide(xp, e, mask, axis=-1)
    e = e - xp.max(e, axis=-1, keepdims=True)
    low = e < -100 if mask is None else (e < -100) | ~mask
    e = xp.where(low, xp.full_like(e, -100.0), e)
    device = array_api_compat.device(e)
    return xp, e, xp.arange(1, e.shape[-1] + 1, dtype=e.dtype, device=device)


def _at_last(xp: Any, theta: Array, rank: Array, kept: Array) -> Array:
    """Return `theta` at the last of the ranks that are kept, `(..., 1)`."""
    size = xp.sum(xp.astype(kept, theta.dtype), axis=-1, keepdims=True)
    return xp.sum(xp.where(rank == size, theta, xp.zeros_like(theta)), axis=-1, keepdims=True)


def _excess(xp: Any, e: Array, threshold: Array) -> Array:
    """Return max(0, e - threshold), with slope 0 at the threshold itself; NaN stays NaN."""
    return xp.where(e <= threshold, xp.zeros_like(e), e - threshold)


def _like_scores(xp: Any, weights: Array, scores: Array, mask: Array | None) -> Array:
    """Return the weights in the dtype of the scores, 0 where they are masked."""
    weights = xp.astype(weights, floating_dtype(xp, scores), copy=False)
    return weights if mask is None else xp.where(mask, weights, xp.zeros_like(weights))


# --- one key ----------------------------------------------------------------------------------


def hard(scores: Array, rng: Any, mask: Array | None = None) -> Array:
    r"""$m \sim \mathrm{Categorical}(\mathrm{softmax}(e))$: survey (26).

    The weights are one-hot on $m$. `rng` is a `numpy.random.Generator`
    for NumPy scores, a `torch.Generator` for PyTorch's. The draw is a
    jump, so no gradient flows through it: train with
    `score_function_gradient`.

    >>> import numpy as np
    >>> hard(np.array([[0.0, 50.0, 0.0]]), np.random.default_rng(0))
    array([[0., 1., 0.]])
    """
    xp = namespace(scores=scores, mask=mask)
    weights = softmax(scores, mask)
    uniform = _uniform(rng, weights)  # (..., q, 1)
    exact = xp.astype(weights, xp.float64)
    cumulative = xp.cumulative_sum(exact, axis=-1)
    reached = cumulative > uniform * cumulative[..., -1:]
    # The first key where the running sum passes the draw; the sum stands
    # still over keys of weight 0, so a masked key is never the first.
    passed = xp.cumulative_sum(xp.astype(reached, xp.int64), axis=-1)
    drawn = xp.astype(passed == 1, weights.dtype)
    # NaN must not look like a row that is masked out whole.
    return xp.where(xp.isnan(weights), xp.full_like(drawn, xp.nan), drawn)


def _uniform(rng: Any, weights: Array) -> Array:
    """Return one draw from [0, 1) for each row, from the generator that fits the weights."""
    size = (*shape(weights)[:-1], 1)
    if array_api_compat.is_numpy_array(weights) and isinstance(rng, np.random.Generator):
        return rng.random(size)
    if array_api_compat.is_torch_array(weights):
        import torch

        if isinstance(rng, torch.Generator):
            return torch.rand(size, generator=rng, dtype=torch.float64, device=weights.device)
    wanted = (
        "torch.Generator" if array_api_compat.is_torch_array(weights) else "np.random.Generator"
    )
    raise ValueError(
        f"rng must be a {wanted}, as the scores are of type {type(weights).__name__}, "
        f"but is a {type(rng).__name__}."
    )


def expected_reward_gradient(scores: Array, rewards: Array, mask: Array | None = None) -> Array:
    r"""$\partial J / \partial e_j = a_j (R_j - J)$ with $J = \sum_m a_m R_m$: the exact gradient.

    Scores and rewards `(..., k)`: what each choice would earn must be known, so this is for small
    cases and tests.
    """
    xp = namespace(scores=scores, rewards=rewards, mask=mask)
    weights = softmax(scores, mask)
    expected = xp.sum(weights * rewards, axis=-1, keepdims=True)
    return weights * (rewards - expected)


def score_function_gradient(
    scores: Array,
    choices: Array,
    rewards: Array,
    baseline: float | Array = 0.0,
    mask: Array | None = None,
) -> Array:
    r"""$\frac1N \sum_n (R_n - b)(\delta_{m_n j} - a_j)$: REINFORCE.

    Scores `(..., k)`; `choices` `(n, ..., k)` are one-hot draws from
    `hard`, `rewards` `(n, ...)` what they earned. Any baseline $b$ leaves
    the mean as it is and changes the variance (Williams, 1992).
    """
    xp = namespace(
        scores=scores,
        choices=choices,
        rewards=rewards,
        mask=mask,
    )
    weights = softmax(scores, mask)
    advantage = (rewards - baseline)[..., None]
    return xp.mean(advantage * (choices - weights), axis=0)


def optimal_baseline(scores: Array, rewards: Array, mask: Array | None = None) -> Array:
    r"""$b^\star = E[R\,\lVert\nabla\log a\rVert^2] / E[\lVert\nabla\log a\rVert^2]$.

    The baseline of least variance: scores and rewards `(..., k)` give `(...)`. It is not the
    mean reward in general.
    """
    xp = namespace(scores=scores, rewards=rewards, mask=mask)
    weights = softmax(scores, mask)
    # |delta_m - a|^2 = 1 - 2 a_m + |a|^2, the squared length of the gradient for choice m
    length = 1 - 2 * weights + xp.sum(weights**2, axis=-1, keepdims=True)
    return xp.sum(weights * length * rewards, axis=-1) / xp.sum(weights * length, axis=-1)


# --- a window ---------------------------------------------------------------------------------


def local_monotonic(
    scores: Array,
    steps: Array,
    half_width: float,
    mask: Array | None = None,
) -> Array:
    r"""Softmax over the window $\lvert l - p\rvert \le D$ around $p = t$.

    Local-m, survey (27). `steps` `(..., q)` are the output steps, counted
    from 1 as the keys are. The window is clipped to the keys there are;
    padding is clipped by the `mask`.

    >>> import numpy as np
    >>> scores, steps = np.zeros((1, 5)), np.array([2.0])
    >>> local_monotonic(scores, steps, half_width=1)[0].round(3)
    array([0.333, 0.333, 0.333, 0.   , 0.   ])
    """
    xp = namespace(scores=scores, steps=steps, mask=mask)
    offsets = _offsets(xp, scores, steps, half_width)
    return softmax(scores, _both(abs(offsets) <= half_width, mask, scores))


def local_predictive(
    scores: Array,
    positions: Array,
    half_width: float,
    mask: Array | None = None,
    renormalise: bool = False,
) -> Array:
    r"""$\mathrm{softmax}_{\mathcal W(p)}(e)_l \exp(-(l-p)^2 / 2\sigma^2)$.

    Local-p, survey (27)–(29), over the window $\lvert l - p\rvert \le D$,
    with $\sigma = D/2$.

    `positions` `(..., q)` are real numbers in $(0, S)$, from
    `predict_positions`; keys are counted from 1. The Gaussian multiplies
    and is not renormalised, so a row adds up to less than 1. It is what
    lets a gradient reach the position. `renormalise` makes each row add
    up to 1 again.
    """
    xp = namespace(scores=scores, positions=positions, mask=mask)
    if half_width == 0:
        raise ValueError("half_width must be above 0, as sigma = D/2 is.")
    offsets = _offsets(xp, scores, positions, half_width)
    window = _both(abs(offsets) <= half_width, mask, scores)
    fade = -(offsets**2) / (2 * (half_width / 2) ** 2)
    if renormalise:
        weights = softmax(scores + fade, window)
    else:
        weights = softmax(scores, window) * xp.exp(fade)
    return xp.astype(weights, floating_dtype(xp, scores))


def predict_positions(
    queries: Array,
    w_p: Array,
    W_p: Array,
    lengths: Array,
) -> Array:
    r"""$p = S \cdot \mathrm{sigmoid}(w_p^\top \tanh(W_p q))$: survey (28).

    Queries `(..., q, d_q)`, `W_p` `(d_p, d_q)` a matrix, `w_p` `(d_p,)` a
    vector; `lengths` `(...)` is the true source length $S$ of each
    example. Returns positions `(..., q)` in $(0, S)$.
    """
    xp = namespace(queries=queries, w_p=w_p, W_p=W_p, lengths=lengths)
    require_axes(2, "(..., q, d_q)", queries=queries)
    d_p, d_q = w_p.shape[-1], queries.shape[-1]
    require_shape((d_p, d_q), "(d_p, d_q)", W_p=W_p)
    queries, w_p, W_p = as_floats(xp, queries, w_p, W_p)
    fraction = sigmoid(xp.tanh(queries @ W_p.mT) @ w_p)  # (..., q)
    return xp.astype(lengths, fraction.dtype)[..., None] * fraction


def _offsets(xp: Any, scores: Array, centres: Array, half_width: float) -> Array:
    """Return $l - p$ for every query and key, `(..., q, k)`, keys counted from 1.

    In single precision at least: half precision has no place 257.
    """
    require_axes(2, "(..., q, k)", scores=scores)
    if half_width < 0:
        raise ValueError(f"half_width must not be negative, but is {half_width}.")
    if not broadcasts(shape(centres), shape(scores)[:-1]):
        raise ValueError(
            f"each query needs its place: scores are {shape(scores)}, places are {shape(centres)}. "
            f"Give (..., q) places with q = {scores.shape[-2]}."
        )
    dtype = xp.result_type(floating_dtype(xp, scores), xp.float32)
    device = array_api_compat.device(scores)
    place = xp.arange(1, scores.shape[-1] + 1, dtype=dtype, device=device)
    return place - xp.astype(centres, dtype)[..., None]


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
    return softmax(scores, _both(selection, mask, scores))


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
    return _uniform(rng, probabilities[..., None])[..., 0] < probabilities


def selection_log_probability(probabilities: Array, selection: Array) -> Array:
    r"""$\log p(z) = \sum_l z_l \log \pi_l + (1 - z_l) \log(1 - \pi_l)$, `(..., k)` to `(...)`.

    Positions of probability exactly 0 or 1, such as padding, were never in question and add 0.
    """
    xp = namespace(probabilities=probabilities, selection=selection)
    chance = xp.where(selection, probabilities, 1 - probabilities)
    open_question = (probabilities > 0) & (probabilities < 1)
    return xp.sum(xp.log(xp.where(open_question, chance, xp.ones_like(chance))), axis=-1)


# --- masks ------------------------------------------------------------------------------------


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


# --- shared -----------------------------------------------------------------------------------


def _floating(scores: Array, mask: Array | None, axis: int) -> tuple[Any, Array]:
    """Return the array library, and the scores as floating numbers."""
    xp = namespace(scores=scores, mask=mask)
    require_axes(1, "(..., q, k)", scores=scores)
    require_keys(scores, axis)
    (scores,) = as_floats(xp, scores)
    return xp, scores


def _hide(
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


def _both(window: Array, mask: Array | None, scores: Array) -> Array:
    """Return where the window and the mask for these scores are both True."""
    if mask is None:
        return window
    require_mask(mask, scores)
    return window & mask


def _like(mask: np.ndarray, like: Array | None) -> Array:
    if like is None:
        return mask
    return namespace(like=like).asarray(mask, device=array_api_compat.device(like))
