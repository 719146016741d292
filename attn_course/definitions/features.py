r"""Feature-related mechanisms for one example, in loops (chapter 5).

A pair `(keys, values)` represents an input; a score is a function of a query and a key, or of a
key alone. Every function returns its contexts and its weights by the survey's names.
"""

from collections.abc import Callable, Sequence
from math import exp, inf

from attn_course.definitions import attention
from attn_course.definitions.alignment import softmax
from attn_course.definitions.scoring import ACTIVATIONS, Matrix, Vector, dot, times

Pair = tuple[Matrix, Matrix]  # keys and values of one input
Mask = Sequence[bool] | None
Score = Callable[[Vector, Vector], float]
KeyScore = Callable[[Vector], float]
Named = dict[str, list[float]]


def attend(
    query: Vector, keys: Matrix, values: Matrix, score: Score, mask: Mask = None
) -> tuple[list[float], list[float]]:
    """Return the context and the weights of one query, as lists, to be queries in their turn."""
    context, weights = attention.attend(query, keys, values, score, mask)
    return context.tolist(), weights.tolist()


def without_query(
    keys: Matrix, values: Matrix, score: KeyScore, mask: Mask = None
) -> tuple[list[float], list[float]]:
    """Return the context and the weights of an attention whose score reads the key alone."""
    return attend([], keys, values, lambda _, key: score(key), mask)


def mean(vectors: Matrix, mask: Mask = None) -> list[float]:
    r"""$\frac1n \sum_l x_l$ over the $n$ vectors that are real; 0 where none is."""
    real = [True] * len(vectors) if mask is None else list(mask)
    total = [0.0] * len(vectors[0])
    for vector, is_real in zip(vectors, real, strict=True):
        for i, x_i in enumerate(vector):
            if is_real:
                total[i] += x_i
    return [t_i / max(1, sum(real)) for t_i in total]


# --- two inputs -------------------------------------------------------------------------------


def alternating(
    first: Pair,
    second: Pair,
    score_0: KeyScore,
    score_2: Score,
    score_1: Score,
    mask_1: Mask = None,
    mask_2: Mask = None,
) -> tuple[Named, Named]:
    """Summarise input 1, ask input 2, ask input 1 again: (6)–(9)."""
    c_0, a_0 = without_query(*first, score_0, mask_1)
    c_2, a_2 = attend(c_0, *second, score_2, mask_2)
    c_1, a_1 = attend(c_2, *first, score_1, mask_1)
    return {"c_0": c_0, "c_1": c_1, "c_2": c_2}, {"a_0": a_0, "a_1": a_1, "a_2": a_2}


def interactive(
    first: Pair,
    second: Pair,
    score_1: Score,
    score_2: Score,
    mask_1: Mask = None,
    mask_2: Mask = None,
) -> tuple[Named, Named]:
    """Ask each input with the mean of the other's keys: (10)–(11)."""
    c_1, a_1 = attend(mean(second[0], mask_2), *first, score_1, mask_1)
    c_2, a_2 = attend(mean(first[0], mask_1), *second, score_2, mask_2)
    return {"c_1": c_1, "c_2": c_2}, {"a_1": a_1, "a_2": a_2}


def affinity_bilinear(
    keys_1: Matrix, keys_2: Matrix, W_A: Matrix, act: str = "tanh"
) -> list[list[float]]:
    r"""$A_{ij} = \mathrm{act}(k^{(1)\top}_i W_A k^{(2)}_j)$, equation (12)."""
    return [[ACTIVATIONS[act](dot(k_i, times(W_A, k_j))) for k_j in keys_2] for k_i in keys_1]


