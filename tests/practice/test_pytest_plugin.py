"""Exercise notebooks under pytest and under nbval: real files, each run in a process of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

from attn_course.grading.fresh_kernel import FreshKernel
from attn_course.grading.isolation import Rung
from attn_course.inside.limits import Limits
from attn_course.inside.notebook import notebook_text
from attn_course.practice import CELLS_MUST_PASS, NotPassed, check, exercises, progress

ROOT = Path(__file__).parents[2]
REGRESSION, ROTATORY = "01_nadaraya_watson", "05b_rotatory"
CODE_OF_PRIVATE_FILES = ("practice/__init__.py", "pytest_plugin.py", "Traceback")

RIGHT_POOLING = """
def average_pooling(queries, values):
    return np.full(len(queries), values.mean())
"""
WRONG_WEIGHTS = """
def gaussian_weights(queries, keys, w):
    print("looking for the nearest key")
    distances = queries[..., :, None] - keys[..., None, :]
    scores = -((w * distances) ** 2) / 2
    powers = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return powers / powers.sum(axis=-2, keepdims=True)
"""
NOT_PYTHON = """
def kernel_weights(queries, keys, w, kernel)
    return queries
"""
RAISES = """
settings = {}
default = settings["width"]
def leave_one_out_loss(inputs, targets, w=default):
    return 0.0
"""
WARNS = """
import warnings
def gradient_step(*arguments, **keywords):
    warnings.warn("you may ignore this")
    return 0.0
