"""The gradebook: whole results or none, nothing overwritten, one seed, and whose file it is."""

import os
import resource
import signal
import sqlite3

import pytest

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
    assert "is the disk full? What was graded before is kept" in sentence
    assert int(added) > 10
    assert len(latest(folder)) == int(added)
    with Gradebook(folder) as book:  # with room again, it goes on
        book.add(entry(learner="after"))
    assert len(latest(folder)) == int(added) + 1


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
