"""The whole run: the same gradebook whatever the jobs, and however often it is killed."""

import copy
import csv
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from attn_course.grading import exports, gradebook, jobs, reports, run
from attn_course.grading.folder import FolderProblem
from attn_course.grading.gradebook import Gradebook, GradebookProblem, content_of
from attn_course.grading.intake import IntakeProblem
from attn_course.grading.jobs import JobsFailed
from attn_course.grading.run import Settings, grade_folder, open_gradebook
from attn_course.inside.limits import Limits
from attn_course.practice import numbers
from tests.grading.bad_notebooks import SENTENCES
from tests.grading.fake_sandbox import EXCEPTIONS, FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, STUBS, WRONG_ROWS, notebook_bytes

FILE = "88_fixture.ipynb"
CLASS = {
    "ann": notebook_bytes(),
    "bob": notebook_bytes(row_weights=WRONG_ROWS),
    "cem": notebook_bytes(**STUBS),
    "dia": notebook_bytes(squares=f"{EXCEPTIONS}\ndef squares(x):\n    raise Crash"),
    "eve": b"no notebook at all",
    "fay": notebook_bytes(how_many="how_many = 12"),
    "gil\nand =hal": notebook_bytes(train_step="def train_step(*a):\n    return nothing"),
}
GRADEBOOK_FILES = ["feedback", "gradebook.sqlite", "grades.csv", "results.json"]


@pytest.fixture(scope="module", autouse=True)
def warm():
    """PyTorch loads much at its first gradient: once here, and not in every job."""
    for exercise in CHAPTERS["88"].exercises.values():
        exercise.check(exercise.local(exercise.reference))


@pytest.fixture(autouse=True)
def same_checks(monkeypatch):
    """Whoever edits the course while the tests run changes no version."""
    monkeypatch.setattr(run, "version_of", lambda chapter, limits, own_checks: f"{limits}")


@pytest.fixture
def one_day(monkeypatch):
    """All is graded on one day: pages have the date on them."""
    monkeypatch.setattr(gradebook, "_now", lambda: "2026-07-24T10:30:00+00:00")


@pytest.fixture
def submissions(tmp_path):
    for learner, content in CLASS.items():
        hand_in(tmp_path / "in", learner, content)
    return tmp_path / "in"


def hand_in(root, learner, content):
    path = root / learner / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def settings(submissions, **changes):
    made = Settings(
        submissions=submissions,
        out=submissions.parent / "out",
        chapters=CHAPTERS,
        open_sandbox=FakeSandbox,
        rung="A",
        seed=7,
        show_progress=False,
    )
    return replace(made, **changes)


def graded(settings):
    """Do a whole run, reports included; return what the gradebook then says."""
    with open_gradebook(settings) as gradebook:
        found = grade_folder(settings, gradebook)
        reports.write_all(settings.out, list(gradebook.latest()), gradebook.seed, found.notices)
        return content_of(gradebook)


def points(out):
    with Gradebook(out) as book:
        return {entry.learner: entry.record.points for entry in book.latest()}


def statuses(out):
    with Gradebook(out) as book:
        return {entry.learner: entry.record.status for entry in book.latest()}


def length_of_history(out):
    with Gradebook(out) as book:
        return len(list(book.history()))


def test_a_mixed_class_is_graded(submissions):
    asked = settings(submissions)
    graded(asked)
    assert points(asked.out) == {
        "ann": 12,
        "bob": 10,
        "cem": 0,
        "dia": 10,
        "eve": None,
        "fay": 11,
        "gil\nand =hal": 9,
    }
    assert statuses(asked.out) == dict.fromkeys(CLASS, "graded") | {
        "dia": "crashed",
        "eve": "unreadable",
    }
    assert sorted(os.listdir(asked.out)) == GRADEBOOK_FILES


@pytest.mark.parametrize("count", [2, 3, 11])
def test_the_number_of_jobs_makes_no_difference(submissions, count):
    one = graded(settings(submissions))
    assert graded(settings(submissions, jobs=count, out=submissions.parent / "again")) == one


