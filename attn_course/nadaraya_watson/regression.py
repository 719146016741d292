"""Nadaraya–Watson regression on arrays: its data, its kernels, its prediction and its loss."""

from collections.abc import Callable
from functools import partial

import array_api_compat
import numpy as np

from attn_course._arrays import (
    Array,
    batch_shape,
    namespace,
    require_axes,
    require_choice,
    require_mask,
)
from attn_course.alignment import softmax
from attn_course.attention import attend

# --- the data of the chapter ------------------------------------------------------------------


def true_curve(x: Array) -> Array:
    r"""$f(x) = 2 \sin x + x^{0.8}$, the curve to be found again."""
    return 2 * namespace(x=x).sin(x) + x**0.8


def noisy_curve(
    rng: np.random.Generator, n: int = 50, noise: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` sorted inputs from [0, 5) and their noisy targets.

    `noise` is a standard deviation, not a variance.
    """
    inputs = np.sort(rng.uniform(0, 5, n))
    return inputs, true_curve(inputs) + rng.normal(0, noise, n)


# --- kernels: how much does a key count at distance u, measured in bandwidths? ---------------


def gaussian(u: Array) -> Array:
    r"""$K(u) = e^{-u^2/2}$: never 0, so every key keeps some weight."""
    return namespace(u=u).exp(-0.5 * u**2)


def boxcar(u: Array) -> Array:
    r"""$K(u) = 1$ for $|u| \le 1$, else 0: the plain mean of the neighbours."""
    xp = namespace(u=u)
    return xp.astype(abs(u) <= 1, u.dtype)


def triangular(u: Array) -> Array:
    r"""$K(u) = \max(0, 1 - |u|)$: a straight slope down to the edge."""
    return namespace(u=u).clip(1 - abs(u), min=0)


def epanechnikov(u: Array) -> Array:
    r"""$K(u) = \max(0, 1 - u^2)$: a parabola, the kernel of least mean squared error."""
    return namespace(u=u).clip(1 - u**2, min=0)


KERNELS: dict[str, Callable[[Array], Array]] = {
    "gaussian": gaussian,
    "boxcar": boxcar,
    "triangular": triangular,
    "epanechnikov": epanechnikov,
}


# --- the estimator ----------------------------------------------------------------------------


def weights(
    queries: Array,
    keys: Array,
    w: float | Array = 1.0,
    mask: Array | None = None,
    kernel: str = "gaussian",
) -> Array:
    r"""$a_i = K(w(x - x_i)) / \sum_j K(w(x - x_j))$.

    With the Gaussian kernel this is
    $\mathrm{softmax}_i(-\tfrac12 (w(x - x_i))^2)$.

    Queries `(..., q)` and keys `(..., k)` give weights `(..., q, k)`.
    `mask` (True = may attend) broadcasts to them; `leave_one_out_mask` is
    the one for training. A query with no key in reach of a kernel of
    finite width gets weights 0.

    >>> query, keys = np.array([2.0]), np.array([1.0, 2.0, 4.0])
    >>> weights(query, keys, w=1.0).round(3)
    array([[0.348, 0.574, 0.078]])
    >>> weights(query, keys, w=1.0, kernel="boxcar")
    array([[0.5, 0.5, 0. ]])
    """
    queries, keys = _columns(queries, keys)
    scores = log_kernel(queries, keys, w, kernel)
    return softmax(scores, mask=_reach(queries, keys, w, kernel, mask))


def regress(
    queries: Array,
    keys: Array,
    values: Array,
    w: float | Array = 1.0,
    mask: Array | None = None,
    kernel: str = "gaussian",
) -> Array:
    r"""$f(x) = \sum_i a_i y_i$: an average of the values, by `attend`.

    >>> keys, values = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 5.0])
    >>> regress(np.array([2.0]), keys, values).round(3)
    array([1.822])
    """
    queries, keys, values = _columns(queries, keys, values)
    context, _ = attend(
        queries,
        keys,
        values,
        score=partial(log_kernel, w=w, kernel=kernel),
        mask=_reach(queries, keys, w, kernel, mask),
    )
    return context[..., 0]  # (..., q, 1) -> (..., q)


def log_kernel(
    queries: Array, keys: Array, w: float | Array = 1.0, kernel: str = "gaussian"
) -> Array:
    r"""$\mathrm{score}(x, x_i) = \log K(w(x - x_i))$: a kernel is a score in disguise.

    Queries `(..., q, 1)` and keys `(..., k, 1)` give scores `(..., q, k)`, to be handed to
    `attend`. Out of a kernel's reach the score is 0 and must be masked.
    """
    xp = namespace(queries=queries, keys=keys)
    u = w * (queries - keys.mT)  # (..., q, 1) - (..., 1, k) -> (..., q, k)
    if kernel == "gaussian":  # written out: exp followed by log would lose far keys to underflow
        return -0.5 * u**2
    k = _kernel(kernel)(u)
    return xp.log(xp.where(k > 0, k, xp.ones_like(k)))


def leave_one_out_mask(n: int) -> np.ndarray:
    """Return the `(n, n)` mask that lets each point attend to all points but itself."""
    return ~np.eye(n, dtype=bool)


def _kernel(name: str) -> Callable[[Array], Array]:
    require_choice("kernel", name, KERNELS)
    return KERNELS[name]


def _reach(
    queries: Array, keys: Array, w: float | Array, kernel: str, mask: Array | None
) -> Array | None:
    """Return the mask narrowed to the keys where the kernel is above 0."""
    if kernel == "gaussian":
        return mask
    inside = _kernel(kernel)(w * (queries - keys.mT)) > 0
    if mask is None:
        return inside
    require_mask(mask, inside)
    return inside & mask


def _columns(*arrays: Array) -> tuple[Array, ...]:
    """Turn one number a point, `(..., n)`, into vectors of width 1, `(..., n, 1)`."""
    named = dict(zip(("queries", "keys", "values"), arrays, strict=False))
    namespace(**named)
    require_axes(1, "(..., n), one number a point", **named)
    columns = {name: array[..., None] for name, array in named.items()}
    batch_shape(**columns)
    return tuple(columns.values())


# --- training ---------------------------------------------------------------------------------


def loss(
    inputs: Array, targets: Array, w: float | Array = 1.0, leave_one_out: bool = True
) -> Array:
    r"""$L = \tfrac12 \sum_n (\hat y_n - y_n)^2$ over the training points themselves.

    With `leave_one_out` no point may look up its own target. Without it the loss can be driven
    to 0 by letting $w$ grow without end.
    """
    error = _predictions(inputs, targets, w, leave_one_out) - targets
    return 0.5 * namespace(inputs=inputs).sum(error**2)


def loss_gradient(
    inputs: Array,
    targets: Array,
    w: float | Array = 1.0,
    leave_one_out: bool = True,
) -> Array:
    r"""Return the slope $dL/dw$ of the loss, in closed form.

    $-w \sum_n (\hat y_n - y_n)\, \mathrm{Cov}_{a_n}(d_n^2, y)$, where
    $d_{ni} = x_n - x_i$ and the covariance is taken under the weights of
    point $n$.
    """
    xp = namespace(inputs=inputs, targets=targets)
    mask = _training_mask(inputs, leave_one_out)
    a = weights(inputs, inputs, w, mask)  # (n, n)
    predictions = xp.sum(a * targets, axis=-1)
    squared_distance = (inputs[:, None] - inputs[None, :]) ** 2
    deviation = targets[None, :] - predictions[:, None]
    covariance = xp.sum(a * squared_distance * deviation, axis=-1)
    return -w * xp.sum((predictions - targets) * covariance)


def gradient_descent(
    inputs: Array,
    targets: Array,
    w: float,
    learning_rate: float,
    steps: int,
    leave_one_out: bool = True,
) -> list[float]:
    """Return the path of `w` under plain gradient descent, the start included.

    >>> x, y = noisy_curve(np.random.default_rng(0))
    >>> path = gradient_descent(x, y, w=0.5, learning_rate=0.1, steps=500)
    >>> round(path[-1], 2)
    4.93
    """
    path = [float(w)]
    for _ in range(steps):
        gradient = loss_gradient(inputs, targets, path[-1], leave_one_out)
        path.append(path[-1] - learning_rate * float(gradient))
    return path


def _predictions(inputs: Array, targets: Array, w: float | Array, leave_one_out: bool) -> Array:
    return regress(inputs, inputs, targets, w, _training_mask(inputs, leave_one_out))


def _training_mask(inputs: Array, leave_one_out: bool) -> Array | None:
    if not leave_one_out:
        return None
    xp = namespace(inputs=inputs)
    mask = leave_one_out_mask(inputs.shape[0])
    return xp.asarray(mask, device=array_api_compat.device(inputs))
