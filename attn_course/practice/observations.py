"""What can be seen in a wrong answer without knowing the mistake: facts, not causes.

The known mistakes of an exercise come first (`judging`). Where none of them fits, an observation
may still help: "Your answer does not depend on `mask`", "Your answer is the right one with
`queries` and `keys` exchanged", "… is the right one times 2". Each is said only if it holds on
**every** case that brought a value, so it is true whenever it is said.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.practice.compare import as_array, difference, same
from attn_course.practice.definition import Case
from attn_course.practice.wire import Plain
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.judging import Drawn, Outcome

Ask = Callable[[Case], "Outcome"]  # calls the submission once more
_MOST_SAID = 2
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

    @property
    def is_right(self) -> bool:
        """Whether this case is right."""
        return same(self.got, self.wanted)


def observe(
    exercise: "Exercise", drawn: "Drawn", got: "dict[Case, Outcome]", ask: Ask | None = None
) -> tuple[str, ...]:
    """Return at most two sentences about a wrong answer; without `ask` no further call is made."""
    if exercise.kind == "value":
        return ()
    if exercise.kind == "module":
        cut = list(_gradients(drawn, got))
        if cut:
            return tuple(cut[:_MOST_SAID])
    seen = _seen(exercise, drawn, got)
    if not seen or all(one.is_right for one in seen):
        return ()
    with np.errstate(all="ignore"):
        said = list(_said(exercise, drawn, got, seen, ask))
    return tuple(dict.fromkeys(said))[:_MOST_SAID]


def _said(
    exercise: "Exercise",
    drawn: "Drawn",
    got: "dict[Case, Outcome]",
    seen: list[Seen],
    ask: Ask | None,
) -> Iterator[str]:
    """Yield what holds, the most telling first."""
    if exercise.kind == "function":
        yield from _answers_to_another_question(exercise, got, drawn)
        if ask is not None:
            yield from _unused_arguments(exercise, drawn, got, ask)
    for look in (_unchanged, _transposed, _factor, _sums, _only_somewhere, _only_batches):
        yield from look(seen)


# --- what there is to look at ----------------------------------------------------------------


def _seen(exercise: "Exercise", drawn: "Drawn", got: "dict[Case, Outcome]") -> list[Seen]:
    """Return the cases that brought arrays, reduced to the first part that differs anywhere."""
    answered = [case for case in drawn.cases if case in got and got[case].raised is None]
    place = _first_place(drawn, got, answered)
    if place is None:
        return []
    seen = []
    for case in answered:
        mine = as_array(_part(got[case].value, place))
        right = as_array(_part(drawn.wanted(case).value, place))
        if mine is None or right is None:
            return []
        seen.append(Seen(case, exercise.named_arguments(case), mine, right))
    return seen


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


def _answers_to_another_question(
    exercise: "Exercise", got: "dict[Case, Outcome]", drawn: "Drawn"
) -> Iterator[str]:
    """Yield changes of the inputs for which the answer would be right, on all cases."""
    cases = [case for case in drawn.cases if case in got]
    if any(got[case].raised for case in cases):
        return
    names = list(exercise.named_arguments(cases[0]))
    for sentence, change in _changes(exercise, names, cases):
        asked = [_reference(exercise, case, change) for case in cases]
        if any(one is None for one in asked):
            continue
        fits = all(
            same(got[case].value, one[0]) for case, one in zip(cases, asked, strict=True) if one
        )
        if fits:  # some case is wrong, so this is not the question that was asked
            yield sentence
            return


Change = Callable[[dict[str, Plain]], dict[str, Plain] | None]


def _changes(
    exercise: "Exercise", names: list[str], cases: list[Case]
) -> Iterator[tuple[str, Change]]:
    arguments = exercise.named_arguments(cases[0])
    for name in names:
        value = arguments[name]
        if isinstance(value, bool):
            yield (
                _("Your answer is the right one for `{name}` turned round.").format(name=name),
                (_changed(name, lambda x: not x)),
            )
        elif isinstance(value, int | float):
            yield from _of_a_number(name)
        elif _is_mask(value):
            sentence = _("Your answer is the right one for `{name}` inverted.")
            yield sentence.format(name=name), _changed(name, np.logical_not)
            sentence = _("Your answer is the right one for a `{name}` that is True everywhere.")
            yield sentence.format(name=name), _changed(name, np.ones_like)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            sentence = _("Your answer is the right one for `{name}` = 0.")
            yield sentence.format(name=name), _changed(name, np.zeros_like)
            sentence = _("Your answer is the right one for -`{name}`.")
            yield sentence.format(name=name), _changed(name, np.negative)
            if value.ndim > 1:
                sentence = _("Your answer is the right one for `{name}` transposed.")
                yield sentence.format(name=name), _changed(name, lambda x: np.swapaxes(x, -2, -1))
    for one, other in combinations(names, 2):
        if type(arguments[one]) is type(arguments[other]):
            sentence = _("Your answer is the right one with `{one}` and `{other}` exchanged.")
            yield sentence.format(one=one, other=other), _exchanged(one, other)


def _of_a_number(name: str) -> Iterator[tuple[str, Change]]:
    turned: tuple[tuple[str, Callable[[Any], Any]], ...] = (
        (_("Your answer is the right one for 1 / `{name}`."), lambda x: 1 / x if x else None),
        (_("Your answer is the right one for -`{name}`."), lambda x: -x),
        (_("Your answer is the right one for `{name}` = 0."), lambda x: type(x)(0)),
        (_("Your answer is the right one for `{name}` = 1."), lambda x: type(x)(1)),
        (_("Your answer is the right one for the square of `{name}`."), lambda x: x * x),
        (_("Your answer is the right one for the root of `{name}`."), _root),
        (_("Your answer is the right one for half of `{name}`."), lambda x: x / 2),
        (_("Your answer is the right one for twice `{name}`."), lambda x: 2 * x),
        (_("Your answer is the right one for `{name}` - 1."), lambda x: x - 1),
        (_("Your answer is the right one for `{name}` + 1."), lambda x: x + 1),
    )
    for sentence, turn in turned:
        yield sentence.format(name=name), _changed(name, turn)


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


def _is_mask(value: Plain) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == bool


# --- an argument that is not used -------------------------------------------------------------


def _unused_arguments(
    exercise: "Exercise", drawn: "Drawn", got: "dict[Case, Outcome]", ask: Ask
) -> Iterator[str]:
    """Yield the arguments that make no difference to the answer, where they should."""
    cases = [case for case in drawn.cases if case in got and got[case].raised is None]
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


def _with_another(case: Case, place: int, rng: np.random.Generator) -> Case | None:
    """Return the case with another value for one argument, of the same kind and size."""
    value = case.args[place]
    other: Plain
    if isinstance(value, bool | str) or value is None:
        return None
    if isinstance(value, int | float):
        other = type(value)(value + 1)
    elif _is_mask(value):
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
            yield _("Your answer is `{name}`, just as it came.").format(name=name)


def _transposed(seen: list[Seen]) -> Iterator[str]:
    if all(one.wanted.ndim > 1 for one in seen):
        turned = (np.swapaxes(one.wanted, -2, -1) for one in seen)
        if all(same(one.got, right) for one, right in zip(seen, turned, strict=True)):
            yield _("Your answer is the right one with rows and columns exchanged.")


def _factor(seen: list[Seen]) -> Iterator[str]:
    """Yield by what the answer is too large or too small, where that is one number a case."""
    ratios = [_ratio(one) for one in seen]
    if any(ratio is None for ratio in ratios):
        return
    factors = [ratio for ratio in ratios if ratio is not None]
    if np.allclose(factors, factors[0], rtol=1e-4):
        if np.isclose(factors[0], -1, rtol=1e-4):
            yield _("Your answer is the right one with the wrong sign.")
        else:
            sentence = _("Your answer is the right one times {factor:.4g}, in every case.")
            yield sentence.format(factor=factors[0])
        return
    for words, size in _sizes(seen):
        for form, value in _FORMS:
            if np.allclose(factors, [value(one) for one in size], rtol=1e-4):
                yield _("Your answer is the right one times {form}.").format(
                    form=form.format(n=words)
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
            if len(sizes) == len(seen) and len(set(sizes)) > 1:
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
            sentence = _("Your numbers do not sum to 1 along axis {right}: one sum is {total:.3g}.")
            yield sentence.format(right=right, total=float(total[off]))


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
        if not _is_mask(value):
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


def _only_batches(seen: list[Seen]) -> Iterator[str]:
    first = next((n for n, v in seen[0].arguments.items() if isinstance(v, np.ndarray)), None)
    if first is None:
        return
    axes = {True: set[int](), False: set[int]()}
    for one in seen:
        axes[one.is_right].add(np.ndim(one.arguments[first]))
    if axes[True] and axes[False] and max(axes[True]) < min(axes[False]):
        yield _("Without a batch your answer is right; with one it is not.")


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
