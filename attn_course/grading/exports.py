"""The points in the form that another system reads: Canvas, Moodle, Gradescope.

What was not judged is blank: a 0 would be the learner's, and the fault may be ours. With a late
policy the points are as earned, or as they are left: `exports` in the policy says which.

- Canvas: the table that its gradebook exports and imports. The five columns that tell who it is, a
  column for each assignment with its name, best with its id, `Name (123)`, since a name that it
  does not know becomes a new assignment; and the line "Points Possible".
- Moodle: a table for "Import grades from CSV", where you say which column is which. With a policy
  there are further columns on late work, which you need not import.
- Gradescope: `results.json` of an autograder. What an instructor's own checks found is in tests of
  their own, hidden from learners.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from attn_course.grading import folder
from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord, GroupRecord
from attn_course.grading.report_options import ReportOptions
from attn_course.grading.safe_names import file_names
from attn_course.practice.results import Verdict
from attn_course.translate import _

_DEFAULTS = ReportOptions()


def write_export(
    out: Path, entries: Sequence[Entry], system: str, options: ReportOptions = _DEFAULTS
) -> None:
    """Write the points for `system` ("canvas", "moodle" or "gradescope") into the folder `out`."""
    for name, text in _SYSTEMS[system](entries, options).items():
        folder.write(out, name, text)


def _canvas(entries: Sequence[Entry], options: ReportOptions) -> dict[str, str]:
    """Return a table as Canvas exports it; a learner's folder is taken for the login."""
    chapters = _most_points(entries)
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows: list[Sequence[object]] = [[*head, *map(options.desk.assignment, chapters)]]
    rows.append(["    Points Possible", *[""] * 4, *chapters.values()])
    for login, found in _by_learner(entries).items():
        one = options.desk.learner(login)
        words = (one.name or login, one.id, one.sis_id, login, one.section)
        points = (options.exported(found[name]) if name in found else None for name in chapters)
        rows.append([*map(options.name, words), *points])
    return {"canvas.csv": _table(rows)}


def _moodle(entries: Sequence[Entry], options: ReportOptions) -> dict[str, str]:
    """Return a table for Moodle's grade import, which finds learners by the first column."""
    chapters = [options.desk.assignment(one) for one in _most_points(entries)]
    late = ("points", "late by", "deduction", "final") if options.desk.policy else ()
    further = [f"{chapter} {word}" for chapter in chapters for word in late]
    rows: list[Sequence[object]] = [["username", *chapters, *further]]
    for login, found in _by_learner(entries).items():
        of_chapters = [found.get(name) for name in _most_points(entries)]
        points = [options.exported(entry) if entry else None for entry in of_chapters]
        on_late = (_on_late_work(entry, options) for entry in of_chapters if late)
        rows.append([options.name(login), *points, *chain.from_iterable(on_late)])
    return {"moodle.csv": _table(rows)}


def _on_late_work(entry: Entry | None, options: ReportOptions) -> Sequence[object]:
    if entry is None:
        return [""] * 4
    return [options.points(entry.record), *options.late_cells(entry)]


def _gradescope(entries: Sequence[Entry], options: ReportOptions) -> dict[str, str]:
    """Return a `results.json` as an autograder of Gradescope leaves it, for each notebook."""
    names = file_names(entry.learner for entry in entries)
    return {
        f"gradescope/{names[entry.learner]}/{entry.chapter}.json": json.dumps(
            _gradescope_result(entry, options), indent=1, ensure_ascii=False
        )
        + "\n"
        for entry in entries
    }


def _gradescope_result(entry: Entry, options: ReportOptions) -> dict[str, object]:
    record, points = entry.record, options.exported(entry)
    late = options.lateness(entry)
    lines = [late.why if late else "", record.message, record.reason]
    said = "\n".join(dict.fromkeys(filter(None, lines)))
    # Without the format, Gradescope reads HTML in it.
    output = {"output": said, "output_format": "text"} if said else {}
    if points is not None:
        tests = [test for one in record.exercises for test in _scored(one, options)]
        return {"score": points, "tests": tests, **output}
    # Where there is no score of the whole, Gradescope adds up those of the tests: they have none
    # either. Tests without a score are allowed, to tell something, and one must be there.
    tests = [_told(one) for one in record.exercises]
    return {"tests": tests or [{"name": entry.chapter, "output": said}], **output}


def _scored(record: ExerciseRecord, options: ReportOptions) -> list[dict[str, object]]:
    """Return the test of an exercise, and a hidden one of what an instructor's own checks found."""
    said = [record.decision, record.mistake_message, *record.notes]
    output = "\n".join(filter(None, said))
    private = [group for group in record.groups if options.is_private(record, group)]
    public = [group for group in record.groups if group not in private]
    # An exercise of an instructor's own has no other groups, and points may be an override.
    if not private or not public or record.points != _earned(record.groups):
        return [_test(record.id, record.points, record.max_points, output)]
    # What is told is about the first group that went wrong, and public ones are asked first.
    is_public = any(group.status is not Verdict.PASSED for group in public)
    shown, hidden = (output, "") if is_public else ("", output)
    name = _("{id}, further checks").format(id=record.id)
    most = sum(group.points for group in public)
    return [
        _test(record.id, _earned(public), most, shown),
        _test(name, _earned(private), record.max_points - most, hidden) | {"visibility": "hidden"},
    ]


def _earned(groups: Sequence[GroupRecord]) -> int:
    return sum(group.points for group in groups if group.status is Verdict.PASSED)


def _test(name: str, points: int | None, most: int, output: str) -> dict[str, object]:
    return {"name": name, "score": points, "max_score": most, "output": output}


def _told(record: ExerciseRecord) -> dict[str, object]:
    if not record.is_judged:
        return {"name": record.id, "output": "\n".join([_("Not judged."), *record.notes])}
    points = _("Points: {points} of {most}").format(points=record.points, most=record.max_points)
    said = [points, record.decision, record.mistake_message, *record.notes]
    output = "\n".join(filter(None, said))
    status = "passed" if record.verdict is Verdict.PASSED else "failed"
    return {"name": record.id, "status": status, "output": output}


_SYSTEMS: dict[str, Callable[[Sequence[Entry], ReportOptions], dict[str, str]]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
}


def _most_points(entries: Sequence[Entry]) -> dict[str, int]:
    """Return the points that can be had in each chapter, in order."""
    return {e.chapter: e.record.max_points for e in sorted(entries, key=lambda e: e.chapter)}


def _by_learner(entries: Sequence[Entry]) -> dict[str, dict[str, Entry]]:
    """Return the results of each learner by chapter."""
    found: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        found.setdefault(entry.learner, {})[entry.chapter] = entry
    return found


def _table(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
