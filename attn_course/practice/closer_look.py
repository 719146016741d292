"""A closer look at a wrong answer whose mistake is not known: at the learner's own code.

No list of mistakes is complete. But most wrong programs are one small change away from a right one,
and a check can find that change by trying: whatever makes **every** case right is what was wrong.
The learner is told the line and what in it to look at, never the change itself (`small_changes`).
Where no single change does it, the learner is told where the numbers first leave those of every
right answer that the course knows (`departures`).

Both read and run the learner's source, so they are for answers in the learner's own process.
"""

import ast
import inspect
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course.practice.compare import as_array
from attn_course.practice.copied_process import TooLong, at_most, in_a_copy
from attn_course.practice.definition import Case
from attn_course.practice.departures import Event, first_departure, noting, run_noting
from attn_course.practice.shrinking import count
from attn_course.practice.small_changes import small_changes

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.judging import Drawn, Outcome

_SECONDS = 5.0  # for all changes
_SECONDS_FOR_ONE = 0.25


@dataclass(frozen=True)
class Found:
    """What the closer look found; `is_certain`: a change that makes every case right."""

    sentence: str
    is_certain: bool


def look_closer(
    exercise: "Exercise", drawn: "Drawn", got: "dict[Case, Outcome]", answer: Any
) -> Found | None:
    """Return what is wrong with a function, found by changing and by following its own code."""
    source = source_of(answer) if exercise.kind == "function" else ""
    if not source:
        return None
    failing = [case for case in drawn.cases if case in got and drawn.failure(case, got[case])]
    cases = [*failing, *(case for case in drawn.cases if case not in failing)]  # the quickest no
    is_right = partial(_is_right, exercise, drawn, cases)
    if all(got[case].raised for case in failing):
        return None  # the line that raised is shown, and what merely silences it is no repair
    changed = in_a_copy(lambda: _first_right_change(source, answer, is_right), _SECONDS)
    if changed:
        return Found(changed, is_certain=True)
    differing = [case for case in failing if not got[case].raised]
    case = max(differing, key=count)
    by_shape = _shape(got[case].value) != _shape(drawn.wanted(case).value)
    departed = in_a_copy(lambda: _departure(source, answer, exercise, case, by_shape), _SECONDS)
    return Found(departed, is_certain=False) if departed else None


def source_of(answer: Any) -> str:
    """Return the text of a function, or nothing where it is not known or not one definition."""
    if not isinstance(answer, FunctionType) or answer.__closure__:
        return ""
    try:
        source = textwrap.dedent(inspect.getsource(answer))
        (statement,) = ast.parse(source).body
    except (OSError, SyntaxError, ValueError):
        return ""
    return source if isinstance(statement, ast.FunctionDef) else ""


def _is_right(exercise: "Exercise", drawn: "Drawn", cases: list[Case], function: Any) -> bool:
    from attn_course.practice.judging import outcome_of

    submission = exercise.local(function)
    outcomes = ((case, outcome_of(exercise, submission, case)) for case in cases)
    return all(outcome.is_answer and not drawn.failure(case, outcome) for case, outcome in outcomes)


def _first_right_change(source: str, answer: FunctionType, is_right: Callable[[Any], bool]) -> str:
    """Return a sentence about the first small change that makes every case right."""
    tree, namespace = ast.parse(source), dict(answer.__globals__)
    deadline = time.monotonic() + _SECONDS
    for change in small_changes(source, tree):
        if time.monotonic() > deadline:
            return ""
        with suppress(Exception, TooLong), at_most(_SECONDS_FOR_ONE):
            exec(compile(ast.fix_missing_locations(tree), "<changed>", "exec"), namespace)
            if is_right(namespace[answer.__name__]):
                return change.sentence
    return ""


def _shape(value: Any) -> tuple[int, ...] | None:
    array = as_array(value)
    return None if array is None else array.shape


def _departure(
    source: str, answer: FunctionType, exercise: "Exercise", case: Case, by_shape: bool
) -> str:
    """Return a sentence about where the answer leaves those of the course, on one failing case."""
    with np.errstate(all="ignore"):
        right = _right_events(exercise, case)
        tree, notes = noting(source)
        call = partial(_call, case)
        events = run_noting(tree, answer.__name__, dict(answer.__globals__), call)
        return first_departure(source, notes, events, right, by_shape) or ""


def _call(case: Case, function: Any) -> Any:
    from attn_course.inside.wire import pack, unpack

    args, kwargs = unpack(pack([list(case.args), case.kwargs]))
    return function(*args, **kwargs)


def _right_events(exercise: "Exercise", case: Case) -> list[Event]:
    """Return all numbers that the right answers of the course bring on the way."""
    events: list[Event] = []
    if exercise.solution is not None:
        tree, _notes = noting(exercise.solution.program)
        events += run_noting(tree, exercise.name, {"__name__": "__main__"}, partial(_call, case))
    for variant in exercise.definition.variants.values():
        source = source_of(variant)
        if source:
            tree, _notes = noting(source)
            namespace = dict(variant.__globals__)
            events += run_noting(tree, variant.__name__, namespace, partial(_call, case))
    return events
