"""What is kept: a SQLite file with one transaction for each graded notebook.

A result is stored whole or not at all, so a run may be stopped at any moment and go on later.
Results are only ever added: the last one of a learner and chapter counts, the others are its
history. A notebook is graded anew when its content (`content`, a hash) or what judges it
(`checks`, a version) changed. The seed from which inputs are drawn is stored before the first
result, so that everybody is asked the same, also by a run that goes on next week.

A chapter is stored under the stem that it had then. Should it be renamed, nothing is rewritten:
what was stored under a former stem is found under today's (`practice.numbers.RENAMED`).
"""

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from attn_course.grading.records import Record, from_json
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
    points INTEGER NOT NULL,
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
    points INTEGER NOT NULL,
    max_points INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (result, exercise)
);
CREATE VIEW latest AS SELECT * FROM results
    WHERE id IN (SELECT max(id) FROM results GROUP BY learner, chapter);
"""


# The same as the view, with former and today's stems of a chapter taken together.
_LATEST = """(SELECT * FROM results WHERE id IN
    (SELECT max(id) FROM results GROUP BY learner, current_stem(chapter)))"""
_LAST_OF_ONE = """SELECT content, checks, record FROM results
    WHERE learner = ? AND current_stem(chapter) = ? ORDER BY id DESC LIMIT 1"""


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
        ask("COMMIT")
        ask("PRAGMA journal_mode = WAL")
        facts = dict(ask("SELECT name, value FROM facts").fetchall())
        if facts["format"] != str(_FORMAT):
            raise GradebookProblem(
                _("{file} was written by another version of the course.").format(file=self.file)
            )
        self.seed = int(facts["seed"])
        if seed is not None and seed != self.seed:
            raise GradebookProblem(
                _(
                    "{file} was begun with the seed {stored}, not {seed}: leave --seed out to go "
                    "on, or begin anew with --fresh or another folder."
                ).format(file=self.file, stored=self.seed, seed=seed)
            )

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
        return record.status not in (Verdict.NOT_GRADED, Verdict.UNREADABLE) and is_enough(record)

    def has_result(self, learner: str, chapter: str) -> bool:
        """Return whether there is any result of this learner and chapter."""
        with self._explained():
            found = self._connection.execute(_LAST_OF_ONE, [learner, chapter]).fetchone()
        return found is not None

    def latest(self) -> Iterator[Entry]:
        """Yield the result that counts for every learner and chapter, in order."""
        yield from self._entries(_LATEST)

    def history(self) -> Iterator[Entry]:
        """Yield every result there ever was: by learner and chapter, the oldest first."""
        yield from self._entries("results")

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
        graded = entry.graded or datetime.now(UTC).isoformat(timespec="seconds")
        made = self._connection.execute(
            "INSERT INTO results (learner, chapter, content, checks, points, max_points, status,"
            " record, rung, seconds, graded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(entry.learner, entry.chapter, entry.content, entry.checks),
                *(entry.record.points, entry.record.max_points, entry.record.status),
                *(record, entry.rung, entry.seconds, graded),
            ],
        )
        self._connection.executemany(
            "INSERT INTO exercises VALUES (?, ?, ?, ?, ?)",
            [
                (made.lastrowid, one.id, one.points, one.max_points, one.verdict)
                for one in entry.record.exercises
            ],
        )

    def _entries(self, table: str) -> Iterator[Entry]:
        with self._explained():
            rows = self._connection.execute(
                "SELECT learner, chapter, content, checks, rung, seconds, record, graded"
                f" FROM {table} ORDER BY learner, current_stem(chapter), id"
            )
            for learner, chapter, content, checks, rung, seconds, record, graded in rows:
                found = _as_of_today(chapter, from_json(record))
                stem = current_stem(chapter)
                yield Entry(learner, stem, content, checks, rung, seconds, found, graded)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into a sentence that says what to do."""
        try:
            yield
        except sqlite3.Error as fault:
            raise GradebookProblem(self._sentence(fault)) from fault

    def _sentence(self, fault: sqlite3.Error) -> str:
        fields = {"file": self.file, "why": fault}
        if "locked" in str(fault):
            return _("{file} is in use: another run is grading into it.").format(**fields)
        if "not a database" in str(fault) or "malformed" in str(fault):
            return _(
                "{file} can't be read ({why}): put a copy of yours in its place, or name another "
                "folder."
            ).format(**fields)
        return _(
            "{file} could not be written ({why}): is the disk full? What was graded before is "
            "kept; make room and run the same command again."
        ).format(**fields)


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
    """Make the file, for nobody else to read; SQLite gives the files beside it the same mode."""
    with suppress(OSError):  # SQLite will say what is the matter
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def content_of(gradebook: Gradebook) -> str:
    """Return all of a gradebook but the times, as text: what two runs must agree on."""
    lines = [
        [entry.learner, entry.chapter, entry.content, entry.checks, entry.record.to_json()]
        for entry in gradebook.history()
    ]
    return json.dumps([gradebook.seed, lines], ensure_ascii=False, indent=1)