def test_it_also_works_where_nothing_can_be_forked(submissions, monkeypatch):
    one = graded(settings(submissions))
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    assert graded(settings(submissions, out=submissions.parent / "again")) == one


def test_another_seed_asks_something_else_and_finds_the_same(submissions):
    graded(settings(submissions))
    graded(settings(submissions, seed=8, out=submissions.parent / "again"))
    assert points(submissions.parent / "again") == points(submissions.parent / "out")


def test_what_is_graded_is_not_graded_again(submissions):
    asked = settings(submissions)
    before = graded(asked)
    again = replace(asked, open_sandbox=FailingSandbox, seed=None)
    assert graded(again) == before  # only the file that can't be read is looked at again


def test_a_notebook_that_was_handed_in_again_is_graded_again(submissions):
    asked = settings(submissions)
    graded(asked)
    hand_in(submissions, "cem", CLASS["ann"])
    graded(replace(asked, seed=None))
    assert points(asked.out)["cem"] == 12
    assert length_of_history(asked.out) == len(CLASS) + 1


def test_who_has_results_under_a_former_name_of_the_chapter_keeps_them(submissions, monkeypatch):
    asked = settings(submissions)
    graded(asked)
    monkeypatch.setitem(numbers.RENAMED, "88_fixture", "89_renamed")
    today = copy.copy(CHAPTERS["88"])
    today.stem = "89_renamed"
    (submissions / "ann" / FILE).unlink()  # an emptied folder takes no points away
    (submissions / "bob" / FILE).rename(submissions / "bob" / "89_renamed.ipynb")
    renamed = replace(asked, chapters={"89": today}, open_sandbox=FailingSandbox)
    graded(renamed)
    assert length_of_history(asked.out) == len(CLASS)  # all is graded already
    rows = list(csv.DictReader((asked.out / "grades.csv").read_text().splitlines()))
    assert {row["chapter"] for row in rows} == {"89_renamed"}
    assert [row["learner"] for row in rows[:3]] == ["ann", "bob", "cem"]
    assert [row["points"] for row in rows[:3]] == ["12", "10", "0"]
    assert [name for name in rows[0] if name.startswith(("88.", "89."))] == [
        f"89.{name}" for name in today.exercises
    ]
    assert "89 A fixture" in (asked.out / "feedback" / "ann" / "89_renamed.html").read_text()
    hand_in(submissions, "cem", CLASS["ann"])  # under the former name
    graded(replace(renamed, open_sandbox=FakeSandbox))
    assert points(asked.out)["cem"] == 12
    assert length_of_history(asked.out) == len(CLASS) + 1


def bad_check(rng):
    """Cases that a check can't even draw."""
    raise KeyError("a mistake of ours")
    yield


def test_our_own_mistake_in_one_check_makes_the_total_blank_until_it_is_right(submissions):
    wrong = copy.deepcopy(CHAPTERS["88"])
    (group,) = wrong.exercises["squares"].groups
    wrong.exercises["squares"].groups[0] = replace(group, generate=bad_check)
    asked = settings(submissions, chapters={"88": wrong})
    graded(asked)
    assert points(asked.out)["ann"] is None
    with open(asked.out / "grades.csv", newline="") as lines:
        ann = next(csv.DictReader(lines))
    assert (ann["points"], ann["88.squares"], ann["88.row_weights"]) == ("", "", "3")
    assert "88.squares: The check itself stopped with KeyError" in ann["reason"]
    graded(replace(asked, chapters=CHAPTERS))  # no new version is needed: it is tried again
    assert points(asked.out)["ann"] == 12


