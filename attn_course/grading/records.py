"""What is kept of a graded notebook: plain words and numbers, no arrays, no code.

A record is all that the gradebook stores and all that the reports need. It can be written as
JSON and read back, so it can go from one of our processes to another without pickle.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from attn_course.practice.results import FAULTS, Verdict, worst
from attn_course.translate import _

_LONGEST = 600  # characters of a sentence: an exception's text may be a whole book
_MOST_SENTENCES = 12  # about one exercise: a learner's cells may be wrong in a thousand places


@dataclass(frozen=True)
class GroupRecord:
    """How one group of cases went."""

    label: str
    points: int
    status: Verdict


@dataclass(frozen=True)
class ExerciseRecord:
    """How one exercise went: `notes` are sentences for the learner."""

    id: str
    title: str
    kind: str
    section: str  # the heading in the book to read
    points: int
    max_points: int
    verdict: Verdict
    mistake: str = ""  # the name of a known mistake, and what there is to say about it
    mistake_message: str = ""
    groups: tuple[GroupRecord, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """How one notebook went."""

    status: Verdict
    max_points: int
    message: str = ""  # why there are no exercises to show, or what to know about the file
    exercises: tuple[ExerciseRecord, ...] = ()
    runs: str = ""  # from top to bottom in a fresh kernel? Empty where that was not asked

    @property
    def points(self) -> int:
        """The points earned."""
        return sum(exercise.points for exercise in self.exercises)

    def to_json(self) -> str:
        """Return the record as text: the same record gives the same text."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)


def from_json(text: str) -> Record:
    """Return the record that `Record.to_json` wrote."""
    fields = json.loads(text)
    exercises = tuple(_exercise(one) for one in fields.pop("exercises"))
    status = Verdict(fields.pop("status"))
    return Record(status, **fields, exercises=exercises)


def status_of(exercises: tuple[ExerciseRecord, ...]) -> Verdict:
    """Return the worst fault that an exercise met, or that all were judged."""
    return worst((one.verdict for one in exercises if one.verdict in FAULTS), Verdict.GRADED)


def cut(sentence: str) -> str:
    """Return a sentence that can be stored: not too long, no half characters."""
    short = sentence if len(sentence) <= _LONGEST else sentence[: _LONGEST - 1] + "…"
    return short.encode(errors="replace").decode()


def cut_all(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return the sentences that are kept about one thing: not too many, none too long."""
    first = list(islice(sentences, _MOST_SENTENCES + 1))
    if len(first) > _MOST_SENTENCES:
        first[_MOST_SENTENCES:] = [_("There is more to say than fits here.")]
    return tuple(map(cut, first))


def _exercise(fields: dict[str, Any]) -> ExerciseRecord:
    groups = tuple(
        GroupRecord(group["label"], group["points"], Verdict(group["status"]))
        for group in fields.pop("groups")
    )
    notes, verdict = tuple(fields.pop("notes")), Verdict(fields.pop("verdict"))
    return ExerciseRecord(**fields, verdict=verdict, groups=groups, notes=notes)