def affinity_concat(keys_1: Matrix, keys_2: Matrix, w_A: Vector) -> list[list[float]]:
    r"""$A_{ij} = w_A^\top [k^{(1)}_i; k^{(2)}_j; k^{(1)}_i \circ k^{(2)}_j]$, equation (13)."""
    A = []
    for k_i in keys_1:
        row = []
        for k_j in keys_2:
            products = [x * y for x, y in zip(k_i, k_j, strict=True)]
            row.append(dot(w_A, [*k_i, *k_j, *products]))
        A.append(row)
    return A


def scores_projected(
    A: Matrix,
    keys_1: Matrix,
    keys_2: Matrix,
    W_1: Matrix,
    W_2: Matrix,
    w_1: Vector,
    w_2: Vector,
    act: str = "tanh",
    mask_1: Mask = None,
    mask_2: Mask = None,
) -> tuple[list[float], list[float]]:
    r"""$e^{(1)}_i = w_1^\top \mathrm{act}(\sum_j A_{ij} W_2 k^{(2)}_j + W_1 k^{(1)}_i)$, (14).

    And (15): the same with 1 and 2 exchanged and the rows of A taken for its columns.
    """
    real_1 = [True] * len(keys_1) if mask_1 is None else list(mask_1)
    real_2 = [True] * len(keys_2) if mask_2 is None else list(mask_2)
    from_1, from_2 = [times(W_1, k) for k in keys_1], [times(W_2, k) for k in keys_2]
    e_1, e_2 = [], []
    for i in range(len(keys_1)):
        total = 0.0
        for h in range(len(w_1)):
            inside = from_1[i][h]
            for j in range(len(keys_2)):
                inside += A[i][j] * from_2[j][h] if real_2[j] else 0.0
            total += w_1[h] * ACTIVATIONS[act](inside)
        e_1.append(total)
    for j in range(len(keys_2)):
        total = 0.0
        for h in range(len(w_2)):
            inside = from_2[j][h]
            for i in range(len(keys_1)):
                inside += A[i][j] * from_1[i][h] if real_1[i] else 0.0
            total += w_2[h] * ACTIVATIONS[act](inside)
        e_2.append(total)
    return e_1, e_2


def scores_max(
    A: Matrix, mask_1: Mask = None, mask_2: Mask = None
) -> tuple[list[float], list[float]]:
    r"""$e^{(1)}_i = \max_j A_{ij}$, $e^{(2)}_j = \max_i A_{ij}$ over what is real: (16)."""
    real_1 = [True] * len(A) if mask_1 is None else list(mask_1)
    real_2 = [True] * len(A[0]) if mask_2 is None else list(mask_2)
    e_1, e_2 = [], []
    for row in A:
        e_1.append(max(A_ij if real else -inf for A_ij, real in zip(row, real_2, strict=True)))
    for j in range(len(A[0])):
        e_2.append(max(A[i][j] if real else -inf for i, real in enumerate(real_1)))
    # A feature that meets an empty input has nothing to be compared with: it scores 0.
    return [0.0 if e == -inf else e for e in e_1], [0.0 if e == -inf else e for e in e_2]


def parallel(
    first: Pair,
    second: Pair,
    scores: tuple[Vector, Vector],
    mask_1: Mask = None,
    mask_2: Mask = None,
) -> tuple[Named, Named]:
    """Align the scores of each side and average its values."""
    a_1, a_2 = softmax(scores[0], mask_1), softmax(scores[1], mask_2)
    contexts = {"c_1": average(a_1, first[1]), "c_2": average(a_2, second[1])}
    return contexts, {"a_1": a_1, "a_2": a_2}


def average(weights: Vector, values: Matrix) -> list[float]:
    r"""$\sum_l a_l v_l$, equation (4); a value without weight is not looked at."""
    context = [0.0] * len(values[0])
    for a_l, value in zip(weights, values, strict=True):
        for i, v_i in enumerate(value):
            context[i] += a_l * v_i if a_l > 0.0 else 0.0
    return context


# --- a target and two contexts ----------------------------------------------------------------


