"""After a regrade: whose points changed, by how much, and why.

Compared are the results that counted when the run began with those that count now, as the checks
gave them. An override still counts, whatever the checks say: a change below one is told as such.
A run that was stopped and goes on is still compared with the time before it began.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from attn_course.grading import folder
from attn_course.grading.decisions import Decisions
from attn_course.grading.gradebook import Entry, Gradebook, set_aside
from attn_course.grading.records import MISSING, ExerciseRecord
from attn_course.grading.report_options import ReportOptions
from attn_course.grading.safe_names import cell, line
from attn_course.practice.feedback import readable
from attn_course.practice.results import Verdict, in_words
from attn_course.translate import _

FILE = "changes.csv"
_SINCE = "changes_since"  # the fact that says up to which result the time before the run lasted
_COLUMNS = ("graded", "learner", "chapter", "exercise", "before", "after", "override", "why")
_MOST_LINES = 20  # in the terminal; the file has all
_DEFAULTS = ReportOptions()


@dataclass(frozen=True)
class Change:
    """The points of one exercise by the checks, before and after; None is a blank.

    `override` is what counts in their place, where an instructor has set that.
    """

    graded: str
    learner: str
    chapter: str
    exercise: str
    before: int | None
    after: int | None
    why: str
    override: int | None = None


def begin(gradebook: Gradebook) -> None:
    """Note where a run begins, unless one goes on that was stopped."""
    if not gradebook.recall(_SINCE):
        gradebook.remember(_SINCE, str(gradebook.last_id))


def end(out: Path, gradebook: Gradebook, options: ReportOptions = _DEFAULTS) -> list[Change]:
    """Return what the run changed, and add it to `changes.csv` in the folder `out`."""
    since = int(gradebook.recall(_SINCE) or gradebook.last_id)
    earlier = _before(out, gradebook, since)
    found = compare(earlier, gradebook.latest(is_decided=False), gradebook)
    if found:
        _append(out, found, options)
    gradebook.remember(_SINCE, "")
    return found


def _before(out: Path, gradebook: Gradebook, since: int) -> list[Entry]:
    """Return what counted before: where the gradebook is new, in the one that was set aside."""
    before = set_aside(out)
    if since or before is None:
        return list(gradebook.latest(since, is_decided=False))
    with Gradebook(out, name=before.name) as old:
        return list(old.latest(is_decided=False))


def compare(earlier: Iterable[Entry], later: Iterable[Entry], gradebook: Gradebook) -> list[Change]:
    """Return which points differ; what was not handed in before has not changed."""
    decisions = Decisions(gradebook.decisions())
    known = {(one.learner, one.chapter): one for one in earlier if one.record.status not in MISSING}
    return [
        change
        for entry in later
        if (old := known.get((entry.learner, entry.chapter))) is not None
        for change in _changes(old, entry, decisions)
    ]


def _changes(old: Entry, new: Entry, decisions: Decisions) -> Iterator[Change]:
    cause = _cause(old, new)
    before: Mapping[str, ExerciseRecord] = {one.id: one for one in old.record.exercises}
    after: Mapping[str, ExerciseRecord] = {one.id: one for one in new.record.exercises}
    for name in dict.fromkeys([*after, *before]):
        was, now = before.get(name), after.get(name)
        points = was.points if was else None, now.points if now else None
        if points[0] == points[1]:
            continue
        override = decisions.override(new.learner, name)
        why = f"{cause} ({_in_short(was)} → {_in_short(now)})"
        kept = override.points if override else None
        yield Change(new.graded, new.learner, new.chapter, name, *points, why, kept)


def _cause(old: Entry, new: Entry) -> str:
    """Say what was different in the second judgement."""
    if old.content != new.content:
        return _("another file was handed in")
    if old.checks != new.checks:
        return _("the course, the checks or the limits have changed")
    if old.record.seed != new.record.seed:
        return _("the same file was asked with other inputs")
    return _("the same file was judged again")


def _in_short(record: ExerciseRecord | None) -> str:
    if record is None:
        return _("not asked")
    if record.mistake and record.verdict in (Verdict.FAILED, Verdict.ERROR):
        return readable(record.mistake)
    return in_words(record.verdict)


# --- what is shown ---------------------------------------------------------------------------


def _append(out: Path, changes: Iterable[Change], options: ReportOptions) -> None:
    """Add lines to the file, which is a log: nothing that was ever changed is lost from it."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    try:
        text.write((out / FILE).read_bytes().decode())
    except FileNotFoundError:
        table.writerow(_COLUMNS)
    for one in changes:
        row = (one.graded, options.name(one.learner), one.chapter, one.exercise)
        table.writerow([*row, one.before, one.after, one.override, cell(one.why)])
    folder.write(out, FILE, text.getvalue())


def sentences(changes: Iterable[Change]) -> list[str]:
    """Return the changes for a terminal: a line for each notebook, and how many there are."""
    lines = []
    for (learner, chapter), group in groupby(changes, lambda one: (one.learner, one.chapter)):
        several = list(group)
        difference = sum((one.after or 0) - (one.before or 0) for one in several)
        told = "; ".join(map(_told, several))
        lines.append(line(f"{learner}  {chapter}  {difference:+d}  {told}"))
    if not lines:
        return []
    first = _("Notebooks with other points than before: {count} ({file})")
    shown = lines[:_MOST_LINES]
    if len(lines) > len(shown):
        shown.append(_("… and {count} more.").format(count=len(lines) - len(shown)))
    return [first.format(count=len(lines), file=FILE), *shown]


def _told(change: Change) -> str:
    blank = _("blank")
    before = blank if change.before is None else change.before
    after = blank if change.after is None else change.after
    said = f"{change.exercise} {before} → {after}, {change.why}"
    if change.override is None:
        return said
    kept = _("your override of {points} still counts").format(points=change.override)
    return f"{said}, {kept}"
