r"""Right and wrong classes: accuracy, precision, recall and F1.  (chapter 8)

Every example has one true and one predicted class. Classes are integers or strings, in a list, a
NumPy array or a PyTorch tensor.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attn_course._arrays import require_choice

Labels = Any  # a list of classes, or an array of them


class PrecisionRecallF1(NamedTuple):
    """Three numbers, or three arrays with a number for each class."""

    precision: Any
    recall: Any
    f1: Any


def confusion_matrix(
    truth: Labels, predicted: Labels, *, classes: Sequence[Any] | None = None
) -> np.ndarray:
    """Return how often class i (row) was taken for class j (column).

    `classes` gives their order; without it, all that occur, sorted.

    >>> confusion_matrix(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    array([[1, 1],
           [0, 1]])
    """
    true, guessed = _labels(truth, predicted)
    return _counts(true, guessed, _order(true, guessed, classes))


def accuracy(truth: Labels, predicted: Labels) -> float:
    r"""$\frac{TP + TN}{\text{all}}$: the share of examples whose class was found.

    Where it misleads: where one class is rare, whoever never names it looks good.

    >>> truth = [1] * 5 + [0] * 95
    >>> never = [0] * 100
    >>> accuracy(truth, never), precision_recall_f1(truth, never).f1
    (0.95, 0.0)
    """
    true, guessed = _labels(truth, predicted)
    return float(np.mean(true == guessed))


def precision_recall_f1(
    truth: Labels,
    predicted: Labels,
    *,
    average: str = "binary",
    positive: Any = 1,
    classes: Sequence[Any] | None = None,
    zero_division: float = 0.0,
) -> PrecisionRecallF1:
    r"""$P = \frac{TP}{TP + FP}$, $R = \frac{TP}{TP + FN}$, $F_1 = \frac{2\,TP}{2\,TP + FP + FN}$.

    of one class against the rest. `average` says of which:

    - "binary": of the class `positive`
    - "none": of each class, in the order of `classes` (all that occur, sorted)
    - "macro": the mean over the classes, in which a rare class weighs as much as a common one
    - "micro": TP, FP and FN are summed over the classes first; with one class for each example all
      three are then the accuracy

    Macro-F1 is the mean of the F1, not the F1 of the means. A quotient 0/0, such as the precision
    of a class that was never predicted, is `zero_division`.

    >>> truth, predicted = ["cat", "cat", "dog", "eel"], ["cat", "dog", "dog", "dog"]
    >>> precision_recall_f1(truth, predicted, average="none").recall
    array([0.5, 1. , 0. ])

    Where it misleads: true negatives are not counted here, so the F1 depends on which class is
    called positive. The same predictions, seen from either side:

    >>> truth, predicted = ["ham"] * 9 + ["spam"], ["ham"] * 10
    >>> for positive in ("ham", "spam"):
    ...     print(f"{precision_recall_f1(truth, predicted, positive=positive).f1:.3f}")
    0.947
    0.000
    """
    require_choice("average", average, ("binary", "none", "macro", "micro"))
    if not 0 <= zero_division <= 1:
        raise ValueError(f"zero_division must be between 0 and 1, but is {zero_division}.")
    true, guessed = _labels(truth, predicted)
    order = _order(true, guessed, classes)
    counts = _counts(true, guessed, order)
    hits, named, present = counts.diagonal(), counts.sum(axis=0), counts.sum(axis=1)
    if average == "binary":
        if len(order) > 2:
            raise ValueError(
                f"average='binary' is for two classes, but there are {len(order)}: {order!r:.80}. "
                "Say average='macro', 'micro' or 'none'."
            )
        if len(order) == 2 and positive not in order:
            raise ValueError(
                f"positive is {positive!r}, but the classes are {order!r}. "
                f"Say which of them counts: positive={order[-1]!r}."
            )
        place = [label == positive for label in order]
        hits, named, present = (np.sum(x[place]) for x in (hits, named, present))
    elif average == "micro":
        hits, named, present = (x.sum() for x in (hits, named, present))
    scores = PrecisionRecallF1(
        precision=_quotient(hits, named, zero_division),
        recall=_quotient(hits, present, zero_division),
        f1=_quotient(2 * hits, named + present, zero_division),
    )
    if average == "none":
        return scores
    return PrecisionRecallF1(*(float(np.mean(score)) for score in scores))


def _quotient(above: Any, below: Any, zero_division: float) -> np.ndarray:
    above, below = np.asarray(above), np.asarray(below)
    return np.where(below == 0, zero_division, above / np.where(below == 0, 1, below))


def _counts(true: np.ndarray, guessed: np.ndarray, order: list[Any]) -> np.ndarray:
    if len(order) == 1:  # scikit-learn would warn
        return np.array([[len(true)]])
    from sklearn import metrics  # slow to load, and most of chapter 8 goes without

    return metrics.confusion_matrix(true, guessed, labels=order)


def _labels(truth: Labels, predicted: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return both as arrays of integers or strings."""
    (true, kinds_true), (guessed, kinds_guessed) = (
        _checked(name, labels) for name, labels in {"truth": truth, "predicted": predicted}.items()
    )
    if len(true) != len(guessed):
        raise ValueError(
            f"each example needs its prediction, but there are {len(true)} true classes and "
            f"{len(guessed)} predicted ones."
        )
    if not len(true):
        raise ValueError("there is nothing to score: truth and predicted are empty.")
    if len(kinds_true | kinds_guessed) > 1:
        raise ValueError(
            "truth and predicted mix integers and strings, so no class of one is in the other."
        )
    return true, guessed


def _checked(name: str, labels: Labels) -> tuple[np.ndarray, set[bool]]:
    """Return the labels as an array, and whether they are strings, integers, or both."""
    if hasattr(labels, "dtype") and labels.ndim == 1:
        array = np.asarray(labels)
        if array.dtype.kind in "biuU":
            return array, {array.dtype.kind == "U"}
    plain = labels.tolist() if hasattr(labels, "tolist") else labels
    if isinstance(plain, str) or not isinstance(plain, Sequence):
        raise ValueError(f"{name} must be a list of classes, but is {labels!r:.60}.")
    kinds = set(map(type, plain))  # a few, so the classes are looked at only if one is wrong
    if not all(issubclass(kind, int | str | np.integer) for kind in kinds):
        wrong = next(x for x in plain if not isinstance(x, int | str | np.integer))
        raise ValueError(
            f"{name} must be one class for each example, an integer or a string, but contains "
            f"{wrong!r:.60}. From scores or probabilities take the argmax first."
        )
    return np.array(plain), {issubclass(kind, str) for kind in kinds}


def _order(true: np.ndarray, guessed: np.ndarray, classes: Sequence[Any] | None) -> list[Any]:
    """Return the classes in the order asked for, or sorted."""
    present = np.union1d(true, guessed).tolist()
    if classes is None:
        return present
    missing = set(present) - set(classes)
    if missing or len(set(classes)) != len(classes):
        raise ValueError(
            "classes must name every class that occurs, each once, but "
            + (f"leaves out {sorted(map(str, missing))}." if missing else f"is {list(classes)}.")
        )
    return list(classes)
