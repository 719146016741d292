r"""Metrics of chapter 8, counted out one by one, in loops."""

from collections.abc import Sequence
from math import exp, log

Tokens = Sequence[str]


def clipped_precision(
    candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]], n: int
) -> float:
    r"""$p_n$: the share of the candidates' n-grams that a reference has, each as often as there."""
    matches = total = 0
    for candidate, own in zip(candidates, references, strict=True):
        ngrams = _ngrams(candidate, n)
        total += len(ngrams)
        for ngram in set(ngrams):
            allowed = 0
            for reference in own:
                allowed = max(allowed, _ngrams(reference, n).count(ngram))
            matches += min(ngrams.count(ngram), allowed)
    return matches / total if total > 0 else 0.0


def bleu(candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]], n: int = 4) -> float:
    r"""$\min(1, e^{1 - r/c})\,(p_1 p_2 \cdots p_n)^{1/n}$, without smoothing."""
    c = r = 0
    for candidate, own in zip(candidates, references, strict=True):
        closest = len(own[0])
        for reference in own:
            nearer = abs(len(reference) - len(candidate)) - abs(closest - len(candidate))
            if nearer < 0 or (nearer == 0 and len(reference) < closest):
                closest = len(reference)
        c, r = c + len(candidate), r + closest
    total = 0.0
    for order in range(1, n + 1):
        p = clipped_precision(candidates, references, order)
        if p == 0:
            return 0.0
        total += log(p)
    return min(1.0, exp(1 - r / c)) * exp(total / n)


def _ngrams(tokens: Tokens, n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def crossings(links: Sequence[tuple[int, int]]) -> int:
    r"""Pairs of links $(i, j)$, $(i', j')$ with $i < i'$ and $j > j'$."""
    count = 0
    for i, j in links:
        for other_i, other_j in links:
            if i < other_i and j > other_j:
                count += 1
    return count


def chunks(links: Sequence[tuple[int, int]]) -> int:
    r"""Links $(i, j)$ without a link $(i - 1, j - 1)$: each of them begins a chunk."""
    count = 0
    for i, j in links:
        if (i - 1, j - 1) not in links:
            count += 1
    return count


def edit_distance(reference: Tokens, hypothesis: Tokens) -> int:
    r"""$d_{ij} = \min(d_{i-1,j} + 1,\ d_{i,j-1} + 1,\ d_{i-1,j-1} + [r_i \ne h_j])$."""
    d = [[0] * (len(hypothesis) + 1) for _ in range(len(reference) + 1)]
    for i in range(len(reference) + 1):
        for j in range(len(hypothesis) + 1):
            if i == 0 or j == 0:
                d[i][j] = i + j  # nothing but insertions, or nothing but deletions
                continue
            differs = 0 if reference[i - 1] == hypothesis[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + differs)
    return d[-1][-1]


def ssim_window(
    x: Sequence[Sequence[float]],
    y: Sequence[Sequence[float]],
    data_range: float,
    sigma: float = 1.5,
) -> float:
    r"""SSIM of two images as large as one window, with weights $\propto e^{-d^2/2\sigma^2}$."""
    middle = (len(x) - 1) / 2
    weighted = []  # weight and both pixels
    for i, row in enumerate(x):
        for j, x_ij in enumerate(row):
            distance = (i - middle) ** 2 + (j - middle) ** 2
            weighted.append((exp(-distance / (2 * sigma**2)), x_ij, y[i][j]))
    total = sum(w for w, _, _ in weighted)
    mu_x = sum(w * x_i for w, x_i, _ in weighted) / total
    mu_y = sum(w * y_i for w, _, y_i in weighted) / total
    variance_x = sum(w * (x_i - mu_x) ** 2 for w, x_i, _ in weighted) / total
    variance_y = sum(w * (y_i - mu_y) ** 2 for w, _, y_i in weighted) / total
    covariance = sum(w * (x_i - mu_x) * (y_i - mu_y) for w, x_i, y_i in weighted) / total
    C_1, C_2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    above = (2 * mu_x * mu_y + C_1) * (2 * covariance + C_2)
    return above / ((mu_x**2 + mu_y**2 + C_1) * (variance_x + variance_y + C_2))


def f1(truth: Sequence[int], predicted: Sequence[int], positive: int = 1) -> float:
    r"""$2PR / (P + R)$ with $P = TP / (TP + FP)$, $R = TP / (TP + FN)$; 0 without hits."""
    tp = fp = fn = 0
    for t, p in zip(truth, predicted, strict=True):
        if p == positive and t == positive:
            tp += 1
        elif p == positive:
            fp += 1
        elif t == positive:
            fn += 1
    if tp == 0:
        return 0.0
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return 2 * precision * recall / (precision + recall)
