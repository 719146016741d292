"""Solutions run as notebooks from top to bottom, and nbval does compare what it is given."""

import os
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("[0-9][0-9]*_*.md"))


def run_nbval(option: str, notebook: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest with nbval on one notebook, without the project's own pytest settings."""
    settings = notebook.with_suffix(".ini")
    settings.write_text("[pytest]\n")
    options = ["-q", "-c", settings, "--rootdir", notebook.parent, "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "ATTN_COURSE_HOME": str(notebook.parent)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", option, "--nbval-current-env", *options, notebook],
        capture_output=True,
        text=True,
        check=False,
        cwd=notebook.parent,
        env=environment,
    )


def test_there_are_solutions():
    assert SOLUTIONS


@pytest.mark.parametrize("source", SOLUTIONS, ids=lambda source: source.stem)
def test_a_solution_runs_from_top_to_bottom(source, tmp_path):
    notebook = tmp_path / f"{source.stem}.ipynb"
    nbformat.write(jupytext.read(source, fmt="md:myst"), notebook)
    done = run_nbval("--nbval-lax", notebook)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def a_notebook_that_shows(tmp_path, number: int) -> Path:
    output = new_output("execute_result", {"text/plain": str(number)}, execution_count=1)
    cell = new_code_cell("2 + 2", execution_count=1, outputs=[output])
    path = tmp_path / "canary.ipynb"
    nbformat.write(new_notebook(cells=[cell]), path)
    return path


def test_a_falsified_number_fails_under_nbval(tmp_path):
    done = run_nbval("--nbval", a_notebook_that_shows(tmp_path, 5))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout


def test_the_true_number_passes_under_nbval(tmp_path):
    """Without this control, the canary might have died of something else."""
    done = run_nbval("--nbval", a_notebook_that_shows(tmp_path, 4))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_raising_cell_fails_under_nbval_lax(tmp_path):
    path = tmp_path / "raises.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    assert run_nbval("--nbval-lax", path).returncode == 1
