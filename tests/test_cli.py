"""The command line, as a newcomer types it: what it says, what it does, how it exits."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attn_course import cli
from attn_course.cli import main
from attn_course.practice import workspace
from attn_course.practice.exercise import Case
from attn_course.practice.exercises import chapters
from attn_course.practice.numbers import Misuse, chapters_named, exercise_named
from attn_course.practice.terminal import show
from tests.practice.small_course import use_small_course


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTN_COURSE_HOME", raising=False)
    return use_small_course(monkeypatch, tmp_path / "checkout")


@pytest.fixture
def run(chapter, capsys):
    """Return a function that runs a command and returns its exit code and all it printed."""

    def run_command(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run_command


@pytest.fixture
def work(run, tmp_path, monkeypatch):
    """Return the notebook in a learner's folder, which is the working folder."""
    run("start", tmp_path / "my work")
    monkeypatch.chdir(tmp_path / "my work")
    return tmp_path / "my work" / "77_small.ipynb"


RIGHT = {
    "double": "def double(x):\n    print('seen')\n    return 2 * x",
    "count": "count = 6",
    "Scale": (
        "class Scale(torch.nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(d))\n\n"
        "    def forward(self, x):\n        return self.w * x"
    ),
    "mean": "def mean(x):\n    return np.mean(x)",
}


def answer(path, **sources):
    data = json.loads(path.read_text(encoding="utf-8"))
    for cell in data["cells"]:
        name = cell["id"].removesuffix("-answer")
        if name in sources:
            cell["source"] = sources[name]
    path.write_text(json.dumps(data), encoding="utf-8")


def drop(path, cell_id):
    data = json.loads(path.read_text(encoding="utf-8"))
    data["cells"] = [cell for cell in data["cells"] if cell["id"] != cell_id]
    path.write_text(json.dumps(data), encoding="utf-8")


