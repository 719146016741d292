"""The points in the form that another system reads: Canvas, Moodle, Gradescope."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from attn_course.grading import folder
from attn_course.grading.gradebook import Entry
from attn_course.grading.safe_names import cell, file_names


def write_export(out: Path, entries: Sequence[Entry], system: str) -> None:
    """Write the points for `system` ("canvas", "moodle" or "gradescope") into the folder `out`."""
    for name, text in _SYSTEMS[system](entries).items():
        folder.write(out, name, text)


def _canvas(entries: Sequence[Entry]) -> dict[str, str]:
    """Return a table as Canvas exports it; a learner's folder is taken for the login."""
    chapters = _most_points(entries)
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows: list[Sequence[object]] = [[*head, *chapters]]
    rows.append(["    Points Possible", *[""] * 4, *chapters.values()])
    for learner, points in _by_learner(entries).items():
        who = [cell(learner), "", "", cell(learner), ""]
        rows.append([*who, *(points.get(chapter, "") for chapter in chapters)])
    return {"canvas.csv": _table(rows)}


def _moodle(entries: Sequence[Entry]) -> dict[str, str]:
    """Return a table for Moodle's grade import, which finds learners by the first column."""
    chapters = _most_points(entries)
    rows: list[Sequence[object]] = [["username", *chapters]]
    for learner, points in _by_learner(entries).items():
        rows.append([cell(learner), *(points.get(chapter, "") for chapter in chapters)])
    return {"moodle.csv": _table(rows)}


def _gradescope(entries: Sequence[Entry]) -> dict[str, str]:
    """Return a `results.json` as an autograder of Gradescope leaves it, for each notebook."""
    names = file_names(entry.learner for entry in entries)
    files = {}
    for entry in entries:
        tests = [
            {
                "name": one.id,
                "score": one.points,
                "max_score": one.max_points,
                "output": "\n".join(filter(None, [one.mistake_message, *one.notes])),
            }
            for one in entry.record.exercises
        ]
        content: dict[str, object] = {"score": entry.record.points, "tests": tests}
        if entry.record.message:
            content["output"] = entry.record.message
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        files[f"gradescope/{names[entry.learner]}/{entry.chapter}.json"] = text
    return files


_SYSTEMS: dict[str, Callable[[Sequence[Entry]], dict[str, str]]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
}


def _most_points(entries: Sequence[Entry]) -> dict[str, int]:
    """Return the points that can be had in each chapter, in order."""
    return {e.chapter: e.record.max_points for e in sorted(entries, key=lambda e: e.chapter)}


def _by_learner(entries: Sequence[Entry]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for entry in entries:
        found.setdefault(entry.learner, {})[entry.chapter] = entry.record.points
    return found


def _table(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
