"""Grading as it arrives: what has settled is graded, once, and stopping costs nothing.

Time is a list of things that happen: one before each look, and the last one stops the watch.
"""

import os
import sqlite3
from dataclasses import replace

import pytest

from attn_course import cli
from attn_course.grading import command, isolation_trial, jobs, run, sandbox, watch
from attn_course.grading.gradebook import Gradebook, GradebookProblem, content_of
from attn_course.grading.intake import IntakeProblem
from attn_course.grading.isolation import Rung
from attn_course.grading.run import Settings, grade_folder, open_gradebook
from attn_course.grading.shards import Shard
from attn_course.grading.watch import Watch
from tests.grading import fixture_chapter
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, WRONG_ROWS, notebook_bytes

FILE = "88_fixture.ipynb"
RIGHT, WRONG = notebook_bytes(), notebook_bytes(row_weights=WRONG_ROWS)


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    """No fork, and no version of code that somebody edits."""
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    monkeypatch.setattr(run, "version_of", lambda chapter, limits, own_checks: f"{limits}")


@pytest.fixture
def inbox(tmp_path):
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


def hand_in(inbox, learner, content, moment=1):
    """Write a notebook as if at a moment; without one, two writes may look the same."""
    path = inbox / learner / FILE
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (moment, moment))
    return path


def settings(inbox, **changes):
    made = Settings(
        submissions=inbox,
        out=inbox.parent / "out",
        chapters=CHAPTERS,
        open_sandbox=FakeSandbox,
        rung="A",
        jobs=4,
        seed=7,
        show_progress=False,
    )
    return replace(made, **changes)


class Script:
    """What happens between the looks; afterwards Ctrl-C."""

    def __init__(self, *happenings):
        self._happenings = list(happenings)
        self.batches = []
        self.said = []

    def wait(self):
        if not self._happenings:
            raise KeyboardInterrupt
        self._happenings.pop(0)()

    def report(self, gradebook, settled, notices):
        self.batches.append([one.learner for one in settled])

    def play(self, asked):
        with pytest.raises(KeyboardInterrupt):
            Watch(asked, self.report, self.said.append, self.wait).run()
        return self.batches


def nothing():
    """Time passes."""


def points(inbox):
    with Gradebook(inbox.parent / "out") as book:
        return {entry.learner: entry.record.points for entry in book.latest()}


def length_of_history(inbox):
    with Gradebook(inbox.parent / "out") as book:
        return len(list(book.history()))


def test_what_is_there_at_the_start_is_graded_once_it_was_seen_twice(inbox):
    hand_in(inbox, "ann", RIGHT)
    assert Script().play(settings(inbox)) == []
    assert Script(nothing).play(settings(inbox)) == [["ann"]]
    assert points(inbox) == {"ann": 12}


def test_what_arrives_is_graded_and_only_that(inbox):
    hand_in(inbox, "ann", RIGHT)
    script = Script(nothing, lambda: hand_in(inbox, "bob", WRONG), nothing, nothing)
    assert script.play(settings(inbox)) == [["ann"], ["bob"]]
    assert points(inbox) == {"ann": 12, "bob": 10}


def test_a_file_that_still_grows_is_left_alone(inbox):
    whole = len(RIGHT)
    parts = [lambda part=part: hand_in(inbox, "ann", RIGHT[:part]) for part in (9, 99, 999, whole)]
    script = Script(*parts, nothing)
    assert script.play(settings(inbox)) == [["ann"]]
    assert points(inbox) == {"ann": 12}
    assert length_of_history(inbox) == 1  # never as something unreadable


def test_a_file_that_is_written_over_in_the_same_size_is_left_alone_too(inbox):
    same_size = RIGHT.replace(b"x**2", b"x**3")
    script = Script(
        lambda: hand_in(inbox, "ann", same_size, moment=1),
        lambda: hand_in(inbox, "ann", same_size, moment=2),
        lambda: hand_in(inbox, "ann", RIGHT, moment=3),
        nothing,
    )
    assert script.play(settings(inbox)) == [["ann"]]
    assert points(inbox) == {"ann": 12}
    assert length_of_history(inbox) == 1


def test_a_file_that_is_renamed_into_place_is_noticed_whatever_its_size_and_time(inbox):
    path = hand_in(inbox, "ann", RIGHT)
    hidden = path.with_name(f".{FILE}.part")

    def write():
        hidden.write_bytes(RIGHT.replace(b"x**2", b"x**3"))
        os.utime(hidden, (1, 1))

    script = Script(nothing, write, lambda: hidden.rename(path), nothing)
    assert script.play(settings(inbox)) == [["ann"], ["ann"]]
    assert points(inbox) == {"ann": 10}


def test_a_file_that_vanishes_again_is_no_fault(inbox, monkeypatch):
    path = hand_in(inbox, "ann", RIGHT)
    hand_in(inbox, "bob", RIGHT)
    find = watch.intake.find

    def find_and_lose(*arguments):
        found = find(*arguments)
        path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(watch.intake, "find", find_and_lose)
    script = Script(nothing)
    assert script.play(settings(inbox)) == [["bob"]]
    assert script.said == []


def test_who_handed_in_nothing_yet_has_no_line_yet(inbox):
    hand_in(inbox, "ann", RIGHT)
    (inbox / "bob").mkdir()
    Script(nothing, nothing).play(settings(inbox))
    assert points(inbox) == {"ann": 12}


def test_a_later_file_is_graded_and_the_history_is_kept(inbox):
    hand_in(inbox, "ann", WRONG)
    script = Script(nothing, lambda: hand_in(inbox, "ann", RIGHT, moment=2), nothing)
    assert script.play(settings(inbox)) == [["ann"], ["ann"]]
    assert points(inbox) == {"ann": 12}
    assert length_of_history(inbox) == 2