def test_a_later_file_that_can_not_be_read_takes_no_points_away(submissions):
    asked = settings(submissions)
    graded(asked)
    hand_in(submissions, "ann", b"")
    hand_in(submissions, "bob", b"no notebook at all")
    graded(asked)
    assert points(asked.out)["ann"] == 12
    assert points(asked.out)["bob"] == 10
    assert length_of_history(asked.out) == len(CLASS) + 2
    for learner in ("ann", "bob"):
        page = (asked.out / "feedback" / learner / "88_fixture.html").read_text()
        assert "A later file came on" in page
        assert f"{learner}/88_fixture.ipynb" in page
    graded(asked)
    assert length_of_history(asked.out) == len(CLASS) + 2  # it says nothing new
    hand_in(submissions, "ann", CLASS["bob"])
    graded(asked)
    assert points(asked.out)["ann"] == 10  # what can be read counts, for better or worse
    assert "A later file" not in ((asked.out / "feedback" / "ann" / "88_fixture.html").read_text())


def test_a_later_file_that_we_can_not_grade_takes_no_points_away(submissions):
    asked = settings(submissions)
    graded(asked)
    hand_in(submissions, "ann", notebook_bytes(squares="# the worker fails here"))
    graded(asked)
    assert points(asked.out)["ann"] == 12
    assert statuses(asked.out)["ann"] == "graded"
    page = (asked.out / "feedback" / "ann" / "88_fixture.html").read_text()
    assert "the worker is gone" in page


def test_records_have_the_title_of_the_chapter(submissions):
    (submissions / "zoe").mkdir()
    asked = settings(submissions)
    graded(asked)
    with Gradebook(asked.out) as book:
        assert {entry.record.title for entry in book.latest()} == {CHAPTERS["88"].title}
    assert "<h1>88 A fixture</h1>" in (
        (asked.out / "feedback" / "zoe" / "88_fixture.html").read_text()
    )


def all_files(out):
    return {
        path.relative_to(out): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in ("gradebook.sqlite", "results.json")
    }


@pytest.mark.usefixtures("one_day")
def test_two_runs_over_the_same_notebooks_write_the_same_files(submissions):
    (submissions / "zoe").mkdir()
    hand_in(submissions, "ivy", notebook_bytes(squares="# the worker fails here"))
    written = []
    for name, count in (("one", 1), ("two", 2)):
        asked = settings(submissions, out=submissions.parent / name, jobs=count)
        graded(asked)
        with Gradebook(asked.out) as book:
            entries = list(book.latest())
        for system in ("canvas", "moodle", "gradescope"):
            exports.write_export(asked.out, entries, system)
        written.append(all_files(asked.out))
    assert written[0] == written[1]
    assert {path.name for path in written[0]} == {
        *("grades.csv", "canvas.csv", "moodle.csv", "88_fixture.html", "88_fixture.json")
    }


def test_a_late_learner_is_added(submissions):
    asked = settings(submissions)
    graded(asked)
    hand_in(submissions, "zoe", CLASS["ann"])
    graded(asked)
    assert points(asked.out)["zoe"] == 12
    assert length_of_history(asked.out) == len(CLASS) + 1


def test_other_limits_grade_all_again_and_keep_the_history(submissions):
    asked = settings(submissions)
    graded(asked)
    graded(replace(asked, limits=Limits(call_seconds=1.0)))
    assert length_of_history(asked.out) == 2 * len(CLASS)


def test_fresh_begins_anew_and_keeps_the_old_gradebook_beside(submissions):
    asked = settings(submissions)
    before = graded(asked)
    graded(replace(asked, fresh=True, seed=8))
    (old,) = asked.out.glob("gradebook-until-*.sqlite")
    kept = submissions.parent / "kept"
    kept.mkdir()
    old.rename(kept / "gradebook.sqlite")
    with Gradebook(kept) as book:
        assert content_of(book) == before
    with Gradebook(asked.out) as book:
        assert book.seed == 8


