"""nbgrader and `otter run` on the same class: seconds for a notebook, and the points they give."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.grader import learners

_POINTS_OF_NBGRADER = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({s.student.id: s.score for s in book.assignment_submissions("ps")}))
"""


class Measured(NamedTuple):
    """Seconds for one more notebook, and everybody's points."""

    seconds: float
    points: dict[str, float]


def nbgrader(python: Path, folder: Path, count: int) -> Measured:
    """Autograde so many notebooks; starting the program is not counted, as it happens once."""
    learners.for_nbgrader(folder, count)
    (folder / "nbgrader_config.py").write_text("c = get_config()\n")
    _nbgrader(python, folder, "generate_assignment", "ps", "--create")
    first, others = learners.learner(0), "learner????"
    alone = _nbgrader(python, folder, "autograde", "ps", "--create", "--student", first)
    together = _nbgrader(
        python, folder, "autograde", "ps", "--create", "--force", "--student", others
    )
    said = _run([python, "-c", _POINTS_OF_NBGRADER], folder)
    return Measured((together - alone) / (count - 1), json.loads(said.splitlines()[-1]))


def otter(python: Path, folder: Path, count: int) -> Measured:
    """Run so many notebooks one by one, which is how `otter run` is made."""
    learners.for_otter(folder, count)
    program = [python, "-m", "otter"]
    _run([*program, "generate", "-t", "tests", "-o", "autograder.zip", "--no-environment"], folder)
    Path(folder, "results").mkdir()
    points, seconds = {}, 0.0
    for number in range(count):
        name = learners.learner(number)
        start = time.monotonic()
        _run([*program, "run", f"{name}.ipynb", "-a", "autograder.zip", "-o", "results"], folder)
        seconds += time.monotonic() - start
        found = json.loads(Path(folder, "results", "results.json").read_text())
        points[name] = sum(test.get("score", 0) for test in found["tests"])
    return Measured(seconds / count, points)


PEERS = {"nbgrader": nbgrader, "otter": otter}


def _nbgrader(python: Path, folder: Path, *words: str) -> float:
    start = time.monotonic()
    _run([python, "-m", "nbgrader", *words], folder)
    return time.monotonic() - start


def _run(command: list[str | Path], folder: Path) -> str:
    """Run a program of the peer's in `folder`; return what it printed."""
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout
