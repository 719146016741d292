"""Every solution gets full marks on every rung, and every untouched exercise none."""

import pytest

from attn_course.authoring.source import read_cells
from attn_course.grading.feedback_page import page
from attn_course.grading.grade_one import grade_cells
from attn_course.grading.gradebook import Entry
from attn_course.grading.sandbox import Sandbox
from attn_course.inside.limits import Limits
from attn_course.inside.notebook import Cell, read_notebook
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict
from tests.grading.available_rungs import ROOT, SANDBOXES, rung_or_skip

SEED = 3
SECONDS = 300  # for a whole notebook: a slow machine is no fault of a solution's


@pytest.fixture(scope="module", params=SANDBOXES)
def sandbox(request):
    with Sandbox(rung_or_skip(request.param), Limits(call_seconds=60)) as made:
        yield made


def graded(sandbox, cells, chapter):
    return grade_cells(sandbox, cells, chapter, SEED, "notebook", SECONDS)


@pytest.mark.parametrize("chapter", chapters().values(), ids=lambda chapter: chapter.number)
def test_solutions_get_full_marks_and_untouched_exercises_none(sandbox, chapter):
    source = read_cells(ROOT / "solutions" / f"{chapter.stem}.md")
    solved = [Cell(n, cell.kind, cell.text) for n, cell in enumerate(source, start=1)]
    record = graded(sandbox, solved, chapter)
    wrong = [
        (one.id, one.verdict, one.mistake, one.notes)
        for one in record.exercises
        if one.verdict is not Verdict.PASSED
    ]
    assert (record.points, wrong) == (record.max_points, [])
    untouched = graded(
        sandbox, read_notebook(ROOT / "exercises" / f"{chapter.stem}.ipynb").cells, chapter
    )
    assert untouched.points == 0
    given = {one.id for one in chapter.exercises.values() if one.task == "find the bug"}
    unwritten = [one for one in untouched.exercises if one.id not in given]
    assert {one.verdict for one in unwritten} == {Verdict.TODO}
    words = page(Entry("ann", chapter.stem, "c", "v", sandbox.rung.letter, 0.0, untouched))
    assert words.count("Not written.") + words.count("Not answered.") == len(unwritten)
    assert "run this again" not in words
