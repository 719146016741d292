"""What comes out: a table of points, all results as JSON, a page for each learner, a summary.

All of it is made of the gradebook alone, so it can be written again at any time.
"""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attn_course.grading import folder
from attn_course.grading.feedback_page import page
from attn_course.grading.gradebook import Entry
from attn_course.grading.safe_names import cell, file_names, line
from attn_course.practice.feedback import aligned
from attn_course.practice.results import Verdict, in_words
from attn_course.translate import _

_COLUMNS = ("learner", "chapter", "points", "max_points", "percent", "status", "seconds")
_FORMAT = 1


def write_all(out: Path, entries: Sequence[Entry], seed: int, notices: Sequence[str]) -> None:
    """Write `grades.csv`, `results.json` and the feedback pages into the folder `out`."""
    names = file_names(entry.learner for entry in entries)
    for entry in entries:
        where = Path("feedback", names[entry.learner], f"{entry.chapter}.html")
        folder.write(out, str(where), page(entry))
    folder.write(out, "grades.csv", grades_csv(entries))
    folder.write(out, "results.json", results_json(entries, seed, notices))


def grades_csv(entries: Sequence[Entry]) -> str:
    """Return a line for each learner and chapter, with a column for each exercise."""
    ids = sorted(
        {one.id for entry in entries for one in entry.record.exercises}, key=_order(entries)
    )
    # A column more where it was asked whether notebooks run in a fresh kernel.
    last = ["runs"] if any(entry.record.runs for entry in entries) else []
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow([*_COLUMNS, *ids, *last])
    for entry in entries:
        points = {one.id: one.points for one in entry.record.exercises}
        table.writerow(
            [
                cell(entry.learner),
                entry.chapter,
                entry.record.points,
                entry.record.max_points,
                percent(entry),
                entry.record.status,
                f"{entry.seconds:.3f}",
                *(points.get(one, "") for one in ids),
                *(cell(entry.record.runs) for _column in last),
            ]
        )
    return text.getvalue()


def results_json(entries: Sequence[Entry], seed: int, notices: Sequence[str]) -> str:
    """Return everything that is known, as JSON."""
    content = {
        "format": _FORMAT,
        "seed": seed,
        "notices": list(notices),
        "results": [_as_dict(entry) for entry in entries],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def percent(entry: Entry) -> float:
    """Return the share of the points, in percent."""
    most = entry.record.max_points
    return round(100 * entry.record.points / most, 1) if most else 0.0


def problems(entries: Iterable[Entry]) -> list[str]:
    """Return a line for each notebook that was not simply graded, or that has a message."""
    return [
        line(f"{entry.learner}  {entry.chapter}  {in_words(entry.record.status)}  {_why(entry)}")
        for entry in entries
        if entry.record.status is not Verdict.GRADED or entry.record.message
    ]


def summary(entries: Sequence[Entry]) -> str:
    """Return how the class did: for each chapter and exercise, and which mistakes are common."""
    by_chapter: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.record.status is not Verdict.NOTHING_HANDED_IN:
            by_chapter[entry.chapter].append(entry)
    lines: list[str] = []
    for chapter, of_chapter in sorted(by_chapter.items()):
        mean = sum(percent(entry) for entry in of_chapter) / len(of_chapter)
        lines.append(
            _("{chapter}: notebooks {count}, mean {mean:.0f} %").format(
                chapter=chapter, count=len(of_chapter), mean=mean
            )
        )
        lines += (
            aligned(_exercise_rows(of_chapter))
            if any(e.record.exercises for e in of_chapter)
            else []
        )
        lines += _runs_line(of_chapter)
    return "\n".join(lines)


def _runs_line(entries: Sequence[Entry]) -> list[str]:
    asked = [entry.record.runs for entry in entries if entry.record.runs]
    words = _("  run from top to bottom in a fresh kernel: {count} of {asked}")
    return [words.format(count=asked.count("yes"), asked=len(asked))] if asked else []


def _exercise_rows(entries: Iterable[Entry]) -> list[tuple[str, ...]]:
    count: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    mistakes: dict[str, Counter[str]] = defaultdict(Counter)
    for one in (one for entry in entries for one in entry.record.exercises):
        count[one.id] += 1
        passed[one.id] += one.verdict is Verdict.PASSED
        if one.mistake:
            mistakes[one.id][one.mistake] += 1
    rows: list[tuple[str, ...]] = []
    for name in count:
        common = mistakes[name].most_common(1)
        words = _("most common mistake: {name} ({count})")
        rows.append(
            (
                " ",
                name,
                _("passed {passed} of {count}").format(passed=passed[name], count=count[name]),
                words.format(name=common[0][0], count=common[0][1]) if common else "",
            )
        )
    return rows


def _why(entry: Entry) -> str:
    """Return what there is to say about the notebook, or about the exercise at fault."""
    faulty = [
        f"{one.id}: {' '.join(one.notes)}"
        for one in entry.record.exercises
        if one.verdict == entry.record.status
    ]
    return entry.record.message or "; ".join(faulty)


def _order(entries: Iterable[Entry]) -> Any:
    """Return the order of the columns: as in the chapters."""
    places: dict[str, tuple[str, int]] = {}
    for entry in entries:
        for place, one in enumerate(entry.record.exercises):
            places.setdefault(one.id, (entry.chapter, place))
    return lambda name: (*places[name], name)


def _as_dict(entry: Entry) -> dict[str, Any]:
    fields = asdict(entry)
    record = fields.pop("record")
    return {
        "learner": fields.pop("learner"),
        "chapter": fields.pop("chapter"),
        "points": entry.record.points,
        "max_points": record.pop("max_points"),
        "percent": percent(entry),
        **record,
        **fields,
    }
