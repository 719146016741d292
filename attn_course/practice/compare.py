"""Is what came the same as what was wanted? And if not, how do they differ?

Comparison is lenient where learners may differ (float32 or float64, list or array, NumPy or
PyTorch) and strict where an answer is wrong (shape, numbers, NaN).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice, permutations
from reprlib import repr as short  # of a long thing only the ends
from typing import Any

import numpy as np

from attn_course.inside.wire import Plain
from attn_course.practice.results import Difference
from attn_course.translate import _

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # what single precision leaves after a few operations
_MOST_PARTS = 4  # of a tuple, to look whether their order is all that is wrong


def difference(got: Plain, wanted: Plain) -> Difference | None:
    """Return None where `got` is `wanted`, else how and where they differ.

    >>> difference([1.0, 2.0], np.array([1.0, 2.0]))
    >>> difference(np.zeros((2, 3)), np.zeros((3, 2))).sentence
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


def same_but_for_nan(got: Plain, wanted: Plain) -> bool:
    """Return whether two values are the same wherever `got` is a number."""
    one, other = as_array(got), as_array(wanted)
    if one is None or other is None or one.shape != other.shape:
        return same(got, wanted)
    return same(np.where(np.isnan(one), other, one), other)


def as_array(value: Any) -> np.ndarray | None:
    """Return a number, list, array or tensor as a NumPy array, or None where it is none."""
    kept = _kept.get()
    if kept is None or not isinstance(value, list | tuple):
        return _converted(value)
    if id(value) not in kept:
        kept[id(value)] = value, _converted(value)
    return kept[id(value)][1]


@contextmanager
def converting_once() -> Iterator[None]:
    """Convert each list no more than once while this lasts: none may change in the meantime.

    An answer of nested lists is compared with what every known mistake returns, and converting the
    largest that can be handed over (see `wire`) takes a hundredth of a second or two.
    """
    before = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(before)


@contextmanager
def tolerating(relative: float, absolute: float) -> Iterator[None]:
    """Compare with another tolerance while this lasts: where small numbers are the point."""
    before = _tolerance.set((relative, absolute))
    try:
        yield
    finally:
        _tolerance.reset(before)


_tolerance: ContextVar[tuple[float, float]] = ContextVar("_tolerance", default=(RELATIVE, ABSOLUTE))
# By their ids, lists with what they were converted to. They are kept too, or ids would be reused.
_kept: ContextVar[dict[int, tuple[Any, np.ndarray | None]] | None] = ContextVar(
    "_kept", default=None
)


def _converted(value: Any) -> np.ndarray | None:
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


def _array_difference(got: Plain, wanted: Plain) -> Difference | None:
    expected = np.asarray(wanted)
    if got is None:
        return Difference(_("It returns nothing: is there a `return`?"), got, wanted)
    array = as_array(got)
    if array is None:
        sentence = _("It is a {kind}; it should be an array of shape {shape}.")
        kind = type(got).__name__
        return Difference(sentence.format(kind=kind, shape=expected.shape), got, wanted)
    if array.shape != expected.shape:
        sentence = _("The shape is {got}; it should be {wanted}.")
        return Difference(sentence.format(got=array.shape, wanted=expected.shape), got, wanted)
    relative, absolute = _tolerance.get()
    close = np.isclose(array, expected, rtol=relative, atol=absolute, equal_nan=True)
    if close.all():
        return None
    return Difference(_how_many(array, expected, ~close), got, wanted, where=~close)


def _how_many(array: np.ndarray, expected: np.ndarray, differs: np.ndarray) -> str:
    """Say how many numbers are not what they should be, and in which way."""
    not_finite = ~np.isfinite(array) & np.isfinite(expected)
    not_nan = np.isnan(expected) & ~np.isnan(array)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        apart = np.abs(array.astype(float) - expected.astype(float))[differs]
    if array.size == 1:
        if not_finite.any():
            return _("The number is NaN or infinite.")
        if not_nan.any():
            return _("The number should be NaN.")
        return _("The number differs by {largest:.3g}.").format(largest=float(np.max(apart)))
    if not_finite.any():
        return _("{count} of {total} numbers are NaN or infinite.").format(
            count=int(not_finite.sum()), total=array.size
        )
    if not_nan.any():
        return _("{count} of {total} numbers should be NaN.").format(
            count=int(not_nan.sum()), total=array.size
        )
    return _("{count} of {total} numbers differ, by at most {largest:.3g}.").format(
        count=int(differs.sum()), total=array.size, largest=float(np.max(apart))
    )


def _tuple_difference(got: Plain, wanted: tuple[Plain, ...]) -> Difference | None:
    shape = all(type(item) is int for item in wanted) and as_array(wanted) is not None
    if shape:  # only the very same numbers do
        numbers = as_array(got)
        if numbers is not None and numbers.shape == (len(wanted),) and (numbers == wanted).all():
            return None
        return _unequal(got, wanted)
    as_one_array = all(map(_is_number, wanted))  # three numbers may come so
    if got is None:
        return Difference(_("It returns nothing: is there a `return`?"), got, wanted)
    parts = _parts(got) if as_one_array or isinstance(got, list | tuple) else None
    if parts is None or len(parts) != len(wanted):
        sentence = _("It should be a tuple of {count} things.").format(count=len(wanted))
        return Difference(sentence, got, wanted)
    for number, (one, other) in enumerate(zip(parts, wanted, strict=True), start=1):
        found = difference(one, other)
        if found:
            place = (_("part {number}").format(number=number), *found.place)
            sentence = (
                _("The parts are right, their order is not.")
                if _in_another_order(parts, wanted)
                else _("Part {place}: {sentence}").format(place=number, sentence=found.sentence)
            )
            return replace(found, sentence=sentence, place=place)
    return None


