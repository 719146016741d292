"""What can be seen in a wrong answer without knowing the mistake: facts, not causes.

The known mistakes of an exercise come first (`judging`). Where none of them fits, an observation
may still help: "Your answer does not depend on `mask`", "{subject} is the right one with
`queries` and `keys` exchanged", "… is the right one times 2". Each is said only if it is true on
**every** case that brought a value, so it is true whenever it is said.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.inside.wire import Plain
from attn_course.practice.compare import as_array, difference, same
from attn_course.practice.definition import Case
from attn_course.practice.results import Failure
from attn_course.practice.simpler_inputs import is_mask, right_as_long_as
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.judging import Drawn, Outcome

Ask = Callable[[Case], "Outcome"]  # calls the submission once more
_MOST_SAID = 2
_FEWEST_LINES = 3  # that must show the same, so that it is not by chance
_RTOL, _ATOL = 1e-4, 1e-6


@dataclass(frozen=True)
class Seen:
    """One case that brought a value: its arguments by name, what came and what was wanted.

    `got` and `wanted` are the part of the answer that differs somewhere, as arrays.
    """

    case: Case
    arguments: dict[str, Plain]
    got: np.ndarray
    wanted: np.ndarray
    place: tuple[str | int, ...] = ()  # the way to that part: keys of dicts, places in tuples

    @property
    def subject(self) -> str:
        """What sentences are about: "Your answer", "Part 2 of your answer"."""
        return _subject(self.place)

    @property
    def is_right(self) -> bool:
        """Whether this case is right."""
        return same(self.got, self.wanted)


def observe(
    exercise: "Exercise",
    drawn: "Drawn",
    got: "dict[Case, Outcome]",
    ask: Ask | None = None,
    shown: Failure | None = None,
) -> tuple[str, ...]:
    """Return at most two sentences about a wrong answer; without `ask` no further call is made.

    `shown` is the example that the learner will see, which no sentence may contradict.
    """
    if exercise.kind == "value":
        return ()
    if exercise.kind == "module":
        cut = list(_gradients(drawn, got))
        if cut:
            return tuple(cut[:_MOST_SAID])
    seen = _seen(exercise, drawn, got)
    said: list[str] = []
    differs = bool(seen) and not all(one.is_right for one in seen)
    with np.errstate(all="ignore"):
        if differs:
            said += _said(exercise, drawn, got, seen, ask)
        if exercise.kind == "function" and ask is not None and not said:
            said += right_as_long_as(exercise, drawn, got, ask)
        if differs:
            said += _only_one_part(drawn, got, seen)
    said += _only_batches(drawn, got, shown)
    said += _only_one_group(drawn, got)
    return tuple(dict.fromkeys(said))[:_MOST_SAID]


def _said(
    exercise: "Exercise",
    drawn: "Drawn",
    got: "dict[Case, Outcome]",
    seen: list[Seen],
    ask: Ask | None,
) -> Iterator[str]:
    """Yield what is true, the most informative first."""
    yield from _unchanged(seen)
    if exercise.kind == "function":
        yield from _answers_to_another_question(exercise, got, drawn, _changes, seen[0])
        if ask is not None:
            yield from _unused_arguments(exercise, drawn, got, ask)
    # What one of these finds, another would only say in another way.
    forms = (
        list(look(seen))
        for look in (
            _transposed,
            _factor,
            _offset,
            _function_of_it,
            _shifted,
            _in_proportion,
            _off_by_one_number_per_row,
            _in_other_places,
        )
    )
    form = next((found for found in forms if found), [])
    yield from form
    if exercise.kind == "function" and not form:  # a factor of the answer itself says more
        yield from _answers_to_another_question(exercise, got, drawn, _scales, seen[0])
    looks = (
        _too_many_or_too_few,
        _sums,
        _only_somewhere,
        _only_one_sign,
        _only_at_the_edge,
        _right_at_the_beginning,
    )
    for look in looks:
        yield from look(seen)


# --- what there is to look at ----------------------------------------------------------------


def _seen(exercise: "Exercise", drawn: "Drawn", got: "dict[Case, Outcome]") -> list[Seen]:
    """Return the cases that brought arrays, reduced to the first part that differs anywhere."""
    answered = [case for case in drawn.cases if case in got and got[case].raised is None]
    place = _first_place(drawn, got, answered)
    if place is None or place[:1] == ("parameters",):  # shapes: the difference says it all
        return []
    seen = []
    for case in answered:
        mine = as_array(_part(got[case].value, place))
        right = as_array(_part(drawn.wanted(case).value, place))
        if mine is None or right is None:
            return []
        seen.append(Seen(case, exercise.named_arguments(case), mine, right, place))
    return seen


def _subject(place: tuple[str | int, ...]) -> str:
    """Return how a part of the answer is spoken of."""
    if not place:
        return _("Your answer")
    if place[0] == "output":
        return _("The output")
    if place[0] == "gradients":
        return _("The gradient of `{name}`").format(name=place[-1])
    if isinstance(place[0], int):
        return _("Part {number} of your answer").format(number=place[0] + 1)
    return f"`{place[0]}`"


def _first_place(
    drawn: "Drawn", got: "dict[Case, Outcome]", cases: Sequence[Case]
) -> tuple[str | int, ...] | None:
    for case in cases:
        wanted = drawn.wanted(case).value
        if difference(got[case].value, wanted):
            return _path(got[case].value, wanted)
    return None


def _path(got: Plain, wanted: Plain) -> tuple[str | int, ...]:
    """Return the way to the first part that differs: keys of dicts, places in tuples."""
    if isinstance(wanted, dict) and isinstance(got, dict) and set(got) == set(wanted):
        keys: Iterable[Any] = wanted
    elif isinstance(wanted, tuple) and isinstance(got, list | tuple) and len(got) == len(wanted):
        keys = range(len(wanted))
    else:
        return ()
    for key in keys:
        if not same(got[key], wanted[key]):
            return (key, *_path(got[key], wanted[key]))
    return ()


def _part(value: Plain, path: tuple[str | int, ...]) -> Plain:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


# --- the right answer to another question -----------------------------------------------------


Change = Callable[[dict[str, Plain]], dict[str, Plain] | None]
# Of the arguments, in words; the string is about the subject, such as "Part 2 of your answer".
Changes = Callable[[dict[str, Plain], str], Iterator[tuple[str, Change]]]


def _answers_to_another_question(
    exercise: "Exercise",
    got: "dict[Case, Outcome]",
    drawn: "Drawn",
    changes: Changes,
    part: Seen,
) -> Iterator[str]:
    """Yield changes of the inputs for which the answer would be right, on all cases.

    If that is true of no change, the part that differs is looked at alone. Where the answer raises,
    the reference must refuse the changed inputs as well: two matrices that are exchanged may fit
    only where they have the same shape.
    """
    cases = [case for case in drawn.cases if case in got]
    answered = [case for case in cases if got[case].raised is None]
    if all(_is_right(case, drawn, got) for case in answered):
        return
    raised = [case for case in cases if got[case].raised is not None]
    for place in dict.fromkeys(((), part.place)):
        for sentence, change in changes(exercise.named_arguments(cases[0]), _subject(place)):
            # The first case that does not fit ends it: a call of the reference may take long.
            fits = all(
                _is_right_for(change, exercise, case, got[case], place) for case in answered
            ) and all(_reference(exercise, case, change) is None for case in raised)
            if fits:  # some case is wrong, so this is not the question that was asked
                yield sentence
                return


def _is_right_for(
    change: Change,
    exercise: "Exercise",
    case: Case,
    outcome: "Outcome",
    place: tuple[str | int, ...],
) -> bool:
    asked = _reference(exercise, case, change)
    return asked is not None and same(_part(outcome.value, place), _part(asked[0], place))


def _changes(arguments: dict[str, Plain], subject: str) -> Iterator[tuple[str, Change]]:
    for name, value in arguments.items():
        if isinstance(value, bool):
            yield (
                _("{subject} is the right one for `{name}` turned round.").format(
                    subject=subject, name=name
                ),
                (_changed(name, lambda x: not x)),
            )
        elif isinstance(value, int | float):
            yield from _of_a_number(name, subject)
        elif is_mask(value):
            sentence = _("{subject} is the right one for `{name}` inverted.")
            yield sentence.format(subject=subject, name=name), _changed(name, np.logical_not)
            sentence = _("{subject} is the right one for a `{name}` that is True everywhere.")
            yield sentence.format(subject=subject, name=name), _changed(name, np.ones_like)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            sentence = _("{subject} is the right one for `{name}` = 0.")
            yield sentence.format(subject=subject, name=name), _changed(name, np.zeros_like)
            sentence = _("{subject} is the right one for -`{name}`.")
            yield sentence.format(subject=subject, name=name), _changed(name, np.negative)
            if value.ndim > 1:
                sentence = _("{subject} is the right one for `{name}` transposed.")
                yield sentence.format(subject=subject, name=name), _changed(name, _transpose)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "i":
            yield from _of_whole_numbers(name, value, subject)
    for one, other in combinations(arguments, 2):
        if type(arguments[one]) is type(arguments[other]):
            sentence = _("{subject} is the right one with `{one}` and `{other}` exchanged.")
            yield sentence.format(subject=subject, one=one, other=other), _exchanged(one, other)


def _of_whole_numbers(name: str, value: np.ndarray, subject: str) -> Iterator[tuple[str, Change]]:
    """Yield positions or edges counted from elsewhere, or with two rows or columns exchanged."""
    sentence = _("{subject} is the right one for `{name}` + 1.")
    yield sentence.format(subject=subject, name=name), _changed(name, lambda x: x + 1)
    sentence = _("{subject} is the right one for `{name}` - 1.")
    yield sentence.format(subject=subject, name=name), _changed(name, lambda x: x - 1)
    for axis, length in enumerate(value.shape):
        if length == 2 and value.ndim > 1:
            sentence = _("{subject} is the right one with `{one}` and `{other}` exchanged.")
            one, other = (f"{name}[{':, ' * axis}{place}]" for place in (0, 1))
            words = sentence.format(subject=subject, one=one, other=other)
            yield words, _changed(name, partial(np.flip, axis=axis))


def _of_a_number(name: str, subject: str) -> Iterator[tuple[str, Change]]:
    turned: tuple[tuple[str, Callable[[Any], Any]], ...] = (
        (_("{subject} is the right one for 1 / `{name}`."), lambda x: 1 / x if x else None),
        (_("{subject} is the right one for -`{name}`."), lambda x: -x),
        (_("{subject} is the right one for `{name}` = 0."), lambda x: type(x)(0)),
        (_("{subject} is the right one for `{name}` = 1."), lambda x: type(x)(1)),
        (_("{subject} is the right one for the square of `{name}`."), lambda x: x * x),
        (_("{subject} is the right one for the root of `{name}`."), _root),
        (_("{subject} is the right one for half of `{name}`."), lambda x: x / 2),
        (_("{subject} is the right one for twice `{name}`."), lambda x: 2 * x),
        (_("{subject} is the right one for `{name}` - 1."), lambda x: x - 1),
        (_("{subject} is the right one for `{name}` + 1."), lambda x: x + 1),
    )
    for sentence, turn in turned:
        yield sentence.format(subject=subject, name=name), _changed(name, turn)


def _scales(arguments: dict[str, Plain], subject: str) -> Iterator[tuple[str, Change]]:
    """Yield arrays scaled by the root of one of their sizes, as scaled scores are."""
    for name, value in arguments.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        for axis in range(-1, -1 - min(value.ndim, 2), -1):
            size = f"{name}.shape[{axis}]"
            sentence = _("{subject} is the right one for `{name}` / √({size}).")
            yield sentence.format(subject=subject, name=name, size=size), _scaled(name, axis, -0.5)
            sentence = _("{subject} is the right one for `{name}` times √({size}).")
            yield sentence.format(subject=subject, name=name, size=size), _scaled(name, axis, 0.5)


def _scaled(name: str, axis: int, power: float) -> Change:
    def scale(x: np.ndarray) -> np.ndarray | None:
        has_axis = x.ndim >= -axis  # the array of another case may have fewer axes
        return x * float(x.shape[axis]) ** power if x.size and has_axis else None

    return _changed(name, scale)


def _transpose(x: np.ndarray) -> np.ndarray:
    """Return the last two axes exchanged; a vector, which has only one, stays as it is."""
    return np.swapaxes(x, -2, -1) if x.ndim > 1 else x


def _root(number: float) -> float | None:
    return math.sqrt(number) if number >= 0 else None


def _changed(name: str, turn: Callable[[Any], Any]) -> Change:
    def change(arguments: dict[str, Plain]) -> dict[str, Plain] | None:
        value = turn(arguments[name])
        return None if value is None else arguments | {name: value}

    return change


def _exchanged(one: str, other: str) -> Change:
    return lambda arguments: arguments | {one: arguments[other], other: arguments[one]}


def _reference(exercise: "Exercise", case: Case, change: Change) -> tuple[Plain] | None:
    """Return what the reference makes of a changed case, or None where it can't."""
    arguments = exercise.named_arguments(case)
    changed = change(arguments)
    if changed is None:
        return None
    values = list(changed.values())[: len(case.args)]
    others = {name: changed[name] for name in case.kwargs}
    answer = exercise.local(exercise.reference).request(
        "call", {"name": exercise.name, "args": tuple(values), "kwargs": others}
    )
    return (answer["value"],) if "value" in answer else None


