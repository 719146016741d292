"""The proof for every exercise of every chapter: stub, solution, mistakes, variants, mutants.

With `-s` it prints the table of mistakes; `attn-course selftest` prints it too.
"""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from attn_course.authoring.release import release, source_chapter, stale_files, wanted_files
from attn_course.authoring.selftest import examine, report
from attn_course.authoring.source import BEGIN, END, STUB_LINE
from attn_course.authoring.survivors import WANTED_RATE, solution_in, try_mutants
from attn_course.inside.notebook import Cell, read_notebook
from attn_course.inside.selection import Answers, answers_from, answers_in, without_magics
from attn_course.inside.submission import SerialisedSubmission
from attn_course.practice import exercises
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict
from tests.what_changed import mutants, to_test

# A known mistake may well divide by zero: its feedback matters here, not NumPy's warning.
pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
CHAPTERS = list(chapters().values())
EXERCISES = [exercise for chapter in CHAPTERS for exercise in chapter.exercises.values()]
SEED = 7
ALLOWED_IMPORTS = ("collections", "numpy", "torch", "matplotlib", "attn_course.practice")

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.number)
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)


def notebook_of(chapter):
    return ROOT / "exercises" / f"{chapter.stem}.ipynb"


@cache
def source_of(chapter):
    return source_chapter(ROOT, chapter.stem)


