"""One notebook: its cells go into the sandbox, the checks stay here, and a record comes out.

All exercises are asked of one child, one after the other. Where it ends (a crash, too much memory,
too much time), the exercise at fault has its verdict and a new child goes on with those that are
left. Where it ends before it could answer anything, a cell is at fault, and it is not known which
exercises need that cell: from then on each gets a child of its own. `time_shares` says how long
each may take, our own time for judging it included.

The inputs of a submission are its own: they are drawn from a seed that depends on the seed of the
run, the learner and the content that was handed in. So a run that is repeated asks the same, while
somebody who hands in again, or hands in a friend's notebook, meets fresh inputs.
"""

import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from attn_course.grading import notes
from attn_course.grading.records import (
    ExerciseRecord,
    GroupRecord,
    Record,
    cut_all,
    section_fields,
    status_of,
)
from attn_course.grading.sandbox import InfrastructureFault
from attn_course.grading.time_shares import Share, TimeShares
from attn_course.inside.notebook import Cell
from attn_course.inside.selection import Problem
from attn_course.inside.wire import Plain
from attn_course.practice.exercise import Chapter, Exercise
from attn_course.practice.results import Result, Verdict
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

    def request(self, op: str, payload: dict[str, Plain], seconds: float = ...) -> dict[str, Plain]:
        """Carry out one request in so many seconds; where there is a verdict, the answer says so.

        It may take no longer than one call may take, whatever the seconds.
        """
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
    """Return how `cells` do in the exercises of `chapter`, which have so many seconds in all.

    The inputs are drawn from `seed`, that of the submission.
    """
    exercises = list(chapter.exercises.values())
    if not any(cell.source.strip() for cell in cells):
        message = _("There is no code in the notebook.")
        return Record(Verdict.NO_CODE, chapter.points, message, _none_done(exercises), seed=seed)
    grading = _Grading(sandbox, cells, seed, file, TimeShares(seconds, clock))
    # Private inputs come last: what is said about the exercises before them may be told freely.
    records = grading.records_of(sorted(exercises, key=notes.is_private))
    in_order = tuple(records[one.id] for one in exercises)
    return Record(status_of(in_order), chapter.points, exercises=in_order, seed=seed)


def seed_of_submission(run_seed: int, learner: str, content: bytes) -> int:
    """Return the seed of what one learner handed in."""
    return _seed(f"{run_seed} {hashlib.sha256(content).hexdigest()} {learner}")


def seed_of(exercise: Exercise, seed: int) -> int:
    """Return the seed for the inputs of one exercise, from that of the submission."""
    return _seed(f"{seed} {exercise.id}")


def _seed(words: str) -> int:
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "little")


@dataclass
class _Child:
    """A child, and whether it has seen private inputs."""

    submission: Running
    has_seen: bool = False

    def has_ended(self) -> bool:
        return self.submission.verdict is not None


@dataclass(frozen=True)
class _Bounded:
    """A submission that has no longer than its share for an answer."""

    submission: Running
    share: Share

    def request(self, op: str, payload: dict[str, Plain]) -> dict[str, Plain]:
        return self.submission.request(op, payload, self.share.left)