# --- an argument that is not used -------------------------------------------------------------


def _unused_arguments(
    exercise: "Exercise", drawn: "Drawn", got: "dict[Case, Outcome]", ask: Ask
) -> Iterator[str]:
    """Yield the arguments that make no difference to the answer, where they should."""
    cases = [case for case in drawn.cases if case in got and got[case].raised is None]
    if not all(_is_finite(got[case].value) for case in cases):
        return  # NaN depends on nothing
    rng = np.random.default_rng(0)
    for place in range(len(cases[0].args) if cases else 0):
        tried = 0
        for case in cases:
            other = _with_another(case, place, rng)
            if other is None:
                continue
            change = _reference(exercise, other, lambda arguments: arguments)
            if change is None or same(change[0], drawn.wanted(case).value):
                continue  # there it may not matter
            answer = ask(other)
            if answer.raised or not same(answer.value, got[case].value):
                tried = 0
                break
            tried += 1
        if tried >= 2:
            name = list(exercise.named_arguments(cases[0]))[place]
            yield _("Your answer does not depend on `{name}`.").format(name=name)


def _is_finite(value: Plain) -> bool:
    parts = value if isinstance(value, list | tuple) else [value]
    arrays = [as_array(part) for part in parts]
    return all(array is None or bool(np.isfinite(array).all()) for array in arrays)


