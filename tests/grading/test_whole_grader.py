"""The grader with its real sandbox, as a program of its own: graded, killed, and gone on with."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from attn_course.grading.gradebook import Gradebook, content_of
from tests.grading import fixture_chapter
from tests.grading.fixture_chapter import STUBS, WRONG_ROWS, notebook_bytes

PROGRAM = (
    "import argparse, sys; from attn_course.grading import command; "
    "top = argparse.ArgumentParser(); command.add_parser(top.add_subparsers()); "
    "arguments = top.parse_args(['grade', *sys.argv[1:]]); sys.exit(arguments.run(arguments))"
)
CLASS = {
    "ann": notebook_bytes(),
    "bob": notebook_bytes(row_weights=WRONG_ROWS),
    "cem": notebook_bytes(**STUBS),
    "dia": notebook_bytes(squares="import os\ndef squares(x):\n    os._exit(1)"),
    "eve": notebook_bytes(
        squares="import ctypes\nnothing = ctypes.string_at(0)\nsquares = nothing"
    ),
    "fay": b"no notebook",
    "gil": notebook_bytes(
        row_weights="def row_weights(scores):\n"
        "    return torch.nn.functional.normalize(torch.as_tensor(scores), p=1, dim=-1)"
    ),
}
POINTS = {"ann": 12, "bob": 10, "cem": 0, "dia": 10, "eve": 10, "fay": None, "gil": 12}


@pytest.fixture
def command(tmp_path):
    """The command line that grades the class into the folder `out`."""
    for learner, content in CLASS.items():
        path = tmp_path / "in" / learner / "88_fixture.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    checks = ["--checks", fixture_chapter.__file__, "--chapters", "88", "--seed", "7"]
    trusted = ["--i-trust-these-files"]  # where there is no sandbox, these are our own
    return [sys.executable, "-c", PROGRAM, str(tmp_path / "in"), *checks, *trusted]


def test_a_class_is_graded_and_a_killed_run_goes_on_to_the_same_gradebook(command, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = subprocess.run([*command, "--out", str(whole), "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr  # one file is no notebook
    results = json.loads(done.stdout)["results"]
    assert {one["learner"]: one["points"] for one in results} == POINTS
    statuses = {one["learner"]: one["status"] for one in results}
    assert (statuses["dia"], statuses["eve"]) == ("crashed", "crashed")
    notes = {one["learner"]: one["exercises"][0]["notes"] for one in results if one["exercises"]}
    assert notes["ann"] == []
    assert "without torch.nn.functional.normalize" in notes["gil"][0]  # and full points

    ours, theirs = os.pipe()
    run = subprocess.Popen(
        [*command, "--out", str(killed), "--jobs", "2"],
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[theirs],
    )
    os.close(theirs)
    for line in run.stderr:  # a plain line for each notebook, as there is no terminal
        if line.startswith("grading: 2 of"):
            break
    run.kill()
    run.wait()
    run.stderr.close()
    assert os.read(ours, 1) == b""  # nothing is left that had inherited the other end
    os.close(ours)
    assert 1 <= number_of_results(killed) < len(CLASS)

    subprocess.run([*command, "--out", str(killed)], capture_output=True, check=False)
    with Gradebook(whole) as one, Gradebook(killed) as other:
        assert content_of(other) == content_of(one)


def number_of_results(folder: Path) -> int:
    connection = sqlite3.connect(folder / "gradebook.sqlite")
    (count,) = connection.execute("SELECT count(*) FROM results").fetchone()
    connection.close()
    return count
