"""The gradebook: whole results or none, nothing overwritten, one seed, and whose file it is."""

import errno
import json
import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from attn_course.grading import gradebook
from attn_course.grading.gradebook import Entry, Gradebook, GradebookProblem, content_of
from attn_course.grading.records import ExerciseRecord, Record
from attn_course.practice import numbers
from attn_course.practice.results import Verdict


def record(points=1, status=Verdict.GRADED, number="88", **others):
    exercise = ExerciseRecord(f"{number}.a", "A", "function", "Rows", points, 3, Verdict.FAILED)
    return Record(status, 3, exercises=(exercise,), **others)


def entry(learner="ann", content="c1", checks="v1", seconds=0.5, chapter="88_fixture", **others):
    return Entry(learner, chapter, content, checks, "A", seconds, record(**others))


def latest(folder):
    with Gradebook(folder) as book:
        return [(e.learner, e.content, e.record.points) for e in book.latest()]


def history(folder):
    with Gradebook(folder) as book:
        return [(e.learner, e.content, e.record.points) for e in book.history()]


def test_what_was_added_is_there_next_time(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry())
    with Gradebook(tmp_path) as book:
        (found,) = book.latest()
        assert (found.learner, found.chapter, found.rung) == ("ann", "88_fixture", "A")
        assert found.record == record()
        assert found.seconds == 0.5
        assert found.graded


def test_a_new_result_counts_and_the_old_one_stays_in_the_history(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=1))
        book.add(entry(learner="bob", points=3))
        book.add(entry(content="c2", points=2))
    assert latest(tmp_path) == [("ann", "c2", 2), ("bob", "c1", 3)]
    assert history(tmp_path) == [("ann", "c1", 1), ("ann", "c2", 2), ("bob", "c1", 3)]


def test_a_result_that_says_nothing_new_is_not_added(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(seconds=1.0))
        book.add(entry(seconds=2.0))
    assert len(history(tmp_path)) == 1


def test_who_hands_in_the_first_version_again_has_three_results(tmp_path):
    with Gradebook(tmp_path) as book:
        for content in ("c1", "c2", "c1"):
            book.add(entry(content=content))
    assert [content for _learner, content, _points in history(tmp_path)] == ["c1", "c2", "c1"]


def test_graded_is_what_has_the_same_content_and_the_same_checks(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry())
        assert book.is_graded("ann", "88_fixture", "c1", "v1")
        assert not book.is_graded("ann", "88_fixture", "c2", "v1")
        assert not book.is_graded("ann", "88_fixture", "c1", "v2")
        assert not book.is_graded("bob", "88_fixture", "c1", "v1")


@pytest.mark.parametrize("status", [Verdict.UNREADABLE, Verdict.NOT_GRADED])
def test_what_failed_is_tried_again(tmp_path, status):
    with Gradebook(tmp_path) as book:
        book.add(entry(status=status))
        assert not book.is_graded("ann", "88_fixture", "c1", "v1")


def not_judged(content="c2"):
    """A result of which one exercise was not judged."""
    verdict = Verdict.NOT_JUDGED
    one = ExerciseRecord("88.a", "A", "function", "Rows", 0, 3, verdict, notes=("The check fell.",))
    return replace(entry(content=content), record=Record(verdict, 3, exercises=(one,)))


def unjudged(status, content="c2", message="It is empty."):
    return replace(entry(content=content), record=Record(status, 3, message))


def test_what_was_judged_in_part_is_tried_again(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(not_judged())
        assert not book.is_graded("ann", "88_fixture", "c2", "v1")


# What came later and was not judged


LATER = [
    (unjudged(Verdict.UNREADABLE, ""), "It is empty."),
    (unjudged(Verdict.UNREADABLE), "It is empty."),
    (unjudged(Verdict.NOT_GRADED), "It is empty."),
    (unjudged(Verdict.NOTHING_HANDED_IN, ""), "It is empty."),
    (not_judged(), "88.a: The check fell."),
]


@pytest.mark.parametrize(("later", "why"), LATER)
def test_points_that_were_earned_stay_when_a_later_file_can_not_be_judged(tmp_path, later, why):
    with Gradebook(tmp_path) as book:
        book.add(replace(entry(points=2, message="Two notebooks."), graded="2026-07-01T08:00:00"))
        book.add(replace(later, graded="2026-07-24T10:30:00+00:00"))
        (found,) = book.latest()
        assert (found.record.points, found.content) == (2, "c1")
        assert found.graded == "2026-07-01T08:00:00"
        assert found.has_later
        assert found.record.message == (
            "Two notebooks. A later file came on 2026-07-24 10:30 (UTC) and could not be judged: "
            f"{why} The points are those of the file before."
        )
    assert len(history(tmp_path)) == 2


def test_of_several_later_files_the_last_is_told(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=2))
        book.add(unjudged(Verdict.UNREADABLE, "c2", "First."))
        book.add(unjudged(Verdict.UNREADABLE, "c3", "Second."))
        (found,) = book.latest()
    assert "Second." in found.record.message
    assert "First." not in found.record.message


