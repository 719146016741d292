"""What `attn-course collect` knows of each notebook, beside the notebooks: `collected.csv`.

A line is one attempt: in which folder it is, whose it is, for which chapter, when it was handed in
and who says so, and what it was called. The grader reads it for the late policy, and to know which
folders are attempts of one learner. An instructor may correct a time: write it with its zone, and
`instructor` into the next column. Collecting again then keeps it. A line without a chapter says
whose a folder is, where it could not be called by the login.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

from attn_course.grading.gradebook import Entry
from attn_course.grading.safe_names import cell, shown
from attn_course.grading.systems import BY_FILE, BY_SYSTEM, time_in
from attn_course.translate import _

FILE = "collected.csv"
BY_INSTRUCTOR = "instructor"
_TOLD_BY = (BY_SYSTEM, BY_FILE, BY_INSTRUCTOR, "")


class CollectedProblem(Exception):  # noqa: N818  (the file has a problem; nothing crashed)
    """A table of what was collected that can't be used: the text says why and what to do."""


@dataclass(frozen=True)
class Attempt:
    """One notebook that was collected."""

    folder: str
    learner: str  # the login
    chapter: str  # the stem, NN_topic
    handed_in: datetime | None = None
    time_from: str = ""  # who says so: "system", "file" (a guess) or "instructor"
    marked_late: bool = False  # by the system
    attempt: int = 1
    attempts: int = 1
    file: str = ""  # what it was called in the download
    sha256: str = ""

    @property
    def is_last(self) -> bool:
        """Whether no later attempt is known."""
        return self.attempt == self.attempts


_COLUMNS = [one.name for one in fields(Attempt)]


def to_csv(attempts: Iterable[Attempt]) -> str:
    """Return the table as text, in order."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_COLUMNS)
    for one in sorted(attempts, key=lambda one: (one.learner, one.chapter, one.attempt)):
        time = one.handed_in.astimezone(UTC).isoformat(timespec="seconds") if one.handed_in else ""
        late = "yes" if one.marked_late else ""
        numbers = (one.attempt, one.attempts)
        table.writerow(
            [
                *(one.folder, shown(one.learner), one.chapter, time, one.time_from, late),
                *(*numbers, cell(one.file), one.sha256),
            ]
        )
    return text.getvalue()


def read_collected(text: str, name: str) -> tuple[Attempt, ...]:
    """Return what a table says, a text in CSV; or raise `CollectedProblem`, with the name."""
    try:
        lines = csv.DictReader(io.StringIO(text, newline=""))
        return tuple(_attempt(line) for line in lines)
    except (KeyError, ValueError, AttributeError, csv.Error) as fault:
        raise CollectedProblem(
            _(
                "{file} can't be read ({why}): collect again into a new folder, or take back what "
                "was changed in it."
            ).format(file=name, why=fault)
        ) from fault


def _attempt(line: dict[str, str]) -> Attempt:
    if list(line) != _COLUMNS or line["time_from"] not in _TOLD_BY:
        raise ValueError(_("its columns are {names}").format(names=", ".join(_COLUMNS)))
    time = time_in(line["handed_in"]) if line["handed_in"] else None
    if line["handed_in"] and time is None:
        raise ValueError(
            _("{time!r} is no time with its zone, such as 2026-10-05T23:59:00+02:00").format(
                time=line["handed_in"]
            )
        )
    return Attempt(
        folder=line["folder"],
        learner=line["learner"],
        chapter=line["chapter"],
        handed_in=time,
        time_from=line["time_from"],
        marked_late=line["marked_late"] == "yes",
        attempt=int(line["attempt"]),
        attempts=int(line["attempts"]),
        file=line["file"],
        sha256=line["sha256"],
    )


def counted(
    entries: Sequence[Entry],
    attempts: Sequence[Attempt],
    worth: Callable[[Entry, Attempt | None], float | None],
) -> list[tuple[Entry, Attempt | None]]:
    """Return one result for each learner and chapter, with its attempt: of several, the best.

    The grader knows folders. Here they become learners again: a folder's result is its learner's,
    and of several attempts that counts which is worth most, the later of two that are alike.
    What the table does not know is returned as it is.
    """
    of_folder = {(one.folder, one.chapter): one for one in attempts}
    learners = {one.folder: one.learner for one in attempts}
    together: dict[tuple[str, str], list[tuple[Entry, Attempt | None]]] = defaultdict(list)
    for entry in entries:
        attempt = of_folder.get((entry.learner, entry.chapter))
        learner = learners.get(entry.learner, entry.learner)
        together[learner, entry.chapter].append((replace(entry, learner=learner), attempt))

    def order(one: tuple[Entry, Attempt | None]) -> tuple[float, int]:
        value = worth(*one)
        return (-1.0 if value is None else value, one[1].attempt if one[1] else 0)

    return [max(several, key=order) for _key, several in sorted(together.items())]
