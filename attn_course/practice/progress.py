"""What you reached, remembered between runs in `.attn-course/progress.json`.

The folder is next to the notebooks: in the working directory, or where the environment
variable ATTN_COURSE_HOME says. For every exercise the file has

- `best_points`: the most points any check gave. They never go down: a later try that breaks
  something costs nothing, so it is safe to try.
- `status`: how the last check went (passed, failed, error, todo), so that you see where you are.
- `attempts`: how many checks ran your code; an untouched stub is not an attempt.
- `checked`: the time of the last check (ISO, UTC).
- `hints`: how many hints were shown.

A file that can't be read is set aside under another name, never overwritten. Where nothing can
be written, the check works all the same and `Progress.notes` says so in a line.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attn_course._files import replace_file
from attn_course.practice import exercises
from attn_course.practice.exercise import Chapter, Exercise
from attn_course.practice.feedback import aligned, colour_of
from attn_course.practice.numbers import current_id
from attn_course.practice.results import Result, Verdict
from attn_course.practice.terminal import Paint, plain
from attn_course.translate import _

_FORMAT = 1
_JSON_FORMAT = 1  # of what `as_json` returns: it changes when a key goes or means something else
_STATUSES = (Verdict.PASSED, Verdict.FAILED, Verdict.ERROR, Verdict.TODO)
_BAR = 20  # characters


@dataclass
class Entry:
    """What is remembered of one exercise."""

    best_points: int = 0
    status: str = Verdict.TODO.value
    attempts: int = 0
    checked: str = ""
    hints: int = 0


class Progress:
    """What one learner reached; `record` and `next_hint` write it down at once."""

    def __init__(self, file: Path, entries: dict[str, Entry], notes: list[str]) -> None:
        self.file = file
        self.entries = entries
        self.notes = notes  # sentences the learner should see, one line each

    def record(self, result: Result) -> None:
        """Remember how a check went."""
        entry = self._entry(result.exercise)
        entry.best_points = max(entry.best_points, result.points)
        entry.status = result.verdict.value
        entry.attempts += result.verdict is not Verdict.TODO
        entry.checked = datetime.now(UTC).isoformat(timespec="seconds")
        self._save()

    def next_hint(self, exercise: Exercise) -> tuple[int, str]:
        """Return the next hint and its number, from 1; after the last one, the last again."""
        entry = self._entry(exercise)
        entry.hints = min(entry.hints + 1, len(exercise.hints))
        self._save()
        return entry.hints, exercise.hints[entry.hints - 1]

    def table(self, chapters: Mapping[str, Chapter], paint: Paint = plain) -> str:
        """Return a table for each chapter: best points, a bar, and the state of each exercise."""
        lines: list[str] = []
        for chapter in chapters.values():
            lines += [*self._chapter_lines(chapter, paint), ""]
        reached = sum(map(self._points_in, chapters.values()))
        most = sum(chapter.points for chapter in chapters.values())
        return "\n".join([*lines, _total(_("In all"), reached, most)])

    def as_json(self, chapters: Mapping[str, Chapter]) -> dict[str, Any]:
        """Return the same for a program; an exercise that was never checked has no verdict."""
        return {
            "format": _JSON_FORMAT,
            "points": sum(map(self._points_in, chapters.values())),
            "max_points": sum(chapter.points for chapter in chapters.values()),
            "chapters": [
                {
                    "number": chapter.number,
                    "title": chapter.title,
                    "points": self._points_in(chapter),
                    "max_points": chapter.points,
                    "exercises": [self._as_json(one) for one in chapter.exercises.values()],
                }
                for chapter in chapters.values()
            ],
        }

    def _as_json(self, exercise: Exercise) -> dict[str, Any]:
        entry, verdict = self.entries.get(exercise.id, Entry()), self.verdict_of(exercise)
        return {
            "id": exercise.id,
            "title": exercise.title,
            "verdict": verdict.value if verdict else None,
            "points": self.points_of(exercise),
            "max_points": exercise.points,
            "attempts": entry.attempts,
            "hints": entry.hints,
            "checked": entry.checked or None,
        }

    def _chapter_lines(self, chapter: Chapter, paint: Paint) -> list[str]:
        rows = []
        for exercise in chapter.exercises.values():
            best = self.points_of(exercise)
            rows.append(
                (
                    " ",
                    exercise.name,
                    _("{points} of {most}").format(points=best, most=exercise.points),
                    _bar(best, exercise.points),
                    paint(self.words_of(exercise), colour_of(self.verdict_of(exercise))),
                )
            )
        title = f"{chapter.number} {chapter.title}"
        total = _total(title, self._points_in(chapter), chapter.points)
        return [total, *(aligned(rows) if rows else [])]

    def _points_in(self, chapter: Chapter) -> int:
        return sum(map(self.points_of, chapter.exercises.values()))

    def points_of(self, exercise: Exercise) -> int:
        """Return the best points of an exercise, at most those that can be earned today."""
        entry = self.entries.get(exercise.id)
        return min(entry.best_points, exercise.points) if entry else 0

    def verdict_of(self, exercise: Exercise) -> Verdict | None:
        """Return how the last check of an exercise went, or None where there was none."""
        entry = self.entries.get(exercise.id)
        return Verdict(entry.status) if entry and entry.checked else None

    def words_of(self, exercise: Exercise) -> str:
        """Return how the last check of an exercise went, in words."""
        words = {
            None: _("not tried yet"),
            Verdict.PASSED: _("passed"),
            Verdict.FAILED: _("not yet"),
            Verdict.ERROR: _("stopped with an error"),
            Verdict.TODO: _("not written yet"),
        }
        return words[self.verdict_of(exercise)]

    def is_done(self, exercise: Exercise) -> bool:
        """Return whether all points were reached, and the last check was right too."""
        is_full = self.points_of(exercise) == exercise.points
        return is_full and self.verdict_of(exercise) is Verdict.PASSED

    def _entry(self, exercise: Exercise) -> Entry:
        return self.entries.setdefault(exercise.id, Entry())

    def _save(self) -> None:
        content = {
            "format": _FORMAT,
            "exercises": {name: asdict(entry) for name, entry in sorted(self.entries.items())},
        }
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.file, json.dumps(content, indent=2) + "\n")
        except OSError as fault:
            note = _("Your progress could not be saved in {folder}: {reason}.").format(
                folder=self.file.parent, reason=fault.strerror or type(fault).__name__
            )
            if note not in self.notes:
                self.notes.append(note)


def home() -> Path:
    """Return the folder in which progress is kept: ATTN_COURSE_HOME, or the working directory."""
    return Path(os.environ.get("ATTN_COURSE_HOME") or Path.cwd())


def load(folder: Path | str) -> Progress:
    """Return what is remembered in `folder`; nothing yet is fine."""
    file = Path(folder) / ".attn-course" / "progress.json"
    try:
        return Progress(file, _entries(json.loads(file.read_text(encoding="utf-8"))), [])
    except FileNotFoundError:
        return Progress(file, {}, [])
    except (OSError, ValueError, RecursionError):
        return _started_afresh(file)


def _started_afresh(file: Path) -> Progress:
    """Set a file that can't be read aside, and say so."""
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    backup = file.with_name(f"progress-unreadable-{when}.json")
    try:
        file.rename(backup)
    except OSError:
        # Neither readable nor movable: a file that is only read from now on keeps it safe.
        note = _("{file} can't be read; your progress is not saved.").format(file=file)
        return _Forgetful(file, {}, [note])
    note = _("{file} could not be read; it is kept as {backup}, and a new one is begun.").format(
        file=file, backup=backup.name
    )
    return Progress(file, {}, [note])


