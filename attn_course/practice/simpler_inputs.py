"""On which simpler inputs a wrong answer would be right: a fact that says where to look.

"Your answer is right as long as `block` is 1", "… as long as `mask` is True everywhere", "… as long
as `queries.shape[-2]` is 1": each case is made simpler in the same way, and the answer is called
again. A way counts only if at least two wrong cases become right and no case stays wrong, and if
the right answer still depends on everything else: with a single key every weight is 1, so an
answer that is right there says nothing.
"""

import time
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.inside.wire import Plain
from attn_course.practice.compare import same
from attn_course.practice.definition import Case
from attn_course.practice.shrinking import arrays_of
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.judging import Drawn, Outcome

Simplify = Callable[[Case], list[Case]]  # none where a case is as simple already
_SECONDS = 1.0
_FEWEST = 2  # wrong cases that must become right: one may do so by chance


def right_as_long_as(
    exercise: "Exercise",
    drawn: "Drawn",
    got: "dict[Case, Outcome]",
    ask: "Callable[[Case], Outcome]",
) -> Iterator[str]:
    """Yield the first simplification under which the answer is right."""
    cases = [case for case in drawn.cases if case in got]
    names = list(exercise.named_arguments(cases[0]))
    deadline = time.monotonic() + _SECONDS
    for words, changed, simplify in _ways(cases, names):
        if time.monotonic() > deadline:
            return
        if _helps(simplify, changed, drawn, got, ask):
            yield _("Your answer is right as long as {condition}.").format(condition=words)
            return


def _helps(
    simplify: Simplify,
    changed: set[int],
    drawn: "Drawn",
    got: "dict[Case, Outcome]",
    ask: "Callable[[Case], Outcome]",
) -> bool:
    became_right = 0
    for case, outcome in got.items():
        if not drawn.failure(case, outcome):
            continue
        simpler = [one for one in simplify(case) if drawn.is_allowed(one)]
        if any(drawn.failure(one, ask(one)) for one in simpler):
            return False
        became_right += any(_depends_on_the_rest(one, changed, drawn) for one in simpler)
    return became_right >= _FEWEST


def _depends_on_the_rest(case: Case, changed: set[int], drawn: "Drawn") -> bool:
    """Return whether the right answer depends on every array of numbers that was not changed."""
    rng = np.random.default_rng(0)
    for place, value in enumerate(case.args):
        if place in changed or not _is_numbers(value):
            continue
        other = _with(case, {place: value + rng.uniform(0.5, 1.5, value.shape)})
        if not drawn.is_allowed(other) or same(drawn.wanted(other).value, drawn.wanted(case).value):
            return False
    return True


# --- ways to make a case simpler --------------------------------------------------------------


def _ways(cases: list[Case], names: list[str]) -> Iterator[tuple[str, set[int], Simplify]]:
    """Yield what a way says, which arguments it replaces, and the way itself."""
    first = cases[0].args
    for place, value in enumerate(first):
        if type(value) is int:
            yield f"`{names[place]}` = 1", {place}, _number(place, lambda _case: 1)
            words = _("`{name}` is larger than every axis").format(name=names[place])
            yield words, {place}, _number(place, _more_than_every_axis)
    for place, value in enumerate(first):
        if is_mask(value):
            words = _("`{name}` is True everywhere").format(name=names[place])
            yield words, {place}, _array(np.ones_like, place)
    yield from _short_axes(cases, names)
    # A state may be 0, as at the beginning of a text; scores of 0 say nothing.
    states = [place for place in range(len(first)) if _is_zero_somewhere(cases, place)]
    for count in (1, 2):
        for places in combinations(states, count):
            words = _(" and ").join(f"`{names[place]}`" for place in places)
            yield f"{words} = 0", set(places), _array(np.zeros_like, *places)


def _number(place: int, new: Callable[[Case], int]) -> Simplify:
    def simplify(case: Case) -> list[Case]:
        value = new(case)
        return [] if case.args[place] == value else [_with(case, {place: value})]

    return simplify


def _more_than_every_axis(case: Case) -> int:
    return 1 + max((size for value in arrays_of(case) for size in value.shape), default=0)


def _array(make: Callable[[Any], Any], *places: int) -> Simplify:
    return lambda case: [_with(case, {place: make(case.args[place]) for place in places})]


def _is_zero_somewhere(cases: list[Case], place: int) -> bool:
    values = [case.args[place] for case in cases]
    return all(map(_is_numbers, values)) and any(not value.any() for value in values)


def _short_axes(cases: list[Case], names: list[str]) -> Iterator[tuple[str, set[int], Simplify]]:
    """Yield each kind of axis cut to 1: axes that are equally long in every case are one kind."""
    lengths: dict[tuple[int | None, ...], list[tuple[int, int]]] = {}
    for place, value in enumerate(cases[0].args):
        for axis in range(-1, -1 - getattr(value, "ndim", 0), -1):
            length = tuple(_length(case, place, axis) for case in cases)
            lengths.setdefault(length, []).append((place, axis))
    for kind in lengths.values():
        place, axis = kind[0]
        yield f"`{names[place]}.shape[{axis}]` = 1", set(), _cut_to_one(kind)


def _cut_to_one(kind: list[tuple[int, int]]) -> Simplify:
    """Return how axes of one kind are cut; not where another axis happens to be as long."""

    def simplify(case: Case) -> list[Case]:
        size = _length(case, *kind[0])
        if size is None or size < 2:
            return []
        as_long = sum(length == size for value in arrays_of(case) for length in value.shape)
        if as_long != len(kind):
            return []
        return [_one_of(case, kind, index) for index in dict.fromkeys((0, size // 2, size - 1))]

    return simplify


def _one_of(case: Case, kind: list[tuple[int, int]], index: int) -> Case:
    new: dict[int, Any] = {}
    for place, axis in kind:
        value = new[place] if place in new else case.args[place]
        new[place] = np.take(value, [index], axis)
    return _with(case, new)


def _length(case: Case, place: int, axis: int) -> int | None:
    value = case.args[place]
    return value.shape[axis] if getattr(value, "ndim", 0) >= -axis else None


def _with(case: Case, new: dict[int, Any]) -> Case:
    args = (new.get(place, value) for place, value in enumerate(case.args))
    return Case(*args, **case.kwargs)


def is_mask(value: Plain) -> bool:
    """Return whether an argument is an array of True and False."""
    return isinstance(value, np.ndarray) and value.dtype == bool


def _is_numbers(value: Plain) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0