# The frame


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["check", "--help"]])
def test_help_and_version_come_without_loading_torch_or_numpy(words):
    code = (
        "import sys; from attn_course.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'torch', 'numpy', 'matplotlib'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "attn-course" in done.stdout


def test_every_command_has_help_with_an_example(run):
    _code, text = run("--help")
    learners = ("check", "watch", "progress", "hint", "reset", "start", "solution", "translate")
    others = ("handout", "release", "selftest", "new", "mistakes", "tasks", "lab", "grade")
    for command in learners + others:
        assert f"    {command} " in text
        code, own = run(command, "--help")
        assert code == 0
        assert f"  attn-course {command}" in own


def test_no_command_shows_the_help_and_an_unknown_one_lists_what_exists(run):
    code, text = run()
    assert code == 2
    assert "examples:" in text
    code, text = run("frobnicate")
    assert code == 2
    assert text.startswith("There is no command 'frobnicate'; there are: check, watch, progress, ")
    assert "Did you mean" not in text


@pytest.mark.parametrize(
    ("word", "meant"), [("chekc", "check"), ("progess", "progress"), ("solutoin", "solution")]
)
def test_a_mistyped_command_is_asked_about(run, word, meant):
    code, text = run(word, "01")
    assert code == 2
    assert f"Did you mean {meant}?" in text


def test_a_mistyped_task_is_asked_about(run):
    code, text = run("tasks", "--task", "key_lokup", "--list")
    assert code == 2
    assert "There is no task 'key_lokup'; there are: " in text
    assert text.endswith(" Did you mean key_lookup?\n")
    assert "Did you mean" not in run("tasks", "--task", "frobnicate", "--list")[1]


# check


def test_an_untouched_notebook_is_open_and_says_so_in_a_line_each(run, work):
    code, text = run("check")
    assert code == 1
    assert "To do: doubling (77.double)\n" in text
    assert "To do: counting (77.count)\n" in text
    assert "To do: scaling (77.Scale)\n" in text
    assert "Exercises passed: 0 of 4. Points: 0 of 7." in text


def test_right_answers_pass_and_what_they_print_is_not_shown(run, work):
    answer(work, **RIGHT)
    code, text = run("check")
    assert code == 0
    assert text.count("Passed: ") == 4
    assert "Exercises passed: 4 of 4. Points: 7 of 7." in text
    assert "seen" not in text


def test_one_right_answer_is_told_where_to_see_others_unless_the_class_says_no(run, work):
    answer(work, double="def double(x):\n    return 2 * x")
    told = "One way to write it, and other right ways (1): attn-course solution 77.double\n"
    assert told in run("check", "77.double")[1]
    assert told not in run("check", "77")[1]
    work.with_name("attn-course.toml").write_text("solutions = false\n")
    assert "One way" not in run("check", "77.double")[1]


def test_a_known_mistake_is_named_and_a_hint_is_offered(run, work):
    answer(work, double="def double(x):\n    return x ** 2")
    code, text = run("check", "77.double")
    assert code == 1
    assert "You squared; doubling is adding a number to itself." in text
    assert "attn-course hint 77.double" in text
    assert "counting" not in text


def test_a_bug_to_find_is_called_by_its_name_before_anything_is_done(run, work):
    _code, text = run("check", "77.mean")
    assert "You divide by one too few." in text


def test_one_exercise_and_one_chapter_can_be_asked_for(run, work):
    answer(work, count="count = 6")
    assert run("check", "77.count")[0] == 0
    assert run("check", "77")[0] == 1


def test_a_renamed_file_is_checked_by_what_it_defines(run, work):
    renamed = work.rename(work.with_name("my answers.ipynb"))
    answer(renamed, count="count = 6")
    code, text = run("check", renamed)
    assert code == 1
    assert "Passed: counting" in text
    assert run("check", "77.count", renamed)[0] == 0


def test_a_file_of_no_chapter_is_asked_about(run, work):
    path = work.with_name("other.ipynb")
    path.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    code, text = run("check", path)
    assert code == 2
    assert "To which chapter does" in text


def test_a_missing_cell_is_told_with_the_command_that_puts_it_back(run, work):
    drop(work, "count-answer")
    code, text = run("check", "77.count")
    assert code == 1
    assert "Not found: counting (77.count)" in text
    assert "No cell defines `count`." in text
    assert "attn-course reset 77.count" in text


def test_a_syntax_error_costs_its_own_exercise_only(run, work):
    answer(work, double="def double(x:\n    return 2 * x", count="count = 6")
    code, text = run("check")
    assert code == 1
    assert "Not found: doubling" in text
    assert "is not valid Python" in text
    assert "Passed: counting" in text


def test_a_broken_file_is_told_and_the_others_are_checked(run, work):
    broken = work.with_name("77_broken.ipynb")
    broken.write_text("{")
    before = broken.read_bytes()
    answer(work, **RIGHT)
    code, text = run("check", work.parent)
    assert code == 1
    assert "77_broken.ipynb is not a notebook" in text
    assert "Points: 7 of 7" in text
    assert broken.read_bytes() == before


def test_the_name_of_an_exercise_will_do_where_there_is_no_other_of_that_name(run, work):
    answer(work, count="count = 6")
    code, text = run("check", "count")
    assert code == 0
    assert "Passed: counting (" in text
    assert "Exercises passed: 1 of 1." in text
    assert "Hint 1 of 3 for counting" in run("hint", "count")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "99"], "there are: 77"),
        (["check", "77.nothing"], "it has: double, count, Scale, mean"),
        (["check", "duoble"], "There is no exercise 'duoble'. Did you mean double?"),
        (["check", "nothing"], "`attn-course progress` lists them all"),
        (["hint", "77"], "is a whole chapter; name one of its exercises: 77.double"),
        (["hint", "77.nothing"], "it has: double, count, Scale, mean"),
        (["hint", "77.men"], "Did you mean mean?"),
        (["solution", "77.nothing"], "it has: double, count, Scale, mean"),
        (["reset", "nothing.at.all"], "There is no chapter"),
    ],
)
def test_an_unknown_name_lists_what_exists(run, work, words, said):
    code, text = run(*words)
    assert code == 2
    assert said in text