def _in_another_order(got: Iterable[Plain], wanted: tuple[Plain, ...]) -> bool:
    """Return whether parts that are wrong as they are would be right in another order."""
    if len(wanted) > _MOST_PARTS:
        return False
    return any(all(map(same, reordered, wanted)) for reordered in permutations(got))


def _parts(value: Plain) -> list[Plain] | tuple[Plain, ...] | np.ndarray | None:
    """Return what has parts, a tensor as an array, or None where there are no parts."""
    if isinstance(value, list | tuple):
        return value
    array = as_array(value)
    return array if array is not None and array.ndim > 0 else None


def _is_number(value: Plain) -> bool:
    array = as_array(value)
    return array is not None and array.ndim == 0


def _dict_difference(got: Plain, wanted: dict[Any, Plain]) -> Difference | None:
    if not isinstance(got, dict) or set(got) != set(wanted):
        names = _some(map(str, got)) if isinstance(got, dict) else type(got).__name__
        sentence = _("There is {got}; there should be {wanted}.").format(
            got=names, wanted=", ".join(map(str, wanted))
        )
        return Difference(sentence, got, wanted)
    for name, value in wanted.items():
        found = difference(got[name], value)
        if found:
            sentence = f"{name}: {found.sentence}"
            return replace(found, sentence=sentence, place=(str(name), *found.place))
    return None


def _unequal(got: Plain, wanted: Plain) -> Difference:
    sentence = _("It is {got}; it should be {wanted}.")
    return Difference(sentence.format(got=short(got), wanted=short(wanted)), got, wanted)


def _some(names: Iterable[str], most: int = 20) -> str:
    """Return the first names in a row; whoever returns a thousand has them all in view."""
    shown = [name[:80] for name in islice(names, most + 1)]
    return ", ".join(shown[:most] + ["…"] * (len(shown) > most)) or _("none")


# An answer that is to be found


def hint_at(got: Plain, wanted: Plain) -> Difference | None:
    """Return how an answer that is to be found differs, without giving it away."""
    if same(got, wanted):
        return None
    return Difference(guidance(got, wanted), got, None, is_secret=True)


def guidance(got: Plain, wanted: Plain) -> str:
    """Say what is wrong or right about an answer that is to be found, and not what it should be.

    >>> guidance([0.75], [0.75, 0.9])
    'It should be a list of 2 things; yours has 1.'
    >>> guidance([0.75, 0.8], [0.75, 0.9])
    'That is not it yet. Right so far: part 1.'
    """
    if not isinstance(wanted, list):
        return _wrong_sort(got, wanted) or _("That is not it yet.")
    parts = _parts(got)
    if parts is None:
        return _("It should be a list of {count} things; yours is a {kind}.").format(
            count=len(wanted), kind=type(got).__name__
        )
    if len(parts) != len(wanted):
        return _("It should be a list of {wanted} things; yours has {got}.").format(
            wanted=len(wanted), got=len(parts)
        )
    return _guidance_for_parts(dict(enumerate(zip(parts, wanted, strict=True), start=1)))


def _guidance_for_parts(pairs: dict[int, tuple[Plain, Plain]]) -> str:
    for place, pair in pairs.items():
        sentence = _wrong_sort(*pair)
        if sentence:
            return _("Part {place}: {sentence}").format(place=place, sentence=sentence)
    right = [place for place, pair in pairs.items() if same(*pair)]
    rounded = [place for place, pair in pairs.items() if place not in right and _rounded(*pair)]
    sentences = [_("That is not it yet.")]
    if right:
        sentences.append(_("Right so far: {parts}.").format(parts=_numbered(right)))
    if rounded:
        sentences.append(_("Give more digits: {parts}.").format(parts=_numbered(rounded)))
    return " ".join(sentences)


def _numbered(places: Iterable[int]) -> str:
    return ", ".join(_("part {number}").format(number=place) for place in places)


def _wrong_sort(got: Plain, wanted: Plain) -> str | None:
    """Return a sentence for a word instead of a number, say, without the number of axes."""
    expected, array = as_array(wanted), as_array(got)
    if expected is None or (array is not None and array.ndim == expected.ndim):
        return None
    sort = _("a shape, such as (2, 3)") if expected.ndim else _("one number")
    return _("It should be {sort}; yours is a {kind}.").format(sort=sort, kind=type(got).__name__)


def _rounded(got: Plain, wanted: Plain) -> bool:
    """Return whether a number is right to two or more decimals and no further."""
    if not _is_number(wanted):
        return False
    decimals = len(str(float(got)).partition(".")[2])
    return decimals >= 2 and round(float(wanted), decimals) == float(got)
