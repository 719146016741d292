"""A class of learners: the same answers as a notebook for ours, for nbgrader, for otter-grader.

Of five learners two have everything right, one made one mistake, one made three, and one has
written half of it. Nothing is random: the n-th learner always hands in the same.
"""

import json
from pathlib import Path

from benchmarks.grader.assignment import PIECES, SETUP, SIZES, Piece, chapter, source_of_test

SEED = 7
PERIOD = 5  # so many learners are a fair sample of the class
FILE = f"{chapter.stem}.ipynb"


def learner(number: int) -> str:
    """Return the name of the n-th learner."""
    return f"learner{number:04d}"


def answers(number: int) -> list[str]:
    """Return what the n-th learner wrote, exercise by exercise."""
    kind, turn = number % PERIOD, number // PERIOD
    wrong = {2: 1, 3: 3}.get(kind, 0)
    mistaken = {(turn + 3 * i) % len(PIECES) for i in range(wrong)}
    written = []
    for place, piece in enumerate(PIECES):
        if kind == 4 and place % 2:
            written.append(piece.stub)
        else:
            written.append(piece.wrong if place in mistaken else piece.right)
    return written


def for_ours(folder: Path, count: int) -> None:
    """Write `folder`/<learner>/90_benchmark.ipynb for so many learners."""
    for number in range(count):
        cells = [_code(f"# {learner(number)}\n{SETUP}\nfrom attn_course import practice")]
        for piece, answer in zip(PIECES, answers(number), strict=True):
            check = f'practice.check("{chapter.number}.{piece.name}", {piece.name})'
            cells += [_code(answer), _code(check)]
        _write(folder / learner(number) / FILE, cells)


def for_nbgrader(course: Path, count: int) -> None:
    """Write the source of the assignment and what so many learners handed in."""
    _write(course / "source" / "ps" / "ps.ipynb", _for_nbgrader([p.right for p in PIECES], 0))
    for number in range(count):
        cells = _for_nbgrader(answers(number), number)
        _write(course / "submitted" / learner(number) / "ps" / "ps.ipynb", cells)


def for_otter(folder: Path, count: int) -> None:
    """Write the tests of the assignment and what so many learners handed in."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    for piece in PIECES:
        (tests / f"{piece.name}.py").write_text(_otter_test(piece))
    for number in range(count):
        cells = [_code(f"# {learner(number)}\n{SETUP}"), *map(_code, answers(number))]
        _write(folder / f"{learner(number)}.ipynb", cells)


def _for_nbgrader(written: list[str], number: int) -> list[dict]:
    cells = [_code(f"# {learner(number)}\n{SETUP}")]
    for piece, answer in zip(PIECES, written, strict=True):
        solution = {"grade": False, "solution": True, "locked": False}
        cells.append(_marked(_code(answer), piece.name, solution))
        for label, size in SIZES.items():
            test = {"grade": True, "solution": False, "locked": True, "points": 1}
            source = source_of_test(piece, size, SEED)
            cells.append(_marked(_code(source), f"{piece.name}_{label}", test))
    return cells


def _otter_test(piece: Piece) -> str:
    """Return a test file in otter's newer form, where a test is a function."""
    lines = ["from otter.test_files import test_case", "OK_FORMAT = False"]
    lines += [f"name = {piece.name!r}", f"points = {len(SIZES)}", SETUP]
    for label, size in SIZES.items():
        lines += [f"@test_case(points=1)\ndef test_{label}({piece.name}):"]
        lines += [f"    {line}" for line in source_of_test(piece, size, SEED).splitlines()]
    return "\n".join(lines) + "\n"


def _code(source: str) -> dict:
    empty = {"execution_count": None, "metadata": {}, "outputs": []}
    return {"cell_type": "code", "source": source, **empty}


def _marked(cell: dict, name: str, marks: dict) -> dict:
    marks = {"grade_id": name, "schema_version": 3, "task": False, **marks}
    return cell | {"metadata": {"nbgrader": marks}}


def _write(path: Path, cells: list[dict]) -> None:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = [cell | {"id": f"cell{place}"} for place, cell in enumerate(cells)]
    content = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | {"nbformat_minor": 5}, indent=1))
