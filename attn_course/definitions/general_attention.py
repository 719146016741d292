r"""A step of Bahdanau's decoder, in loops (chapter 7)."""

from collections.abc import Mapping
from math import exp, tanh

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import Matrix, Vector, additive, times


def gated_update(s: Vector, y: Vector, c: Vector, parameters: Mapping[str, Matrix]) -> np.ndarray:
    r"""$s_i$ of $s_{i-1}$, the embedded word before and the context: $z$, $r$, then $\tilde s$."""
    z = _gate(s, y, c, parameters["W_z"], parameters["U_z"], parameters["C_z"])
    r = _gate(s, y, c, parameters["W_r"], parameters["U_r"], parameters["C_r"])
    reset = [r_i * s_i for r_i, s_i in zip(r, s, strict=True)]
    inside = _sum(
        times(parameters["W"], y), times(parameters["U"], reset), times(parameters["C"], c)
    )
    new = []
    for z_i, s_i, x_i in zip(z, s, inside, strict=True):
        new.append((1 - z_i) * s_i + z_i * tanh(x_i))
    return np.array(new)


def decoder_step(
    s: Vector,
    y: Vector,
    h: Matrix,
    v_a: Vector,
    W_a: Matrix,
    U_a: Matrix,
    parameters: Mapping[str, Matrix],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return $s_i$, $c_i$ and $\alpha_i$: ask with $s_{i-1}$, then update."""
    context, alpha = attend(s, h, h, lambda query, key: additive(query, key, v_a, W_a, U_a))
    return gated_update(s, y, context, parameters), context, alpha


def _gate(s: Vector, y: Vector, c: Vector, W: Matrix, U: Matrix, C: Matrix) -> list[float]:
    return [1 / (1 + exp(-x)) for x in _sum(times(W, y), times(U, s), times(C, c))]


def _sum(*vectors: list[float]) -> list[float]:
    return [sum(entries) for entries in zip(*vectors, strict=True)]