@cache
def solutions(chapter) -> Answers:
    """Return what the solutions of a chapter define."""
    cells = [
        Cell(number, cell.kind, cell.text)
        for number, cell in enumerate(source_of(chapter).cells, start=1)
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
    for cell in source_of(chapter).cells:
        current = cell.metadata.get("exercise", current)
        for line in cell.text.split("\n"):
            inside = inside or line.strip() == BEGIN
            if inside:
                regions.setdefault(current, []).append(line)
            if STUB_LINE in line:
                rest.add(line.split(STUB_LINE)[1].strip())
            elif not inside and not cell.is_for_authors:
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
    gives_code = any(STUB_LINE in line for line in region(exercise))
    for result in both_ways(exercise, handed_out):
        assert result.points == 0
        if result.verdict is Verdict.TODO:
            continue
        # Find the bug: what is handed out is wrong in a way that the check knows.
        assert gives_code, f"the stub of {exercise.id} does not raise NotImplementedError"
        assert result.verdict is Verdict.FAILED
        assert result.mistake is not None


@each_exercise
def test_the_solution_earns_all_points(exercise):
    answers = solutions(exercise.chapter)
    assert answers.problems_of(exercise.name) == []
    for result in both_ways(exercise, answers):
        assert result.verdict is Verdict.PASSED, result.failure
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


@pytest.mark.parametrize("name", to_test("mutants", mutants()))
def test_mutants_of_the_solution_are_rejected(name):
    (exercise,) = (one for one in EXERCISES if one.id == name)
    trial = try_mutants(solution_in(source_of(exercise.chapter), exercise))
    passed = "\n".join(f"{mutant.kind}: {mutant.change}" for mutant in trial.unexplained)
    assert trial.rate >= WANTED_RATE, (
        f"{trial.killed} of {trial.wrong} wrong mutants were rejected. Add cases that show these, "
        f"or say in a cell tagged `equivalent` why nothing can:\n{passed}"
    )
    assert trial.stale == (), "explained in a cell tagged `equivalent`, and no such mutant passes"


@each_exercise
def test_there_are_three_mistakes_and_two_variants_at_least_with_names_and_messages(exercise):
    names = [known.name for known in exercise.mistakes]
    assert len(names) >= 3
    assert len(exercise.definition.variants) >= 2, "the solution itself does not count"
    assert len(exercise.variants) > len(exercise.definition.variants)
    assert len(set(names)) == len(names)
    assert all(known.message.strip() for known in exercise.mistakes)


def test_the_names_of_exercises_are_unique_in_a_chapter_with_all_its_notebooks():
    """So that `05.name` is unambiguous, whether 05, 05b or 05c has it."""
    found = Counter((exercise.chapter.number[:2], exercise.name) for exercise in EXERCISES)
    assert [name for name, count in found.items() if count > 1] == []


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
    pages = sorted((ROOT / "book").glob(f"{exercise.chapter.number[:2]}*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    headings = dict(re.findall(r"^\(([^)\s]+)\)=\n#+ (.+)$", text, re.M))
    wanted = {exercise.section, *(known.section for known in exercise.mistakes)}
    assert wanted <= exercise.chapter.sections.keys()
    for label in wanted:
        assert exercise.chapter.sections[label] == headings.get(label)
        page = ROOT / "book" / f"{exercise.chapter.pages[label]}.md"
        assert f"({label})=\n" in page.read_text(encoding="utf-8")


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
def test_nothing_that_is_for_authors_alone_is_in_the_exercise(chapter):
    whole = "\n".join(cell.source for cell in read_notebook(notebook_of(chapter)).cells)
    left_out = [cell for cell in source_of(chapter).cells if cell.is_for_authors]
    assert left_out
    assert [cell.line for cell in left_out if cell.text.strip() in whole] == []
    for exercise in source_of(chapter).exercises.values():
        for entry in exercise.mistakes + exercise.equivalents:
            assert entry.name not in whole
            assert entry.message not in whole
    for mark in (BEGIN, END, STUB_LINE):
        assert mark not in whole


@each_chapter
def test_the_notebook_that_the_package_brings_is_the_one_in_the_folder(chapter):
    brought = exercises.compiled(chapter.stem)["notebook"]
    assert brought == json.loads(notebook_of(chapter).read_text(encoding="utf-8"))


@each_chapter
def test_every_python_file_of_a_chapter_belongs_to_an_exercise_of_its_source(chapter):
    folder = exercises.FOLDER / chapter.stem.partition("_")[2]
    files = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert files == set(chapter.exercises)


def test_every_folder_of_exercises_has_a_source():
    folders = {path.parent.name for path in exercises.FOLDER.glob("*/__init__.py")}
    assert folders == {chapter.stem.partition("_")[2] for chapter in CHAPTERS}


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
def test_an_exercise_notebook_is_valid_and_has_three_to_eight_exercises(chapter):
    import nbformat

    nbformat.validate(nbformat.read(notebook_of(chapter), as_version=4))
    assert 3 <= len(chapter.exercises) <= 8


def test_notebooks_and_compiled_files_are_what_the_solutions_say():
    wanted = wanted_files(release(ROOT))
    assert {name.suffix for name in wanted} == {".ipynb", ".json"}
    assert len(wanted) == 2 * len(CHAPTERS)
    stale = stale_files(ROOT, wanted)
    assert stale == {}, "write them with `attn-course release` or `make exercises`"


# Without PyTorch


def imports_torch(program, everywhere=True):
    """Return whether a program imports PyTorch, `everywhere` in it or on its outermost level."""
    tree = ast.parse(program)
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import) and any(one.name.startswith("torch") for one in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            return True
    return False


def does_without_torch(exercise):
    """Return whether neither the Python of an exercise nor its solution imports PyTorch.

    A variant may: it is a function that imports it when it is called.
    """
    topic = exercise.chapter.stem.partition("_")[2]
    python = (exercises.FOLDER / topic / f"{exercise.name}.py").read_text(encoding="utf-8")
    return not (imports_torch(python, everywhere=False) or imports_torch(exercise.solution.program))


CHECK_WITHOUT_TORCH = """
import json, sys, warnings
sys.modules["torch"] = None  # from here on, to import it is an error
warnings.simplefilter("ignore")
from attn_course.practice.exercise import run_program
from attn_course.practice.exercises import chapters
from attn_course.practice.numbers import exercise_named

found = {}
for name in sys.argv[1:]:
    exercise = exercise_named(name, chapters())
    known = exercise.mistakes[0]
    try:
        right = run_program(exercise.solution.program, exercise.name)
        passed = exercise.check(exercise.local(right), seed=7)
        failed = exercise.check(exercise.local(known.answer), seed=7)
        found[name] = [passed.verdict, failed.mistake and failed.mistake.name, known.name]
    except ImportError as fault:
        found[name] = [str(fault)]
assert sys.modules["torch"] is None
print(json.dumps(found))
"""


def test_exercises_that_are_numpy_alone_are_checked_where_there_is_no_torch():
    names = [exercise.id for exercise in EXERCISES if does_without_torch(exercise)]
    assert len(names) >= 26
    done = subprocess.run(
        [sys.executable, "-c", CHECK_WITHOUT_TORCH, *names],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == names
    wanted = {name: ["passed", told[-1], told[-1]] for name, told in found.items()}
    assert found == wanted


RUN_AND_LOOK = """
import json, sys
from attn_course.cli import main
from attn_course.practice import check

def heavy():
    return sorted({"torch", "matplotlib"} & set(sys.modules))

found = {}
for words in (["start", "."], ["hint", "01.average_pooling"], ["progress"]):
    code = main(words)
    found[words[0]] = [code, heavy()]
right = check("01.average_pooling", lambda queries, values: [values.mean()] * len(queries))
found["a right answer"] = [right.report.verdict, heavy()]
wrong = check("01.average_pooling", lambda queries, values: values.mean())
found["a wrong answer"] = [wrong.report.mistake, heavy()]
shown = [one.text() + one._repr_html_() for one in (right, wrong)]
found["what is shown"] = [all(shown), heavy()]
print("FOUND" + json.dumps(found))
"""


def test_what_a_learner_does_first_loads_neither_torch_nor_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_COURSE_HOME", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", RUN_AND_LOOK],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.partition("FOUND")[2]) == {
        "start": [0, []],
        "hint": [0, []],
        "progress": [0, []],
        "a right answer": ["passed", []],
        "a wrong answer": ["one_number_for_all_queries", []],
        "what is shown": [True, []],
    }