def _with_another(case: Case, place: int, rng: np.random.Generator) -> Case | None:
    """Return the case with another value for one argument, of the same kind and size."""
    value = case.args[place]
    other: Plain
    if isinstance(value, bool | str) or value is None:
        return None
    if isinstance(value, int | float):
        other = type(value)(value + 1)
    elif is_mask(value):
        other = ~value
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
        other = value + rng.uniform(0.5, 1.5, value.shape)
    else:
        return None
    return Case(*case.args[:place], other, *case.args[place + 1 :], **case.kwargs)


# --- looks at got and wanted ------------------------------------------------------------------


def _unchanged(seen: list[Seen]) -> Iterator[str]:
    for name, value in seen[0].arguments.items():
        if as_array(value) is None or not np.shape(value):
            continue
        if all(same(one.got, one.arguments[name]) for one in seen):
            sentence = _("{subject} is `{name}`, just as it came.")
            yield sentence.format(subject=seen[0].subject, name=name)


def _transposed(seen: list[Seen]) -> Iterator[str]:
    if all(one.wanted.ndim > 1 for one in seen):
        turned = (np.swapaxes(one.wanted, -2, -1) for one in seen)
        if all(same(one.got, right) for one, right in zip(seen, turned, strict=True)):
            sentence = _("{subject} is the right one with rows and columns exchanged.")
            yield sentence.format(subject=seen[0].subject)


