"""Alignments of one row of scores, in loops (chapter 3). Keys count from 1.

Lines are short, since pages show this code.
"""

from collections.abc import Callable, Sequence
from math import exp, log, tanh
from typing import TypeAlias

from attn_course.definitions.scoring import ACTIVATIONS, Matrix, Vector, dot, times

Mask: TypeAlias = Sequence[bool] | None  # True = may attend; None: all may


def softmax(scores: Vector, mask: Mask = None) -> list[float]:
    r"""$a_l = \exp(e_l) / \sum_j \exp(e_j)$ over the keys of the mask."""
    allowed = [True] * len(scores) if mask is None else list(mask)
    pairs = list(zip(scores, allowed, strict=True))
    largest = max((e_l for e_l, may in pairs if may), default=0.0)
    exponentials = []
    for e_l, may in pairs:
        exponentials.append(exp(e_l - largest) if may else 0.0)
    total = sum(exponentials)
    if total == 0.0:  # nothing may be attended to
        return [0.0] * len(scores)
    return [exponential / total for exponential in exponentials]


def softmax_off_by_one(scores: Vector, mask: Mask = None) -> list[float]:
    r"""$a_l = \exp(e_l) / (1 + \sum_j \exp(e_j))$ over the keys of the mask."""
    allowed = [True] * len(scores) if mask is None else list(mask)
    pairs = list(zip(scores, allowed, strict=True))
    total = 1.0
    for e_l, may in pairs:
        if may:
            total += exp(e_l)
    weights = []
    for e_l, may in pairs:
        weights.append(exp(e_l) / total if may else 0.0)
    return weights


def softmax_with_sink(
    scores: Vector,
    sink: float,
    mask: Mask = None,
) -> list[float]:
    r"""$a_l = \exp(e_l) / (\exp(b) + \sum_j \exp(e_j))$, sink b."""
    allowed = [True] * len(scores) if mask is None else list(mask)
    pairs = list(zip(scores, allowed, strict=True))
    m = sink
    for e_l, may in pairs:
        if may:
            m = max(m, e_l)
    total = exp(sink - m)  # not 1: the sink is scaled like the rest
    for e_l, may in pairs:
        if may:
            total += exp(e_l - m)
    weights = []
    for e_l, may in pairs:
        weights.append(exp(e_l - m) / total if may else 0.0)
    return weights


def sliding_window(
    i: int,
    key_positions: Sequence[int],
    width: int,
    sinks: int = 0,
) -> list[bool]:
    """Show the query at i the last `width` keys and the first ones."""
    seen = []
    for j in key_positions:
        before = j <= i
        near = i - j < width
        seen.append(before and (near or j < sinks))
    return seen


def hard(scores: Vector, u: float, mask: Mask = None) -> list[float]:
    """Lay the weights end to end; the key on which u falls gets all."""
    one_hot = [0.0] * len(scores)
    end = 0.0
    for place, a_l in enumerate(softmax(scores, mask)):
        end += a_l
        if u < end:
            one_hot[place] = 1.0
            break
    return one_hot


def window(
    n: int,
    centre: float,
    half_width: float,
    mask: Mask = None,
) -> list[bool]:
    r"""$\mathcal W(p) = \{l : \lvert l - p \rvert \le D\}$, of n keys."""
    allowed = [True] * n if mask is None else list(mask)
    inside = []
    for place, may in enumerate(allowed, start=1):
        inside.append(may and abs(place - centre) <= half_width)
    return inside


def local_monotonic(
    scores: Vector, step: float, half_width: float, mask: Mask = None
) -> list[float]:
    """Softmax over the window around the output step: (27) with p = t."""
    return softmax(scores, window(len(scores), step, half_width, mask))


def local_predictive(
    scores: Vector,
    position: float,
    half_width: float,
    mask: Mask = None,
    renormalise: bool = False,
) -> list[float]:
    """Softmax over the window, then times the Gaussian: (27) and (29)."""
    sigma = half_width / 2
    near = window(len(scores), position, half_width, mask)
    weights = []
    for place, a_l in enumerate(softmax(scores, near), start=1):
        distance = place - position
        weights.append(a_l * exp(-(distance**2) / (2 * sigma**2)))
    total = sum(weights)
    if renormalise and total > 0:
        return [a_l / total for a_l in weights]
    return weights


def predict_position(
    query: Vector,
    w_p: Vector,
    W_p: Matrix,
    length: int,
) -> float:
    r"""$S \cdot \mathrm{sigmoid}(w_p^\top \tanh(W_p q))$, equation (28)."""
    hidden = [tanh(h_i) for h_i in times(W_p, query)]
    return length / (1 + exp(-dot(w_p, hidden)))


def sparsemax(scores: Vector, mask: Mask = None) -> list[float]:
    r"""$\max(0, e_l - \theta)$, the threshold found by halving."""

    def weight(e_l: float, theta: float) -> float:
        return max(0.0, e_l - theta)

    return _by_threshold(scores, mask, weight)


def entmax15(scores: Vector, mask: Mask = None) -> list[float]:
    r"""$\max(0, e_l/2 - \theta)^2$, the threshold found by halving."""

    def weight(e_l: float, theta: float) -> float:
        return max(0.0, e_l / 2 - theta) ** 2

    return _by_threshold(scores, mask, weight)


def _by_threshold(
    scores: Vector, mask: Mask, weight: Callable[[float, float], float]
) -> list[float]:
    allowed = [True] * len(scores) if mask is None else list(mask)
    kept = [e_l for e_l, may in zip(scores, allowed, strict=True) if may]
    if not kept:
        return [0.0] * len(scores)
    low, high = min(-1.0, min(kept)) - 2.0, max(1.0, max(kept)) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if sum(weight(e_l, middle) for e_l in kept) > 1:
            low = middle
        else:
            high = middle
    weights = []
    for e_l, may in zip(scores, allowed, strict=True):
        weights.append(weight(e_l, low) if may else 0.0)
    return weights


def expected_reward_gradient(scores: Vector, rewards: Vector) -> list[float]:
    r"""$\sum_m a_m R_m (\delta_{mj} - a_j)$, term by term."""
    a = softmax(scores)
    gradient = []
    for j in range(len(a)):
        total = 0.0
        for m, a_m in enumerate(a):
            total += a_m * rewards[m] * ((1.0 if m == j else 0.0) - a[j])
        gradient.append(total)
    return gradient


def selection_probabilities(
    features: Matrix,
    w: Vector,
    W: Matrix,
    b: Vector,
    b_0: float = 0.0,
    act: str = "relu",
) -> list[float]:
    r"""$\pi_l$ from each feature, the mean, and their product."""
    n = len(features)
    mean = [sum(entries) / n for entries in zip(*features, strict=True)]
    probabilities = []
    for x in features:
        both = [x_i * m_i for x_i, m_i in zip(x, mean, strict=True)]
        hidden = []
        for h_i, b_i in zip(times(W, [*x, *mean, *both]), b, strict=True):
            hidden.append(ACTIVATIONS[act](h_i + b_i))
        probabilities.append(1 / (1 + exp(-(dot(w, hidden) + b_0))))
    return probabilities


def selection_log_probability(probabilities: Vector, selection: Sequence[bool]) -> float:
    r"""$\sum_l z_l \log \pi_l + (1 - z_l) \log (1 - \pi_l)$."""
    total = 0.0
    for p_l, z_l in zip(probabilities, selection, strict=True):
        total += log(p_l) if z_l else log(1 - p_l)
    return total