def test_a_later_file_that_can_be_judged_counts_as_always(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=3))
        book.add(unjudged(Verdict.UNREADABLE))
        book.add(entry(content="c3", points=1))
        (found,) = book.latest()
    assert (found.record.points, found.record.message) == (1, "")


def test_who_has_nothing_that_was_judged_has_the_last_result(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(unjudged(Verdict.UNREADABLE, "c1", "First."))
        book.add(unjudged(Verdict.NOT_GRADED, "c2", "Second."))
        (found,) = book.latest()
    assert (found.record.status, found.record.points) == (Verdict.NOT_GRADED, None)
    assert found.record.message == "Second."


def test_the_same_file_that_could_not_be_graded_again_keeps_its_points(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=2))
        failed = unjudged(Verdict.NOT_GRADED, "c1", "The worker is gone.")
        book.add(replace(failed, checks="v2", graded="2026-07-24T10:30:00+00:00"))
        (found,) = book.latest()
        assert found.record.points == 2
        assert found.record.message == (
            "It was to be graded again on 2026-07-24 10:30 (UTC), which failed: The worker is "
            "gone. The points are those from before."
        )
        assert not book.is_graded("ann", "88_fixture", "c1", "v2")


def test_sql_finds_the_same_results_and_no_points_where_there_are_none(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=2))
        book.add(unjudged(Verdict.UNREADABLE))
        book.add(replace(unjudged(Verdict.NOT_GRADED), learner="bob"))
        book.add(replace(not_judged(), learner="cem"))
        book.add(entry(learner="dia", points=0))
    connection = sqlite3.connect(tmp_path / "gradebook.sqlite")
    found = connection.execute("SELECT learner, content, points FROM latest ORDER BY learner")
    assert found.fetchall() == [
        *[("ann", "c1", 2), ("bob", "c2", None), ("cem", "c2", None), ("dia", "c1", 0)]
    ]
    connection.close()


def test_a_gradebook_from_before_says_the_same_when_it_was_opened_once(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=2))
        book.add(unjudged(Verdict.UNREADABLE))
    connection = sqlite3.connect(tmp_path / "gradebook.sqlite")
    connection.execute("DROP VIEW latest")
    connection.execute(
        "CREATE VIEW latest AS SELECT * FROM results"
        " WHERE id IN (SELECT max(id) FROM results GROUP BY learner, chapter)"
    )
    assert connection.execute("SELECT points FROM latest").fetchall() == [(0,)]
    connection.commit()
    connection.close()
    Gradebook(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "gradebook.sqlite")
    assert connection.execute("SELECT points FROM latest").fetchall() == [(2,)]
    connection.close()


@pytest.fixture
def renamed(tmp_path, monkeypatch):
    """A gradebook with results of a chapter that has another name today."""
    with Gradebook(tmp_path) as book:
        book.add(entry(chapter="77_old", number="77", points=1))
        book.add(entry(chapter="77_old", number="77", content="c2", points=2))
        book.add(entry(chapter="77_old", number="77", learner="bob"))
        book.add(entry(chapter="12_other", number="12"))
    monkeypatch.setitem(numbers.RENAMED, "77_old", "88_fixture")
    return tmp_path


def as_of_today(entries):
    return [
        (e.learner, e.chapter, e.content, e.record.points, [one.id for one in e.record.exercises])
        for e in entries
    ]


