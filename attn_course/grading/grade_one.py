"""One notebook: its cells go into the sandbox, the checks stay here, and a record comes out.

All exercises are asked of one child, one after the other. Where it ends (a crash, a loop, too
much memory), the exercise at fault has its verdict and a new child goes on with those that are
left. Where it ends before it could answer anything, a cell is at fault, and nobody knows which
exercises need that cell: from then on each gets a child of its own.

Everybody in a class is asked the same: the inputs of an exercise are drawn from the seed of the
run and the exercise's id alone. That is fair, one can compare two learners, and what the
reference answers need be worked out only once.
"""

import builtins
import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from attn_course.grading.instructor import PrivateGroup
from attn_course.grading.records import (
    ExerciseRecord,
    GroupRecord,
    Record,
    cut_all,
    status_of,
)
from attn_course.grading.sandbox import InfrastructureFault
from attn_course.practice.exercise import Chapter, Exercise
from attn_course.practice.notebook import Cell
from attn_course.practice.results import Failure, GroupResult, Raised, Result, Verdict
from attn_course.practice.selection import Problem
from attn_course.practice.wire import Plain
from attn_course.translate import _


class Running(Protocol):
    """A child that has the learner's cells."""

    @property
    def verdict(self) -> Verdict | None:
        """What ended it, if something did."""
        ...

    @property
    def last_words(self) -> str:
        """What to tell the learner about that."""
        ...

    @property
    def problems(self) -> Sequence[Problem]:
        """What was noticed about the cells."""
        ...

    def request(self, op: str, payload: dict[str, Plain]) -> dict[str, Plain]:
        """Carry out one request; where there is a verdict, the answer says so."""
        ...


class Opens(Protocol):
    """A sandbox, as far as grading needs it: `attn_course.grading.sandbox.Sandbox`, or a fake."""

    def open(
        self,
        cells: Sequence[Cell],
        names: Sequence[str],
        file: str = "notebook",
        without: Mapping[str, Sequence[str]] = ...,
    ) -> AbstractContextManager[Running]:
        """Return a fresh child that has run what `names` need of `cells`."""
        ...

    def close(self) -> None:
        """End it, and everything in it."""
        ...


@dataclass(frozen=True)
class _Unjudged:
    """Why an exercise was not judged to its end."""

    verdict: Verdict
    sentence: str