@pytest.mark.parametrize("fresh", [True, False])
def test_a_gradebook_of_a_newer_version_is_left_alone_and_says_what_to_do(submissions, fresh):
    asked = settings(submissions)
    graded(asked)
    connection = sqlite3.connect(asked.out / "gradebook.sqlite")
    connection.execute("UPDATE facts SET value = '7' WHERE name = 'format'")
    connection.commit()
    connection.close()
    before = (asked.out / "gradebook.sqlite").read_bytes()
    with pytest.raises(GradebookProblem, match="update the course, or name another folder"):
        graded(replace(asked, fresh=fresh))
    assert sorted(os.listdir(asked.out)) == GRADEBOOK_FILES
    assert (asked.out / "gradebook.sqlite").read_bytes() == before


def test_every_bad_file_has_its_line_and_the_others_are_graded(tmp_path):
    root = tmp_path / "in"
    hand_in(root, "ann", CLASS["ann"])
    for make in SENTENCES:
        (root / make.__name__).mkdir()
        make(root / make.__name__ / FILE)
    asked = settings(root, jobs=2)
    graded(asked)
    with Gradebook(asked.out) as book:
        entries = {entry.learner: entry for entry in book.latest()}
        lines = reports.blanks(entries.values())
    assert entries.pop("ann").record.points == 12
    assert {entry.record.status for entry in entries.values()} == {"unreadable"}
    for make, words in SENTENCES.items():
        assert [line for line in lines if f": {make.__name__} " in line and words in line] != []
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]
    assert sorted(os.listdir(asked.out)) == GRADEBOOK_FILES


def test_a_note_about_two_notebooks_stays_with_the_result(submissions):
    (submissions / f"ann__{FILE}").write_bytes(CLASS["bob"])
    asked = settings(submissions)
    graded(asked)
    with Gradebook(asked.out) as book:
        (ann,) = [entry for entry in book.latest() if entry.learner == "ann"]
    assert ann.record.points == 12
    assert "ann/88_fixture.ipynb counts, not ann__88_fixture.ipynb" in ann.record.message


def test_who_handed_in_nothing_has_a_line_and_loses_nothing_by_it(submissions):
    (submissions / "zoe").mkdir()
    asked = settings(submissions)
    graded(asked)
    assert statuses(asked.out)["zoe"] == "nothing handed in"
    (submissions / "ann" / FILE).unlink()
    hand_in(submissions, "zoe", CLASS["ann"])
    graded(asked)
    assert points(asked.out)["zoe"] == points(asked.out)["ann"] == 12
    assert length_of_history(asked.out) == len(CLASS) + 2


@pytest.mark.parametrize("fresh", [True, False])
def test_a_misspelt_folder_of_submissions_changes_nothing(submissions, fresh):
    asked = settings(submissions)
    before = graded(asked)
    for out in (asked.out, submissions.parent / "new"):
        misspelt = replace(asked, submissions=submissions / "typo", out=out, fresh=fresh)
        with pytest.raises(IntakeProblem, match="is not a folder"):
            graded(misspelt)
    assert sorted(os.listdir(asked.out)) == GRADEBOOK_FILES
    assert not (submissions.parent / "new").exists()
    with Gradebook(asked.out) as book:
        assert content_of(book) == before


def test_results_are_nobody_elses_business(submissions):
    asked = settings(submissions)
    before = os.umask(0)
    try:
        graded(asked)
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in [asked.out, *asked.out.rglob("*")]}
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}


# Our own faults


class FailingSandbox(FakeSandbox):
    def open(self, cells, names, file="notebook", without=None):
        raise AssertionError("nothing was to be graded")


class FailsOnce(FakeSandbox):
    failed = False

    def __init__(self):
        super().__init__()
        self.failures_left = 0 if FailsOnce.failed else 1
        FailsOnce.failed = True


def test_a_worker_that_fails_once_is_replaced_and_nobody_notices(submissions, monkeypatch):
    expected = graded(settings(submissions))
    monkeypatch.setattr(FailsOnce, "failed", False)
    again = settings(submissions, open_sandbox=FailsOnce, out=submissions.parent / "again")
    assert graded(again) == expected


