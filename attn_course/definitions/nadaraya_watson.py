r"""Nadaraya–Watson regression for one query, in loops (chapter 1)."""

from collections.abc import Callable, Sequence
from math import exp

import numpy as np


def gaussian(u: float) -> float:
    r"""$e^{-u^2/2}$."""
    return exp(-0.5 * u * u)


def boxcar(u: float) -> float:
    r"""1 for $|u| \le 1$, else 0."""
    return 1.0 if abs(u) <= 1 else 0.0


def triangular(u: float) -> float:
    r"""$\max(0, 1 - |u|)$."""
    return max(0.0, 1 - abs(u))


def epanechnikov(u: float) -> float:
    r"""$\max(0, 1 - u^2)$."""
    return max(0.0, 1 - u * u)


def weights(
    query: float,
    keys: Sequence[float],
    w: float = 1.0,
    mask: Sequence[bool] | None = None,
    kernel: Callable[[float], float] = gaussian,
) -> np.ndarray:
    r"""$a_i = K(w(x - x_i)) / \sum_j K(w(x - x_j))$ for one query."""
    allowed = [True] * len(keys) if mask is None else list(mask)
    closeness = []
    for key, may in zip(keys, allowed, strict=True):
        closeness.append(kernel(w * (query - key)) if may else 0.0)
    total = sum(closeness)
    if total == 0.0:  # no key in reach
        return np.array([0.0] * len(keys))
    return np.array([k_i / total for k_i in closeness])


def regress(
    query: float,
    keys: Sequence[float],
    values: Sequence[float],
    w: float = 1.0,
    mask: Sequence[bool] | None = None,
    kernel: Callable[[float], float] = gaussian,
) -> float:
    r"""$f(x) = \sum_i a_i y_i$ for one query."""
    prediction = 0.0
    for a_i, y_i in zip(weights(query, keys, w, mask, kernel), values, strict=True):
        prediction += a_i * y_i
    return float(prediction)


def average_pooling(values: Sequence[float]) -> float:
    r"""$\frac{1}{n} \sum_i y_i$: the same for every query."""
    total = 0.0
    for y_i in values:
        total += y_i
    return total / len(values)


def loss_gradient(
    inputs: Sequence[float], targets: Sequence[float], w: float, leave_one_out: bool = True
) -> float:
    r"""$-w \sum_n (\hat y_n - y_n) \sum_i a_{ni} d_{ni}^2 (y_i - \hat y_n)$."""
    gradient = 0.0
    for n, x_n in enumerate(inputs):
        mask = [not leave_one_out or i != n for i in range(len(inputs))]
        a = weights(x_n, inputs, w, mask)
        prediction = regress(x_n, inputs, targets, w, mask)
        covariance = 0.0
        for a_i, x_i, y_i in zip(a, inputs, targets, strict=True):
            covariance += a_i * (x_n - x_i) ** 2 * (y_i - prediction)
        gradient += -w * (prediction - targets[n]) * covariance
    return float(gradient)