def test_the_history_under_a_former_stem_is_found_under_todays(renamed):
    with Gradebook(renamed) as book:
        assert as_of_today(book.history()) == [
            ("ann", "12_other", "c1", 1, ["12.a"]),
            ("ann", "88_fixture", "c1", 1, ["88.a"]),
            ("ann", "88_fixture", "c2", 2, ["88.a"]),
            ("bob", "88_fixture", "c1", 1, ["88.a"]),
        ]
        assert book.is_graded("ann", "88_fixture", "c2", "v1")
        assert not book.is_graded("ann", "88_fixture", "c1", "v1")  # a later one counts
        assert book.has_result("bob", "88_fixture")
        assert not book.has_result("cem", "88_fixture")


def test_a_result_under_todays_stem_takes_the_place_of_one_under_the_former(renamed):
    with Gradebook(renamed) as book:
        book.add(entry(content="c3", points=3))
        assert as_of_today(book.latest()) == [
            ("ann", "12_other", "c1", 1, ["12.a"]),
            ("ann", "88_fixture", "c3", 3, ["88.a"]),
            ("bob", "88_fixture", "c1", 1, ["88.a"]),
        ]
        assert len(list(book.history())) == 5
        assert book.is_graded("ann", "88_fixture", "c3", "v1")
        assert not book.is_graded("ann", "88_fixture", "c2", "v1")


def test_what_is_stored_under_a_former_stem_stays_as_it_is(renamed):
    with Gradebook(renamed) as book:
        assert list(book.latest())
        book.add(entry(content="c3", points=3))
    connection = sqlite3.connect(renamed / "gradebook.sqlite")
    found = connection.execute("SELECT chapter, content FROM results ORDER BY id").fetchall()
    connection.close()
    assert found == [
        ("77_old", "c1"),
        ("77_old", "c2"),
        ("77_old", "c1"),
        ("12_other", "c1"),
        ("88_fixture", "c3"),
    ]


def test_the_seed_is_drawn_once_and_kept(tmp_path):
    seeds = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        with Gradebook(folder) as book:
            seed = book.seed
        with Gradebook(folder) as book:
            assert book.seed == seed
        seeds.add(seed)
    assert len(seeds) == 2


def test_another_seed_for_a_begun_gradebook_is_refused(tmp_path):
    Gradebook(tmp_path, seed=5).close()
    Gradebook(tmp_path, seed=5).close()
    with pytest.raises(GradebookProblem, match="begun with the seed 5, not 6"):
        Gradebook(tmp_path, seed=6)


def test_points_can_be_asked_for_in_sql(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry(points=1))
        book.add(entry(content="c2", points=2))
    connection = sqlite3.connect(tmp_path / "gradebook.sqlite")
    question = (
        "SELECT learner, exercise, e.points, verdict FROM latest JOIN exercises e ON result = id"
    )
    assert connection.execute(question).fetchall() == [("ann", "88.a", 2, "failed")]
    connection.close()


def test_a_second_run_into_the_same_gradebook_is_refused(tmp_path):
    with (
        Gradebook(tmp_path),
        pytest.raises(GradebookProblem, match="another run is grading into it"),
    ):
        Gradebook(tmp_path)
    Gradebook(tmp_path).close()


def test_a_database_of_somebody_else_is_left_alone(tmp_path):
    file = tmp_path / "gradebook.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE photos (name)")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(GradebookProblem, match="not a gradebook of this course"):
        Gradebook(tmp_path)
    assert file.read_bytes() == before


def changed(folder, statement, *values):
    """Change a gradebook behind its back, as another version might."""
    connection = sqlite3.connect(folder / "gradebook.sqlite")
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_a_gradebook_of_a_newer_version_says_what_to_do_and_is_left_alone(tmp_path):
    Gradebook(tmp_path).close()
    changed(tmp_path, "UPDATE facts SET value = '7' WHERE name = 'format'")
    changed(tmp_path, "DROP VIEW latest")
    with pytest.raises(GradebookProblem) as caught:
        Gradebook(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'gradebook.sqlite'} was written by a newer version of the course (format 7, "
        "and this one knows 1): update the course, or name another folder for the results."
    )
    connection = sqlite3.connect(tmp_path / "gradebook.sqlite")
    views = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'view'")
    assert views.fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM facts",
        "UPDATE facts SET value = 'many' WHERE name = 'format'",
        "UPDATE facts SET value = 'some' WHERE name = 'seed'",
        "DROP TABLE facts",
    ],
)
def test_a_gradebook_that_lost_its_facts_has_a_sentence(tmp_path, statement):
    Gradebook(tmp_path).close()
    changed(tmp_path, statement)
    with pytest.raises(GradebookProblem, match="put a copy of yours in its place"):
        Gradebook(tmp_path)


