r"""The tricks of scale for one query, one number at a time, in loops (chapter 10)."""

from collections.abc import Sequence
from math import exp, inf

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.positions import rotate
from attn_course.definitions.scoring import Matrix, Vector, dot


def online_softmax(
    scores: Vector, values: Matrix, mask: Sequence[bool] | None = None
) -> np.ndarray:
    r"""One pass over the keys: when a larger score arrives, both sums are multiplied by a factor.

    $m' = \max(m, e_j)$, $\ell' = \ell \exp(m - m') + \exp(e_j - m')$,
    $o' = o \exp(m - m') + \exp(e_j - m')\, v_j$, and $o / \ell$ at the end.
    """
    allowed = [True] * len(scores) if mask is None else list(mask)
    m, ell, o = -inf, 0.0, [0.0] * len(values[0])
    for e_j, v_j, may in zip(scores, values, allowed, strict=True):
        if not may:
            continue
        m_new = max(m, e_j)
        rescale, power = exp(m - m_new), exp(e_j - m_new)
        ell = ell * rescale + power
        for i, v_ji in enumerate(v_j):
            o[i] = o[i] * rescale + power * v_ji
        m = m_new
    return np.array([0.0 if ell == 0.0 else o_i / ell for o_i in o])


def grouped_query(
    queries: Sequence[Vector],
    keys: Sequence[Matrix],
    values: Sequence[Matrix],
    mask: Sequence[bool] | None = None,
) -> np.ndarray:
    r"""One query per head: head $h$ of $H$ reads key-value head $\lfloor h H_{kv} / H \rfloor$."""
    contexts = []
    for h, query in enumerate(queries):
        g = h * len(keys) // len(queries)  # the key-value head
        context, _ = attend(query, keys[g], values[g], mask=mask)
        contexts.append(context)
    return np.array(contexts)


def cached_attention(
    queries: Sequence[Matrix], keys: Sequence[Matrix], values: Sequence[Matrix]
) -> np.ndarray:
    r"""Word $t$ of a text: its rotated key $R_t k_t$ is stored, $R_t q_t$ sees what is stored.

    Queries are `(heads, n, d)`, keys and values `(key-value heads, n, d)`, all of the same text
    and none of them rotated; the contexts are `(n, heads, d_v)`.
    """
    cached_keys: list[list[np.ndarray]] = [[] for _ in keys]
    cached_values: list[list[Vector]] = [[] for _ in values]
    contexts = []
    for t in range(len(keys[0])):
        for g in range(len(keys)):
            cached_keys[g].append(rotate(keys[g][t], t))
            cached_values[g].append(values[g][t])
        rotated = [rotate(query[t], t) for query in queries]
        contexts.append(grouped_query(rotated, cached_keys, cached_values))
    return np.array(contexts)


def linear_attention(
    query: Vector, keys: Matrix, values: Matrix, mask: Sequence[bool] | None = None
) -> np.ndarray:
    r"""$\sum_l s_l v_l / \sum_l s_l$, $s_l = \phi(q)^\top\phi(k_l)$, $\phi = \mathrm{elu} + 1$."""
    allowed = [True] * len(keys) if mask is None else list(mask)
    total, context = 0.0, [0.0] * len(values[0])
    for key, value, may in zip(keys, values, allowed, strict=True):
        if not may:
            continue
        closeness = dot(_positive(query), _positive(key))
        total += closeness
        for i, v_i in enumerate(value):
            context[i] += closeness * v_i
    return np.array([0.0 if total == 0.0 else c_i / total for c_i in context])


def linear_recurrence(
    queries: Matrix, keys: Matrix, values: Matrix
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Word by word: $S_i = S_{i-1} + \phi(k_i)\,v_i^\top$, $z_i = z_{i-1} + \phi(k_i)$,

    $c_i^\top = \phi(q_i)^\top S_i / \phi(q_i)^\top z_i$. Returns contexts, last S and last z.
    """
    d, d_v = len(keys[0]), len(values[0])
    S, z, contexts = [[0.0] * d_v for _ in range(d)], [0.0] * d, []
    for q_i, k_i, v_i in zip(queries, keys, values, strict=True):
        for a, feature in enumerate(_positive(k_i)):
            z[a] += feature
            for b in range(d_v):
                S[a][b] += feature * v_i[b]
        asked = _positive(q_i)
        below = dot(asked, z)
        contexts.append([dot(asked, [row[b] for row in S]) / below for b in range(d_v)])
    return np.array(contexts), np.array(S), np.array(z)


def _positive(x: Vector) -> list[float]:
    return [x_i + 1 if x_i > 0 else exp(x_i) for x_i in x]