class _Grading:
    """One notebook on its way: the exercises that are judged, and those that were stopped."""

    def __init__(
        self, sandbox: Opens, cells: Sequence[Cell], seed: int, file: str, shares: TimeShares
    ) -> None:
        self._sandbox = sandbox
        self._cells = cells
        self._seed = seed
        self._file = file
        self._shares = shares
        self._is_together = True  # several exercises in one child
        self._records: dict[str, ExerciseRecord] = {}
        self._stopped: dict[str, Share] = {}  # by exercise, the share that it used up

    def records_of(self, exercises: Sequence[Exercise]) -> dict[str, ExerciseRecord]:
        """Return the records of the exercises by their ids."""
        self._go_through(exercises, self._fair)
        while again := self._worth_another_try(exercises, among=len(self._stopped)):
            self._go_through(again, self._as_offered(among=len(self._stopped)))
        # There may still be time enough for one of those that are left, if not for all.
        for one in sorted(exercises, key=lambda one: -one.points):
            if self._worth_another_try([one], among=1):
                self._go_through([one], self._as_offered(among=1))
        return self._records

    def _fair(self, waiting: int) -> float:
        return self._shares.fair(waiting + len(self._stopped))

    def _as_offered(self, among: int) -> Callable[[int], float]:
        """Return what says how long each may take in a round: the same for all."""
        seconds = self._shares.fair(among)
        return lambda _waiting: seconds

    def _worth_another_try(self, exercises: Sequence[Exercise], among: int) -> list[Exercise]:
        """Return those that were stopped and would get more now, were it shared `among` so many."""
        stopped = [one for one in exercises if one.id in self._stopped]
        return [
            one
            for one in stopped
            if self._shares.is_worth_another_try(self._stopped[one.id], self._shares.fair(among))
        ]

    def _go_through(self, waiting: Sequence[Exercise], seconds_for: Callable[[int], float]) -> None:
        """Judge these; `seconds_for` the next one, where so many are waiting."""
        while waiting:
            if self._shares.is_over:
                sentence = _("The time for the whole notebook was used up before.")
                late = _Unjudged(Verdict.TIMED_OUT, sentence)
                for one in waiting:
                    self._records.setdefault(one.id, _without_points(one, late))
                return
            done = self._ask(waiting, seconds_for)
            self._is_together = self._is_together and done > 0
            waiting = waiting[done:]

    def _ask(self, waiting: Sequence[Exercise], seconds_for: Callable[[int], float]) -> int:
        """Ask one child for as many exercises as it lives through; return how many.

        None where the child ended before the first of several: they must be tried one by one.
        """
        asked = waiting if self._is_together else waiting[:1]
        names = [one.name for one in asked]
        without = {one.name: one.without for one in asked if one.without}
        with self._sandbox.open(self._cells, names, self._file, without) as submission:
            child = _Child(submission)
            if child.has_ended():  # the cells have run, or tried to
                if len(asked) > 1:
                    return 0
                self._records.setdefault(asked[0].id, _ended(asked[0], child))
                self._stopped.pop(asked[0].id, None)
                return 1
            for place, exercise in enumerate(asked):
                share = self._shares.begin(seconds_for(len(waiting) - place))
                self._keep(self._judged(exercise, child, share), share)
                if child.has_ended():
                    return place + 1
        return len(asked)

    def _keep(self, record: ExerciseRecord, share: Share) -> None:
        """Keep a record; one that was stopped must be better than what there was before."""
        is_stopped = share.is_used_up and record.verdict is Verdict.TIMED_OUT
        before = self._records.get(record.id)
        if before is None or not is_stopped or (record.points or 0) >= (before.points or 0):
            self._records[record.id] = record
        self._stopped.pop(record.id, None)
        if is_stopped:
            self._stopped[record.id] = share

    def _judged(self, exercise: Exercise, child: _Child, share: Share) -> ExerciseRecord:
        submission = child.submission
        has_seen, child.has_seen = child.has_seen, child.has_seen or notes.is_private(exercise)
        try:
            with (
                warnings.catch_warnings()
            ):  # an overflow in what came back is not our user's affair
                warnings.simplefilter("ignore")
                # What an answer that has seen private inputs is like, it could have chosen.
                result = exercise.check(
                    _Bounded(submission, share),
                    seed_of(exercise, self._seed),
                    observing=not child.has_seen,
                )
        except InfrastructureFault:
            raise
        except Exception as fault:
            if child.has_ended():
                return _ended(exercise, child)
            sentence = notes.on_our_fault(fault, child.has_seen)
            return _without_points(exercise, _Unjudged(Verdict.NOT_JUDGED, sentence))
        finally:
            self._shares.end(share)
        # Whoever forges one answer is believed none.
        if submission.verdict is Verdict.BROKE_PROTOCOL:
            return _ended(exercise, child)
        if share.is_used_up and not child.has_ended():  # by ourselves, after it had answered
            sentence = _("What it returned takes too long to compare.")
            return _without_points(exercise, _Unjudged(Verdict.TIMED_OUT, sentence))
        return self._record_of(exercise, child, result, has_seen)

    def _record_of(
        self, exercise: Exercise, child: _Child, result: Result, has_seen: bool
    ) -> ExerciseRecord:
        submission, verdict = child.submission, result.verdict
        told = [p.sentence for p in submission.problems if exercise.name in p.names]
        if submission.verdict:
            verdict, told = submission.verdict, [notes.on_end(submission, child.has_seen), *told]
        elif result.failure:
            told = [*notes.on_failure(result, self._cells, has_seen), *told]
        known = result.mistake if verdict in (Verdict.FAILED, Verdict.ERROR) else None
        return ExerciseRecord(
            id=exercise.id,
            title=exercise.title,
            kind=exercise.kind,
            **section_fields(exercise.chapter, known.section if known else exercise.section),
            points=result.points,
            max_points=exercise.points,
            verdict=verdict,
            mistake=known.name if known else "",
            mistake_message=known.sentence if known else "",
            groups=tuple(GroupRecord(g.label, g.points, g.verdict) for g in result.groups),
            notes=cut_all(told),
            observations=() if submission.verdict else cut_all(result.observations),
        )


def _ended(exercise: Exercise, child: _Child) -> ExerciseRecord:
    verdict = child.submission.verdict
    assert verdict is not None
    sentence = notes.on_end(child.submission, child.has_seen)
    return _without_points(exercise, _Unjudged(verdict, sentence))


def _without_points(exercise: Exercise, why: _Unjudged) -> ExerciseRecord:
    return ExerciseRecord(
        id=exercise.id,
        title=exercise.title,
        kind=exercise.kind,
        **section_fields(exercise.chapter, exercise.section),
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