def with_more(text):
    return json.dumps(json.loads(text) | {"mood": "good"})


def with_more_about_an_exercise(text):
    found = json.loads(text)
    found["exercises"][0]["mood"] = "good"
    return json.dumps(found)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (with_more, "fields that are not known here: mood"),
        (with_more_about_an_exercise, "fields that are not known here: mood"),
        (lambda text: text.replace('"graded"', '"pondered"'), "'pondered' is not a valid Verdict"),
        (lambda text: text[:-5], "delimiter"),
        (lambda text: "[]", "list"),
        (lambda text: "{}", "exercises"),
    ],
)
def test_a_record_that_is_not_known_has_a_sentence(tmp_path, change, what):
    with Gradebook(tmp_path) as book:
        book.add(entry())
    changed(tmp_path, "UPDATE results SET record = ?", change(record().to_json()))
    with Gradebook(tmp_path) as book:
        for ask in (
            lambda: list(book.latest()),
            lambda: list(book.history()),
            lambda: book.is_graded("ann", "88_fixture", "c1", "v1"),
        ):
            with pytest.raises(GradebookProblem) as caught:
                ask()
            assert "gradebook.sqlite has a result that this version of the course" in str(
                caught.value
            )
            assert what in str(caught.value)
            assert "update the course, or name another folder" in str(caught.value)


def test_a_record_from_before_has_defaults_for_what_is_new(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry())
    older = json.loads(record().to_json())
    for name in ("title", "runs"):
        del older[name]
    for name in ("section_label", "section_page"):
        del older["exercises"][0][name]
    changed(tmp_path, "UPDATE results SET record = ?", json.dumps(older))
    with Gradebook(tmp_path) as book:
        (found,) = book.latest()
    assert found.record == record()


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    file = tmp_path / "gradebook.sqlite"
    file.write_text("not a database, but long enough to be looked at as if it were one" * 9)
    with pytest.raises(GradebookProblem, match="can't be read"):
        Gradebook(tmp_path)
    assert file.read_text().startswith("not a database")


