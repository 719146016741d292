r"""Equations (2)–(5) of the survey for one query, in loops (chapter 0)."""

from collections.abc import Callable, Sequence

import numpy as np

from attn_course.definitions.alignment import softmax
from attn_course.definitions.scoring import Matrix, Vector, scaled_dot


def attend(
    query: Vector,
    keys: Matrix,
    values: Matrix,
    score: Callable[[Vector, Vector], float] = scaled_dot,
    mask: Sequence[bool] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the context and the weights of one query."""
    scores = []
    for key in keys:  # (2)
        scores.append(score(query, key))
    weights = softmax(scores, mask)  # (3)
    context = [0.0] * len(values[0])
    for a_l, value in zip(weights, values, strict=True):  # (4)
        for i, v_i in enumerate(value):
            if a_l > 0.0:
                context[i] += a_l * v_i
    return np.array(context), np.array(weights)


def softmax_output(context: Vector, W_c: Matrix, b_c: Vector) -> np.ndarray:
    r"""$\hat y = \mathrm{softmax}(W_c c + b_c)$, equation (5)."""
    logits = []
    for row, bias in zip(W_c, b_c, strict=True):
        logit = bias
        for w_i, c_i in zip(row, context, strict=True):
            logit += w_i * c_i
        logits.append(logit)
    return np.array(softmax(logits))