def test_started_again_it_grades_nothing_twice(inbox):
    class Refusing(FakeSandbox):
        def open(self, cells, names, file="notebook", without=None):
            raise AssertionError("this was graded before")

    hand_in(inbox, "ann", RIGHT)
    Script(nothing).play(settings(inbox))
    again = settings(inbox, open_sandbox=Refusing, seed=None)
    assert Script(nothing, nothing).play(again) == [["ann"]]
    assert length_of_history(inbox) == 1


def test_stopped_midway_and_started_again_it_is_as_one_run(inbox):
    class StopsAtThird(FakeSandbox):
        opened = 0

        def open(self, cells, names, file="notebook", without=None):
            StopsAtThird.opened += 1
            if StopsAtThird.opened == 3:
                raise KeyboardInterrupt
            return super().open(cells, names, file, without)

    for number in range(5):
        hand_in(inbox, f"learner {number}", RIGHT if number % 2 else WRONG)
    Script(nothing).play(settings(inbox, open_sandbox=StopsAtThird))
    assert 0 < length_of_history(inbox) < 5
    Script(nothing).play(settings(inbox))
    with Gradebook(inbox.parent / "out") as book:
        found = content_of(book)
    whole = settings(inbox, out=inbox.parent / "whole")
    with open_gradebook(whole) as book:
        grade_folder(whole, book)
        assert content_of(book) == found


def test_no_more_jobs_are_started_than_there_are_notebooks(inbox, monkeypatch):
    asked = []
    monkeypatch.setattr(
        watch, "grade_notebooks", lambda settings, *_others: asked.append(settings.jobs)
    )
    for number in range(6):
        hand_in(inbox, f"learner {number}", RIGHT)
    Script(nothing, lambda: hand_in(inbox, "zoe", RIGHT), nothing).play(settings(inbox))
    assert asked == [4, 1]


# What is in the way


def test_a_gradebook_that_is_in_use_is_waited_for(inbox):
    hand_in(inbox, "ann", RIGHT)
    others = []

    def another_command():
        others.append(sqlite3.connect(inbox.parent / "out" / "gradebook.sqlite"))
        others[0].execute("PRAGMA locking_mode = EXCLUSIVE")
        others[0].execute("BEGIN EXCLUSIVE")

    script = Script(another_command, nothing, lambda: others[0].close())
    assert script.play(settings(inbox)) == [["ann"]]
    (sentence,) = script.said  # once, though it was in the way twice
    assert "is in use: another run is grading into it. The next look tries again." in sentence


def test_an_inbox_that_is_away_for_a_while_is_waited_for(inbox):
    away = inbox.with_name("away")
    hand_in(inbox, "ann", RIGHT)
    script = Script(lambda: inbox.rename(away), lambda: away.rename(inbox), nothing, nothing)
    assert script.play(settings(inbox)) == [["ann"]]
    assert "is not a folder" in script.said[0]


def test_what_is_wrong_from_the_start_ends_it(inbox):
    with pytest.raises(IntakeProblem, match="is not a folder"):
        Watch(settings(inbox / "typo"), None, None, None).run()
    part = settings(inbox, shard=Shard(1, 2))
    with open_gradebook(part) as book:
        grade_folder(part, book)
    with pytest.raises(GradebookProblem, match="has part 1/2 in it"):
        Watch(settings(inbox), None, None, None).run()


# From the command line


def watched(inbox, monkeypatch, script, *words):
    """Watch as on the command line, and return the exit code and how long it slept."""
    slept = []
    monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: FakeSandbox())
    monkeypatch.setattr(isolation_trial, "find_rung", lambda wanted: Rung("A", "Isolation."))

    def sleep(seconds):
        slept.append(seconds)
        script.wait()

    monkeypatch.setattr(command, "time", type("Clock", (), {"sleep": staticmethod(sleep)}))
    checks = ["--checks", fixture_chapter.__file__, "--chapters", "88"]
    asked = ["grade", "--watch", str(inbox), "--out", str(inbox.parent / "out"), *checks]
    return cli.main([*asked, *words]), slept


def test_ctrl_c_is_how_it_ends(inbox, monkeypatch, capsys):
    hand_in(inbox, "ann", RIGHT)
    out = inbox.parent / "out"
    words = ("--every", "9", "--export", "moodle")
    assert watched(inbox, monkeypatch, Script(nothing), *words) == (0, [9, 9])
    said = capsys.readouterr()
    assert f"Watching {inbox}; Ctrl-C ends it." in said.err
    assert "Stopped. What was graded is kept" in said.err
    assert f"Settled and graded: 1. Results: {out}" in said.out
    assert "ann,12" in (out / "moodle.csv").read_text()


def test_each_batch_tells_whose_points_a_later_file_changed(inbox, monkeypatch, capsys):
    hand_in(inbox, "ann", WRONG)
    script = Script(
        nothing,
        lambda: hand_in(inbox, "ann", RIGHT, moment=2),
        nothing,
        lambda: hand_in(inbox, "ann", WRONG, moment=3),
        nothing,
    )
    watched(inbox, monkeypatch, script)
    said = capsys.readouterr().out
    assert "ann  88_fixture  +2  " in said
    assert "ann  88_fixture  -2  " in said
    log = (inbox.parent / "out" / "changes.csv").read_text().splitlines()
    assert len(log) == 3  # the header, and each change once


def test_a_part_is_not_watched(inbox, capsys):
    words = ["grade", "--watch", str(inbox), "--out", "out", "--seed", "7", "--shard", "1/2"]
    assert cli.main(words) == 2
    assert "not allowed with argument --watch" in capsys.readouterr().err
