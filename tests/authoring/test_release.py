"""From solutions to what learners get: no answer leaks, the same bytes, mistakes located."""

import json

import nbformat
import pytest

from attn_course.authoring.release import (
    COMPILED,
    NOTEBOOKS,
    release,
    stale_files,
    wanted_files,
)
from attn_course.authoring.source import SourceProblems
from attn_course.practice.exercises import chapter_from
from tests.practice.small_course import (
    SOURCE,
    STEM,
    released_course,
    small_definition,
    write_small_course,
)

NOTEBOOK, CHECKS = NOTEBOOKS / f"{STEM}.ipynb", COMPILED / f"{STEM}.json"


@pytest.fixture
def source(tmp_path):
    return write_small_course(tmp_path)


@pytest.fixture
def cells(source):
    found = json.loads(released_course(source).notebook)["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in found}


# The notebook


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


def test_no_answer_no_mistake_and_no_explanation_is_left(cells):
    text = "\n".join(cells.values())
    for secret in ("secret_sum", "count = 6", "self.w * x", "SOLUTION", "STUB", "afterwards only"):
        assert secret not in text
    for mistake in ("squares", "You squared", "from_zero", "counted from zero", "one too few"):
        assert mistake not in text
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
        assert task.count(part) == 1
    assert "3 points" in task
    assert "`77.Scale`" in task
    assert "A module with a weight" in task
    assert task.count("<details><summary>Hint ") == 3
    assert "look closer" in task
    assert "1 point ·" in cells["count-task"]


def test_the_notebook_is_valid_has_no_outputs_and_is_the_same_each_time(source):
    text = released_course(source).notebook
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    assert released_course(source) == released_course(source)
    assert text.endswith("}\n")


# What is compiled


@pytest.fixture
def compiled(source):
    return json.loads(released_course(source).compiled)


def test_the_compiled_file_has_all_that_a_person_reads(compiled):
    assert compiled["title"] == "A small chapter"
    assert compiled["sections"] == {
        "other": ["Another section", STEM],
        "small": ["A small section", STEM],
    }
    double, count, scale, mean = compiled["exercises"]
    assert (double["title"], double["goal"]) == ("doubling", "Learn about doubling.")
    assert (double["difficulty"], double["minutes"], double["section"]) == (1, 5, "small")
    assert double["hints"] == ["look", "look closer", "nearly the answer"]
    assert double["explanation"] == "The explanation, for afterwards only."
    assert [one["kind"] for one in (double, count, scale, mean)] == [
        *("function", "value", "module", "function")
    ]
    assert [one["task"] for one in (double, mean)] == ["implement", "find the bug"]
    assert [one["points"] for one in compiled["exercises"]] == [2, 1, 3, 1]


def test_the_compiled_file_has_the_programs_of_solutions_and_mistakes(compiled):
    double, count, scale, mean = compiled["exercises"]
    assert double["answer"].endswith("secret_sum = x + x\n    return secret_sum")
    assert double["program"] == double["answer"] + "\n"
    assert scale["program"].startswith("import torch\nclass Scale(")
    (squares,) = double["mistakes"]
    assert squares["name"] == "squares"
    assert squares["section"] == "other"
    assert squares["program"] == double["program"].replace("x + x", "x**2")
    (from_zero,) = count["mistakes"]
    assert from_zero["program"] == "count = 5\n"
    (as_handed_out,) = mean["mistakes"]
    assert "len(x) - 1" in as_handed_out["program"]


def test_the_compiled_file_has_the_very_notebook_and_says_where_it_comes_from(source, compiled):
    assert compiled["notebook"] == json.loads(released_course(source).notebook)
    assert f"solutions/{STEM}.md" in compiled["generated"]


def test_a_chapter_is_read_from_it_with_mistakes_from_both_places(compiled):
    chapter = chapter_from(compiled)
    assert (chapter.number, chapter.title, chapter.points) == ("77", "A small chapter", 7)
    assert chapter.pages == {"small": STEM, "other": STEM}
    mean = chapter.exercises["mean"]
    mean.load = lambda: small_definition(STEM, "mean")
    assert [known.name for known in mean.mistakes] == ["divides_by_one_too_few", "median"]
    assert list(mean.variants) == ["the_solution", "the_solution_in_single_precision"]


# A wrong source


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
            "inside the region that line 34 begins",
        ),
        ('practice.check("77.count", count)', "pass", "## counting", "'count' has no check cell"),
        ("count = 6\n", "count = 6\n", None, None),  # control: nothing changed, nothing wrong
        (
            "### BEGIN SOLUTION\ncount = 6\n### END SOLUTION",
            "count = 6",
            "## counting",
            "'count' has no answer cell",
        ),
        ('"exercise": "mean"', '"exercise": "count"', "## a bug", "a second time"),
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
        assert released_course(source).notebook
        return
    with pytest.raises(SourceProblems) as caught:
        released_course(source)
    told = [line for line in str(caught.value).split("\n") if words in line]
    assert len(told) == 1, str(caught.value)
    assert told[0].startswith(f"{source}:{line_of(text, at)}: ")


