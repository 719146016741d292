"""What is kept: a SQLite file with one transaction for each graded notebook.

A result is stored whole or not at all, so a run may be stopped at any moment and go on later.
Results are only ever added: the last one of a learner and chapter that was judged counts, the
others are its history. So a file that can't be read takes no points away; the result that counts
then says that it came. A notebook is graded anew when its content (`content`, a hash) or what
judges it (`checks`, a version) changed. The seed from which inputs are drawn is stored before the
first result, so that a run that goes on next week asks what it would have asked today.

A chapter is stored under the stem that it had then. Should it be renamed, nothing is rewritten:
what was stored under a former stem is found under today's (`practice.numbers.RENAMED`).
"""

import errno
import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from attn_course.grading.records import UNJUDGED, Record, UnknownRecord, cut, from_json
from attn_course.grading.write_faults import not_written
from attn_course.practice.numbers import current_stem
from attn_course.practice.results import Verdict
from attn_course.translate import _

FILE = "gradebook.sqlite"
_APPLICATION = 0x41545447  # how SQLite files tell whose they are: ours say ATTG
_FORMAT = 1
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    learner TEXT NOT NULL,
    chapter TEXT NOT NULL,          -- NN_topic, as it was called then
    content TEXT NOT NULL,          -- hash of the notebook; empty where it can't be read
    checks TEXT NOT NULL,           -- version of what judged it
    points INTEGER NOT NULL,        -- 0 where not all was judged: ask the view, it has NULL there
    max_points INTEGER NOT NULL,
    status TEXT NOT NULL,
    record TEXT NOT NULL,           -- the whole record, as JSON
    rung TEXT NOT NULL,             -- which isolation was in force
    seconds REAL NOT NULL,
    graded TEXT NOT NULL            -- when, UTC
);
CREATE INDEX results_of ON results (learner, chapter, id);
CREATE TABLE exercises (
    result INTEGER NOT NULL REFERENCES results (id),
    exercise TEXT NOT NULL,
    points INTEGER NOT NULL,        -- 0 where the verdict is "not judged"
    max_points INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (result, exercise)
);
"""
_JUDGED = f"""(status NOT IN ({", ".join(f"'{one}'" for one in UNJUDGED)}) AND NOT EXISTS
    (SELECT 1 FROM exercises WHERE result = results.id AND verdict = '{Verdict.NOT_JUDGED}'))"""
_COUNTS = f"coalesce(max(CASE WHEN {_JUDGED} THEN id END), max(id))"
# For whoever asks in SQL. A view contains no data: one from an older version is made anew.
_VIEW = f"""CREATE VIEW latest AS SELECT id, learner, chapter, content, checks,
    CASE WHEN {_JUDGED} THEN points END AS points, max_points, status, record, rung, seconds, graded
    FROM results WHERE id IN (SELECT {_COUNTS} FROM results GROUP BY learner, chapter)"""

_COLUMNS = ("learner", "chapter", "content", "checks", "rung", "seconds", "record", "graded")
_HISTORY = f"SELECT {', '.join(_COLUMNS)} FROM results ORDER BY learner, current_stem(chapter), id"
# The same results as in the view, with former and today's stems of a chapter taken together; and
# the last of all, where that is a later one.
_LATEST = f"""SELECT {", ".join(f"found.{one}" for one in _COLUMNS)},
    later.content, later.record, later.graded
    FROM (SELECT {_COUNTS} AS counts, max(id) AS last FROM results
        GROUP BY learner, current_stem(chapter))
    JOIN results AS found ON found.id = counts
    LEFT JOIN results AS later ON later.id = last AND last > counts
    ORDER BY found.learner, current_stem(found.chapter)"""
_LAST_OF_ONE = """SELECT content, checks, record FROM results
    WHERE learner = ? AND current_stem(chapter) = ? ORDER BY id DESC LIMIT 1"""

_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
}


class GradebookProblem(Exception):  # noqa: N818  (the file has a problem; nothing crashed)
    """A gradebook that can't be used: the text says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """One result: a record, whose it is, and how it came about."""

    learner: str
    chapter: str
    content: str
    checks: str
    rung: str
    seconds: float
    record: Record
    graded: str = ""
    has_later: bool = False  # another came later and was not judged: the record's message says it


