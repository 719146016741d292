"""`attn-course watch`: it checks again whenever a notebook is saved, and goes on when it is green.

No test sleeps: the pause itself does what a learner does while the program waits.
"""

import json
import os
import sys

import pytest

from attn_course.cli import parser
from attn_course.practice import command, watching, workspace
from attn_course.practice.numbers import Misuse
from tests.practice.small_course import use_small_course

DOUBLE = "def double(x):\n    return 2 * x"
SQUARE = "def double(x):\n    return x ** 2"
SCALE = (
    "class Scale(torch.nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
    "        self.w = torch.nn.Parameter(torch.ones(d))\n\n"
    "    def forward(self, x):\n        return self.w * x"
)
MEAN = "def mean(x):\n    return np.mean(x)"


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return the notebook in a learner's folder, which is the working folder."""
    monkeypatch.delenv("ATTN_COURSE_HOME", raising=False)
    use_small_course(monkeypatch, tmp_path / "checkout")
    workspace.start(tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work" / "77_small.ipynb"


def save(path, **sources):
    """Save answers as Jupyter does, at another time than before."""
    data = json.loads(path.read_text(encoding="utf-8"))
    for cell in data["cells"]:
        name = cell["id"].removesuffix("-answer")
        cell["source"] = sources.get(name, cell["source"])
    path.write_text(json.dumps(data), encoding="utf-8")
    touch(path)


def touch(path):
    moment = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(moment, moment))


@pytest.fixture
def watch(work, capsys):
    """Return a function that watches while a learner does one thing after the other.

    It returns the exit code and what was printed before each of them, and at the end.
    """

    def run(*steps, words=()):
        screens = []
        left = list(steps)

        def pause(seconds):
            assert 0 < seconds <= 1
            printed = capsys.readouterr()
            if printed.out:
                screens.append(printed.out)
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        code = command.watch(parser().parse_args(["watch", *map(str, words)]), pause)
        screens.append(capsys.readouterr().out)
        assert left == []
        return code, screens

    return run


def nothing():
    pass


def test_the_first_exercise_that_is_not_green_is_shown_and_ctrl_c_ends_well(watch):
    code, (first, last) = watch()
    assert code == 0
    assert "Exercise 1 of 4: doubling (77.double) in 77_small.ipynb" in first
    assert "Not written yet" in first
    assert "Learn about doubling." in first
    assert "Save the notebook to check again; Ctrl-C ends." in first
    assert "counting" not in first
    assert "Stopped" in last


def test_nothing_happens_until_the_notebook_is_saved(watch, work):
    _code, screens = watch(nothing, nothing, lambda: save(work, double=SQUARE), nothing)
    assert len(screens) == 3  # at the beginning, after the save, at the end
    assert "You squared; doubling is adding a number to itself." in screens[1]
    assert "attn-course hint 77.double" in screens[1]


def test_a_right_answer_leads_to_the_next_exercise(watch, work):
    _code, screens = watch(lambda: save(work, double=DOUBLE), lambda: save(work, count="count = 6"))
    assert "Passed: doubling (points: 2 of 2)" in screens[1]
    assert "Exercise 2 of 4: counting (77.count)" in screens[1]
    assert "Passed: doubling" not in screens[2]  # it is known already
    assert "Passed: counting (points: 1 of 1)" in screens[2]
    assert "Exercise 3 of 4: scaling (77.Scale)" in screens[2]


def test_when_all_is_green_it_ends(watch, work):
    code, screens = watch(
        lambda: save(work, double=DOUBLE, count="count = 6", Scale=SCALE, mean=MEAN)
    )
    assert code == 0
    assert len(screens) == 2
    assert screens[1].rstrip().endswith("All exercises are green: 4 of 4. Points: 7 of 7.")


def test_what_was_green_and_is_broken_again_is_shown(watch, work):
    _code, screens = watch(
        lambda: save(work, double=DOUBLE, count="count = 6"), lambda: save(work, double=SQUARE)
    )
    assert "Exercise 3 of 4: scaling" in screens[1]
    assert "Exercise 1 of 4: doubling" in screens[2]
    assert "You squared" in screens[2]


def test_what_is_green_is_not_checked_again_while_its_code_is_the_same(watch, work, monkeypatch):
    asked = []
    real = watching.checked

    def counted(path, exercises, *others):
        asked.extend(one.name for one in exercises)
        return real(path, exercises, *others)

    monkeypatch.setattr(watching, "checked", counted)
    watch(lambda: save(work, double=DOUBLE), lambda: save(work, count="count = 5"))
    assert asked == ["double", "double", "count", "count"]


def test_a_file_that_is_broken_for_a_moment_is_told_and_waited_for(watch, work):
    whole = work.read_text(encoding="utf-8")

    def broken():
        work.write_text("{")
        touch(work)

    def repaired():
        work.write_text(whole)
        touch(work)

    _code, screens = watch(broken, work.unlink, repaired)
    assert "is not a notebook" in screens[1]
    assert "There is no file" in screens[2]
    assert "Exercise 1 of 4" in screens[3]


def test_an_answer_that_is_missing_is_told_with_the_command_that_puts_it_back(watch, work):
    data = json.loads(work.read_text(encoding="utf-8"))
    data["cells"] = [cell for cell in data["cells"] if cell["id"] != "double-answer"]
    work.write_text(json.dumps(data))
    _code, screens = watch()
    assert "No cell defines `double`." in screens[0]
    assert "attn-course reset 77.double" in screens[0]


def test_one_can_watch_one_exercise_or_a_file(watch, work):
    code, screens = watch(lambda: save(work, count="count = 6"), words=["77.count"])
    assert code == 0
    assert "Exercise 1 of 1: counting" in screens[0]
    assert "All exercises are green: 1 of 1." in screens[1]
    moved = work.rename(work.with_name("mine.ipynb"))
    assert "in mine.ipynb" in watch(words=[moved.name])[1][0]


def test_what_was_reached_is_remembered(watch, work):
    watch(lambda: save(work, double=DOUBLE))
    stored = json.loads((work.parent / ".attn-course" / "progress.json").read_text())
    assert stored["exercises"]["77.double"]["best_points"] == 2


def test_nothing_to_watch_is_told(watch, work):
    work.unlink()
    with pytest.raises(Misuse, match="attn-course start DIR"):
        watch()


CLEARED = "\x1b[2J\x1b[H"


def test_the_screen_is_cleared_in_a_terminal_alone(watch, work, monkeypatch):
    _code, screens = watch(lambda: touch(work))
    assert not any("\x1b" in screen for screen in screens)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    _code, screens = watch(lambda: touch(work))
    assert [screen.count(CLEARED) for screen in screens] == [1, 1, 0]
    assert screens[0].startswith(CLEARED)