def _factor(seen: list[Seen]) -> Iterator[str]:
    """Yield by what the answer is too large or too small, where that is one number a case."""
    ratios = [_ratio(one) for one in seen]
    if any(ratio is None for ratio in ratios):
        return
    factors = [ratio for ratio in ratios if ratio is not None]
    if np.allclose(factors, factors[0], rtol=1e-4):
        if np.isclose(factors[0], 1, rtol=1e-4):
            return  # only small numbers differ
        if np.isclose(factors[0], -1, rtol=1e-4):
            yield _("{subject} has the wrong sign.").format(subject=seen[0].subject)
        else:
            sentence = _("{subject} is the right one times {factor:.4g}, in every case.")
            yield sentence.format(subject=seen[0].subject, factor=factors[0])
        return
    for words, size in _sizes(seen):
        for form, value in _FORMS:
            if np.allclose(factors, [value(one) for one in size], rtol=1e-4):
                yield _("{subject} is the right one times {form}.").format(
                    subject=seen[0].subject, form=form.format(n=words)
                )
                return


_FORMS: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("{n}", lambda n: n),
    ("1 / {n}", lambda n: 1 / n),
    ("√({n})", math.sqrt),
    ("1 / √({n})", lambda n: 1 / math.sqrt(n)),
)


def _ratio(one: Seen) -> float | None:
    """Return the one number by which the right answer was multiplied, or None."""
    got, wanted = one.got.astype(float), one.wanted.astype(float)
    if got.shape != wanted.shape or not np.isfinite(got).all() or not np.isfinite(wanted).all():
        return None
    large = np.abs(wanted) > 1e-3 * np.max(np.abs(wanted), initial=0.0)
    if not large.any():
        return None
    ratio = float(np.median(got[large] / wanted[large]))
    return ratio if ratio and np.allclose(got, ratio * wanted, _RTOL, _ATOL) else None


def _sizes(seen: list[Seen]) -> Iterator[tuple[str, list[int]]]:
    """Yield the sizes of the arguments' axes that differ from case to case, with their names."""
    for name, value in seen[0].arguments.items():
        if not isinstance(value, np.ndarray):
            continue
        for axis in range(-1, -1 - value.ndim, -1):
            sizes = [one.arguments[name].shape[axis] for one in seen if _has(one, name, axis)]
            if len(sizes) == len(seen) and len(set(sizes)) > 1 and min(sizes) > 0:
                yield f"{name}.shape[{axis}]", sizes


