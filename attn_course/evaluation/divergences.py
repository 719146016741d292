r"""Distances between distributions: predictions by `tvd`, attention by `jsd`.

All take distributions `(..., k)` that add up to 1 and give `(...)`, for arrays of any library, with
gradients where the library has them. A key behind a mask has weight 0 in both and adds nothing.
Logarithms are natural.
"""

from math import log
from typing import Any

from attn_course._arrays import Array, namespace, require_mask, shape


def tvd(one: Array, other: Array) -> Array:
    r"""$\mathrm{TVD}(p, q) = \frac12 \sum_i |p_i - q_i| \in [0, 1]$: total variation distance.

    It is the largest difference in probability that the two give to any event.

    >>> import numpy as np
    >>> float(tvd(np.array([0.5, 0.5]), np.array([1.0, 0.0])))
    0.5
    """
    xp = _library(one, other)
    return 0.5 * xp.sum(xp.abs(one - other), axis=-1)


def kl(one: Array, other: Array) -> Array:
    r"""$\mathrm{KL}(p \Vert q) = \sum_i p_i \log(p_i / q_i) \ge 0$, with $0 \log 0 = 0$.

    Not symmetric, and infinite where $q$ is 0 and $p$ is not. Pinsker: $\mathrm{TVD} \le
    \sqrt{\mathrm{KL} / 2}$.
    """
    xp = _library(one, other)
    there = one > 0
    ones = xp.ones_like(one)
    logs = _log(xp, one, there, ones) - _log(xp, other, there & (other > 0), ones)
    terms = xp.where(there, one * logs, xp.zeros_like(one))
    never = xp.any(there & (other <= 0), axis=-1)
    total = xp.sum(terms, axis=-1)
    return xp.where(never, xp.full_like(total, xp.inf), total)


def jsd(one: Array, other: Array) -> Array:
    r"""$\mathrm{JSD}(a, b) = \frac12 \mathrm{KL}(a \Vert m) + \frac12 \mathrm{KL}(b \Vert m)$.

    With $m = \frac12(a + b)$: Jensen–Shannon divergence, symmetric, 0 for equal distributions
    only, and $\ln 2 \approx 0.693$ where no key has weight in both.

    >>> import numpy as np
    >>> round(float(jsd(np.array([1.0, 0.0]), np.array([0.0, 1.0]))), 3)
    0.693
    """
    _library(one, other)
    middle = (one + other) / 2
    return (kl(one, middle) + kl(other, middle)) / 2


def jsd_ceiling(weights: Array, mask: Array | None = None) -> Array:
    r"""$\max_b \mathrm{JSD}(a, b) = \ln 2 + \frac12 (w \ln w - (1 + w) \ln(1 + w))$.

    With $w = \min_l a_l$: the largest divergence that any distribution over the same keys can have
    from these weights, which is that of a one-hot on the key of smallest weight. From uniform
    weights over 7 keys no adversary gets further than 0.478, so a JSD means little without its
    ceiling.

    Weights `(..., k)` to `(...)`; only keys of the mask (True = may attend) can be chosen. NaN for
    a row that may attend nowhere.

    >>> import numpy as np
    >>> jsd_ceiling(np.array([[1 / 7] * 7, [0, 0, 0, 0, 0, 0, 1]])).round(3)
    array([0.478, 0.693])
    """
    xp = namespace(weights=weights, mask=mask)
    if mask is not None:
        require_mask(mask, weights)
        weights = xp.where(mask, weights, xp.full_like(weights, xp.inf))
    smallest = xp.min(weights, axis=-1)
    chosen = xp.isfinite(smallest)
    w = xp.where(chosen, smallest, xp.ones_like(smallest))
    w_log_w = w * _log(xp, w, w > 0, xp.ones_like(w))
    ceiling = log(2) + (w_log_w - (1 + w) * xp.log1p(w)) / 2
    return xp.where(chosen, ceiling, xp.full_like(ceiling, xp.nan))


def _log(xp: Any, numbers: Array, where: Array, ones: Array) -> Array:
    """Return the logarithm where asked and 0 elsewhere, without a warning or a gradient there."""
    return xp.log(xp.where(where, numbers, ones))


def _library(one: Array, other: Array) -> Any:
    xp = namespace(one=one, other=other)
    axes = zip(reversed(shape(one)), reversed(shape(other)), strict=False)
    same_last = one.ndim > 0 and other.ndim > 0 and one.shape[-1] == other.shape[-1]
    if not same_last or any(n != m and 1 not in (n, m) for n, m in axes):
        raise ValueError(
            "two distributions are compared entry by entry, so they need the same last axis, and "
            f"axes before it that fit: the first is {shape(one)}, the other {shape(other)}."
        )
    return xp
