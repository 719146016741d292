"""One key: drawn by its weight, and trained by what the draw earned."""

from typing import Any

import array_api_compat
import numpy as np

from attn_course._arrays import AnyArray, Array, at_least, is_tensor, namespace, shape
from attn_course.alignment.soft import softmax


def hard(scores: Array, rng: Any, mask: Array | None = None) -> Array:
    r"""$m \sim \mathrm{Categorical}(\mathrm{softmax}(e))$: survey (26).

    The weights are one-hot on $m$. `rng` is a `torch.Generator` for
    PyTorch's scores, a `numpy.random.Generator` for all others. The draw
    is a jump, so no gradient flows through it: train with
    `score_function_gradient`.

    >>> import numpy as np
    >>> hard(np.array([[0.0, 50.0, 0.0]]), np.random.default_rng(0))
    array([[0., 1., 0.]])
    """
    xp = namespace(scores=scores, mask=mask)
    weights = softmax(scores, mask)
    uniform = uniform_draws(rng, weights)  # (..., q, 1)
    exact = at_least(xp, uniform.dtype, weights)
    cumulative = xp.cumulative_sum(exact, axis=-1)
    reached = cumulative > uniform * cumulative[..., -1:]
    # The first key where the running sum passes the draw; the sum does
    # not grow over keys of weight 0, so a masked key is never the first.
    passed = xp.cumulative_sum(xp.astype(reached, xp.int32), axis=-1)
    drawn = xp.astype(passed == 1, weights.dtype)
    # NaN must not look like a row that is masked out whole.
    return xp.where(xp.isnan(weights), xp.full_like(drawn, xp.nan), drawn)


def uniform_draws(rng: Any, weights: AnyArray) -> AnyArray:
    """Return one draw from [0, 1) for each row, from the generator that fits the weights."""
    size = (*shape(weights)[:-1], 1)
    if is_tensor(weights):
        import torch

        if isinstance(rng, torch.Generator):
            return torch.rand(size, generator=rng, dtype=torch.float64, device=weights.device)
    elif isinstance(rng, np.random.Generator):
        xp = namespace(weights=weights)
        # JAX has no double precision unless asked for, and 0.99999999 would become 1 there.
        single = "float32" in str(xp.asarray(0.0).dtype)
        draws = rng.random(size, dtype=np.float32) if single else rng.random(size)
        return xp.asarray(draws, device=array_api_compat.device(weights))
    wanted = "torch.Generator" if is_tensor(weights) else "np.random.Generator"
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
    weights, rewards = softmax(scores, mask), _kept(xp, rewards, mask)
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
    weights, rewards = softmax(scores, mask), _kept(xp, rewards, mask)
    # |delta_m - a|^2 = 1 - 2 a_m + |a|^2, the squared length of the gradient for choice m
    length = 1 - 2 * weights + xp.sum(weights**2, axis=-1, keepdims=True)
    return xp.sum(weights * length * rewards, axis=-1) / xp.sum(weights * length, axis=-1)


def _kept(xp: Any, rewards: Array, mask: Array | None) -> Array:
    """Return the rewards, 0 where the mask hides them: 0 times an unknown reward may be NaN."""
    return rewards if mask is None else xp.where(mask, rewards, xp.zeros_like(rewards))
