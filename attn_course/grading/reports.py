"""What comes out: a table of points, all results as JSON, a page for each learner, a summary.

All of it is made of the gradebook alone, so it can be written again at any time. What was not
judged is blank and has a reason; means are of what was judged. `grades.csv` has no times, so that
two runs over the same notebooks give the same file.
"""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attn_course.grading import folder
from attn_course.grading.feedback_page import page
from attn_course.grading.gradebook import Entry
from attn_course.grading.report_options import ReportOptions
from attn_course.grading.safe_names import cell, file_names, line
from attn_course.practice.feedback import aligned
from attn_course.practice.results import Verdict, in_words
from attn_course.translate import _

_COLUMNS = ("learner", "chapter", "points", "max_points", "percent", "status", "reason")
_LATE_COLUMNS = ("handed_in", "late_by", "deduction", "final")  # where there is a policy
_FORMAT = 2
_DEFAULTS = ReportOptions()


def write_all(
    out: Path,
    entries: Sequence[Entry],
    seed: int,
    notices: Sequence[str],
    options: ReportOptions = _DEFAULTS,
    is_changed: Callable[[Entry], bool] = lambda _entry: True,
) -> None:
    """Write `grades.csv`, `results.json` and the feedback pages into the folder `out`.

    A page that is there and has not changed stays.
    """
    names = file_names(entry.learner for entry in entries)
    for entry in entries:
        where = Path("feedback", names[entry.learner], f"{entry.chapter}.html")
        if is_changed(entry) or not (out / where).is_file():
            folder.write(out, str(where), page(entry, options))
    folder.write(out, "grades.csv", grades_csv(entries, options))
    folder.write(out, "results.json", results_json(entries, seed, notices, options))


def grades_csv(entries: Sequence[Entry], options: ReportOptions = _DEFAULTS) -> str:
    """Return a line for each learner and chapter, with a column for each exercise."""
    ids = sorted(
        {one.id for entry in entries for one in entry.record.exercises}, key=_order(entries)
    )
    # A column more where it was asked whether notebooks run in a fresh kernel.
    last = ["runs"] if any(entry.record.runs for entry in entries) else []
    # … and one where an instructor has set points.
    decided = ["overrides"] if any(map(_overrides, entries)) else []
    late = _LATE_COLUMNS if options.desk.policy else ()
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow([*_COLUMNS, *ids, *last, *decided, *late])
    for entry in entries:
        points = {one.id: one.points for one in entry.record.exercises}
        table.writerow(
            [
                options.name(entry.learner),
                entry.chapter,
                options.points(entry.record),  # None is written as a blank
                entry.record.max_points,
                options.percent(entry.record),
                entry.record.status,
                cell(entry.record.reason),
                *(points.get(one, "") for one in ids),
                *(cell(entry.record.runs) for _column in last),
                *(cell(_overrides(entry)) for _column in decided),
                *(_late_cells(entry, options) if late else ()),
            ]
        )
    return text.getvalue()