def test_what_fails_every_time_is_said_not_to_be_the_learners_fault(submissions):
    hand_in(submissions, "ivy", notebook_bytes(squares="# the worker fails here"))
    asked = settings(submissions)
    graded(asked)
    assert statuses(asked.out)["ivy"] == "not graded"
    assert points(asked.out)["ann"] == 12
    hand_in(submissions, "ivy", CLASS["ann"])
    graded(asked)
    assert points(asked.out)["ivy"] == 12


def test_a_job_that_dies_is_replaced_and_the_others_are_graded(submissions):
    hand_in(submissions, "ivy", notebook_bytes(squares="import os\nsquares = os._exit(1)"))
    asked = settings(submissions, jobs=2)
    graded(asked)
    assert statuses(asked.out)["ivy"] == "not graded"
    assert points(asked.out)["gil\nand =hal"] == 9


def test_a_job_that_hangs_is_ended_and_costs_one_notebook(submissions, monkeypatch):
    begun = submissions.parent / "begun"
    hangs = (
        f"import pathlib, threading\nn = pathlib.Path({str(begun)!r}).touch()\n"
        "n = threading.Event().wait() or n\ndef squares(x):\n    return n"
    )
    hand_in(submissions, "aaa", notebook_bytes(squares=hangs))
    # Ages have passed as soon as it hangs.
    clock = SimpleNamespace(monotonic=lambda: 1e6 if begun.exists() else 0.0)
    monkeypatch.setattr(jobs, "time", clock)
    monkeypatch.setattr(jobs, "_LONGEST_WAIT", 0.01)
    asked = settings(submissions)
    graded(asked)
    assert statuses(asked.out)["aaa"] == "not graded"
    with Gradebook(asked.out) as book:
        message = next(entry.record.message for entry in book.latest())
    assert message.startswith("It was still being judged after 600 seconds, and was stopped.")
    assert points(asked.out)["ann"] == 12
    hand_in(submissions, "aaa", CLASS["ann"])
    graded(asked)
    assert points(asked.out)["aaa"] == 12


def test_where_no_sandbox_starts_the_run_stops_with_the_reason(submissions):
    def no_sandbox():
        raise RuntimeError("bubblewrap said no")

    with pytest.raises(JobsFailed, match="bubblewrap said no"):
        graded(settings(submissions, open_sandbox=no_sandbox))


# The folder for results


def test_a_folder_with_other_files_is_refused(submissions):
    out = submissions.parent / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(FolderProblem, match="has other files in it"):
        graded(settings(submissions))
    assert os.listdir(out) == ["thesis.txt"]


def test_a_folder_that_is_a_link_is_refused(submissions):
    real = submissions.parent / "real"
    real.mkdir()
    (submissions.parent / "out").symlink_to(real)
    with pytest.raises(FolderProblem, match="is a link"):
        graded(settings(submissions))
    assert os.listdir(real) == []


def test_a_folder_inside_the_submissions_is_refused(submissions):
    with pytest.raises(FolderProblem, match="is inside of"):
        graded(settings(submissions, out=submissions / "results"))
    assert not (submissions / "results").exists()


def test_nothing_is_written_behind_a_link_in_the_folder(submissions):
    asked = settings(submissions)
    graded(asked)
    outside = submissions.parent / "outside"
    outside.mkdir()
    shutil.rmtree(asked.out / "feedback" / "ann")
    (asked.out / "feedback" / "ann").symlink_to(outside)
    with pytest.raises(FolderProblem, match="nothing is written behind links"):
        graded(asked)
    assert os.listdir(outside) == []


# Killed, and out of room


