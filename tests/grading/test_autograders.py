"""Autograders for other systems: what can't be run here is parsed, and the harness is run."""

import io
import json
import shutil
import subprocess
import zipfile
from importlib import metadata

import pytest
import yaml

from attn_course import cli
from attn_course.grading import gradescope_harness, isolation_trial, jobs, sandbox
from attn_course.grading.autograders import classroom_workflow, gradescope_zip, requirements
from attn_course.grading.isolation import Rung
from attn_course.grading.isolation_trial import NoSandbox
from attn_course.practice import exercises
from attn_course.practice.exercises import chapters
from tests.grading.downloads import RIGHT, WRONG
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, chapter


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(exercises, "chapters", lambda: CHAPTERS)
    monkeypatch.setattr(gradescope_harness, "chapters", lambda: CHAPTERS)
    monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: FakeSandbox())
    monkeypatch.setattr(isolation_trial, "find_rung", lambda wanted: Rung("A", "Isolation."))
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    return tmp_path


SECRET = """
from attn_course.practice.exercise import Case

def extend(chapters):
    @chapters["88"].exercises["squares"].cases(points=2, label="secret")
    def _cases(rng):
        yield Case(rng.normal(size=3))
"""


def unpacked(here, *, checks=SECRET, **others):
    """Gradescope's folder, as its container has it."""
    (here / "mine").mkdir()
    (here / "mine" / "secret.py").write_text(checks)
    content = gradescope_zip([chapter], here / "mine", **others)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(here / "autograder" / "source")
    (here / "autograder" / "submission").mkdir()
    return here / "autograder"


def graded(place, **files):
    for name, content in files.items():
        (place / "submission" / f"{name}.ipynb").write_bytes(content)
    gradescope_harness.main(place)
    return json.loads((place / "results" / "results.json").read_text("utf-8"))


def test_the_zip_has_what_gradescope_asks_for_and_the_course(here):
    content = gradescope_zip([chapter], None)
    assert content == gradescope_zip([chapter], None)  # the same files, the same zip
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        modes = {one.filename: one.external_attr >> 16 for one in archive.infolist()}
        options = json.loads(archive.read("options.json"))
    assert {"setup.sh", "run_autograder", "requirements.txt"} <= set(names)
    assert {"attn_course/inside/worker.py", "attn_course/grading/gradescope_harness.py"} & set(
        names
    )
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert options == ["--chapters", "88"]


@pytest.mark.parametrize("name", ["setup.sh", "run_autograder"])
def test_its_scripts_are_scripts(here, name):
    place = unpacked(here)
    bash = shutil.which("bash")
    assert bash, "bash is needed to read the scripts"
    subprocess.run([bash, "-n", place / "source" / name], check=True)
    assert (place / "source" / name).read_text().startswith("#!/usr/bin/env bash\n")


def test_it_pins_what_the_package_needs_and_nothing_of_the_extras():
    pins = dict(line.split("==") for line in requirements())
    assert pins["numpy"] == metadata.version("numpy")
    assert "+" not in pins["torch"]
    assert "pytest" not in pins


def test_a_submission_is_graded_whatever_its_notebook_is_called(here):
    results = graded(unpacked(here), **{"my work (2)": RIGHT})
    assert results["score"] == 14
    assert [test["name"] for test in results["tests"]][:3] == [
        *("88.row_weights", "88.squares", "88.squares, further checks"),
    ]


def test_private_checks_are_hidden(here):
    results = graded(unpacked(here), **{"88_fixture": WRONG})
    hidden = [test for test in results["tests"] if test.get("visibility") == "hidden"]
    assert [test["name"] for test in hidden] == ["88.squares, further checks"]
    assert results["score"] == 12
    assert "secret" not in json.dumps([t for t in results["tests"] if t not in hidden])


def test_of_two_notebooks_the_one_with_its_own_name_counts(here):
    results = graded(unpacked(here), **{"88_fixture (1)": WRONG, "88_fixture": RIGHT})
    assert results["score"] == 14


def test_without_a_notebook_there_is_no_score_and_the_reason(here):
    results = graded(unpacked(here))
    assert "score" not in results
    assert "There is no notebook of this chapter" in results["output"]