def _has(one: Seen, name: str, axis: int) -> bool:
    value = one.arguments.get(name)
    return isinstance(value, np.ndarray) and value.ndim >= -axis


def _sums(seen: list[Seen]) -> Iterator[str]:
    """Yield over what the weights sum to 1, where they are meant to do so over something else."""
    if any(one.got.shape != one.wanted.shape or one.wanted.ndim < 2 for one in seen):
        return
    telling = [one for one in seen if min(one.wanted.shape[-2:]) > 1]
    if not telling:
        return
    right = next((axis for axis in (-1, -2) if _all_sum_to_one(telling, axis, "wanted")), None)
    if right is None or _all_sum_to_one(telling, right, "got"):
        return
    other = next((axis for axis in (-1, -2) if _all_sum_to_one(telling, axis, "got")), None)
    if other is not None:
        sentence = _("Your numbers sum to 1 along axis {other}; they should along axis {right}.")
        yield sentence.format(other=other, right=right)
    elif all(np.isclose(one.got.sum(), 1, rtol=1e-3) for one in telling):
        sentence = _("All your numbers together sum to 1; those along axis {right} should.")
        yield sentence.format(right=right)
    elif all(np.isfinite(one.got).all() for one in telling):
        first = next(one for one in telling if not one.is_right)
        total = first.got.sum(axis=right).ravel()
        wanted = first.wanted.sum(axis=right).ravel()
        off = int(np.argmax(np.abs(total - wanted)))
        if abs(total[off] - wanted[off]) > 1e-3:
            sentence = _(
                "Along axis {right} one of your sums is {total:.3g}; it should be {wanted:.0f}."
            )
            yield sentence.format(right=right, total=float(total[off]), wanted=abs(wanted[off]))


def _all_sum_to_one(seen: list[Seen], axis: int, which: str) -> bool:
    """Return whether all sums are 1, or 0 where nothing may be attended to, and not all 0."""
    for one in seen:
        array = getattr(one, which).astype(float)
        total, wanted = array.sum(axis=axis), one.wanted.astype(float).sum(axis=axis)
        empty = np.isclose(wanted, 0, atol=1e-3) if wanted.shape == total.shape else False
        if not np.all(np.isclose(total, 1, rtol=1e-3) | (empty & np.isclose(total, 0, atol=1e-3))):
            return False
        if not np.isclose(total, 1, rtol=1e-3).any():
            return False
    return True


def _only_somewhere(seen: list[Seen]) -> Iterator[str]:
    """Yield where alone numbers differ: behind a mask, or where it lets nothing through."""
    wrong = [one for one in seen if not one.is_right]
    if any(one.got.shape != one.wanted.shape for one in wrong):
        return
    for name, value in seen[0].arguments.items():
        if not is_mask(value):
            continue
        hidden, empty = True, True
        for one in wrong:
            differs = ~np.isclose(one.got, one.wanted, _RTOL, _ATOL, equal_nan=True)
            mask = _fitting(one.arguments[name], differs.shape)
            if mask is None:
                return
            hidden &= not (differs & mask).any()
            rows = mask.any(axis=-1, keepdims=True)
            empty &= not (differs & rows).any()
        if empty:
            sentence = _("Only rows in which `{name}` is False everywhere are wrong.")
            yield sentence.format(name=name)
        elif hidden:
            yield _("Your answer is wrong only where `{name}` is False.").format(name=name)


