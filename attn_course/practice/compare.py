"""Is what came the same as what was wanted? And if not, how do they differ?

Comparison is lenient where learners may differ (float32 or float64, list or array, NumPy or
PyTorch) and strict where an answer is wrong (shape, numbers, NaN).
"""

from collections.abc import Iterable
from itertools import islice
from reprlib import repr as short  # of a long thing only the ends
from typing import Any

import numpy as np

from attn_course.practice.wire import Plain
from attn_course.translate import _

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # what single precision leaves after a few operations


def difference(got: Plain, wanted: Plain) -> str | None:
    """Return None where `got` is `wanted`, else one sentence that says how they differ.

    >>> difference([1.0, 2.0], np.array([1.0, 2.0]))
    >>> difference(np.zeros((2, 3)), np.zeros((3, 2)))
    'The shape is (2, 3); it should be (3, 2).'
    """
    if isinstance(wanted, dict):
        return _dict_difference(got, wanted)
    if isinstance(wanted, tuple) or (isinstance(wanted, list) and as_array(wanted) is None):
        return _tuple_difference(got, tuple(wanted))
    if isinstance(wanted, bool) or as_array(wanted) is None:  # a word, None, a huge int
        if type(got) is type(wanted) and got == wanted:
            return None
        return _unequal(got, wanted)
    return _array_difference(got, wanted)


def same(one: Plain, other: Plain) -> bool:
    """Return whether two values are the same to single precision."""
    return difference(one, other) is None


def as_array(value: Any) -> np.ndarray | None:
    """Return a number, list, array or tensor as a NumPy array, or None where it is none."""
    if not _holds_numbers(value):
        return None
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # ragged lists, for example
        return None
    return array if array.dtype.kind in "biuf" else None


def _holds_numbers(value: Any) -> bool:
    """Return whether there is nothing but numbers in it.

    NumPy makes room for the longest string of a list in every item, so one word could fill all
    memory.
    """
    if isinstance(value, list | tuple):
        return all(_holds_numbers(item) for item in value)
    return value is not None and not isinstance(value, str | dict)


def _array_difference(got: Plain, wanted: Plain) -> str | None:
    expected = np.asarray(wanted)
    array = as_array(got)
    if array is None:
        return _("It is a {kind}; it should be an array of shape {shape}.").format(
            kind=type(got).__name__, shape=expected.shape
        )
    if array.shape != expected.shape:
        return _("The shape is {got}; it should be {wanted}.").format(
            got=array.shape, wanted=expected.shape
        )
    finite = np.isfinite(array.astype(float))
    if not finite.all() and np.isfinite(expected.astype(float)).all():
        return _("{count} of {total} numbers are NaN or infinite.").format(
            count=int((~finite).sum()), total=array.size
        )
    close = np.isclose(array, expected, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    if close.all():
        return None
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        apart = np.abs(array.astype(float) - expected.astype(float))[~close]
    return _("{count} of {total} numbers differ, at most by {largest:.3g}.").format(
        count=int((~close).sum()), total=array.size, largest=float(np.max(apart))
    )


def _tuple_difference(got: Plain, wanted: tuple[Plain, ...]) -> str | None:
    shape = all(type(item) is int for item in wanted) and as_array(wanted) is not None
    if shape:  # only the very same numbers do
        numbers = as_array(got)
        if numbers is not None and numbers.shape == (len(wanted),) and (numbers == wanted).all():
            return None
        return _unequal(got, wanted)
    if not isinstance(got, list | tuple) or len(got) != len(wanted):
        return _("It should be a tuple of {count} things.").format(count=len(wanted))
    for place, (one, other) in enumerate(zip(got, wanted, strict=True), start=1):
        sentence = difference(one, other)
        if sentence:
            return _("Part {place}: {sentence}").format(place=place, sentence=sentence)
    return None


def _dict_difference(got: Plain, wanted: dict[Any, Plain]) -> str | None:
    if not isinstance(got, dict) or set(got) != set(wanted):
        names = _some(map(str, got)) if isinstance(got, dict) else type(got).__name__
        return _("There is {got}; there should be {wanted}.").format(
            got=names, wanted=", ".join(map(str, wanted))
        )
    for name, value in wanted.items():
        sentence = difference(got[name], value)
        if sentence:
            return f"{name}: {sentence}"
    return None


def _unequal(got: Plain, wanted: Plain) -> str:
    return _("It is {got}; it should be {wanted}.").format(got=short(got), wanted=short(wanted))


def _some(names: Iterable[str], most: int = 20) -> str:
    """Return the first names in a row; whoever returns a thousand has them all in view."""
    shown = [name[:80] for name in islice(names, most + 1)]
    return ", ".join(shown[:most] + ["…"] * (len(shown) > most))
