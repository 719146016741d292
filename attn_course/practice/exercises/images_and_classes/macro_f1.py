"""Both numbers that are called macro-F1, with 0/0 as an argument."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def macro_f1(truth, predicted, n_classes, zero_division):
    if not 0 <= zero_division <= 1 or n_classes <= max(truth.max(), predicted.max()):
        raise ValueError("0/0 is a score, and the classes are known")  # where inputs are changed
    precisions, recalls, scores = [], [], []
    pairs = list(zip(truth.tolist(), predicted.tolist(), strict=True))
    for c in range(n_classes):
        tp = sum(t == c and p == c for t, p in pairs)
        fp = sum(t != c and p == c for t, p in pairs)
        fn = sum(t == c and p != c for t, p in pairs)
        precisions.append(tp / (tp + fp) if tp + fp else zero_division)
        recalls.append(tp / (tp + fn) if tp + fn else zero_division)
        scores.append(2 * tp / (2 * tp + fp + fn) if tp + fp + fn else zero_division)
    p, r = sum(precisions) / n_classes, sum(recalls) / n_classes
    return sum(scores) / n_classes, 2 * p * r / (p + r) if p + r else 0.0


def _labels(rng, counts):
    """Return true and predicted classes, shuffled, from `counts[i][j]`: i taken for j."""
    counts = np.array(counts)
    truth, predicted = np.nonzero(counts)
    repeats = counts[truth, predicted]
    order = rng.permutation(repeats.sum())
    return np.repeat(truth, repeats)[order], np.repeat(predicted, repeats)[order]


def _renamed(rng, counts):
    """Return the table with its classes in another order."""
    order = rng.permutation(len(counts))
    return np.array(counts)[order][:, order]


def _table(rng, k):
    """Return a table whose classes are of different sizes and are found with different luck."""
    table = rng.integers(0, 2, (k, k))
    table[0] += rng.integers(1, 3, k)
    np.fill_diagonal(table, rng.permutation(np.arange(1, k + 1)))
    table[0, 0] = k + 3
    return table


@macro_f1.cases(points=2, label=_("every class has examples and predictions"))
def common(rng):
    yield Case(*_labels(rng, _renamed(rng, [[3, 2], [0, 1]])), 2, 0.0)
    yield Case(*_labels(rng, _renamed(rng, _table(rng, 3))), 3, 0.0)
    yield Case(*_labels(rng, _renamed(rng, _table(rng, 4))), 4, 1.0)
    yield Case(*_labels(rng, [[3, 1], [1, 2]]), 2, 0.0)  # the two means are equal


@macro_f1.cases(points=1, label=_("a class that is never predicted, and one without examples"))
def never_predicted(rng):
    for zero_division in (0.0, 1.0, 0.5):
        never = [[4, 1, 0], [1, 2, 0], [2, 1, 0]]
        yield Case(*_labels(rng, never), 3, zero_division)
        yield Case(*_labels(rng, _renamed(rng, np.transpose(never))), 3, zero_division)
    yield Case(*_labels(rng, np.transpose(never)), 3, 0.5)  # the last class has no examples


@macro_f1.cases(points=1, label=_("a class with neither examples nor predictions"))
def absent(rng):
    for zero_division in (0.0, 1.0, 0.5):
        table = np.zeros((4, 4), dtype=int)
        table[:3, :3] = _table(rng, 3)
        yield Case(*_labels(rng, table), 4, zero_division)  # the last class is absent
        order = [0, 3, 1, 2] if zero_division else [3, 2, 1, 0]
        yield Case(*_labels(rng, table[order][:, order]), 4, zero_division)  # another is


@macro_f1.cases(
    points=1, label=_("a class that is always mistaken, and no right prediction at all")
)
def mistaken(rng):
    for zero_division in (1.0, 0.5):
        yield Case(
            *_labels(rng, _renamed(rng, [[5, 1, 0], [1, 0, 1], [0, 2, 3]])), 3, zero_division
        )
        yield Case(*_labels(rng, _renamed(rng, [[0, 2], [1, 0]])), 2, zero_division)
    yield Case(*_labels(rng, [[0, 2, 1], [1, 0, 1], [2, 0, 0]]), 3, 0.0)


@macro_f1.variant
def from_a_table(truth, predicted, n_classes, zero_division):
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (truth, predicted), 1)
    hits, named, present = table.diagonal(), table.sum(axis=0), table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        precision, recall, f1 = (
            np.where(below == 0, zero_division, above / below).mean()
            for above, below in ((hits, named), (hits, present), (2 * hits, named + present))
        )
        return f1, np.nan_to_num(2 * precision * recall / (precision + recall))


@macro_f1.variant
def harmonic_means(truth, predicted, n_classes, zero_division):
    each = []
    for c in range(n_classes):
        named, present = predicted == c, truth == c
        p = np.mean(present[named]) if named.any() else zero_division
        r = np.mean(named[present]) if present.any() else zero_division
        is_absent = not named.any() and not present.any()
        f = zero_division if is_absent else 0 if p * r == 0 else 2 / (1 / p + 1 / r)
        each.append((p, r, f))
    p, r, f = np.mean(each, axis=0)
    return f, 2 * p * r / (p + r) if p > 0 else 0.0


@macro_f1.variant
def macro_f1_in_torch(truth, predicted, n_classes, zero_division):
    import torch

    one_hot = [
        torch.nn.functional.one_hot(torch.as_tensor(labels), n_classes).double()
        for labels in (truth, predicted)
    ]
    hits, present, named = (one_hot[0] * one_hot[1]).sum(0), one_hot[0].sum(0), one_hot[1].sum(0)
    p, r, f = (
        (above / below).nan_to_num(zero_division).mean()
        for above, below in ((hits, named), (hits, present), (2 * hits, named + present))
    )
    return f, (2 * p * r / (p + r)).nan_to_num(0.0)
