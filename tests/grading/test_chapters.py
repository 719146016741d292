"""Every solution gets full marks on every rung, and every untouched exercise none."""

import pytest

from attn_course.grading.grade_one import grade_cells
from attn_course.grading.limits import Limits
from attn_course.grading.sandbox import Sandbox
from attn_course.practice.exercises import chapters
from attn_course.practice.notebook import Cell, read_notebook
from attn_course.practice.release import read_source
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
    source = read_source(ROOT / "solutions" / f"{chapter.stem}.md")
    solved = [Cell(n, cell.kind, cell.text) for n, cell in enumerate(source, start=1)]
    record = graded(sandbox, solved, chapter)
    wrong = [(one.id, one.verdict, one.notes) for one in record.exercises if one.mistake]
    assert (record.points, wrong) == (record.max_points, [])
    untouched = read_notebook(ROOT / "exercises" / f"{chapter.stem}.ipynb").cells
    assert graded(sandbox, untouched, chapter).points == 0
