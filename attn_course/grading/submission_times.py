"""When learners handed in, from a table of its own: `attn-course collect … --times FILE`.

Canvas, Moodle and a fresh clone do not tell. A table in CSV can: a column that says who (as in a
roster), a column `handed_in` with the time and its zone, and a column `chapter` where it is about
several. GitHub Classroom's table of grades will do as it is: it has `github_username` and
`submission_timestamp`.
"""

import csv
import io
from dataclasses import dataclass, field
from datetime import datetime

from attn_course.grading.roster import Roster, RosterProblem, read_roster
from attn_course.grading.systems import Who, time_in
from attn_course.translate import _

_TIMES = ("handed_in", "submission_timestamp")
_CHAPTER = "chapter"


@dataclass
class SubmissionTimes:
    """The times, by login and by the number of a chapter; without one it is for all."""

    known: dict[tuple[str, str], datetime] = field(default_factory=dict)

    def of(self, login: str, stem: str) -> datetime | None:
        """Return when a learner handed in a chapter, where that is known."""
        number = stem.partition("_")[0]
        return self.known.get((login, number)) or self.known.get((login, ""))


def read_times(text: str, name: str, roster: Roster | None) -> SubmissionTimes:
    """Return the times that a table has; or raise `RosterProblem`, with the name."""
    lines = csv.DictReader(io.StringIO(text, newline=""))
    column = next((one for one in _TIMES if one in (lines.fieldnames or ())), None)
    if column is None:
        raise RosterProblem(
            _("The first line of {file} names no column {names}.").format(
                file=name, names=_(" or ").join(_TIMES)
            )
        )
    times = SubmissionTimes()
    head = ",".join(f'"{one}"' for one in lines.fieldnames or ())
    for number, line in enumerate(lines, start=2):
        written = (line[column] or "").strip()
        if not written:
            continue  # who handed in nothing
        time = time_in(written)
        if time is None:
            raise RosterProblem(
                _(
                    "Line {number} of {file}: {written!r} is no time with its zone, such as "
                    "2026-10-05T23:59:00+02:00."
                ).format(number=number, file=name, written=written)
            )
        chapter = (line.get(_CHAPTER) or "").partition("_")[0]
        for login in _logins(head, line, name, roster):
            times.known[login, chapter] = time
    return times


def _logins(head: str, line: dict[str, str | None], name: str, roster: Roster | None) -> list[str]:
    """Return who a line is about: it is read as a line of a roster is."""
    cells = ",".join('"' + (cell or "").replace('"', '""') + '"' for cell in line.values())
    (one,) = read_roster(f"{head}\n{cells}\n", name).learners
    if roster is None:
        return [one.login]
    who = Who(one.github or one.login, one.name, one.id or one.sis_id, one.email)
    return [learner.login for learner in roster.find(who)]
