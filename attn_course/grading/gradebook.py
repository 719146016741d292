"""What is kept: a SQLite file with one transaction for each graded notebook.

A result is stored whole or not at all, so a run may be stopped at any moment and go on later.
Results are only ever added: the last one of a learner and chapter that was judged counts, the
others are its history. So a file that can't be read takes no points away; the result that counts
then says that it came. A notebook is graded anew when its content (`content`, a hash) or what
judges it (`checks`, a version) changed. The seed from which inputs are drawn is stored before the
first result, so that a run that goes on next week asks what it would have asked today.

What an instructor decides (`decisions`) is kept in a table of its own, so it survives when a
notebook is graded again; a gradebook that is begun anew inherits it from the one set aside.

A chapter is stored under the stem that it had then. Should it be renamed, nothing is rewritten:
what was stored under a former stem is found under today's (`practice.numbers.RENAMED`).
"""

import errno
import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from attn_course.grading.decisions import Decision, Decisions
from attn_course.grading.records import UNJUDGED, Record, UnknownRecord, cut, from_json
from attn_course.grading.write_faults import not_written
from attn_course.practice.numbers import current_stem
from attn_course.practice.results import Verdict
from attn_course.translate import _

FILE = "gradebook.sqlite"
SET_ASIDE = "gradebook-until-{when}.sqlite"  # how a gradebook is called once another was begun
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
# Added to gradebooks from before there were decisions too.
_DECISIONS = """CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY,
    learner TEXT NOT NULL,          -- empty for a comment, which is for everyone with a mistake
    chapter TEXT NOT NULL,          -- NN_topic, as it was called then
    exercise TEXT NOT NULL,         -- its name
    mistake TEXT NOT NULL,          -- empty for an override
    points INTEGER,                 -- of an override; NULL where it was removed
    words TEXT NOT NULL,            -- the reason, or the comment; empty where that was removed
    author TEXT NOT NULL,
    made TEXT NOT NULL              -- when, UTC
)"""
_JUDGED = f"""(status NOT IN ({", ".join(f"'{one}'" for one in UNJUDGED)}) AND NOT EXISTS
    (SELECT 1 FROM exercises WHERE result = results.id AND verdict = '{Verdict.NOT_JUDGED}'))"""
_COUNTS = f"coalesce(max(CASE WHEN {_JUDGED} THEN id END), max(id))"
# For whoever asks in SQL. A view contains no data: one from an older version is made anew.
_VIEW = f"""CREATE VIEW latest AS SELECT id, learner, chapter, content, checks,
    CASE WHEN {_JUDGED} THEN points END AS points, max_points, status, record, rung, seconds, graded
    FROM results WHERE id IN (SELECT {_COUNTS} FROM results GROUP BY learner, chapter)"""

_COLUMNS = ("learner", "chapter", "content", "checks", "rung", "seconds", "record", "graded")
_HISTORY = f"SELECT {', '.join(_COLUMNS)} FROM results ORDER BY learner, current_stem(chapter), id"
# The same results as in the view, or as it was up to some id, with former and today's stems of a
# chapter taken together; and the last of all, where that is a later one.
_LATEST = f"""SELECT {", ".join(f"found.{one}" for one in _COLUMNS)},
    later.content, later.record, later.graded
    FROM (SELECT {_COUNTS} AS counts, max(id) AS last FROM results
        WHERE id <= ? GROUP BY learner, current_stem(chapter))
    JOIN results AS found ON found.id = counts
    LEFT JOIN results AS later ON later.id = last AND last > counts
    ORDER BY found.learner, current_stem(found.chapter)"""
_THE_SAME = """SELECT 1 FROM results WHERE learner = ? AND current_stem(chapter) = ?
    AND content = ? AND checks = ? AND record = ? AND graded = ?"""
_LAST_OF_ONE = """SELECT content, checks, record FROM results
    WHERE learner = ? AND current_stem(chapter) = ? ORDER BY id DESC LIMIT 1"""

