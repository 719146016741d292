"""The points in the form that another system reads: Canvas, Moodle, Gradescope.

What was not judged is blank: a 0 would be the learner's, and the fault may be ours.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from attn_course.grading import folder
from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord
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
    rows: list[Sequence[object]] = [[*head, *chapters]]
    rows.append(["    Points Possible", *[""] * 4, *chapters.values()])
    for learner, points in _by_learner(entries, options).items():
        name = options.name(learner)
        rows.append([name, "", "", name, "", *(points.get(chapter) for chapter in chapters)])
    return {"canvas.csv": _table(rows)}


def _moodle(entries: Sequence[Entry], options: ReportOptions) -> dict[str, str]:
    """Return a table for Moodle's grade import, which finds learners by the first column."""
    chapters = _most_points(entries)
    rows: list[Sequence[object]] = [["username", *chapters]]
    for learner, points in _by_learner(entries, options).items():
        rows.append([options.name(learner), *(points.get(chapter) for chapter in chapters)])
    return {"moodle.csv": _table(rows)}


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
    record, points = entry.record, options.points(entry.record)
    said = "\n".join(dict.fromkeys(filter(None, [record.message, record.reason])))
    # Without the format, Gradescope reads HTML in it.
    output = {"output": said, "output_format": "text"} if said else {}
    if points is not None:
        return {"score": points, "tests": [_scored(one) for one in record.exercises], **output}
    # Where there is no score of the whole, Gradescope adds up those of the tests: they have none
    # either. Tests without a score are allowed, to tell something, and one must be there.
    tests = [_told(one) for one in record.exercises]
    return {"tests": tests or [{"name": entry.chapter, "output": said}], **output}


def _scored(record: ExerciseRecord) -> dict[str, object]:
    output = "\n".join(filter(None, [record.mistake_message, *record.notes]))
    score = {"score": record.points, "max_score": record.max_points}
    return {"name": record.id, **score, "output": output}


def _told(record: ExerciseRecord) -> dict[str, object]:
    if not record.is_judged:
        return {"name": record.id, "output": "\n".join([_("Not judged."), *record.notes])}
    points = _("Points: {points} of {most}").format(points=record.points, most=record.max_points)
    output = "\n".join(filter(None, [points, record.mistake_message, *record.notes]))
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


def _by_learner(
    entries: Sequence[Entry], options: ReportOptions
) -> dict[str, dict[str, int | None]]:
    """Return the points of each learner by chapter; None is written as a blank."""
    found: dict[str, dict[str, int | None]] = {}
    for entry in entries:
        found.setdefault(entry.learner, {})[entry.chapter] = options.points(entry.record)
    return found


def _table(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
