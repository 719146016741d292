"""A smaller input on which an answer goes wrong in the same way: one that can be redone by hand.

Cases use a different size for every axis, so axes of one size belong together: they are made
shorter together in all arguments, and a size that builds a module is made smaller with them. A
smaller input on which the reference raises is dropped, so a reference that raises ValueError on
what its task excludes keeps such inputs out of the examples. An input that fails in another way is
dropped too, and so is one on which the answer is nearly right.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attn_course.inside.wire import Plain
from attn_course.practice.compare import as_array
from attn_course.practice.definition import Case
from attn_course.practice.results import Failure

Fails = Callable[[Case], Failure | None]
_SECONDS = 1.0
_MOST_TRIALS = 200
_LEAST_SHARE = 0.02  # of the difference that a smaller input may leave


def shrunk(case: Case, failure: Failure, fails: Fails) -> Failure:
    """Return the failure on the smallest case found that fails in the same way as `case`."""
    deadline, trials = time.monotonic() + _SECONDS, 0
    best, found = case, failure
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in _smaller(best):
            trials += 1
            if trials > _MOST_TRIALS or time.monotonic() > deadline:
                return found
            also = fails(smaller)
            if also is not None and _alike(failure, also):
                best, found, is_smaller = smaller, also, True
                break
    return found


def count(case: Case) -> int:
    """Return how many numbers a case has."""
    return sum(math.prod(value.shape) for value in arrays_of(case))


def _alike(one: Failure, other: Failure) -> bool:
    """Return whether two failures are of one kind: the same exception, or the same difference."""
    if one.raised and other.raised:
        return one.raised.type == other.raised.type
    if one.difference is None or other.difference is None:
        return False
    return _kind(one) == _kind(other) and _largest(other) >= _LEAST_SHARE * _largest(one)


def _kind(failure: Failure) -> tuple[Any, ...]:
    difference = failure.difference
    assert difference is not None  # whoever asks has looked
    got, wanted = as_array(difference.got), as_array(difference.wanted)
    if got is None or wanted is None:  # a tuple with a part too few, say
        return difference.place, type(difference.got).__name__, type(difference.wanted).__name__
    if difference.where is None:
        return difference.place, "shape", got.ndim - wanted.ndim
    strange = bool(~np.isfinite(got.astype(float))[difference.where].all())
    return difference.place, "numbers", strange


def _largest(failure: Failure) -> float:
    """Return the largest finite difference of two arrays; 0 where there is none."""
    difference = failure.difference
    if difference is None or difference.where is None:
        return 0.0
    got, wanted = as_array(difference.got), as_array(difference.wanted)
    assert got is not None  # `where` compares their numbers
    assert wanted is not None
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        apart = np.abs(got.astype(float) - wanted.astype(float))[difference.where]
    return float(np.max(apart[np.isfinite(apart)], initial=0.0))


def arrays_of(case: Case) -> list[Any]:
    """Return the arguments of a case that are arrays."""
    return [value for value in case.args if hasattr(value, "shape")]


def _smaller(case: Case) -> Iterator[Case]:
    """Yield cases with one batch axis less, or one size made smaller: the boldest first."""
    arrays = arrays_of(case)
    most = max((value.ndim for value in arrays), default=0)
    if most > 2:
        without = _without_first_axis(case, most)
        if without is not None:
            yield without
    sizes = sorted({size for value in arrays for size in value.shape if size > 1}, reverse=True)
    for size in sizes:
        for less in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < less < size:
                yield _cut(case, size, less)
    for name, value in case.kwargs.items():  # a width inside a module, which no input has
        if type(value) is int and value > 1 and value not in sizes:
            for less in dict.fromkeys((1, 2, value // 2)):
                if less < value:
                    yield Case(*case.args, **case.kwargs | {name: less})


def _without_first_axis(case: Case, most: int) -> Case | None:
    """Return the first element of a batch: of every argument that has its axis."""
    lengths = {v.shape[0] for v in arrays_of(case) if v.ndim == most}
    if len(lengths) != 1:
        return None
    (length,) = lengths
    # With the dots a single number stays an array without axes, which an answer may index.
    args = [
        value[0, ...] if hasattr(value, "shape") and value.shape[:1] == (length,) else value
        for value in case.args
    ]
    return Case(*args, **case.kwargs)


def _cut(case: Case, size: int, less: int) -> Case:
    """Return the case with every axis of one size cut to another."""

    def cut(value: Plain) -> Plain:
        if not hasattr(value, "shape"):
            return value
        place = tuple(slice(less) if length == size else slice(None) for length in value.shape)
        return value[(*place, ...)]  # with the dots an array without axes stays one

    def renamed(value: Plain) -> Plain:
        return less if type(value) is int and value == size else value

    kwargs = {name: renamed(cut(value)) for name, value in case.kwargs.items()}
    return Case(*map(cut, case.args), **kwargs)