def in_another_process(work):
    """Fork a process that does `work`; return how it ended, once nothing of it is left."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        try:
            work()
            os._exit(0)
        except BaseException as fault:
            os.write(2, repr(fault).encode())
            os._exit(1)
    os.close(theirs)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert os.read(ours, 1) == b""  # all who inherited the other end, the jobs too, are gone
    os.close(ours)
    return code


class Moments:
    """Counts what the grader's own code does, and ends the process at a chosen moment."""

    def __init__(self, last=None):
        self.passed = 0
        self._last = last
        self._owner = os.getpid()

    def __call__(self, frame, event, _argument):
        if os.getpid() != self._owner:  # a job, which has moments of its own
            sys.setprofile(None)
            return
        if "grading" not in frame.f_code.co_filename:
            return
        self.passed += 1
        if self.passed == self._last:
            os.kill(self._owner, signal.SIGKILL)


@pytest.mark.usefixtures("one_day")
def test_killed_at_twenty_moments_it_ends_with_the_same_gradebook(submissions):
    expected = graded(settings(submissions))
    pages = sorted((submissions.parent / "out").rglob("*.html"))
    counted = submissions.parent / "counted"

    def count():
        moments = Moments()
        sys.setprofile(moments)
        graded(settings(submissions, out=submissions.parent / "counting"))
        sys.setprofile(None)
        counted.write_text(str(moments.passed))

    assert in_another_process(count) == 0
    total = int(counted.read_text())
    assert total > 1000
    for number in range(20):
        out = submissions.parent / f"killed {number}"
        asked = settings(submissions, out=out)
        moment = int(total * (number + 0.5) / 20)

        def until_killed(asked=asked, moment=moment):
            sys.setprofile(Moments(moment))
            graded(asked)

        assert in_another_process(until_killed) == -signal.SIGKILL
        assert graded(asked) == expected
        assert sorted(os.listdir(out)) == GRADEBOOK_FILES
        for page in pages:
            assert (out / page.relative_to(submissions.parent / "out")).read_bytes() == (
                page.read_bytes()
            )
        shutil.rmtree(out)


def test_a_run_that_goes_on_uses_the_seed_that_it_began_with(submissions):
    asked = settings(submissions, seed=None)
    begun = submissions.parent / "begun"

    def until_the_first_result():
        book = open_gradebook(asked)
        begun.write_text(str(book.seed))
        add = book.add

        def add_and_die(entry):
            add(entry)
            os.kill(os.getpid(), signal.SIGKILL)

        book.add = add_and_die
        grade_folder(asked, book)

    assert in_another_process(until_the_first_result) == -signal.SIGKILL
    seed = int(begun.read_text())
    went_on = graded(asked)
    unkilled = settings(submissions, seed=seed, out=submissions.parent / "unkilled")
    assert graded(unkilled) == went_on


@pytest.mark.parametrize("most", [2**13, 2**15, 60_000])
def test_a_full_disk_stops_the_run_and_costs_nothing(submissions, most):
    for number in range(9):
        hand_in(submissions, f"more {number}", notebook_bytes(squares=f"x = {number}"))
    expected = graded(settings(submissions))
    asked = settings(submissions, out=submissions.parent / "small", jobs=2)

    def with_little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        try:
            graded(asked)
        except (GradebookProblem, OSError):
            os._exit(7)

    assert in_another_process(with_little_room) == 7
    assert graded(asked) == expected


def test_jobs_start_without_other_threads(submissions):
    before = threading.active_count()  # other tests of this process may have left some
    graded(settings(submissions))
    assert threading.active_count() == before  # a fork takes only one thread along


def test_progress_says_what_is_running(submissions, capsys):
    graded(settings(submissions, show_progress=True))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith(f"grading: {len(CLASS)} of {len(CLASS)} notebooks")
    assert any("now: ann/88_fixture.ipynb" in line for line in lines) or len(lines) >= 5
    assert all("\x1b" not in line for line in lines)


def test_a_run_needs_no_path_of_its_own(submissions, monkeypatch):
    monkeypatch.chdir(submissions.parent)
    graded(settings(Path("in"), out=Path("out")))
    assert json.loads(Path("out/results.json").read_text())["results"][0]["points"] == 12
