"""From solutions to exercises: no answer leaks, the same bytes each time, mistakes located."""

import json

import nbformat
import pytest

from attn_course.practice.release import (
    ReleaseProblem,
    exercise_notebook,
    exercise_notebooks,
    stale_files,
)
from tests.practice.small_course import SOURCE, small_chapter


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "solutions" / "77_small.md"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


@pytest.fixture
def cells(source):
    found = json.loads(exercise_notebook(source, small_chapter()))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in found}


def test_cells_have_stable_ids_in_the_order_of_the_source(cells):
    assert list(cells) == [
        "cell-01",
        "cell-02",
        *(f"double-{part}" for part in ("task", "answer", "check")),
        *(f"count-{part}" for part in ("task", "answer", "check")),
        *(f"Scale-{part}" for part in ("task", "answer", "check")),
        *(f"mean-{part}" for part in ("task", "answer", "check")),
        "cell-03",
    ]


def test_no_answer_and_no_explanation_is_left(cells):
    text = "\n".join(cells.values())
    for secret in ("secret_sum", "count = 6", "self.w * x", "SOLUTION", "STUB", "nobody may see"):
        assert secret not in text
    assert "shown with the solution only" not in text


def test_every_kind_of_exercise_gets_its_stub(cells):
    todo = 'raise NotImplementedError("Your answer goes here, instead of this line.")'
    assert cells["double-answer"] == f'def double(x):\n    """Return twice x."""\n    {todo}'
    assert cells["count-answer"] == "count = None  # your answer"
    assert cells["Scale-answer"].count(f"        {todo}") == 2
    assert (
        cells["mean-answer"] == "def mean(x):\n    total = sum(x)\n    return total / (len(x) - 1)"
    )


def test_a_task_shows_the_particulars_and_folds_the_hints(cells):
    task = cells["Scale-task"]
    for part in ("Exercise 3: scaling", "Learn about scaling.", "★★☆ medium", "about 5 minutes"):
        assert part in task
    assert "3 points" in task
    assert "`77.Scale`" in task
    assert task.count("<details><summary>Hint ") == 3
    assert "1 point ·" in cells["count-task"]


def test_the_notebook_is_valid_has_no_outputs_and_is_the_same_each_time(source):
    text = exercise_notebook(source, small_chapter())
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    assert text == exercise_notebook(source, small_chapter())
    assert text.endswith("}\n")


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        (
            "    return secret_sum\n    ### END SOLUTION",
            "    return secret_sum",
            "    ### BEGIN SOLUTION\n    secret_sum",
            "not closed by ### END SOLUTION",
        ),
        (
            "    ### BEGIN SOLUTION\n    secret",
            "    secret",
            "    ### END SOLUTION",
            "### END SOLUTION without ### BEGIN SOLUTION",
        ),
        (
            "    secret_sum = x + x",
            "    ### BEGIN SOLUTION",
            "    ### BEGIN SOLUTION\n    return",
            "inside the region that line 30 begins",
        ),
        ('practice.check("77.count", count)', "pass", "How many?", "'count' has no check cell"),
        ("count = 6\n", "count = 6\n", None, None),  # control: nothing changed, nothing wrong
        (
            "### BEGIN SOLUTION\ncount = 6\n### END SOLUTION",
            "count = 6",
            "How many?",
            "'count' has no answer cell",
        ),
        ('"exercise": "mean"', '"exercise": "meen"', "Find the bug.", "no exercise 'meen'"),
        ('"exercise": "mean"', '"exercise": "count"', "Find the bug.", "a second time"),
        (
            'practice.check("77.mean", mean)',
            'practice.check("77.men", mean)',
            'practice.check("77.men"',
            "checks '77.men', but the task before it is '77.mean'",
        ),
        (
            "### STUB: total = sum(x)",
            "### STUB: total = sum(x",
            "def mean(x):",
            "the stub of 'mean' is not valid Python",
        ),
        (
            "### BEGIN SOLUTION\ncount = 6",
            "### BEGIN SOLUTION\n### STUB: cuont = None\ncount = 6",
            "### BEGIN SOLUTION\n### STUB: cuont",
            "does not define 'count'",
        ),
        (
            "import torch\n\nfrom",
            "### BEGIN SOLUTION\n### END SOLUTION\nfrom",
            "import numpy",
            "a solution before the first task",
        ),
    ],
)
def test_a_wrong_source_is_told_with_file_and_line(source, old, new, at, words):
    text = SOURCE.replace(old, new, 1)
    source.write_text(text)
    if words is None:
        assert exercise_notebook(source, small_chapter())
        return
    with pytest.raises(ReleaseProblem) as caught:
        exercise_notebook(source, small_chapter())
    assert str(caught.value).startswith(f"{source}:{line_of(text, at)}: ")
    assert words in str(caught.value)


def test_an_exercise_that_the_source_forgets_is_named(source):
    source.write_text(SOURCE[: SOURCE.index('+++ {"exercise": "mean"}')])
    with pytest.raises(ReleaseProblem, match=r"77_small\.md:1: chapter 77 also has mean"):
        exercise_notebook(source, small_chapter())


def test_a_second_answer_cell_is_refused(source):
    again = "```{code-cell}\n### BEGIN SOLUTION\ncount = 6\n### END SOLUTION\n```\n\n"
    at = SOURCE.index('```{code-cell}\npractice.check("77.count"')
    source.write_text(SOURCE[:at] + again + SOURCE[at:])
    with pytest.raises(ReleaseProblem, match="'count' has a second answer cell"):
        exercise_notebook(source, small_chapter())


def test_a_source_without_chapter_and_a_chapter_without_source_are_told(source):
    chapter = small_chapter()
    with pytest.raises(ReleaseProblem, match="there is no chapter '77_small'"):
        exercise_notebooks(source.parents[1], {})
    source.unlink()
    with pytest.raises(ReleaseProblem, match=r"no source 77_small\.md"):
        exercise_notebooks(source.parents[1], {"77": chapter})


def test_stale_missing_and_stray_files_are_found(source, tmp_path):
    wanted = exercise_notebooks(tmp_path, {"77": small_chapter()})
    folder = tmp_path / "exercises"
    folder.mkdir()
    assert stale_files(folder, wanted) == {"77_small.ipynb": "missing"}
    path = folder / "77_small.ipynb"
    path.write_text(wanted[path.name], newline="\n")
    assert stale_files(folder, wanted) == {}
    path.write_text(wanted[path.name] + "\n", newline="\n")
    (folder / "78_other.ipynb").write_text("{}")
    stale = stale_files(folder, wanted)
    assert stale[path.name] == "differs from its source"
    assert stale["78_other.ipynb"] == "has no source in solutions/"