def grade_cells(
    sandbox: Opens,
    cells: Sequence[Cell],
    chapter: Chapter,
    seed: int,
    file: str,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Record:
    """Return how `cells` do in the exercises of `chapter`; no child is begun after `seconds`."""
    if not any(cell.source.strip() for cell in cells):
        message = _("There is no code in the notebook.")
        return Record(
            Verdict.NO_CODE, chapter.points, message, _none_done(chapter.exercises.values())
        )
    waiting = list(chapter.exercises.values())
    records: dict[str, ExerciseRecord] = {}
    together = True
    end = clock() + seconds
    while waiting:
        if clock() >= end:
            sentence = _("The time for the whole notebook was used up before.")
            late = _Unjudged(Verdict.TIMED_OUT, sentence)
            records |= {one.id: _without_points(one, late) for one in waiting}
            break
        asked = waiting if together else waiting[:1]
        done = _ask(sandbox, cells, asked, seed, file)
        if not done:
            together = False
        records |= {one.id: one for one in done}
        waiting = [one for one in waiting if one.id not in records]
    in_order = tuple(records[one.id] for one in chapter.exercises.values())
    return Record(status_of(in_order), chapter.points, exercises=in_order)


def seed_of(exercise: Exercise, run_seed: int) -> int:
    """Return the seed for the inputs of one exercise."""
    digest = hashlib.sha256(f"{run_seed} {exercise.id}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def _ask(
    sandbox: Opens, cells: Sequence[Cell], exercises: Sequence[Exercise], seed: int, file: str
) -> list[ExerciseRecord]:
    """Ask one child for as many exercises as it lives through.

    Returns none where the child ended before the first of several, so that they must be tried
    one by one.
    """
    done: list[ExerciseRecord] = []
    names = [exercise.name for exercise in exercises]
    without = {exercise.name: exercise.without for exercise in exercises if exercise.without}
    with sandbox.open(cells, names, file, without) as submission:
        if _has_ended(submission):  # the cells have run, or tried to
            return [] if len(exercises) > 1 else [_ended(exercises[0], submission)]
        for exercise in exercises:
            done.append(_judged(exercise, submission, seed, cells))
            if _has_ended(submission):
                break
    return done


def _judged(
    exercise: Exercise, submission: Running, seed: int, cells: Sequence[Cell]
) -> ExerciseRecord:
    try:
        with warnings.catch_warnings():  # an overflow in what came back is not our user's business
            warnings.simplefilter("ignore")
            result = exercise.check(submission, seed_of(exercise, seed))
    except InfrastructureFault:
        raise
    except Exception as fault:
        if submission.verdict:
            return _ended(exercise, submission)
        why = _("The check itself stopped with {type}: {message}. Please tell your instructor.")
        sentence = why.format(type=type(fault).__name__, message=fault)
        return _without_points(exercise, _Unjudged(Verdict.NOT_JUDGED, sentence))
    if submission.verdict is Verdict.BROKE_PROTOCOL:  # whoever forges one answer is believed none
        return _ended(exercise, submission)
    notes = [p.sentence for p in submission.problems if exercise.name in p.names]
    verdict = result.verdict
    if submission.verdict:
        verdict, notes = submission.verdict, [submission.last_words, *notes]
    elif result.failure:
        notes = [*_failure_notes(result, cells), *notes]
    known = result.mistake if verdict in (Verdict.FAILED, Verdict.ERROR) else None
    return ExerciseRecord(
        id=exercise.id,
        title=exercise.title,
        kind=exercise.kind,
        section=exercise.chapter.sections[known.section if known else exercise.section],
        points=result.points,
        max_points=exercise.points,
        verdict=verdict,
        mistake=known.name if known else "",
        mistake_message=known.sentence if known else "",
        groups=tuple(GroupRecord(g.label, g.points, g.verdict) for g in result.groups),
        notes=cut_all(notes),
    )


def _has_ended(submission: Running) -> bool:
    return submission.verdict is not None


def _ended(exercise: Exercise, submission: Running) -> ExerciseRecord:
    assert submission.verdict is not None
    return _without_points(exercise, _Unjudged(submission.verdict, submission.last_words))


def _failure_notes(result: Result, cells: Sequence[Cell]) -> list[str]:
    """Say what went wrong: the input is named and not shown, so that nobody answers by heart."""
    place, failure = next((n, g.failure) for n, g in enumerate(result.groups) if g.failure)
    group = result.groups[place]
    if isinstance(result.exercise.groups[place], PrivateGroup):
        return _private_notes(group, failure, cells)
    notes = [_("In “{label}”: {sentence}").format(label=group.label, sentence=failure.sentence)]
    if failure.raised and failure.raised.line:
        notes.append(_("At the line: {line}").format(line=failure.raised.line.strip()))
    if failure.arguments:
        notes.append(_("The input, not shown here: {names}.").format(names=_named(failure)))
    return notes


def _private_notes(group: GroupResult, failure: Failure, cells: Sequence[Cell]) -> list[str]:
    """Say what can be said without a word of the learner's program, which has seen the input."""
    sentence = _("In “{label}”: {said}. The input is private.")
    said = _kind_of(failure.raised) if failure.raised else _("it is not right")
    notes = [sentence.format(label=group.label, said=said)]
    line = failure.raised.line.strip() if failure.raised else ""
    own_lines = (own.strip() for cell in cells for own in cell.source.splitlines())
    if line and line in own_lines:
        notes.append(_("At the line: {line}").format(line=line))
    return notes


def _kind_of(raised: Raised) -> str:
    """Name the exception where it is one of Python's: others have a name that somebody chose."""
    thing = getattr(builtins, raised.type, None)
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return _("it raised {type}").format(type=raised.type)
    return _("it raised an exception")


def _named(failure: Failure) -> str:
    words = []
    for name, value in failure.arguments.items():
        shape = getattr(value, "shape", None)
        shaped = _("{name} of shape {shape}")
        words.append(name if shape is None else shaped.format(name=name, shape=tuple(shape)))
    return ", ".join(words)


def _without_points(exercise: Exercise, why: _Unjudged) -> ExerciseRecord:
    return ExerciseRecord(
        id=exercise.id,
        title=exercise.title,
        kind=exercise.kind,
        section=exercise.chapter.sections[exercise.section],
        points=0,
        max_points=exercise.points,
        verdict=why.verdict,
        groups=tuple(GroupRecord(g.label, g.points, why.verdict) for g in exercise.groups),
        notes=cut_all(filter(None, [why.sentence])),
    )


def _none_done(exercises: Iterable[Exercise]) -> tuple[ExerciseRecord, ...]:
    return tuple(
        _without_points(exercise, _Unjudged(Verdict.MISSING, "")) for exercise in exercises
    )