def test_all_problems_of_all_sources_are_told_at_once_in_order(source, tmp_path):
    text = SOURCE.replace('"minutes": 5, ', "", 1).replace("`x + x` -> ", "`x + y` -> ", 1)
    source.write_text(text)
    other = source.with_name("78_other.md")
    other.write_text(SOURCE.replace("77.", "78.").replace("1. look\n", "", 1))
    with pytest.raises(SourceProblems) as caught:
        release(tmp_path, small_definition)
    first, second, third = str(caught.value).split("\n")
    assert first == f'{source}:{line_of(text, "## doubling")}: the metadata need "minutes", ' + (
        "a whole number"
    )
    assert second.startswith(f"{source}:{line_of(text, 'squares:')}: there is no `x + y`")
    assert third.startswith(f"{other}:")
    assert "'double' needs 3 hints" in third


def test_an_exercise_without_python_is_named_with_the_command_that_writes_it(source):
    text = SOURCE.replace('"exercise": "mean"', '"exercise": "meen"')
    text = text.replace("77.mean", "77.meen").replace("def mean", "def meen")
    source.write_text(text)
    with pytest.raises(SourceProblems) as caught:
        released_course(source)
    sentence = str(caught.value)
    assert sentence.startswith(f"{source}:{line_of(text, '## a bug')}: ")
    assert "attn_course/practice/exercises/small/meen.py does not define 'meen'" in sentence
    assert "`attn-course new`" in sentence
    assert "\n" not in sentence


def test_a_second_answer_cell_is_refused(source):
    again = "```{code-cell}\n### BEGIN SOLUTION\ncount = 6\n### END SOLUTION\n```\n\n"
    at = SOURCE.index('```{code-cell}\npractice.check("77.count"')
    source.write_text(SOURCE[:at] + again + SOURCE[at:])
    with pytest.raises(SourceProblems, match="'count' has a second answer cell"):
        released_course(source)


# Files


def test_a_source_without_a_number_is_no_source(source, tmp_path):
    source.with_name("README.md").write_text("Notes for authors.")
    assert list(release(tmp_path, small_definition)) == [STEM]


def test_stale_missing_and_stray_files_of_both_kinds_are_found(source, tmp_path):
    wanted = wanted_files(release(tmp_path, small_definition))
    assert list(wanted) == [NOTEBOOK, CHECKS]
    assert stale_files(tmp_path, wanted) == {NOTEBOOK: "missing", CHECKS: "missing"}
    for name, text in wanted.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
    assert stale_files(tmp_path, wanted) == {}
    for name, text in wanted.items():
        (tmp_path / name).write_text(text + "\n", encoding="utf-8", newline="\n")
        (tmp_path / name).with_stem("78_other").write_text("{}")
    assert stale_files(tmp_path, wanted) == {
        NOTEBOOK: "differs from its source",
        CHECKS: "differs from its source",
        NOTEBOOK.with_stem("78_other"): "has no source in solutions/",
        CHECKS.with_stem("78_other"): "has no source in solutions/",
    }