class _Forgetful(Progress):
    """Progress that never writes, because the file there belongs to another program."""

    def _save(self) -> None:
        return


def _entries(content: Any) -> dict[str, Entry]:
    """Return the entries of a file's content; ValueError where we did not write it."""
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError("not a progress file")
    stored = content.get("exercises")
    if not isinstance(stored, dict):
        raise ValueError("not a progress file")
    known = exercises.chapters()
    entries: dict[str, Entry] = {}
    for name, values in stored.items():
        entry, today = _entry(values), current_id(name, known)
        if today in entries:  # under an old id and under today's: points never go down
            entry.best_points = max(entry.best_points, entries[today].best_points)
        entries[today] = entry
    return entries


def _entry(values: Any) -> Entry:
    known = {field.name: field.type for field in fields(Entry)}
    if not isinstance(values, dict) or set(values) != set(known):
        raise ValueError("not a progress file")
    for name, kind in known.items():
        if type(values[name]) is not kind or (kind is int and values[name] < 0):
            raise ValueError("not a progress file")
    if values["status"] not in _STATUSES:
        raise ValueError("not a progress file")
    return Entry(**values)


def _total(title: str, reached: int, most: int) -> str:
    return _("{title} (points: {reached} of {most}) {bar}").format(
        title=title, reached=reached, most=most, bar=_bar(reached, most)
    )


def _bar(reached: int, most: int) -> str:
    """Return a bar of plain characters, which every terminal can print."""
    filled = _BAR * reached // most if most else 0
    return f"[{'#' * filled}{'-' * (_BAR - filled)}]"
