r"""Attention on a graph, node by node and edge by edge, in loops (chapter 9).

A graph is a sequence of edges (i, j): node i looks at node j.
"""

from collections.abc import Sequence
from math import exp

import numpy as np

from attn_course.definitions.alignment import softmax
from attn_course.definitions.scoring import ACTIVATIONS, Matrix, Vector, additive, dot, times

Edges = Sequence[tuple[int, int]]


def segment_softmax(scores: Vector, segments: Sequence[int]) -> np.ndarray:
    r"""$\exp(e_m) / \sum \exp(e_{m'})$, the sum over all $m'$ of the same segment."""
    weights = []
    for e_m, segment in zip(scores, segments, strict=True):
        total = 0.0
        for e, other in zip(scores, segments, strict=True):
            if other == segment:
                total += exp(e - e_m)
        weights.append(1 / total)
    return np.array(weights)


def graph_attention(
    node: int, scores: Vector, edges: Edges, values: Matrix
) -> tuple[np.ndarray, np.ndarray]:
    r"""$c_i = \sum_{j \in \mathcal{N}_i} a_{ij} v_j$ and the weights of node i's own edges."""
    own, neighbours = [], []
    for e_ij, (i, j) in zip(scores, edges, strict=True):
        if i == node:
            own.append(e_ij)
            neighbours.append(j)
    weights = softmax(own)
    context = [0.0] * len(values[0])
    for a_ij, j in zip(weights, neighbours, strict=True):
        for f, v_f in enumerate(values[j]):
            context[f] += a_ij * v_f
    return np.array(context), np.array(weights)


def gat_score(
    h_i: Vector,
    h_j: Vector,
    W: Matrix,
    a: Vector,
    edge: Vector | None = None,
    W_e: Matrix | None = None,
) -> float:
    r"""$\mathrm{LeakyReLU}(a^\top [W h_i \Vert W h_j \Vert W_e \varepsilon_{ij}])$."""
    together = [*times(W, h_i), *times(W, h_j)]
    if edge is not None and W_e is not None:
        together = [*together, *times(W_e, edge)]
    return ACTIVATIONS["leaky_relu"](dot(a, together))


def gatv2_score(
    h_i: Vector,
    h_j: Vector,
    W: Matrix,
    a: Vector,
    b: Vector | None = None,
    edge: Vector | None = None,
    W_e: Matrix | None = None,
) -> float:
    r"""$a^\top \mathrm{LeakyReLU}(W [h_i \Vert h_j] + W_e \varepsilon_{ij} + b)$."""
    shift = [0.0] * len(a) if b is None else list(b)
    if edge is not None and W_e is not None:
        shift = [b_f + e_f for b_f, e_f in zip(shift, times(W_e, edge), strict=True)]
    W_q = [row[: len(h_i)] for row in W]
    W_k = [row[len(h_i) :] for row in W]
    return additive(h_i, h_j, a, W_q, W_k, shift, act="leaky_relu")


def combine_heads(contexts: Sequence[Vector], combine: str, act: str = "elu") -> np.ndarray:
    r"""One node's heads: $\Vert_m \sigma(c^{(m)})$, or $\sigma(\frac1M \sum_m c^{(m)})$."""
    sigma = ACTIVATIONS[act]
    if combine == "concat":
        joined: list[float] = []
        for context in contexts:
            joined.extend(sigma(c_f) for c_f in context)
        return np.array(joined)
    averages = []
    for f in range(len(contexts[0])):
        averages.append(sigma(sum(context[f] for context in contexts) / len(contexts)))
    return np.array(averages)
