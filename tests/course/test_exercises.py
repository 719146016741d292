"""The proof for every exercise of every chapter: stub, solution, mistakes, variants, mutants.

With `-s` it prints the table of mistakes; `attn-course selftest` prints it too.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from attn_course.practice.equivalents import EQUIVALENT
from attn_course.practice.exercises import chapters
from attn_course.practice.notebook import Cell, read_notebook
from attn_course.practice.release import (
    BEGIN,
    END,
    STUB,
    exercise_notebooks,
    read_source,
    stale_files,
)
from attn_course.practice.selection import Answers, answers_from, answers_in, without_magics
from attn_course.practice.selftest import examine, report
from attn_course.practice.submission import SerialisedSubmission
from attn_course.practice.survivors import WANTED_RATE, solution_in, try_mutants

# A known mistake may well divide by zero: its feedback matters here, not NumPy's warning.
pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
CHAPTERS = list(chapters().values())
EXERCISES = [exercise for chapter in CHAPTERS for exercise in chapter.exercises.values()]
SEED = 7
ALLOWED_IMPORTS = ("numpy", "torch", "matplotlib", "attn_course.practice")

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.number)
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)


def source_of(chapter):
    return ROOT / "solutions" / f"{chapter.stem}.md"


def notebook_of(chapter):
    return ROOT / "exercises" / f"{chapter.stem}.ipynb"


@cache
def source_cells(chapter):
    return read_source(source_of(chapter))


@cache
def solutions(chapter) -> Answers:
    """Return what the solutions of a chapter define."""
    cells = [
        Cell(number, cell.kind, cell.text)
        for number, cell in enumerate(source_cells(chapter), start=1)
    ]
    return answers_in(cells, chapter.exercises)


@cache
def stubs(chapter) -> Answers:
    """Return what an untouched exercise notebook defines."""
    return answers_from(notebook_of(chapter), chapter.exercises)


@cache
def regions_and_rest(chapter) -> tuple[dict[str, list[str]], set[str]]:
    """Return the lines of each exercise's solution, marks included, and all that learners may see.

    A later exercise may hand out a line that an earlier one asks for: that is seen on purpose.
    """
    regions, rest, current, inside = {}, set(), None, False
    for cell in source_cells(chapter):
        current = cell.metadata.get("exercise", current)
        for line in cell.text.split("\n"):
            inside = inside or line.strip() == BEGIN
            if inside:
                regions.setdefault(current, []).append(line)
            if STUB in line:
                rest.add(line.split(STUB)[1].strip())
            elif not inside and not cell.is_solution_only:
                rest.add(line.strip())
            inside = inside and line.strip() != END
    return regions, rest


def region(exercise) -> list[str]:
    return regions_and_rest(exercise.chapter)[0][exercise.name]


def solution_lines(exercise):
    """Return the lines of the solution that give something away."""
    lines = [line.strip() for line in region(exercise)]
    return [line for line in lines if line and not line.startswith("#")]


def both_ways(exercise, answers):
    """Return the results of a check made directly and through the wire."""
    submission = exercise.local(answers.values[exercise.name])
    direct = exercise.check(submission, seed=SEED)
    submission = exercise.local(answers.values[exercise.name])
    return direct, exercise.check(SerialisedSubmission(submission), seed=SEED)


def test_there_are_exercises():
    assert EXERCISES


@each_exercise
def test_the_stub_earns_nothing_and_is_to_do_or_a_bug_with_a_name(exercise):
    handed_out = stubs(exercise.chapter)
    assert handed_out.problems_of(exercise.name) == []
    gives_code = any(STUB in line for line in region(exercise))
    for result in both_ways(exercise, handed_out):
        assert result.points == 0
        if result.status == "todo":
            continue
        # Find the bug: what is handed out is wrong in a way that the check knows.
        assert gives_code, f"the stub of {exercise.id} does not raise NotImplementedError"
        assert result.status == "failed"
        assert result.misconception is not None


@each_exercise
def test_the_solution_earns_all_points(exercise):
    answers = solutions(exercise.chapter)
    assert answers.problems_of(exercise.name) == []
    for result in both_ways(exercise, answers):
        assert result.status == "passed", result.failure
        assert result.points == exercise.points


@pytest.mark.parametrize(
    "through",
    [lambda submission: submission, SerialisedSubmission],
    ids=["directly", "on the wire"],
)
@each_exercise
def test_every_mistake_is_rejected_by_name_and_every_variant_accepted(exercise, through):
    examined = examine(exercise, seeds=[SEED], through=through)
    print("\n" + report([examined]))
    assert examined.survived == (), "these mistakes passed"
    assert examined.unnamed == (), "these mistakes were not called by their own names"
    assert examined.rejected == (), "these right answers were rejected"


@each_exercise
def test_mutants_of_the_solution_are_rejected(exercise):
    trial = try_mutants(solution_in(source_cells(exercise.chapter), exercise))
    passed = "\n".join(f"{mutant.kind}: {mutant.change}" for mutant in trial.unexplained)
    assert trial.rate >= WANTED_RATE, (
        f"{trial.killed} of {trial.wrong} wrong mutants were rejected. Add cases that show these, "
        f"or say in practice/equivalents.py why nothing can:\n{passed}"
    )
    assert trial.stale == (), "explained in practice/equivalents.py, and no such mutant passes"


def test_only_exercises_that_exist_have_mutants_explained():
    assert set(EQUIVALENT) <= {exercise.id for exercise in EXERCISES}


@each_exercise
def test_there_are_three_mistakes_and_two_variants_at_least_with_names_and_messages(exercise):
    names = [known.name for known in exercise.misconceptions]
    messages = [known.message.strip() for known in exercise.misconceptions]
    assert len(names) >= 3
    assert len(exercise.variants) >= 2
    assert len(set(names)) == len(names)
    assert len(set(messages)) == len(messages), "two mistakes share a message"
    assert all(messages)


@each_exercise
def test_the_metadata_are_complete(exercise):
    assert exercise.name.isidentifier()
    assert exercise.title.strip()
    assert exercise.difficulty in (1, 2, 3)
    assert 1 <= exercise.minutes <= 90
    assert 1 <= exercise.points <= 10
    assert all(group.points >= 1 and group.label.strip() for group in exercise.groups)
    assert len(exercise.hints) == 3
    assert all(isinstance(hint, str) and hint.strip() for hint in exercise.hints)
    assert len(set(exercise.hints)) == 3


@each_exercise
def test_the_goal_is_one_sentence(exercise):
    assert re.fullmatch(r"[^\n]*[.?]", exercise.goal)
    assert not re.search(r"[.?!]\s+[A-Z]", exercise.goal)


@each_exercise
def test_the_sections_to_read_have_their_headings_in_the_book(exercise):
    pages = sorted((ROOT / "book").glob(f"{exercise.chapter.number}*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    headings = dict(re.findall(r"^\(([^)\s]+)\)=\n#+ (.+)$", text, re.M))
    wanted = {exercise.section, *(known.section for known in exercise.misconceptions)}
    assert wanted <= exercise.chapter.sections.keys()
    for label in wanted:
        assert exercise.chapter.sections[label] == headings.get(label)


@each_exercise
def test_no_answer_is_in_the_exercise(exercise):
    _regions, seen_on_purpose = regions_and_rest(exercise.chapter)
    cells = read_notebook(notebook_of(exercise.chapter)).cells
    code = {
        line.strip() for cell in cells if cell.kind == "code" for line in cell.source.split("\n")
    }
    answer = solution_lines(exercise)
    assert [line for line in answer if line in code - seen_on_purpose] == []
    if len(answer) > 1:  # and not as a whole either, be it in prose or in a hint
        whole = "\n".join(line.strip() for cell in cells for line in cell.source.split("\n"))
        assert "\n".join(answer) not in whole


@each_chapter
def test_nothing_that_is_for_the_solution_alone_is_in_the_exercise(chapter):
    whole = "\n".join(cell.source for cell in read_notebook(notebook_of(chapter)).cells)
    left_out = [cell for cell in source_cells(chapter) if cell.is_solution_only]
    assert [cell.line for cell in left_out if cell.text.strip() in whole] == []
    for mark in (BEGIN, END, STUB):
        assert mark not in whole


@each_chapter
def test_an_exercise_notebook_imports_only_what_a_grader_has(chapter):
    imported = set()
    for cell in read_notebook(notebook_of(chapter)).cells:
        tree = ast.parse(without_magics(cell.source)) if cell.kind == "code" else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    allowed = tuple(f"{name}." for name in ALLOWED_IMPORTS)
    strangers = [name for name in sorted(imported) if not f"{name}.".startswith(allowed)]
    assert strangers == []


@each_chapter
def test_an_exercise_notebook_is_valid_and_has_four_to_eight_exercises(chapter):
    import nbformat

    nbformat.validate(nbformat.read(notebook_of(chapter), as_version=4))
    assert 4 <= len(chapter.exercises) <= 8


def test_the_exercises_are_what_the_solutions_say():
    wanted = exercise_notebooks(ROOT, chapters())
    stale = stale_files(ROOT / "exercises", wanted)
    assert stale == {}, "mend it with `attn-course release` or `make exercises`"
