"""What an instructor may choose about reports and exports, for one run: nothing of it is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, urljoin

from attn_course.grading.desk import Desk
from attn_course.grading.gradebook import Entry
from attn_course.grading.policy import Lateness
from attn_course.grading.records import MISSING, ExerciseRecord, GroupRecord, Record
from attn_course.grading.safe_names import cell, shown


@dataclass(frozen=True)
class ReportOptions:
    """The choices, and what follows from them.

    `missing_is_zero`: 0, and no blank, for what was not handed in or can't be read.
    `for_spreadsheets`: no name is taken for a formula, at the price that some are changed.
    `book`: where learners read the book; feedback then links its sections.
    `policy`, `collected`, `roster`: the texts of an instructor's files, see `desk`.
    `private`: the groups of cases that an instructor added, as `<id of exercise> <label>`.
    """

    missing_is_zero: bool = False
    for_spreadsheets: bool = False
    book: str = ""
    policy: str = ""
    collected: str = ""
    roster: str = ""
    private: Sequence[str] = ()

    @cached_property
    def desk(self) -> Desk:
        """What the instructor's files say."""
        return Desk(self.policy, self.collected, self.roster)

    def lateness(self, entry: Entry) -> Lateness | None:
        """Return how late a notebook was, and what that costs; None where it has no deadline."""
        return self.desk.lateness(entry, self.points(entry.record))

    def late_cells(self, entry: Entry) -> tuple[str, float | None, float | None]:
        """Return how late, the deduction and what is left, for a table; None is a blank."""
        points, late = self.points(entry.record), self.lateness(entry)
        if late is None:  # there is no deadline, so all points are left
            return "", None if points is None else 0, points
        return late.late_by_text, None if points is None else late.deduction, late.final

    def exported(self, entry: Entry) -> float | None:
        """Return the points for another system: as earned, unless the policy says otherwise."""
        policy, late = self.desk.policy, self.lateness(entry)
        if policy is None or late is None or policy.exports == "raw":
            return self.points(entry.record)
        return late.final

    def is_private(self, exercise: ExerciseRecord, group: GroupRecord) -> bool:
        """Return whether a group is one that an instructor added."""
        return f"{exercise.id} {group.label}" in self.private

    def points(self, record: Record) -> int | None:
        """Return the points to write down, or None for a blank.

        What the grader failed to judge is blank in any case: that is no learner's fault.
        """
        return 0 if self.missing_is_zero and record.status in MISSING else record.points

    def percent(self, record: Record) -> float | None:
        """Return the share of the points, in percent, or None for a blank."""
        points = self.points(record)
        if points is None:
            return None
        return round(100 * points / record.max_points, 1) if record.max_points else 0.0

    def name(self, learner: str) -> str:
        """Return a learner's name for a table: unchanged, since other systems find them by it."""
        return cell(learner) if self.for_spreadsheets else shown(learner)

    def address(self, page: str, label: str) -> str:
        """Return where a section of the book is, or nothing where that is not known."""
        if not self.book or not page:
            return ""
        book = self.book if self.book.endswith((".html", "/")) else f"{self.book}/"
        return urljoin(book, f"{quote(page, safe='')}.html#{quote(label, safe='')}")
