"""What is kept of a graded notebook: plain words and numbers, no arrays, no code.

A record is all that the gradebook stores and all that the reports need. It can be written as
JSON and read back, so it can go from one of our processes to another without pickle.

What was not judged has no points, which is not the same as 0: its worth is not known yet.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import Any, TypedDict

from attn_course.practice.exercise import Chapter
from attn_course.practice.results import FAULTS, Verdict, in_words, worst
from attn_course.translate import _

_LONGEST = 600  # characters of a sentence: an exception's text may be a whole book
_MOST_SENTENCES = 12  # about one exercise: a learner's cells may be wrong in a thousand places

# Notebooks of which there is nothing to judge. The first two are missing as far as a learner is
# concerned, and an instructor may count them as 0; the third is the grader's own fault.
MISSING = (Verdict.NOTHING_HANDED_IN, Verdict.UNREADABLE)
UNJUDGED = (*MISSING, Verdict.NOT_GRADED)


class UnknownRecord(ValueError):  # noqa: N818  (it says what is the matter)
    """A record that this version of the course can't read: the text says what is new in it."""


@dataclass(frozen=True)
class GroupRecord:
    """How one group of cases went."""

    label: str
    points: int
    status: Verdict


@dataclass(frozen=True)
class ExerciseRecord:
    """How one exercise went: `notes` are sentences for the learner.

    `points` is None where it was not judged, whatever was said.
    """

    id: str
    title: str
    kind: str
    section: str  # the heading in the book to read
    points: int | None
    max_points: int
    verdict: Verdict
    mistake: str = ""  # the name of a known mistake, and what there is to say about it
    mistake_message: str = ""
    groups: tuple[GroupRecord, ...] = ()
    notes: tuple[str, ...] = ()
    section_label: str = ""  # where that heading is: its label, and the stem of its page
    section_page: str = ""
    observations: tuple[str, ...] = ()  # what can be seen where no mistake is known
    decision: str = ""  # what an instructor decided about the points: shown, and stored elsewhere

    def __post_init__(self) -> None:
        if not self.is_judged:
            object.__setattr__(self, "points", None)

    @property
    def is_judged(self) -> bool:
        """Whether the check came to an end, or an instructor decided."""
        return self.verdict is not Verdict.NOT_JUDGED or bool(self.decision)


@dataclass(frozen=True)
class Record:
    """How one notebook went."""

    status: Verdict
    max_points: int
    message: str = ""  # why there are no exercises to show, or what to know about the file
    exercises: tuple[ExerciseRecord, ...] = ()
    runs: str = ""  # from top to bottom in a fresh kernel? Empty where that was not asked
    title: str = ""  # the chapter's
    seed: int | None = None  # of the inputs; None where nothing was asked

    @property
    def is_judged(self) -> bool:
        """Whether all of it was judged, so that there is a sum."""
        return self.status not in UNJUDGED and all(one.is_judged for one in self.exercises)

    @property
    def points(self) -> int | None:
        """The points earned; None where not all was judged, since a sum would say too little."""
        return sum(one.points or 0 for one in self.exercises) if self.is_judged else None

    @property
    def reason(self) -> str:
        """Why there are no points; empty where there are."""
        if self.status in UNJUDGED:
            return self.message or in_words(self.status)
        left = (one for one in self.exercises if not one.is_judged)
        return "; ".join(f"{one.id}: {' '.join(one.notes)}" for one in left)

    def to_json(self) -> str:
        """Return the record as text: the same record gives the same text."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)


def from_json(text: str) -> Record:
    """Return the record that `Record.to_json` wrote; or raise `UnknownRecord`.

    What is missing has its default: a record may be older than a field.
    """
    try:
        found = _known(Record, json.loads(text))
        exercises = tuple(_exercise(one) for one in found.pop("exercises"))
        status = Verdict(found.pop("status"))
        return Record(status, **found, exercises=exercises)
    except UnknownRecord:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise UnknownRecord(str(fault)) from fault


class SectionFields(TypedDict):
    """The fields of a record that say what to read."""

    section: str
    section_label: str
    section_page: str


def section_fields(chapter: Chapter, label: str) -> SectionFields:
    """Return what a record keeps of a section that an exercise of `chapter` points to."""
    return {
        "section": chapter.sections[label],
        "section_label": label,
        "section_page": chapter.pages.get(label, ""),
    }


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


def _known(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were found, if `kind` has all of them."""
    unknown = found.keys() - {one.name for one in fields(kind)}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise UnknownRecord(_("fields that are not known here: {names}").format(names=names))
    return found


def _exercise(found: dict[str, Any]) -> ExerciseRecord:
    _known(ExerciseRecord, found)
    groups = tuple(
        GroupRecord(group["label"], group["points"], Verdict(group["status"]))
        for group in found.pop("groups")
    )
    notes, verdict = tuple(found.pop("notes")), Verdict(found.pop("verdict"))
    observations = tuple(found.pop("observations", ()))  # of records from before there were any
    return ExerciseRecord(
        **found, verdict=verdict, groups=groups, notes=notes, observations=observations
    )