def test_a_folder_means_the_notebooks_in_it(run, work, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, text = run("check", "my work")
    assert code == 1
    assert "77_small.ipynb" in text
    assert "To do: " in text
    code, text = run("check", "checkout")
    assert code == 2
    assert "no exercise notebook" in text


def test_a_folder_that_can_not_be_written_gets_a_sentence(run, work, monkeypatch):
    def refuse(*_words, **_options):
        raise OSError(13, "Permission denied")

    answer(work, double=RIGHT["double"])
    before = work.read_bytes()
    monkeypatch.setattr(workspace, "keep_backup", refuse)
    code, text = run("reset", "77.double")
    assert code == 1
    assert "Permission denied. Nothing was changed." in text
    assert work.read_bytes() == before
    code, text = run("handout", "--folder", work)
    assert code == 1
    assert "Nothing could be written to" in text


def test_a_missing_file_is_told(run, work):
    code, text = run("check", "nothing.ipynb")
    assert code == 1
    assert "There is no file nothing.ipynb" in text


def test_an_empty_folder_says_how_to_begin(run, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for command in (["check"], ["reset", "77.double"]):
        code, text = run(*command)
        assert code == 2
        assert "attn-course start DIR" in text


def test_notebooks_in_the_folder_exercises_are_found_and_remembered_there(
    run, tmp_path, monkeypatch
):
    run("start", tmp_path / "course" / "exercises")
    monkeypatch.chdir(tmp_path / "course")
    answer(tmp_path / "course" / "exercises" / "77_small.ipynb", count="count = 6")
    assert run("check", "77.count")[0] == 0
    assert (tmp_path / "course" / "exercises" / ".attn-course" / "progress.json").is_file()
    assert "1 of 7" in run("progress")[1]


# progress and hints


def test_progress_is_remembered_and_looking_at_it_is_always_well(run, work):
    code, text = run("progress")
    assert code == 0
    assert "0 of 7" in text
    answer(work, **RIGHT)
    run("check")
    code, text = run("progress")
    assert code == 0
    assert "7 of 7" in text


def test_hints_come_in_order_and_the_last_is_repeated(run, work):
    texts = [run("hint", "77.double") for _ in range(4)]
    assert all(code == 0 for code, _text in texts)
    for (_code, text), words in zip(
        texts,
        ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 3 of 3"],
        strict=True,
    ):
        assert words in text
    assert "look closer" in texts[1][1]
    assert "That is the last hint" in texts[3][1]


# For programs


def run_alone(run_main, capsys, *words):
    """Return the exit code, the JSON on the standard output, and the standard error."""
    code = run_main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


def test_check_as_json_has_stable_keys(work, capsys):
    answer(work, count="count = 6", double="def double(x):\n    return x ** 2")
    drop(work, "Scale-answer")
    code, found, err = run_alone(main, capsys, "check", "--json")
    assert code == 1
    assert err == ""
    assert list(found) == ["format", "points", "max_points", "notebooks"]
    assert (found["format"], found["points"], found["max_points"]) == (1, 1, 7)
    (notebook,) = found["notebooks"]
    assert list(notebook) == ["file", "problem", "points", "max_points", "exercises"]
    assert (notebook["file"], notebook["problem"]) == ("77_small.ipynb", None)
    double, count, scale, mean = notebook["exercises"]
    assert double | {"text": ""} == {
        "id": "77.double",
        "title": "doubling",
        "verdict": "failed",
        "points": 0,
        "max_points": 2,
        "mistake": "squares",
        "notes": [],
        "text": "",
    }
    assert "You squared" in double["text"]
    assert (count["verdict"], count["points"], count["mistake"]) == ("passed", 1, None)
    assert (scale["verdict"], scale["notes"]) == ("missing", ["No cell defines `Scale`."])
    assert mean["mistake"] == "divides_by_one_too_few"


def test_check_as_json_of_a_broken_file_says_so_and_of_a_wrong_use_prints_none(work, capsys):
    work.write_text("{")
    code, found, err = run_alone(main, capsys, "check", work, "77.count", "--json")
    assert code == 1
    assert "is not a notebook" in found["notebooks"][0]["problem"]
    assert found["notebooks"][0]["exercises"] == []
    assert found["notebooks"][0]["max_points"] == 1
    assert err == ""
    assert main(["check", "99", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_check_as_json_of_right_answers_is_good(work, capsys):
    answer(work, **RIGHT)
    work.with_name("77_small-Copy1.ipynb").write_bytes(work.read_bytes())
    code, found, err = run_alone(main, capsys, "check", "--json")
    assert code == 0
    assert (found["points"], found["max_points"]) == (7, 7)
    assert "Passed over" in err  # where it can't disturb a program


def test_progress_as_json_has_stable_keys(work, capsys):
    answer(work, **RIGHT)
    main(["check", "77.double", "77.mean"])
    main(["hint", "77.count"])
    capsys.readouterr()
    code, found, _err = run_alone(main, capsys, "progress", "--json")
    assert code == 0
    assert list(found) == ["format", "points", "max_points", "chapters"]
    assert (found["format"], found["points"], found["max_points"]) == (1, 3, 7)
    (chapter,) = found["chapters"]
    assert list(chapter) == ["number", "title", "points", "max_points", "exercises"]
    double, count, *_others = chapter["exercises"]
    assert double | {"checked": ""} == {
        "id": "77.double",
        "title": "doubling",
        "verdict": "passed",
        "points": 2,
        "max_points": 2,
        "attempts": 1,
        "hints": 0,
        "checked": "",
    }
    assert double["checked"].endswith("+00:00")
    assert (count["verdict"], count["checked"], count["hints"]) == (None, None, 1)


@pytest.mark.parametrize("command", ["check", "progress"])
def test_the_keys_are_documented(run, command):
    _code, text = run(command, "--help")
    for key in ("format", "points", "max_points", "exercises", "verdict", "id"):
        assert f'"{key}"' in text


# Colours


@pytest.fixture
def in_a_terminal(work, monkeypatch):
    """Let the standard output be a terminal that shows colours."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)


ESCAPE = "\x1b["


@pytest.mark.usefixtures("in_a_terminal")
def test_verdicts_have_colours_in_a_terminal(run, work):
    answer(work, count="count = 6", double="def double(x):\n    return x ** 2")
    _code, text = run("check")
    assert f"{ESCAPE}32mPassed: counting (points: 1 of 1){ESCAPE}0m\n" in text
    assert f"{ESCAPE}31mNot yet: doubling (points: 0 of 2){ESCAPE}0m\n" in text
    assert f"  {ESCAPE}31mwrong{ESCAPE}0m  0 of 2  a few numbers\n" in text
    assert f"{ESCAPE}90mTo do: scaling (77.Scale){ESCAPE}0m\n" in text
    _code, text = run("progress")
    assert f"1 of 1  [####################]  {ESCAPE}32mpassed{ESCAPE}0m\n" in text
    assert f"{ESCAPE}31mnot yet{ESCAPE}0m\n" in text
    assert f"{ESCAPE}90mnot written yet{ESCAPE}0m\n" in text


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_colours_gets_none(run, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    for words in (["check"], ["progress"]):
        assert ESCAPE not in run(*words)[1]


@pytest.mark.usefixtures("in_a_terminal")
def test_there_are_no_colours_in_json(run):
    for words in (["check", "--json"], ["progress", "--json"]):
        text = run(*words)[1]
        assert ESCAPE not in text
        assert "\\u001b" not in text


def test_there_are_no_colours_in_a_pipe(run, work):
    answer(work, **RIGHT)
    for words in (["check"], ["progress"]):
        assert ESCAPE not in run(*words)[1]


# reset


def test_reset_says_where_the_backup_is(run, work):
    before = work.read_bytes()
    answer(work, count="count = 5")
    answered = work.read_bytes()
    code, text = run("reset", "77.count")
    assert code == 0
    backup = work.parent / text.split("as it was before: ")[1].splitlines()[0]
    assert backup.read_bytes() == answered
    assert json.loads(work.read_bytes()) == json.loads(before)
    assert "Reload Notebook from Disk" in text


def test_reset_of_an_untouched_exercise_says_that_there_is_nothing_to_do(run, work):
    code, text = run("reset", "77.count", work)
    assert code == 0
    assert "nothing to reset" in text


def test_reset_puts_a_deleted_cell_back(run, work):
    drop(work, "count-answer")
    code, text = run("reset", "77.count")
    assert code == 0
    assert "was missing; it is back" in text
    assert "To do: counting" in run("check", "77.count")[1]


def test_reset_of_an_exercise_answered_twice_asks_and_does_it_with_yes(run, work, monkeypatch):
    answer(work, count="count = 5")
    data = json.loads(work.read_text(encoding="utf-8"))
    twin = {"cell_type": "code", "execution_count": None, "id": "twin", "metadata": {}}
    data["cells"].append(twin | {"outputs": [], "source": "count = 4"})
    work.write_text(json.dumps(data), encoding="utf-8")
    before = work.read_bytes()
    monkeypatch.setattr(sys, "stdin", None)  # no one to ask
    code, text = run("reset", "77.count")
    assert code == 1
    assert "answer 77.count" in text
    assert "add --yes" in text
    assert "was left as it is" in text
    assert work.read_bytes() == before
    code, text = run("reset", "77.count", "--yes")
    assert code == 0
    assert "Further cells taken out: 1." in text


def test_reset_never_touches_a_file_that_is_no_notebook(run, work):
    work.write_bytes(b"\xff\xfe half")
    code, text = run("reset", "77.count")
    assert code == 1
    assert "UTF-16" in text
    assert work.read_bytes() == b"\xff\xfe half"


# solution


def test_the_solution_comes_after_a_question_which_needs_yes_where_no_one_can_answer(
    run, work, monkeypatch
):
    monkeypatch.setattr(sys, "stdin", None)
    code, text = run("solution", "77.double")
    assert code == 1
    assert "Show the solution?" in text
    assert "`attn-course hint 77.double` helps" in text
    assert "add --yes" in text
    assert "secret_sum" not in text
    assert "afterwards only" not in text


def test_the_solution_is_shown_with_its_explanation(run, work):
    code, text = run("solution", "77.double", "--yes")
    assert code == 0
    assert "doubling (77.double)" in text
    assert "    def double(x):\n" in text
    assert "        secret_sum = x + x\n        return secret_sum\n" in text
    assert "The explanation, for afterwards only." in text
    assert "SOLUTION" not in text
    assert "You squared" not in text
    assert "Show the solution?" not in text


def test_the_solution_comes_with_other_right_ways(run, work, chapter):
    _code, text = run("solution", "77.double", "--yes")
    assert text.endswith(
        "Other right ways to write it:\n\n    def by_multiplying(x):\n        return 2.0 * x\n"
    )
    assert "Other right ways" not in run("solution", "77.count", "--yes")[1]


@pytest.mark.parametrize(
    ("typed", "code"), [("y", 0), ("YES ", 0), ("n", 1), ("", 1), ("why not", 1)]
)
def test_the_solution_is_shown_to_who_says_yes(run, work, monkeypatch, typed, code):
    asked = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or typed)
    found, text = run("solution", "77.double")
    assert found == code
    assert ("secret_sum" in text) == (code == 0)
    assert len(asked) == 1
    assert "Show the solution? [y/N]" in asked[0]


def test_a_class_can_switch_solutions_off(run, work, monkeypatch):
    settings = work.with_name("attn-course.toml")
    settings.write_text("solutions = false\n")
    for words in (["--yes"], []):
        code, text = run("solution", "77.double", *words)
        assert code == 1
        assert f"Your class has switched solutions off, in {settings}." in text
        assert "secret_sum" not in text
    (work.parent / "below").mkdir()
    monkeypatch.chdir(work.parent / "below")
    assert run("solution", "77.double", "--yes")[0] == 1


def test_a_class_that_switches_nothing_off_changes_nothing(run, work):
    for text in ("solutions = true\n", "", "another_setting = 1\n", "solutions = = false\n"):
        work.with_name("attn-course.toml").write_text(text)
        code, said = run("solution", "77.double", "--yes")
        assert code == 0
        assert "secret_sum" in said


def test_an_exercise_without_a_solution_says_so(run, work, chapter):
    chapter.exercises["double"].solution = None
    code, text = run("solution", "77.double", "--yes")
    assert code == 1
    assert "There is no solution of 77.double here." in text


# start, release, handout, selftest


def test_start_tells_what_it_copied_and_what_it_kept(run, tmp_path):
    folder = tmp_path / "new folder"
    code, text = run("start", folder)
    assert code == 0
    assert "copied" in text
    assert f'cd "{folder}" && jupyter lab' in text
    code, text = run("start", folder)
    assert code == 0
    assert "kept" in text
    (tmp_path / "file").write_text("")
    assert run("start", tmp_path / "file")[0] == 2


def test_start_says_how_to_install_jupyterlab_where_it_is_missing(run, tmp_path, monkeypatch):
    assert "pip" not in run("start", tmp_path / "with")[1]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, text = run("start", tmp_path / "without")
    assert code == 0
    lines = text.splitlines()
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    assert lines[-2] == (
        f"JupyterLab is not installed here yet. To install it: {python} -m pip install jupyterlab"
    )
    assert lines[-1].startswith("Begin with: cd ")


def test_make_lab_asks_nobody_about_news(tmp_path):
    """JupyterLab would put the question over the feedback; `LabApp.news_url` does not stop it."""
    config = pytest.importorskip("jupyterlab_server.config")
    root = Path(__file__).parents[1]
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split("\nlab:")[1].split("\n\n")[0]
    assert 'JUPYTER_CONFIG_PATH="$(CURDIR)/tools/jupyter' in recipe
    code = f"from {config.__name__} import *; print(get_page_config([])['disabledExtensions'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {"JUPYTER_CONFIG_PATH": str(root / "tools/jupyter"), "JUPYTER_CONFIG_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'@jupyterlab/apputils-extension:announcements'" in done.stdout


def test_release_writes_checks_and_names_the_command_that_helps(run, tmp_path):
    notebook = tmp_path / "checkout" / "exercises" / "77_small.ipynb"
    compiled = tmp_path / "checkout" / "attn_course/practice/exercises/77_small.json"
    code, text = run("release", "--check")
    assert code == 1
    assert "exercises/77_small.ipynb: missing" in text
    assert "attn_course/practice/exercises/77_small.json: missing" in text
    assert "`attn-course release` or `make exercises`" in text
    assert not notebook.exists()
    code, text = run("release")
    assert code == 0
    assert "written   exercises/77_small.ipynb" in text
    assert "written   attn_course/practice/exercises/77_small.json" in text
    code, text = run("release", "--check")
    assert code == 0
    assert "agree with their solutions (2 files)" in text
    for path in (notebook, compiled):
        path.write_text(path.read_text() + " ")
        code, text = run("release", "--check")
        assert code == 1
        assert f"{path.name}: differs from its source" in text
        changed = path.read_text()
        assert run("release")[0] == 0
        assert path.read_text() != changed
    (backup,) = (notebook.parent / ".attn-course" / "backups").iterdir()
    assert backup.read_text().endswith("}\n ")  # somebody may have answered there
    assert not (compiled.parent / ".attn-course").exists()


def test_release_deletes_nothing_that_has_no_source(run, tmp_path):
    assert run("release")[0] == 0
    stray = tmp_path / "checkout" / "exercises" / "78_other.ipynb"
    stray.write_text("somebody's work")
    code, text = run("release")
    assert code == 1
    assert "stray     exercises/78_other.ipynb has no source: delete it" in text
    assert stray.read_text() == "somebody's work"


def test_release_tells_a_wrong_source_with_its_lines_and_writes_nothing(run, tmp_path):
    source = tmp_path / "checkout" / "solutions" / "77_small.md"
    text = source.read_text().replace("### END SOLUTION", "", 1).replace("3. nearly", "nearly", 1)
    source.write_text(text)
    code, said = run("release")
    assert code == 1
    for line in (
        text[: text.index("### BEGIN")].count("\n"),
        text[: text.index("1. look")].count("\n"),
    ):
        assert f"{source}:{line + 1}: " in said
    assert not (tmp_path / "checkout" / "exercises").exists()
    assert not (tmp_path / "checkout" / "attn_course").exists()


def test_release_without_jupytext_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "jupytext", None)
    code, text = run("release")
    assert code == 1
    assert "needs jupytext, which `make env` or `pip install jupytext` installs" in text


def test_release_outside_a_checkout_is_wrong_use(run, monkeypatch):
    monkeypatch.setattr(workspace, "course_root", lambda: None)
    code, text = run("release")
    assert code == 2
    assert "checkout" in text


def test_handout_says_where_the_zip_is(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text = run("handout")
    assert code == 0
    assert "dist/attn-course-exercises.zip" in text
    with zipfile.ZipFile(tmp_path / "dist" / "attn-course-exercises.zip") as archive:
        assert archive.testzip() is None
        assert "attn-course-exercises/attn-course.toml" in archive.namelist()


def test_selftest_prints_the_rates_and_fails_when_a_mistake_survives(run, chapter):
    code, text = run("selftest")
    assert code == 0
    assert "Kill rate: 100 % (4 of 4)" in text
    assert "Naming rate: 100 % (4 of 4)" in text
    assert "False rejections: 0 of 11" in text
    assert "Mutant kill rate: 100 % (" in text
    assert "now: 77.mean" in text  # it takes a while, so it tells where it is

    @chapter.exercises["double"].misconception("This is right, so it can't be rejected.")
    def no_mistake(x):
        return 2 * x

    code, text = run("selftest", "--no-mutants")
    assert code == 1
    assert "77.double: the mistake no_mistake passed" in text
    assert "Kill rate: 80 % (4 of 5)" in text
    assert "utant" not in text


def test_selftest_fails_when_a_right_answer_is_rejected(run, chapter):
    @chapter.exercises["double"].variant
    def no_variant(x):
        return 3 * x

    code, text = run("selftest", "--no-mutants")
    assert code == 1
    assert "77.double: the right answer no_variant was rejected" in text


def test_selftest_fails_when_too_few_mistakes_are_called_by_their_names(run, chapter):
    @chapter.exercises["double"].misconception("The same mistake under another name.")
    def squares_too(x):
        return x * x

    code, text = run("selftest", "--no-mutants")
    assert code == 1
    assert "77.double: the mistake squares_too was not called by its name" in text
    assert "Naming rate: 80 % (4 of 5)" in text


def test_selftest_fails_when_a_mutant_passes(run, chapter):
    double = chapter.exercises["double"]
    double.groups.clear()
    double.solution = replace(double.solution, mistakes=())

    @double.cases(points=1, label="zeros, of which everything is the double")
    def _zeros(rng):
        yield Case(np.zeros(3))

    code, text = run("selftest", "77.double")
    assert code == 1
    change = "secret_sum = x + x -> secret_sum = x - x"
    assert f"77.double: this mutant passed (operator): {change}" in text
    assert "Mutant kill rate: 0 % (0 of the 2 that are wrong)" in text
    assert "77.mean" not in text


def test_selftest_looks_at_what_is_asked_for(run):
    code, text = run("selftest", "77.count", "77.mean", "--no-mutants")
    assert code == 0
    assert "77.count " in text
    assert "77.double" not in text
    assert run("selftest", "77", "--no-mutants")[1].count("77.") >= 4
    code, text = run("selftest", "99")
    assert code == 2
    assert "99" in text
    code, text = run("selftest", "77_small.ipynb")
    assert code == 2
    assert "by its number" in text


def test_selftest_without_solutions_or_fork_names_the_way_out(run, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(workspace, "course_root", lambda: None)
        code, text = run("selftest")
        assert code == 2
        assert "checkout" in text
        assert "--no-mutants" in text
        assert run("selftest", "--no-mutants")[0] == 0
    monkeypatch.delattr(os, "fork")
    code, text = run("selftest")
    assert code == 2
    assert "fork" in text
    assert "--no-mutants" in text


def test_a_long_sentence_is_broken_in_a_terminal_and_nowhere_else(capsys, monkeypatch):
    text = "one two three\n    0.1  0.2  0.3"
    show(text)
    assert capsys.readouterr().out == text + "\n"
    monkeypatch.setenv("COLUMNS", "8")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show(text)
    assert capsys.readouterr().out == "one two\nthree\n    0.1  0.2  0.3\n"


def test_a_page_of_a_long_chapter_has_a_letter_and_the_chapter_means_all_its_pages():
    known = chapters()
    (page,) = chapters_named("5b", known)
    assert page.number == "05b"
    assert page in chapters_named("05", known)
    assert [chapter.number for chapter in chapters_named("1", known)] == ["01"]
    for word in ("5z", "ask"):
        with pytest.raises(Misuse, match=f"There is no chapter '0?{word}'"):
            chapters_named(word, known)
    assert exercise_named("5b.ask", known).id == "05b.ask"
    assert exercise_named("05.ask", known).id == "05b.ask"
    assert exercise_named("ask", known).id == "05b.ask"


def test_the_lab_prints_its_report_or_every_number(capsys, monkeypatch):
    class Report:
        def text(self):
            return "two tables"

        def as_dict(self):
            return {"measured": {}}

    asked = []
    monkeypatch.setattr(
        "attn_course.explanation.run_lab",
        lambda settings, progress: asked.append(settings.seeds) or Report(),
    )
    assert cli.main(["lab", "--seeds", "2"]) == 0
    assert capsys.readouterr().out == "two tables\n"
    assert cli.main(["lab", "--json"]) == 0
    assert capsys.readouterr().out == '{\n "measured": {}\n}\n'
    assert asked[0] == (0, 1)
    assert len(asked[1]) == 5
