"""One weight per value and one weight per entry, for one query, in loops (chapter 4)."""

from collections.abc import Sequence

import numpy as np

from attn_course.definitions.alignment import softmax
from attn_course.definitions.scoring import ACTIVATIONS, Matrix, Vector, times


def single(weights: Vector, values: Matrix) -> np.ndarray:
    r"""$c_i = \sum_l a_l v_{l,i}$."""
    context = [0.0] * len(values[0])
    for a_l, value in zip(weights, values, strict=True):
        for i, v_i in enumerate(value):
            context[i] += a_l * v_i
    return np.array(context)


def multi_scores(
    query: Vector,
    keys: Matrix,
    W_d: Matrix,
    W_q: Matrix,
    W_k: Matrix,
    b: Vector | None = None,
    act: str = "tanh",
) -> list[list[float]]:
    r"""$e_{l,i} = \sum_j W_{d,ji}\, \mathrm{act}(W_q q + W_k k_l + b)_j$, equation (30)."""
    from_query = times(W_q, query)
    scores = []
    for key in keys:
        from_key = times(W_k, key)
        hidden = []
        for j in range(len(W_d)):
            inside = from_query[j] + from_key[j] + (0.0 if b is None else b[j])
            hidden.append(ACTIVATIONS[act](inside))
        row = []
        for i in range(len(W_d[0])):
            total = 0.0
            for j, h_j in enumerate(hidden):
                total += W_d[j][i] * h_j
            row.append(total)
        scores.append(row)
    return scores


def attend_multi(
    scores: Matrix, values: Matrix, mask: Sequence[bool] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""(31), (32): softmax over the keys for each feature, then $c_i = \sum_l a_{l,i} v_{l,i}$."""
    weights = [[0.0] * len(values[0]) for _ in values]
    context = [0.0] * len(values[0])
    for i in range(len(values[0])):
        column = softmax([row[i] for row in scores], mask)
        for l, a_li in enumerate(column):
            weights[l][i] = a_li
            if a_li > 0.0:
                context[i] += a_li * values[l][i]
    return np.array(context), np.array(weights)