class Gradebook:
    """The gradebook in `folder`; open for one run at a time.

    with Gradebook(folder, seed=None) as gradebook:
        gradebook.add(entry)
    """

    def __init__(self, folder: Path, seed: int | None = None) -> None:
        self.file = folder / FILE
        if self.file.is_symlink():
            raise GradebookProblem(
                _("{file} is a link: name another folder.").format(file=self.file)
            )
        with self._explained():
            _make_private(self.file)
            self._connection = sqlite3.connect(self.file, isolation_level=None, timeout=0.5)
            self._connection.create_function("current_stem", 1, current_stem, deterministic=True)
            try:
                self._prepare(seed)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, seed: int | None) -> None:
        ask = self._connection.execute
        # One writer for the whole run. The lock goes with the process, however that ends.
        ask("PRAGMA locking_mode = EXCLUSIVE")
        ask("PRAGMA synchronous = NORMAL")
        ask("BEGIN EXCLUSIVE")
        (application,) = ask("PRAGMA application_id").fetchone()
        (tables,) = ask("SELECT count(*) FROM sqlite_master").fetchone()
        if application == 0 and tables == 0:
            for statement in _TABLES.split(";\n"):
                ask(statement)
            ask(_VIEW)
            chosen = secrets.randbits(63) if seed is None else seed
            ask("INSERT INTO facts VALUES ('format', ?)", [str(_FORMAT)])
            ask("INSERT INTO facts VALUES ('seed', ?)", [str(chosen)])
            ask(f"PRAGMA application_id = {_APPLICATION}")
        elif application != _APPLICATION:
            raise GradebookProblem(
                _("{file} is not a gradebook of this course: name another folder.").format(
                    file=self.file
                )
            )
        self.seed = self._stored_seed()
        view = ask("SELECT sql FROM sqlite_master WHERE name = 'latest'").fetchone()
        if view != (_VIEW,):
            ask("DROP VIEW IF EXISTS latest")
            ask(_VIEW)
        ask("COMMIT")
        ask("PRAGMA journal_mode = WAL")
        if seed is not None and seed != self.seed:
            raise GradebookProblem(
                _(
                    "{file} was begun with the seed {stored}, not {seed}: leave --seed out to go "
                    "on, or begin anew with --fresh or another folder."
                ).format(file=self.file, stored=self.seed, seed=seed)
            )

    def _stored_seed(self) -> int:
        """Return the seed, if this is a gradebook that can be used."""
        facts = dict(self._connection.execute("SELECT name, value FROM facts").fetchall())
        try:
            version, seed = int(facts["format"]), int(facts["seed"])
        except (KeyError, ValueError) as fault:
            raise GradebookProblem(self._unreadable(fault)) from fault
        if version > _FORMAT:
            raise GradebookProblem(
                _(
                    "{file} was written by a newer version of the course (format {version}, and "
                    "this one knows {known}): update the course, or name another folder for the "
                    "results."
                ).format(file=self.file, version=version, known=_FORMAT)
            )
        return seed

    def add(self, entry: Entry) -> None:
        """Store one result, whole or not at all; one that says nothing new is not added."""
        record = entry.record.to_json()
        with self._explained():
            ask = self._connection.execute
            ask("BEGIN IMMEDIATE")
            try:
                if not self._is_known(entry, record):
                    self._insert(entry, record)
                ask("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk has ended it already
                    ask("ROLLBACK")
                raise

    def is_graded(
        self,
        learner: str,
        chapter: str,
        content: str,
        checks: str,
        is_enough: Callable[[Record], bool] = lambda _record: True,
    ) -> bool:
        """Return whether the last result is about just this; what failed is tried again.

        So is a record that has not all that is wanted now: one that is not enough.
        """
        with self._explained():
            found = self._connection.execute(_LAST_OF_ONE, [learner, chapter]).fetchone()
            if found is None or found[:2] != (content, checks):
                return False
            record = from_json(found[2])
        return record.is_judged and is_enough(record)

    def has_result(self, learner: str, chapter: str) -> bool:
        """Return whether there is any result of this learner and chapter."""
        with self._explained():
            found = self._connection.execute(_LAST_OF_ONE, [learner, chapter]).fetchone()
        return found is not None

    def latest(self) -> Iterator[Entry]:
        """Yield the result that counts for every learner and chapter, in order.

        That is the last one that was judged. Where another came later, the message says so.
        """
        with self._explained():
            for row in self._connection.execute(_LATEST):
                found, later = _entry(*row[: len(_COLUMNS)]), row[len(_COLUMNS) :]
                yield found if later[0] is None else _with_later(found, *later)

    def history(self) -> Iterator[Entry]:
        """Yield every result there ever was: by learner and chapter, the oldest first."""
        with self._explained():
            for row in self._connection.execute(_HISTORY):
                yield _entry(*row)

    def close(self) -> None:
        """Put everything into the one file, and let go of it."""
        self._connection.close()

    def __enter__(self) -> "Gradebook":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _is_known(self, entry: Entry, record: str) -> bool:
        asked = [entry.learner, entry.chapter]
        found = self._connection.execute(_LAST_OF_ONE, asked).fetchone()
        return found == (entry.content, entry.checks, record)

    def _insert(self, entry: Entry, record: str) -> None:
        graded = entry.graded or _now()
        made = self._connection.execute(
            "INSERT INTO results (learner, chapter, content, checks, points, max_points, status,"
            " record, rung, seconds, graded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(entry.learner, entry.chapter, entry.content, entry.checks),
                *(entry.record.points or 0, entry.record.max_points, entry.record.status),
                *(record, entry.rung, entry.seconds, graded),
            ],
        )
        self._connection.executemany(
            "INSERT INTO exercises VALUES (?, ?, ?, ?, ?)",
            [
                (made.lastrowid, one.id, one.points or 0, one.max_points, one.verdict)
                for one in entry.record.exercises
            ],
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite or the system says into a sentence that says what to do."""
        try:
            yield
        except sqlite3.Error as fault:
            raise GradebookProblem(self._sentence(fault)) from fault
        except OSError as fault:
            why = fault.strerror or fault
            raise GradebookProblem(not_written(self.file, why, fault.errno)) from fault
        except UnknownRecord as fault:
            raise GradebookProblem(
                _(
                    "{file} has a result that this version of the course does not understand "
                    "({why}): update the course, or name another folder for the results."
                ).format(file=self.file, why=fault)
            ) from fault

    def _sentence(self, fault: sqlite3.Error) -> str:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF  # the rest says more than we need
        if code in _IN_USE:
            return _("{file} is in use: another run is grading into it.").format(file=self.file)
        if code in _DAMAGED:
            return self._unreadable(fault)
        return not_written(self.file, fault, _ERRNO.get(code) or _refusal(self.file.parent))

    def _unreadable(self, why: Exception) -> str:
        return _(
            "{file} can't be read ({why}): put a copy of yours in its place, or name another "
            "folder."
        ).format(file=self.file, why=why)


def _entry(
    learner: str,
    chapter: str,
    content: str,
    checks: str,
    rung: str,
    seconds: float,
    record: str,
    graded: str,
) -> Entry:
    """Return a row of the table, as of today."""
    found = _as_of_today(chapter, from_json(record))
    return Entry(learner, current_stem(chapter), content, checks, rung, seconds, found, graded)


def _with_later(entry: Entry, content: str, record: str, graded: str) -> Entry:
    """Return the result that counts, whose message says that another came and was not judged."""
    came = _(
        "A later file came on {when} and could not be judged: {why}. The points are those of the "
        "file before."
    )
    again = _(
        "It was to be graded again on {when}, which failed: {why}. The points are those from "
        "before."
    )
    sentence = again if content == entry.content else came
    said = sentence.format(when=_moment(graded), why=from_json(record).reason.rstrip("."))
    message = cut(" ".join(filter(None, [entry.record.message, said])))
    return replace(entry, record=replace(entry.record, message=message), has_later=True)


def _moment(graded: str) -> str:
    """Return a moment as people write it.

    >>> _moment("2026-07-24T10:30:59+00:00")
    '2026-07-24 10:30 (UTC)'
    """
    return f"{graded[:16].replace('T', ' ')} (UTC)"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _as_of_today(stem: str, record: Record) -> Record:
    """Return a record with the ids that the exercises of a chapter, now renamed, have today."""
    today = current_stem(stem)
    if today == stem:
        return record
    number = today.partition("_")[0]
    exercises = (
        replace(one, id=f"{number}.{one.id.partition('.')[2]}") for one in record.exercises
    )
    return replace(record, exercises=tuple(exercises))


def _make_private(file: Path) -> None:
    """Make the file, readable by its owner alone; SQLite gives its other files the same mode."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def _refusal(folder: Path) -> int | None:
    """Return the `errno` with which a small file in `folder` is refused, if it is.

    SQLite does not tell for most of its errors: a full quota is an "I/O error" to it.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(2**16))
    except OSError as fault:
        return fault.errno
    return None


def content_of(gradebook: Gradebook) -> str:
    """Return all of a gradebook but the times, as text: what two runs must agree on."""
    lines = [
        [entry.learner, entry.chapter, entry.content, entry.checks, entry.record.to_json()]
        for entry in gradebook.history()
    ]
    return json.dumps([gradebook.seed, lines], ensure_ascii=False, indent=1)