_ALL = 2**63 - 1  # the largest id that there can be
_DECISION_COLUMNS = (
    *("learner", "chapter", "exercise", "mistake", "points", "words", "author"),
    "made",
)

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

    def __init__(self, folder: Path, seed: int | None = None, name: str = FILE) -> None:
        self.file = folder / name
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
            ask(_DECISIONS)
            for decision in _decisions_set_aside(self.file):
                self._insert_decision(decision)
        elif application != _APPLICATION:
            raise GradebookProblem(
                _("{file} is not a gradebook of this course: name another folder.").format(
                    file=self.file
                )
            )
        self.seed = self._stored_seed()
        ask(_DECISIONS)
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

    def recall(self, name: str) -> str:
        """Return what was remembered under `name`, or nothing."""
        with self._explained():
            ask = "SELECT value FROM facts WHERE name = ?"
            found = self._connection.execute(ask, [name]).fetchone()
        return found[0] if found else ""

    def remember(self, name: str, value: str) -> None:
        """Keep something about the whole gradebook, in the place of what was kept before."""
        with self._explained():
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, value])

    def take_over(self, entries: Iterable[Entry]) -> None:
        """Add results of another gradebook with their times: all that are not here, or none."""
        with self._explained():
            ask = self._connection.execute
            ask("BEGIN IMMEDIATE")
            try:
                for entry in entries:
                    record = entry.record.to_json()
                    told = [entry.learner, entry.chapter, entry.content, entry.checks]
                    if ask(_THE_SAME, [*told, record, entry.graded]).fetchone() is None:
                        self._insert(entry, record)
                ask("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    ask("ROLLBACK")
                raise

    def latest(self, until: int | None = None, is_decided: bool = True) -> Iterator[Entry]:
        """Yield the result that counts for every learner and chapter, in order.

        That is the last one that was judged. Where another came later, the message says so.
        `until` asks for what counted when that was the `last_id`, and without `is_decided` the
        points are those of the checks, without overrides and comments.
        """
        decisions = Decisions(self.decisions() if is_decided else ())
        with self._explained():
            for row in self._connection.execute(_LATEST, [_ALL if until is None else until]):
                found, later = _entry(*row[: len(_COLUMNS)]), row[len(_COLUMNS) :]
                entry = found if later[0] is None else _with_later(found, *later)
                yield replace(entry, record=decisions.shown_in(entry.learner, entry.record))

    @property
    def last_id(self) -> int:
        """The number of the last result that was stored; 0 where there is none."""
        with self._explained():
            (last,) = self._connection.execute("SELECT max(id) FROM results").fetchone()
        return last or 0

    def history(self) -> Iterator[Entry]:
        """Yield every result there ever was: by learner and chapter, the oldest first."""
        with self._explained():
            for row in self._connection.execute(_HISTORY):
                yield _entry(*row)

    def decide(self, decision: Decision) -> None:
        """Store what an instructor decided; what was decided before stays in the history."""
        with self._explained():
            self._insert_decision(decision)

    def decisions(self) -> list[Decision]:
        """Return all that was ever decided, the oldest first."""
        with self._explained():
            rows = self._connection.execute(
                f"SELECT {', '.join(_DECISION_COLUMNS)} FROM decisions ORDER BY id"
            ).fetchall()
        return [Decision(**dict(zip(_DECISION_COLUMNS, row, strict=True))) for row in rows]

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

    def _insert_decision(self, decision: Decision) -> None:
        values = [getattr(decision, column) for column in _DECISION_COLUMNS[:-1]]
        self._connection.execute(
            f"INSERT INTO decisions ({', '.join(_DECISION_COLUMNS)})"
            f" VALUES ({', '.join('?' * len(_DECISION_COLUMNS))})",
            [*values, decision.made or _now()],
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


def existing(folder: Path) -> Gradebook:
    """Return the gradebook in `folder`, which must be there: none is made."""
    if not (folder / FILE).is_file():
        raise GradebookProblem(
            _(
                "There is no gradebook in {folder}: name the folder that `attn-course grade` wrote."
            ).format(folder=folder)
        )
    return Gradebook(folder)


def set_aside(folder: Path) -> Path | None:
    """Return the gradebook that was set aside last, when another was begun, or None."""
    return max(folder.glob(SET_ASIDE.format(when="*")), default=None)  # its name has the time


def _decisions_set_aside(file: Path) -> list[Decision]:
    """Return what a gradebook that is begun anew inherits: decisions are about learners."""
    before = set_aside(file.parent) if file.name == FILE else None
    if before is None:
        return []
    with Gradebook(file.parent, name=before.name) as old:
        return old.decisions()


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