def results_json(
    entries: Sequence[Entry],
    seed: int,
    notices: Sequence[str],
    options: ReportOptions = _DEFAULTS,
) -> str:
    """Return everything that is known, as JSON."""
    content = {
        "format": _FORMAT,
        "seed": seed,
        "notices": list(notices),
        "results": [_as_dict(entry, options) for entry in entries],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def problems(entries: Iterable[Entry], options: ReportOptions = _DEFAULTS) -> list[str]:
    """Return a line for each notebook with points that met a fault, or that has a message."""
    return [
        _line(entry, _why(entry))
        for entry in entries
        if options.points(entry.record) is not None
        and (entry.record.status is not Verdict.GRADED or entry.record.message)
    ]


def blanks(entries: Iterable[Entry], options: ReportOptions = _DEFAULTS) -> list[str]:
    """Return a line for each notebook that has no points: who, and why."""
    words = _("Without points: {line}")
    return [
        line(words.format(line=_line(entry, entry.record.reason)))
        for entry in entries
        if options.points(entry.record) is None
    ]


def summary(entries: Sequence[Entry], options: ReportOptions = _DEFAULTS) -> str:
    """Return how the class did: for each chapter and exercise, and which mistakes are common."""
    by_chapter: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_chapter[entry.chapter].append(entry)
    lines: list[str] = []
    for chapter, of_chapter in sorted(by_chapter.items()):
        lines.append(_mean_line(chapter, of_chapter, options))
        lines += (
            aligned(_exercise_rows(of_chapter))
            if any(e.record.exercises for e in of_chapter)
            else []
        )
        lines += _runs_line(of_chapter)
    return "\n".join(lines)


def _mean_line(chapter: str, entries: Sequence[Entry], options: ReportOptions) -> str:
    """Return the mean of what was judged, and how much was not: a blank is no 0 in it."""
    shares = [options.percent(entry.record) for entry in entries]
    known = [share for share in shares if share is not None]
    words = _(
        "{chapter}: notebooks {count}, mean {mean:.0f} %, without points {blank} (not in the mean)"
    )
    if len(known) == len(shares):
        words = _("{chapter}: notebooks {count}, mean {mean:.0f} %")
    elif not known:
        words = _("{chapter}: notebooks {count}, without points {blank}")
    mean = sum(known) / len(known) if known else 0.0
    return words.format(
        chapter=chapter, count=len(known), mean=mean, blank=len(shares) - len(known)
    )


def _runs_line(entries: Sequence[Entry]) -> list[str]:
    asked = [entry.record.runs for entry in entries if entry.record.runs]
    words = _("  run from top to bottom in a fresh kernel: {count} of {asked}")
    return [words.format(count=asked.count("yes"), asked=len(asked))] if asked else []


def _exercise_rows(entries: Iterable[Entry]) -> list[tuple[str, ...]]:
    count: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    unjudged: Counter[str] = Counter()
    mistakes: dict[str, Counter[str]] = defaultdict(Counter)
    for one in (one for entry in entries for one in entry.record.exercises):
        count[one.id] += one.is_judged
        unjudged[one.id] += not one.is_judged
        passed[one.id] += one.verdict is Verdict.PASSED
        if one.mistake:
            mistakes[one.id][one.mistake] += 1
    rows: list[tuple[str, ...]] = []
    for name in count:
        common = mistakes[name].most_common(1)
        words = _("most common mistake: {name} ({count})")
        left = _("not judged {count}").format(count=unjudged[name]) if unjudged[name] else ""
        rows.append(
            (
                " ",
                name,
                _("passed {passed} of {count}").format(passed=passed[name], count=count[name]),
                *([left] if unjudged.total() else []),
                words.format(name=common[0][0], count=common[0][1]) if common else "",
            )
        )
    return rows


def _late_cells(entry: Entry, options: ReportOptions) -> tuple[object, ...]:
    """Return when a notebook was handed in, how late, what that costs and what is left."""
    attempt = options.desk.attempt(entry)
    time = attempt.handed_in if attempt else None
    handed_in = time.isoformat(timespec="seconds") if time else ""
    return (handed_in, *options.late_cells(entry))


def _overrides(entry: Entry) -> str:
    """Return which points an instructor has set, and why."""
    decided = (one for one in entry.record.exercises if one.decision)
    return "; ".join(f"{one.id}: {one.decision}" for one in decided)


def _line(entry: Entry, why: str) -> str:
    return line(f"{entry.learner}  {entry.chapter}  {in_words(entry.record.status)}  {why}")


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


def _as_dict(entry: Entry, options: ReportOptions) -> dict[str, Any]:
    fields = asdict(entry)
    record = fields.pop("record")
    return {
        "learner": fields.pop("learner"),
        "chapter": fields.pop("chapter"),
        "points": options.points(entry.record),
        "max_points": record.pop("max_points"),
        "percent": options.percent(entry.record),
        "reason": entry.record.reason,
        **_late_fields(entry, options),
        **record,
        **fields,
    }


def _late_fields(entry: Entry, options: ReportOptions) -> dict[str, Any]:
    if options.desk.policy is None:
        return {}
    late = options.lateness(entry)
    cells = zip(_LATE_COLUMNS, _late_cells(entry, options), strict=True)
    return {"late": {**dict(cells), "why": late.why if late else ""}}