def rotatory(
    target: tuple[Matrix, Matrix, Matrix],
    left: Pair,
    right: Pair,
    score_l: Score,
    score_r: Score,
    score_lt: Score,
    score_rt: Score,
    hops: int = 1,
    target_mask: Mask = None,
    left_mask: Mask = None,
    right_mask: Mask = None,
) -> tuple[Named, list[Named]]:
    """Ask the contexts, then the target, `hops` times: (17)–(20).

    The target comes with its features besides keys and values: their mean is the first query.
    """
    features, keys, values = target
    r_t = mean(features, target_mask)
    left_query, right_query = r_t, r_t
    contexts: Named = {}
    weights: list[Named] = []
    for _ in range(hops):
        r_l, a_l = attend(left_query, *left, score_l, left_mask)
        r_lt, a_lt = attend(r_l, keys, values, score_lt, target_mask)
        r_r, a_r = attend(right_query, *right, score_r, right_mask)
        r_rt, a_rt = attend(r_r, keys, values, score_rt, target_mask)
        contexts = {"r_l": r_l, "r_r": r_r, "r_lt": r_lt, "r_rt": r_rt}
        weights.append({"a_l": a_l, "a_r": a_r, "a_lt": a_lt, "a_rt": a_rt})
        left_query, right_query = r_lt, r_rt
    return contexts, weights


# --- levels -----------------------------------------------------------------------------------


def via_attention(
    query: Vector,
    words: Pair,
    characters: Pair,
    score_w: Score,
    score_c: Score,
    word_mask: Mask = None,
    character_mask: Mask = None,
) -> tuple[Named, Named]:
    """Ask the words, then ask all characters with the query and the answer of the words."""
    c_w, a_w = attend(query, *words, score_w, word_mask)
    c_c, a_c = attend([*query, *c_w], *characters, score_c, character_mask)
    return {"c_w": c_w, "c_c": c_c}, {"a_w": a_w, "a_c": a_c}


def hierarchical(
    sentences: Sequence[Pair],
    score_S: KeyScore,
    score_D: KeyScore,
    W_K: Matrix,
    W_V: Matrix,
    masks: Sequence[Mask] | None = None,
) -> tuple[list[float], list[list[float]], list[float]]:
    """Words to sentences, sentences to the document: returns $c^{(D)}$ and both levels' weights.

    `W_K` and `W_V` make keys and values of the sentences.
    """
    masks = [None] * len(sentences) if masks is None else masks
    vectors, a_S, exists = [], [], []
    for (keys, values), mask in zip(sentences, masks, strict=True):
        c_s, a_s = without_query(keys, values, score_S, mask)
        vectors.append(c_s)
        a_S.append(a_s)
        exists.append(mask is None or any(mask))
    keys, values = [times(W_K, c_s) for c_s in vectors], [times(W_V, c_s) for c_s in vectors]
    c_D, a_D = without_query(keys, values, score_D, exists)
    return c_D, a_S, a_D


# --- representations --------------------------------------------------------------------------


def meta_embedding(
    embeddings: Sequence[Vector],
    maps: Sequence[tuple[Matrix, Vector]],
    u: Vector,
    beta: float,
    weighting: str = "softmax",
    mask: Mask = None,
) -> tuple[list[float], list[float]]:
    r"""$\sum_i a_i (W_{e_i} x^{(e_i)} + b_{e_i})$ for one word: (21)–(22)."""
    mapped = []
    for x, (W_e, b_e) in zip(embeddings, maps, strict=True):
        mapped.append([y_i + b_i for y_i, b_i in zip(times(W_e, x), b_e, strict=True)])
    if weighting == "softmax":
        return without_query(mapped, mapped, lambda x: dot(u, x) + beta, mask)
    present = [True] * len(mapped) if mask is None else list(mask)
    a = []
    for x, is_present in zip(mapped, present, strict=True):
        a.append(1 / (1 + exp(-(dot(u, x) + beta))) if is_present else 0.0)
    return average(a, mapped), a