"""


def solutions(stem):
    """Return the right answers of a notebook by their names."""
    return {one["name"]: one["answer"] for one in exercises.compiled(stem)["exercises"]}


def exercise_ids(stem):
    return [f"{stem.split('_')[0]}.{name}" for name in solutions(stem)]


def notebook(stem, answers=None, without=()):
    """Return the text of an exercise notebook with answers filled in; `without` those cells."""
    made = json.loads(notebook_text(exercises.compiled(stem)["notebook"]))
    for cell in made["cells"]:
        name = cell["id"].removesuffix("-answer")
        if cell["id"].endswith("-answer") and name in (answers or {}):
            cell["source"] = answers[name]
    made["cells"] = [cell for cell in made["cells"] if cell["id"] not in without]
    return notebook_text(made)


def foreign(source):
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    content = {"metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return notebook_text({"cells": [cell | {"source": source}]} | content)


# Quicker, where what they do is not what is tested.
WITHOUT_OTHERS = [f"-pno:{name}" for name in ("nbval", "hypothesispytest", "anyio")]


def run_pytest(folder, *arguments):
    """Run pytest in `folder`, as a learner does in a terminal."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env={**inherited, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def outcomes(done):
    """Return how each test of a run with -v went, by its id."""
    found = re.findall(r"(\S+::\S+) (PASSED|FAILED|SKIPPED|ERROR)", done.stdout)
    swapped = re.findall(r"(PASSED|FAILED|SKIPPED|ERROR) (\S+::\S+)", done.stdout)  # xdist
    return {test: word.lower() for test, word in found} | {
        test: word.lower() for word, test in swapped if test not in dict(found)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a notebook of right, wrong, broken and unwritten answers, and other files."""
    made = tmp_path_factory.mktemp("course")
    mine = made / "my-exercises"
    mine.mkdir()
    answers = {
        "average_pooling": RIGHT_POOLING,
        "gaussian_weights": WRONG_WEIGHTS,
        "kernel_weights": NOT_PYTHON,
        "leave_one_out_loss": RAISES,
        "gradient_step": WARNS,
    }
    text = notebook(REGRESSION, answers, without=["predicted_limits-answer"])
    (mine / f"{REGRESSION}.ipynb").write_text(text)
    (mine / "02_scoring.ipynb").write_text('{"cells": [')
    (mine / "01_x.ipynb").write_text(foreign("raise SystemExit('this is nobody else's to run')"))
    (mine / "02_y.ipynb").write_text("not a notebook, and none of the course's names")
    (mine / "03_z.ipynb").write_text(foreign("import practice\npractice.check('compare', 1)"))
    (mine / "test_of_my_own.py").write_text("def test_mine():\n    assert True\n")
    return made


@pytest.fixture(scope="module")
def whole_run(folder):
    return run_pytest(folder, "-v", "-ra", "--junitxml=report.xml", "my-exercises")


HERE = f"my-exercises/{REGRESSION}.ipynb::"


def test_there_is_one_test_for_each_exercise_named_by_its_id(whole_run):
    found = outcomes(whole_run)
    assert [test.removeprefix(HERE) for test in found if HERE in test] == exercise_ids(REGRESSION)
    assert [found[f"{HERE}{one}"] for one in exercise_ids(REGRESSION)] == [
        *("passed", "failed", "failed", "failed", "failed", "failed"),
        *("skipped", "skipped"),
    ]
    assert whole_run.returncode == 1


def section(done, exercise_id):
    """Return what a run says below the heading of one failure."""
    heading = re.compile(rf"^_+ {re.escape(exercise_id)} in \S+ _+$", re.MULTILINE)
    return re.split(r"^(?:_{3,} .* _{3,}|={3,} .* ={3,})$", heading.split(done.stdout)[1], flags=8)[
        0
    ]


def test_a_failure_is_the_checks_own_text_and_nothing_of_ours(whole_run):
    text = section(whole_run, "01.gaussian_weights")
    assert text.lstrip().startswith("Not yet: Look nearby with Gaussian weights (points: 0 of 3)\n")
    assert "[sums to one over the queries]" in text
    assert "The smallest input on which it goes wrong:" in text
    for word in CODE_OF_PRIVATE_FILES:
        assert word not in whole_run.stdout


def test_what_an_answer_prints_is_there_once(whole_run):
    assert whole_run.stdout.count("looking for the nearest key") == 1


@pytest.mark.parametrize(
    ("exercise_id", "sentence"),
    [
        ("01.kernel_weights", "is not valid Python, so `kernel_weights` in it could not be read"),
        ("01.leave_one_out_loss", "raised KeyError: 'width'"),
        ("01.predicted_limits", "No cell defines `predicted_limits`.\n  To put its cell back: "),
        ("02.compare", "is not a notebook: a notebook is JSON, and this one breaks off"),
    ],
)
def test_what_is_broken_is_told_in_a_sentence(whole_run, exercise_id, sentence):
    text = section(whole_run, exercise_id).strip()
    assert sentence in text
    assert len(text.splitlines()) <= 3


def test_what_is_not_written_yet_is_skipped_in_its_notebook_with_a_reason(whole_run):
    place = f"my-exercises/{REGRESSION}.ipynb:1"
    assert (
        f"SKIPPED [1] {place}: To do: A model with one parameter (01.NadarayaWatson)"
        in whole_run.stdout
    )


def test_a_warning_of_an_answer_is_neither_an_error_nor_listed(whole_run):
    assert "Not yet: " in section(whole_run, "01.gradient_step")
    assert "you may ignore this" not in whole_run.stdout


def test_notebooks_of_others_and_tests_in_python_are_as_they_would_be_without_us(whole_run):
    found = outcomes(whole_run)
    assert found["my-exercises/test_of_my_own.py::test_mine"] == "passed"
    assert {test.split("::")[0] for test in found} == {
        f"my-exercises/{REGRESSION}.ipynb",
        "my-exercises/02_scoring.ipynb",
        "my-exercises/test_of_my_own.py",
    }


def test_it_says_whose_notebooks_it_is_for_and_the_points(whole_run):
    most = sum(
        one.points
        for number in ("01", "02")
        for one in exercises.chapters()[number].exercises.values()
    )
    assert f"attn-course: 2 of {most} points. " in whole_run.stdout
    assert "own code ran in this process" in whole_run.stdout
    assert "`attn-course grade`" in whole_run.stdout


def test_junit_xml_has_the_points(whole_run, folder):
    cases = ElementTree.parse(folder / "report.xml").iter("testcase")
    noted = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in cases
    }
    assert noted["01.average_pooling"] == {"points": "2", "max_points": "2"}
    assert noted["01.gaussian_weights"] == {"points": "0", "max_points": "3"}
    assert noted["01.kernel_weights"] == {"points": "0", "max_points": "3"}
    assert noted["01.train_and_test"] == {"points": "0", "max_points": "4"}
    assert noted["02.compare"]["points"] == "0"
    assert noted["test_mine"] == {}


def test_nothing_is_written_beside_the_notebooks(whole_run, folder):
    assert not (folder / "my-exercises" / ".attn-course").exists()


# Options of pytest

SOME = ("-v", "-k", "average_pooling or gaussian_weights", HERE.removesuffix("::"))


def test_under_all_exercises_what_is_not_written_fails(folder):
    done = run_pytest(folder, *WITHOUT_OTHERS, "-v", "--all-exercises", f"{HERE}01.NadarayaWatson")
    assert outcomes(done) == {f"{HERE}01.NadarayaWatson": "failed"}
    assert "To do: A model with one parameter" in section(done, "01.NadarayaWatson")
    assert done.returncode == 1


def test_one_exercise_can_be_named(folder):
    done = run_pytest(folder, *WITHOUT_OTHERS, "-v", f"{HERE}01.average_pooling")
    assert outcomes(done) == {f"{HERE}01.average_pooling": "passed"}
    assert done.returncode == 0


def test_x_stops_at_the_first_that_fails_and_lf_goes_on_with_it(folder, tmp_path):
    shutil.copytree(folder / "my-exercises", tmp_path / "my-exercises")
    stopped = run_pytest(tmp_path, *WITHOUT_OTHERS, "-v", "-x", HERE.removesuffix("::"))
    assert list(outcomes(stopped).values()) == ["passed", "failed"]
    again = run_pytest(tmp_path, *WITHOUT_OTHERS, "-v", "--lf", "my-exercises")
    assert outcomes(again) == {f"{HERE}01.gaussian_weights": "failed"}


@pytest.mark.parametrize("distribution", ["load", "loadfile"])
def test_two_workers_find_the_same(folder, distribution):
    done = run_pytest(folder, *WITHOUT_OTHERS, "-n", "2", "--dist", distribution, *SOME)
    assert outcomes(done) == {
        f"{HERE}01.average_pooling": "passed",
        f"{HERE}01.gaussian_weights": "failed",
    }
    assert "attn-course: 2 of 5 points." in done.stdout
    assert "[sums to one over the queries]" in done.stdout
    for word in CODE_OF_PRIVATE_FILES:
        assert word not in done.stdout


# What it costs those who have other things to test

LOOK = """
import sys

def test_what_is_loaded():
    heavy = {"numpy", "torch", "matplotlib", "nbformat", "attn_course.practice.exercises"}
    assert "attn_course.practice.pytest_plugin" in sys.modules
    assert heavy & set(sys.modules) == set()
"""


def test_nothing_heavy_is_loaded_for_other_tests_and_notebooks(tmp_path):
    (tmp_path / "test_other.py").write_text(LOOK)
    (tmp_path / "01_x.ipynb").write_text(foreign("1 + 1"))
    done = run_pytest(tmp_path, *WITHOUT_OTHERS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "attn-course:" not in done.stdout


def test_the_courses_own_tests_have_no_notebook_among_them():
    """So that `make test`, which looks in these two folders, checks no exercise."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'testpaths = ["tests", "attn_course"]' in settings
    assert [
        path for name in ("tests", "attn_course") for path in (ROOT / name).rglob("*.ipynb")
    ] == []


# In a checkout, with the settings of this project


@pytest.fixture
def checkout(folder, tmp_path):
    """A folder with the Makefile and the settings of the project, and its environment."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "environment.sh").write_text("")  # the environment is there
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return tmp_path


def make(checkout, *words):
    return subprocess.run(
        ["make", *words], cwd=checkout, capture_output=True, text=True, check=False
    )


def test_make_test_mine_checks_the_exercises_in_my_folder(checkout, folder):
    shutil.copytree(folder / "my-exercises", checkout / "my-exercises")
    done = make(
        checkout,
        "test-mine",
        f"ARGS={' '.join(WITHOUT_OTHERS)} -v -k 'average_pooling or gradient_step'",
    )
    assert outcomes(done) == {
        f"{HERE}01.average_pooling": "passed",
        f"{HERE}01.gradient_step": "failed",
    }
    assert "Not yet: " in section(done, "01.gradient_step")  # its warning is no error
    assert done.returncode == 2


def test_make_test_mine_says_how_to_begin(checkout):
    done = make(checkout, "test-mine")
    assert done.returncode == 2
    assert "there is no my-exercises/ yet: `make lab` " in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


# nbval

UNTOUCHED = {REGRESSION: f"untouched_{REGRESSION}.ipynb", ROTATORY: f"untouched_{ROTATORY}.ipynb"}


@pytest.fixture(scope="module")
def nbval_folder(tmp_path_factory):
    """Two right notebooks, run by somebody who came back to them; and some that are not right."""
    made = tmp_path_factory.mktemp("nbval")
    for number in ("01", "05b"):
        exercise = next(iter(exercises.chapters()[number].exercises.values()))
        progress.load(made).record(exercise.check(exercise.local(exercise.reference)))
    where, quiet = {"metadata": {"path": str(made)}}, ["--log-level=ERROR"]
    for stem in (REGRESSION, ROTATORY):
        right = nbformat.reads(notebook(stem, solutions(stem)), as_version=4)
        client = NotebookClient(
            right, kernel_name="python3", resources=where, extra_arguments=quiet
        )
        client.execute()
        nbformat.write(right, made / f"{stem}.ipynb")
        (made / UNTOUCHED[stem]).write_text(notebook(stem))
    answers = {"average_pooling": RIGHT_POOLING, "gaussian_weights": WRONG_WEIGHTS}
    text = notebook(REGRESSION, answers, without=["kernel_weights-answer"])
    (made / "mixed.ipynb").write_text(text)
    return made


def run_nbval(folder, option, *files):
    return run_pytest(folder, option, "--nbval-current-env", "-rpf", *files)


@pytest.fixture(scope="module")
def compared(nbval_folder):
    """What `pytest --nbval` says: it compares what cells show with what they showed before."""
    files = [f"{REGRESSION}.ipynb", f"{ROTATORY}.ipynb", UNTOUCHED[ROTATORY]]
    return run_nbval(nbval_folder, "--nbval", *files)


@pytest.fixture(scope="module")
def only_run(nbval_folder):
    """What `pytest --nbval-lax` says."""
    files = [f"{ROTATORY}.ipynb", UNTOUCHED[REGRESSION], "mixed.ipynb"]
    return run_nbval(nbval_folder, "--nbval-lax", *files)


def cells(done, file):
    """Return how the cells of a file went, in order."""
    pattern = rf"^(PASSED|FAILED) {re.escape(file)}::Cell (\d+)"
    found = re.findall(pattern, done.stdout, flags=re.MULTILINE)
    return [word.lower() for word, _number in sorted(found, key=lambda one: int(one[1]))]


def code_cells(stem):
    return [cell for cell in json.loads(notebook(stem))["cells"] if cell["cell_type"] == "code"]


def test_right_notebooks_pass_under_nbval(compared, only_run):
    for done, stem in ((compared, REGRESSION), (compared, ROTATORY), (only_run, ROTATORY)):
        assert cells(done, f"{stem}.ipynb") == ["passed"] * len(code_cells(stem)), done.stdout


@pytest.mark.parametrize(("run", "stem"), [("compared", ROTATORY), ("only_run", REGRESSION)])
def test_every_check_of_an_untouched_notebook_fails_under_nbval(run, stem, request):
    found = cells(request.getfixturevalue(run), UNTOUCHED[stem])
    checks = [
        word
        for word, cell in zip(found, code_cells(stem), strict=True)
        if cell["id"].endswith("-check")
    ]
    assert checks == ["failed"] * len(solutions(stem))


def test_nothing_is_collected_twice_with_nbval(compared, only_run):
    for done in (compared, only_run):
        assert done.returncode == 1
        assert re.findall(r"::\d\d\w?\.\w+", done.stdout) == []
        assert "attn-course:" not in done.stdout


def test_under_nbval_a_check_fails_its_cell_with_its_text(only_run):
    # The first cell; answer and check: right, wrong; the check of what no cell defines.
    words = ["passed", "passed", "passed", "passed", "failed", "failed"]
    assert cells(only_run, "mixed.ipynb")[:6] == words
    assert "Not yet: Look nearby with Gaussian weights (points: 0 of 3)" in only_run.stdout
    assert "[sums to one over the queries]" in only_run.stdout
    assert "name 'kernel_weights' is not defined" in only_run.stdout
    assert "Not written yet: fill in NadarayaWatson" in only_run.stdout


@pytest.mark.parametrize(
    ("exercise_id", "answer", "sentence"),
    [
        (1, 2, "The name of the exercise comes first"),
        ("01.average_poling", len, "Did you mean average_pooling?"),
        ("01.average_pooling", 2.0, "You handed over a float"),
    ],
)
def test_a_check_that_is_called_wrongly_fails_its_cell_too(
    monkeypatch, exercise_id, answer, sentence
):
    assert sentence in check(exercise_id, answer).text()
    monkeypatch.setenv(CELLS_MUST_PASS, "1")
    with pytest.raises(NotPassed, match=re.escape(sentence)):
        check(exercise_id, answer)


def test_in_place_of_a_traceback_a_cell_shows_what_the_check_says(only_run):
    assert "NotPassed: Not yet: Look nearby with Gaussian weights" in only_run.stdout
    assert "practice/__init__.py" not in only_run.stdout


def test_grading_with_nbval_still_asks_only_whether_cells_run(monkeypatch):
    monkeypatch.setenv(CELLS_MUST_PASS, "1")
    kernel = FreshKernel(Rung("E"), Limits(submission_seconds=60))
    assert kernel.run(notebook(ROTATORY).encode()) == "yes"
