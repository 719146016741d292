"""Query-related attention for one input, in loops (chapter 6)."""

from collections.abc import Callable, Sequence
from math import exp

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import Matrix, Vector, dot, no_query, scaled_dot, times

Score = Callable[[Vector, Vector], float]


def pool_without_query(
    features: Matrix,
    w: Vector,
    W: Matrix,
    b: Vector | None = None,
    mask: Sequence[bool] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""(33): $\mathrm{score}(k) = w^\top \tanh(W k + b)$, then the average of the features."""
    return attend((), features, features, lambda _query, key: no_query(key, w, W, b), mask)


def pool_structured(
    features: Matrix, W_s1: Matrix, W_s2: Matrix, mask: Sequence[bool] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""$A = \mathrm{softmax}(W_{s2} \tanh(W_{s1} F))$, one row of $A$ for each row of $W_{s2}$."""
    contexts, weights = [], []
    for row in W_s2:
        context, a = attend(row, features, features, lambda w, key: no_query(key, w, W_s1), mask)
        contexts.append(context)
        weights.append(a)
    return np.array(contexts), np.array(weights)


def penalty(weights: Matrix) -> float:
    r"""$\lVert A A^\top - I \rVert_F^2$."""
    total = 0.0
    for i, row in enumerate(weights):
        for j, other in enumerate(weights):
            total += (dot(row, other) - (1.0 if i == j else 0.0)) ** 2
    return total


def self_attention(
    features: Matrix,
    W_Q: Matrix,
    W_K: Matrix,
    W_V: Matrix,
    mask: Sequence[Sequence[bool]] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""(35): every feature asks, $q_j = W_Q f_j$, all features answer."""
    keys = [times(W_K, f) for f in features]
    values = [times(W_V, f) for f in features]
    contexts, weights = [], []
    for j, feature in enumerate(features):
        row = None if mask is None else mask[j]
        context, a = attend(times(W_Q, feature), keys, values, scaled_dot, row)
        contexts.append(context)
        weights.append(a)
    return np.array(contexts), np.array(weights)


def multi_head(
    query: Vector,
    keys: Matrix,
    values: Matrix,
    heads: Sequence[tuple[Matrix, Matrix, Matrix]],
    W_O: Matrix,
    score: Score = scaled_dot,
    mask: Sequence[bool] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""(38)–(40) for one query: `heads` holds $W_q^{(j)}, W_K^{(j)}, W_V^{(j)}$ of each head."""
    joined: list[float] = []
    weights = []
    for W_q, W_K, W_V in heads:
        head_keys = [times(W_K, key) for key in keys]
        head_values = [times(W_V, value) for value in values]
        context, a = attend(times(W_q, query), head_keys, head_values, score, mask)
        joined.extend(context)
        weights.append(a)
    return np.array(times(W_O, joined)), np.array(weights)


def multi_hop(
    query_features: Matrix,
    features: Matrix,
    scores: Sequence[Score],
    query_scores: Sequence[Score],
    transform: str,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    r"""(41)–(42): contexts $c^{(1)}, \dots, c^{(S)}$ and weights of every hop, one score a hop."""
    query: Vector = _mean(query_features)
    context: Vector = _mean(features)
    contexts, weights = [], []
    for s, score in enumerate(scores):
        if transform != "identity":
            asks = {"query": query, "context": context, "both": [*query, *context]}
            query, _ = attend(asks[transform], query_features, query_features, query_scores[s])
        context, a = attend([*query, *context], features, features, score)
        contexts.append(context)
        weights.append(a)
    return contexts, weights


def memory_hops(query: Vector, keys: Matrix, values: Matrix, hops: int) -> list[float]:
    r"""$u^{k+1} = u^k + o^k$."""
    u = list(query)
    for _ in range(hops):
        read, _weights = attend(u, keys, values, dot)
        u = [u_i + o_i for u_i, o_i in zip(u, read, strict=True)]
    return u


def capsule(
    features: Matrix, q: Vector, w: Vector, b: float, mask: Sequence[bool] | None = None
) -> tuple[float, list[float], np.ndarray]:
    """(43)–(45) for one class: its probability, its reconstruction, its weights."""
    context, weights = attend(q, features, features, dot, mask)
    probability = 1 / (1 + exp(-(dot(w, context) + b)))
    return probability, [probability * c_i for c_i in context], weights


def capsule_hinge(per_class: Vector, true: int) -> float:
    r"""$\max(0, 1 + \sum_c y_c x_c)$ with $y_c = -1$ for the true class."""
    total = 1.0
    for c, x_c in enumerate(per_class):
        total += -x_c if c == true else x_c
    return max(0.0, total)


def _mean(features: Matrix) -> list[float]:
    return [sum(f[i] for f in features) / len(features) for i in range(len(features[0]))]