def test_a_gradebook_behind_a_link_is_refused(tmp_path):
    (tmp_path / "gradebook.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    with pytest.raises(GradebookProblem, match="is a link"):
        Gradebook(tmp_path)
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_closing_leaves_one_file(tmp_path):
    with Gradebook(tmp_path) as book:
        book.add(entry())
    assert os.listdir(tmp_path) == ["gradebook.sqlite"]


def in_another_process(work):
    """Run `work` in a forked process; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as fault:
            os.write(2, repr(fault).encode())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_process_leaves_all_that_it_had_added(tmp_path):
    def add_three_and_die():
        book = Gradebook(tmp_path)
        for number in range(3):
            book.add(entry(learner=f"learner {number}"))
        book._connection.execute("BEGIN IMMEDIATE")
        book._insert(entry(learner="half"), "{}")
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_another_process(add_three_and_die) == -signal.SIGKILL
    assert [learner for learner, _content, _points in latest(tmp_path)] == [
        "learner 0",
        "learner 1",
        "learner 2",
    ]


def test_a_full_disk_has_a_sentence_and_costs_nothing_that_was_added(tmp_path):
    told = tmp_path / "told"
    folder = tmp_path / "out"
    folder.mkdir()

    def add_until_the_disk_is_full():
        book = Gradebook(folder)
        # A file may grow no further: for SQLite that is a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**18, 2**18))
        added = 0
        try:
            for number in range(10_000):
                book.add(entry(learner=f"{number:05}", message="x" * 500))
                added += 1
        except GradebookProblem as problem:
            told.write_text(f"{added} {problem}")
        os._exit(0)

    assert in_another_process(add_until_the_disk_is_full) == 0
    added, sentence = told.read_text().split(" ", 1)
    assert "What was graded before is kept" in sentence
    assert int(added) > 10
    assert len(latest(folder)) == int(added)
    with Gradebook(folder) as book:  # with room again, it goes on
        book.add(entry(learner="after"))
    assert len(latest(folder)) == int(added) + 1


# Not written, and why


@pytest.fixture
def without_privileges():
    """Not as root, who may write everything; and a folder to which all have a way."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    before = os.geteuid()
    yield folder
    os.seteuid(before)
    shutil.rmtree(folder)


def unprivileged():
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_folder_without_permission_has_a_sentence(without_privileges):
    without_privileges.chmod(0o555)
    unprivileged()
    with pytest.raises(GradebookProblem) as caught:
        Gradebook(without_privileges)
    assert "could not be written (Permission denied): check the permissions" in str(caught.value)
    assert "disk" not in str(caught.value)


def test_a_gradebook_without_permission_has_a_sentence(without_privileges):
    Gradebook(without_privileges).close()
    (without_privileges / "gradebook.sqlite").chmod(0o444)
    without_privileges.chmod(0o555)
    unprivileged()
    with pytest.raises(GradebookProblem) as caught:
        Gradebook(without_privileges)
    assert "(Permission denied): check the permissions" in str(caught.value)


def test_a_folder_that_takes_no_file_of_the_databases_has_a_sentence(without_privileges):
    Gradebook(without_privileges).close()
    (without_privileges / "gradebook.sqlite").chmod(0o666)
    without_privileges.chmod(0o555)
    unprivileged()
    with pytest.raises(GradebookProblem) as caught:
        Gradebook(without_privileges)
    assert "check the permissions of the file and of its folder" in str(caught.value)


def test_a_full_quota_is_found_by_trying_since_the_database_only_says_that_it_failed(
    tmp_path, monkeypatch
):
    def refused(**_others):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with Gradebook(tmp_path) as book:
        monkeypatch.setattr(gradebook.tempfile, "TemporaryFile", refused)
        with pytest.raises(GradebookProblem, match="the disk is full"), book._explained():
            raise database_fault(sqlite3.SQLITE_IOERR_WRITE)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full. Make room"),
        (errno.EDQUOT, "the disk is full. Make room"),
        (errno.EROFS, "check the permissions"),
        (errno.EACCES, "check the permissions"),
        (errno.EPERM, "check the permissions"),
        (errno.EIO, ""),
    ],
)
def test_what_the_system_says_decides_what_is_said(tmp_path, monkeypatch, number, advice):
    def refused(file, *_others):
        raise OSError(number, os.strerror(number), str(file))

    monkeypatch.setattr(gradebook.os, "open", refused)
    with pytest.raises(GradebookProblem) as caught:
        Gradebook(tmp_path)
    said = str(caught.value)
    assert f"gradebook.sqlite could not be written ({os.strerror(number)})" in said
    assert advice in said
    assert ("disk is full" in said) == (number in (errno.ENOSPC, errno.EDQUOT))
    assert ("permissions" in said) == (number in (errno.EROFS, errno.EACCES, errno.EPERM))


def database_fault(code):
    """An error as SQLite makes it: its words may be in any language."""
    fault = sqlite3.OperationalError("words")
    fault.sqlite_errorcode = code
    return fault


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full. Make room"),
        (sqlite3.SQLITE_READONLY, "check the permissions"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "check the permissions"),
        (sqlite3.SQLITE_IOERR_WRITE, "could not be written (words)."),
        (sqlite3.SQLITE_BUSY, "another run is grading into it"),
        (sqlite3.SQLITE_LOCKED, "another run is grading into it"),
        (sqlite3.SQLITE_NOTADB, "can't be read (words): put a copy"),
        (sqlite3.SQLITE_CORRUPT, "can't be read (words): put a copy"),
    ],
)
def test_what_the_database_says_decides_what_is_said(tmp_path, code, words):
    with Gradebook(tmp_path) as book:
        with pytest.raises(GradebookProblem) as caught, book._explained():
            raise database_fault(code)
        assert words in str(caught.value)


def test_the_content_to_compare_has_no_times(tmp_path):
    texts = []
    for place, seconds in enumerate((1.0, 2.0)):
        folder = tmp_path / str(place)
        folder.mkdir()
        with Gradebook(folder, seed=1) as book:
            book.add(entry(seconds=seconds))
            texts.append(content_of(book))
    assert texts[0] == texts[1]
    assert "ann" in texts[0]
