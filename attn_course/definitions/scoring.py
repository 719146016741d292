"""The seven scores of the survey's Table 2 for one query and one key, in loops (chapter 2)."""

from collections.abc import Callable, Sequence
from math import exp, sqrt, tanh

import numpy as np

Vector = Sequence[float] | np.ndarray
Matrix = Sequence[Vector] | np.ndarray

ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "tanh": tanh,
    "sigmoid": lambda x: 1 / (1 + exp(-x)),
    "relu": lambda x: max(0.0, x),
    "leaky_relu": lambda x: x if x > 0 else 0.2 * x,
    "elu": lambda x: x if x > 0 else exp(x) - 1,
    "identity": lambda x: x,
}


def dot(query: Vector, key: Vector) -> float:
    r"""$q^\top k$."""
    total = 0.0
    for q_i, k_i in zip(query, key, strict=True):
        total += q_i * k_i
    return total


def scaled_dot(query: Vector, key: Vector) -> float:
    r"""$q^\top k / \sqrt{d_k}$."""
    return dot(query, key) / sqrt(len(key))


def times(W: Matrix, x: Vector) -> list[float]:
    r"""$W x$, row by row."""
    return [dot(row, x) for row in W]


def additive(
    query: Vector,
    key: Vector,
    w: Vector,
    W_q: Matrix,
    W_k: Matrix,
    b: Vector | None = None,
    act: str = "tanh",
) -> float:
    r"""$w^\top \mathrm{act}(W_q q + W_k k + b)$."""
    from_query, from_key = times(W_q, query), times(W_k, key)
    total = 0.0
    for i, w_i in enumerate(w):
        inside = from_query[i] + from_key[i] + (0.0 if b is None else b[i])
        total += w_i * ACTIVATIONS[act](inside)
    return total


def general(query: Vector, key: Vector, W: Matrix) -> float:
    r"""$k^\top W q$."""
    return dot(key, times(W, query))


def biased_general(query: Vector, key: Vector, W: Matrix, b: Vector) -> float:
    r"""$k^\top (W q + b)$ with a vector b."""
    mapped = [m_i + b_i for m_i, b_i in zip(times(W, query), b, strict=True)]
    return dot(key, mapped)


def activated_general(
    query: Vector, key: Vector, W: Matrix, b: float = 0.0, act: str = "tanh"
) -> float:
    r"""$\mathrm{act}(k^\top W q + b)$ with a number b."""
    return ACTIVATIONS[act](dot(key, times(W, query)) + b)


def cosine(query: Vector, key: Vector) -> float:
    r"""$q^\top k / (\lVert q\rVert \lVert k\rVert)$; 0 where a vector is 0."""
    lengths = sqrt(dot(query, query)) * sqrt(dot(key, key))
    return dot(query, key) / lengths if lengths > 0 else 0.0


def squared_euclidean(query: Vector, key: Vector) -> float:
    r"""$-\tfrac12 \lVert q - k \rVert^2$."""
    total = 0.0
    for q_i, k_i in zip(query, key, strict=True):
        total += (q_i - k_i) ** 2
    return -0.5 * total


def euclidean(query: Vector, key: Vector) -> float:
    r"""$-\lVert q - k \rVert$."""
    return -sqrt(-2 * squared_euclidean(query, key))


def no_query(
    key: Vector, w: Vector, W: Matrix, b: Vector | None = None, act: str = "tanh"
) -> float:
    r"""$w^\top \mathrm{act}(W k + b)$, equation (33)."""
    mapped = times(W, key)
    total = 0.0
    for i, w_i in enumerate(w):
        total += w_i * ACTIVATIONS[act](mapped[i] + (0.0 if b is None else b[i]))
    return total