def test_a_container_without_a_sandbox_grades_nothing_and_says_so(here, monkeypatch):
    def refuse(wanted):
        raise NoSandbox("There is none.")

    monkeypatch.setattr(isolation_trial, "find_rung", refuse)
    results = graded(unpacked(here), **{"88_fixture": RIGHT})
    assert "score" not in results
    assert "which is not your fault: the container allows no sandbox" in results["output"]


def test_a_zip_made_for_containers_without_a_sandbox_says_so_to_the_grader(here):
    place = unpacked(here, without_sandbox=True)
    assert "--i-trust-these-files" in json.loads((place / "source" / "options.json").read_text())


def test_our_own_failure_is_no_zero(here):
    place = unpacked(here)
    (place / "source" / "options.json").write_text("nonsense")
    results = graded(place, **{"88_fixture": RIGHT})
    assert "score" not in results
    assert "score" not in results["tests"][0]
    assert "which is not your fault: JSONDecodeError" in results["output"]


def test_several_notebooks_are_one_result():
    one = {"score": 3, "tests": [{"name": "a", "score": 3, "max_score": 3}], "output": "A."}
    other = {"score": 2, "tests": [{"name": "b", "score": 2, "max_score": 5}]}
    blank = {"tests": [{"name": "c", "output": "Not judged."}], "output": "Why."}
    both = gradescope_harness._together([one, other])
    assert (both["score"], len(both["tests"]), both["output"]) == (5, 2, "A.")
    none = gradescope_harness._together([one, blank])
    assert "score" not in none
    assert not [test for test in none["tests"] if "score" in test or "max_score" in test]


def test_the_workflow_has_a_step_for_each_exercise_and_adds_them_up():
    known = chapters()["01"]
    found = yaml.safe_load(classroom_workflow([known], "attn-course==1.2.3"))
    steps = found["jobs"]["run-autograding-tests"]["steps"]
    graders = [one for one in steps if "command-grader" in one.get("uses", "")]
    assert [one["with"]["test-name"] for one in graders] == [
        exercise.id for exercise in known.exercises.values()
    ]
    assert sum(one["with"]["max-score"] for one in graders) == known.points
    reporter = steps[-1]
    ids = [one["id"] for one in graders]
    assert reporter["with"]["runners"].split(",") == ids
    assert reporter["env"] == {
        f"{one.upper()}_RESULTS": f"${{{{steps.{one}.outputs.result}}}}" for one in ids
    }
    assert graders[0]["with"]["command"] == (
        "pytest --all-exercises '01_nadaraya_watson.ipynb::01.average_pooling'"
    )


@pytest.mark.parametrize("install", ["git+https://example.org/a b.git", "a: b # c", "x\ny"])
def test_what_is_installed_is_one_word_of_one_command(install):
    found = yaml.safe_load(classroom_workflow([chapters()["01"]], install))
    run = next(
        one["run"] for one in found["jobs"]["run-autograding-tests"]["steps"] if "run" in one
    )
    assert run.count("\n") == 1
    assert f"'{' '.join(install.split())}' pytest" in run


@pytest.mark.parametrize(
    ("system", "name"), [("gradescope", "gradescope.zip"), ("classroom", "classroom.yml")]
)
def test_the_command_writes_the_file_and_says_that_it_is_untested(here, capsys, system, name):
    assert cli.main(["autograder", system, "--chapters", "88", "--out", "made"]) == 0
    assert f"untested there: made/{name}" in capsys.readouterr().out
    assert (here / "made" / name).stat().st_size > 1000


@pytest.mark.parametrize(
    "words",
    [
        ["gradescope", "--chapters", "99"],
        ["gradescope", "--chapters", "88", "--install", "x"],
        ["gradescope", "--chapters", "88", "--checks", "nothing"],
        ["classroom", "--chapters", "88", "--checks", "mine"],
        ["classroom", "--chapters", "88", "--without-sandbox"],
        ["classroom"],
    ],
)
def test_what_can_not_be_made_is_wrong_use(here, words):
    assert cli.main(["autograder", *words]) == 2