def _fitting(mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        return None


def _too_many_or_too_few(seen: list[Seen]) -> Iterator[str]:
    """Yield of an answer of True and False whether only the one or only the other is wrong."""
    wrong = [one for one in seen if not one.is_right]
    if len(wrong) < 2 or any(
        one.got.shape != one.wanted.shape or one.got.dtype != bool or one.wanted.dtype != bool
        for one in wrong
    ):
        return
    too_many = any((one.got & ~one.wanted).any() for one in wrong)
    too_few = any((one.wanted & ~one.got).any() for one in wrong)
    if too_few and not too_many:
        yield _("Every True of your answer is right, but some are missing.")
    elif too_many and not too_few:
        yield _("No True is missing in your answer, but there are too many.")


def _only_one_sign(seen: list[Seen]) -> Iterator[str]:
    """Yield that only where the answer, or an input, has one sign numbers are wrong."""
    wrong = [one for one in seen if not one.is_right]
    if len(wrong) < 2 or any(one.got.shape != one.wanted.shape for one in wrong):
        return
    differs = [~np.isclose(one.got, one.wanted, _RTOL, _ATOL, equal_nan=True) for one in wrong]
    columns = {_("the right answer"): [one.wanted for one in wrong]}
    given = set.intersection(*(set(one.arguments) for one in wrong))  # some have a default
    for name in (name for name in wrong[0].arguments if name in given):
        columns[f"`{name}`"] = [np.asarray(one.arguments[name]) for one in wrong]
    for words, numbers in columns.items():
        if any(
            one.shape != mine.shape or one.dtype.kind != "f"
            for one, mine in zip(numbers, differs, strict=True)
        ):
            continue
        signs = np.concatenate([np.sign(one).ravel() for one in numbers])
        off = np.concatenate([mine.ravel() for mine in differs])
        for sign, which in ((-1, _("negative")), (1, _("positive"))):
            of_this, of_the_other = signs == sign, signs == -sign
            # Both signs must occur often enough that it is not by chance.
            if off[of_this].any() and not off[~of_this].any() and of_the_other.sum() >= 3:
                sentence = _("{subject} is wrong only where {numbers} is {which}.")
                yield sentence.format(subject=seen[0].subject, numbers=words, which=which)
                return


def _only_at_the_edge(seen: list[Seen]) -> Iterator[str]:
    """Yield the one row, column or diagonal in which alone numbers differ."""
    wrong = [one for one in seen if not one.is_right]
    if any(one.got.shape != one.wanted.shape or one.wanted.ndim < 2 for one in wrong):
        return
    # One case, or two rows, may be wrong there by chance.
    if len(wrong) < 2 or any(min(one.wanted.shape[-2:]) < 3 for one in wrong):
        return
    differs = [~np.isclose(one.got, one.wanted, _RTOL, _ATOL, equal_nan=True) for one in wrong]
    places: tuple[tuple[str, Callable[[tuple[int, int]], np.ndarray]], ...] = (
        (_("the last column"), lambda shape: np.arange(shape[1])[None, :] == shape[1] - 1),
        (_("the first column"), lambda shape: np.arange(shape[1])[None, :] == 0),
        (_("the last row"), lambda shape: np.arange(shape[0])[:, None] == shape[0] - 1),
        (_("the first row"), lambda shape: np.arange(shape[0])[:, None] == 0),
        (_("the diagonal"), lambda shape: np.eye(*shape, dtype=bool)),
    )
    for words, place in places:
        if all(not (one & ~place(one.shape[-2:])).any() for one in differs):
            sentence = _("{subject} is wrong only in {place}.")
            yield sentence.format(subject=seen[0].subject, place=words)
            return


def _offset(seen: list[Seen]) -> Iterator[str]:
    """Yield by what all numbers are too large, where that is the same for all of them."""
    apart = []
    for one in seen:
        if one.got.shape != one.wanted.shape or not one.got.size:
            return
        apart.append(one.got.astype(float) - one.wanted.astype(float))
    off = float(np.median(np.concatenate([part.ravel() for part in apart])))
    same_everywhere = all(np.allclose(part, off, rtol=0, atol=1e-5) for part in apart)
    if np.isfinite(off) and abs(off) > 1e-4 and same_everywhere:
        sentence = _("{subject} is too large by {off:.4g}, everywhere.")
        if off < 0:
            sentence = _("{subject} is too small by {off:.4g}, everywhere.")
        yield sentence.format(subject=seen[0].subject, off=abs(off))


def _softmax(array: np.ndarray, axis: int) -> np.ndarray:
    exponentials = np.exp(array - array.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _shares(array: np.ndarray, axis: int) -> np.ndarray:
    return array / array.sum(axis=axis, keepdims=True)


def _function_of_it(seen: list[Seen]) -> Iterator[str]:
    """Yield the step that is missing or too many: the right answer is a function of this one."""
    steps: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
        (_("the exponential"), np.exp),
        (_("the logarithm"), np.log),
        (_("the square"), np.square),
        (_("the root"), np.sqrt),
        (_("the absolute value"), np.abs),
        (_("the reciprocal"), lambda x: 1 / x),
        (_("the tanh"), np.tanh),
        (_("the softmax along axis -1"), lambda x: _softmax(x, -1)),
        (_("the softmax along axis -2"), lambda x: _softmax(x, -2)),
        (_("the share along axis -1"), lambda x: _shares(x, -1)),
        (_("the share along axis -2"), lambda x: _shares(x, -2)),
        (_("the sum along axis -1"), lambda x: x.sum(axis=-1)),
        (_("the sum along axis -2"), lambda x: x.sum(axis=-2)),
        (_("the mean along axis -1"), lambda x: x.mean(axis=-1)),
        (_("one minus that"), lambda x: 1 - x),
        (_("the nearest whole number"), np.round),
        (_("the whole part"), np.trunc),
    )
    for words, step in steps:
        if _holds(step, [(one.got, one.wanted) for one in seen]):
            sentence = _("One step is missing: the right answer is {step} of yours.")
            yield sentence.format(step=words)
            return
        if _holds(step, [(one.wanted, one.got) for one in seen]):
            sentence = _("{subject} is {step} of the right one.")
            yield sentence.format(subject=seen[0].subject, step=words)
            return


def _holds(
    step: Callable[[np.ndarray], np.ndarray], pairs: list[tuple[np.ndarray, np.ndarray]]
) -> bool:
    """Return whether a step leads from the first to the second array of every pair."""
    for start, end in pairs:
        try:
            reached = step(start.astype(float))
        except (ValueError, IndexError):  # too few axes
            return False
        if reached.shape != end.shape or not np.isfinite(reached).all():
            return False
        if reached.ndim < start.ndim and reached.size == start.size:
            return False  # an axis of one number too many is no sum
        if not np.allclose(reached, end.astype(float), 1e-4, 1e-5):
            return False
    return True


def _shifted(seen: list[Seen]) -> Iterator[str]:
    """Yield along which axis the right numbers are one place off, or in reverse."""
    for axis in (-1, -2):
        if any(one.got.shape != one.wanted.shape or one.wanted.ndim < -axis for one in seen):
            return
        if any(one.wanted.shape[axis] < 2 for one in seen):
            continue
        if all(same(one.got, np.flip(one.wanted, axis)) for one in seen):
            sentence = _("{subject} is the right one in reverse along axis {axis}.")
            yield sentence.format(subject=seen[0].subject, axis=axis)
        for steps in (1, -1):
            if all(same(one.got, np.roll(one.wanted, steps, axis)) for one in seen):
                sentence = _("{subject} is the right one shifted by one place along axis {axis}.")
                yield sentence.format(subject=seen[0].subject, axis=axis)


def _in_proportion(seen: list[Seen]) -> Iterator[str]:
    """Yield that every row has the right proportions: it is scaled by a number of its own."""
    for axis, words in ((-1, _("row")), (-2, _("column"))):
        factors = _per_line(seen, axis, _scaled_by)
        if factors:
            sentence = _(
                "In each {line} your numbers are in the right proportion to each other, but the "
                "whole {line} is multiplied by a number of its own, such as {factor:.4g}: look at "
                "what it is divided by."
            )
            yield sentence.format(line=words, factor=factors[0])
            return


def _off_by_one_number_per_row(seen: list[Seen]) -> Iterator[str]:
    """Yield that all numbers of a row are too large by the same amount."""
    for axis, words in ((-1, _("row")), (-2, _("column"))):
        amounts = _per_line(seen, axis, _moved_by)
        if amounts:
            sentence = _(
                "In each {line} all your numbers are off by the same amount, such as {amount:.4g}."
            )
            yield sentence.format(line=words, amount=amounts[0])
            return


Fit = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def _scaled_by(got: np.ndarray, wanted: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each line the factor that fits best, and the line as that factor has it."""
    total = np.sum(wanted * wanted, axis=axis, keepdims=True)
    factor = np.sum(got * wanted, axis=axis, keepdims=True) / np.where(total > 0, total, 1)
    return factor, factor * wanted


def _moved_by(got: np.ndarray, wanted: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each line the amount that fits best, and the line as that amount has it."""
    amount = np.mean(got - wanted, axis=axis, keepdims=True)
    return amount, wanted + amount


def _per_line(seen: list[Seen], axis: int, fit: Fit) -> list[float]:
    """Return the numbers that explain the wrong lines; none where they do not explain all.

    A line with fewer than two numbers other than 0 is explained by anything, so it does not count.
    """
    numbers: list[float] = []
    for one in seen:
        if one.is_right:
            continue
        if one.got.shape != one.wanted.shape or one.wanted.ndim < -axis or not one.wanted.size:
            return []
        got, wanted = one.got.astype(float), one.wanted.astype(float)
        number, explained = fit(got, wanted, axis)
        if not np.isfinite(got).all() or not np.allclose(got, explained, _RTOL, _ATOL):
            return []
        is_wrong = ~np.isclose(got, wanted, _RTOL, _ATOL).all(axis=axis, keepdims=True)
        tells = np.count_nonzero(wanted, axis=axis, keepdims=True) > 1
        numbers += number[is_wrong & tells].tolist()
    return numbers if len(numbers) >= _FEWEST_LINES and all(np.abs(numbers) > _ATOL) else []


def _right_at_the_beginning(seen: list[Seen]) -> Iterator[str]:
    """Yield that the first row is right in every case that fails, and a later one wrong."""
    wrong = [one for one in seen if not one.is_right]
    if len(wrong) < 2 or any(
        one.got.shape != one.wanted.shape or one.wanted.ndim < 2 or one.wanted.shape[-2] < 2
        for one in wrong
    ):
        return
    if all(same(one.got[..., 0, :], one.wanted[..., 0, :]) for one in wrong):
        sentence = _(
            "{subject} is right in its first row, in every case; only later rows go wrong."
        )
        yield sentence.format(subject=seen[0].subject)


def _in_other_places(seen: list[Seen]) -> Iterator[str]:
    """Yield that only the places of the numbers are wrong, and what a reshape does to them."""
    wrong = [one for one in seen if not one.is_right]
    if any(one.got.shape != one.wanted.shape or one.wanted.dtype.kind != "f" for one in wrong):
        return
    # Zeros and ones, or two numbers, have the right ones in other places by chance.
    if any(len(np.unique(one.wanted)) < 3 for one in wrong):
        return
    if all(same(np.sort(one.got, axis=None), np.sort(one.wanted, axis=None)) for one in wrong):
        sentences = [_("{subject} has the right numbers, but in other places.")]
        if all(one.wanted.ndim > 1 for one in wrong):
            sentences.append(
                _(
                    "If you used a reshape: it keeps the order in which numbers are read, so it "
                    "cannot exchange axes. A transpose, np.swapaxes or np.stack can."
                )
            )
        yield " ".join(sentences).format(subject=seen[0].subject)


# --- which cases go wrong ---------------------------------------------------------------------


def _only_one_part(drawn: "Drawn", got: "dict[Case, Outcome]", seen: list[Seen]) -> Iterator[str]:
    """Yield the one part of an answer that is wrong, where all the others are right."""
    if len(seen[0].place) != 1 or not isinstance(seen[0].place[0], int):
        return
    number = seen[0].place[0]
    pairs = ((got[one.case].value, drawn.wanted(one.case).value) for one in seen)
    if all(same(_others(mine, number), _others(right, number)) for mine, right in pairs):
        sentence = _("Only part {number} of your answer is wrong; the others are right.")
        yield sentence.format(number=number + 1)


def _others(parts: Any, number: Any) -> tuple[Plain, ...]:
    return (*parts[:number], *parts[number + 1 :])


def _only_batches(
    drawn: "Drawn", got: "dict[Case, Outcome]", shown: Failure | None
) -> Iterator[str]:
    axes = {True: set[int](), False: set[int]()}
    for case in drawn.cases:
        if case not in got or _axes(case.args) is None:
            return
        axes[_is_right(case, drawn, got)].add(_axes(case.args) or 0)
    if not axes[True] or not axes[False] or max(axes[True]) >= min(axes[False]):
        return
    # An example that was made smaller and still fails without a batch has another cause.
    if shown is None or (_axes(shown.arguments.values()) or 0) >= min(axes[False]):
        yield _(
            "Without a batch your answer is right; with one it is not. "
            "A batch adds its axes in front, so count axes from the end: axis=-1, [..., None], "
            ".mT. Calls such as np.array of a list, or np.pad, act on the first axis or on all."
        )


def _axes(values: Iterable[Any]) -> int | None:
    """Return how many axes the first array has."""
    return next((len(value.shape) for value in values if hasattr(value, "shape")), None)


def _only_one_group(drawn: "Drawn", got: "dict[Case, Outcome]") -> Iterator[str]:
    """Yield the one group of cases that goes wrong, where all others are right."""
    wrong = [
        group.label
        for group, cases in drawn.groups
        if not all(case in got and _is_right(case, drawn, got) for case in cases)
    ]
    if len(wrong) == 1 and len(drawn.groups) > 1:
        yield _("Everything else is right. The only case that fails: {label}.").format(
            label=wrong[0]
        )


def _is_right(case: Case, drawn: "Drawn", got: "dict[Case, Outcome]") -> bool:
    return got[case].raised is None and same(got[case].value, drawn.wanted(case).value)


# --- modules ---------------------------------------------------------------------------------


def _gradients(drawn: "Drawn", got: "dict[Case, Outcome]") -> Iterator[str]:
    """Yield the parameters that no gradient reaches although the output is right."""
    cut: set[str] | None = None
    for case in drawn.cases:
        outcome, wanted = got.get(case), drawn.wanted(case).value
        if outcome is None or outcome.raised or not isinstance(outcome.value, dict):
            return
        if not same(outcome.value.get("output"), wanted["output"]):
            return
        mine, right = outcome.value["gradients"], wanted["gradients"]
        if not isinstance(mine, dict) or set(mine) != set(right):
            return
        zero = {
            name for name in right if np.any(right[name]) and not np.any(np.asarray(mine[name]))
        }
        cut = zero if cut is None else cut & zero
    if cut:
        names = ", ".join(f"`{name}`" for name in sorted(cut))
        yield _(
            "The output is right, but no gradient reaches {names}. "
            ".item(), float(), .data, .detach() and torch.no_grad() all cut it off."
        ).format(names=names)
