"""Check exercise notebooks with pytest: one test for each exercise, named by its id.

    pytest my-exercises                           every notebook of the course in the folder
    pytest my-exercises/01_nadaraya_watson.ipynb
    pytest my-exercises -k gaussian_weights
    pytest my-exercises --all-exercises           exercises not written yet fail instead of being
                                                  skipped

It runs the notebook's own code in this process, so it is for your own files and for those that you
trust; `attn-course grade` is for strangers'. Other notebooks are left alone.

Together with nbval (`pytest --nbval-lax my-exercises`) cells are nbval's to run. A check in a
notebook then fails its cell where the answer is wrong or missing: `CELLS_MUST_PASS` in the
environment tells the kernel so.

pytest loads this file in every run where the package is installed, so nothing heavy is imported
before a notebook of the course is found.
"""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attn_course.practice import CELLS_MUST_PASS

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.results import Result
    from attn_course.practice.selection import Answers

_COURSE_MARK = b"practice.check("
_notebooks = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of this plugin."""
    parser.getgroup("attn-course", "exercises of the course on attention").addoption(
        "--all-exercises",
        action="store_true",
        help="exercises that are not written yet fail instead of being skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell the kernels that nbval starts that a check must fail its cell."""
    if _nbval_collects(config):
        os.environ[CELLS_MUST_PASS] = "1"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the environment as it was."""
    if _nbval_collects(config):
        os.environ.pop(CELLS_MUST_PASS, None)


def _nbval_collects(config: pytest.Config) -> bool:
    return any(config.getoption(name, default=False) for name in ("nbval", "nbval_lax"))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CourseNotebook | None":
    """Collect a notebook of the course, unless nbval does."""
    if file_path.suffix != ".ipynb" or _nbval_collects(parent.config):
        return None
    try:
        is_ours = _COURSE_MARK in file_path.read_bytes()
    except OSError:
        return None
    if not is_ours:
        return None
    from attn_course.practice.exercises import chapters
    from attn_course.practice.numbers import chapter_of_file

    if chapter_of_file(file_path.name, chapters()) is None:
        return None
    parent.config.stash[_notebooks] = parent.config.stash.get(_notebooks, 0) + 1
    return CourseNotebook.from_parent(parent, path=file_path)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was run."""
    if config.stash.get(_notebooks, 0):
        terminalreporter.write_line(
            "attn-course: the code of these notebooks ran in this process; "
            "for other people's notebooks use `attn-course grade`."
        )


class NotPassed(Exception):  # noqa: N818  (an answer is not right; nothing broke)
    """An answer that is not right: the text is what the check says."""


class CourseNotebook(pytest.File):
    """A notebook of the course."""

    def collect(self) -> Iterator["ExerciseItem"]:
        """Yield a test for each exercise."""
        from attn_course.practice.exercises import chapters
        from attn_course.practice.numbers import chapter_of_file

        chapter = chapter_of_file(self.path.name, chapters())
        assert chapter is not None  # or this file would not have been collected
        for exercise in chapter.exercises.values():
            yield ExerciseItem.from_parent(self, name=exercise.id, exercise=exercise)

    @cached_property
    def answers(self) -> "Answers":
        """What the notebook defines; its code runs when the first of its tests does."""
        from attn_course.practice.exercises import chapters
        from attn_course.practice.numbers import chapter_of_file
        from attn_course.practice.selection import answers_from

        os.environ.setdefault("MPLBACKEND", "Agg")  # a plot in an answer must not open a window
        chapter = chapter_of_file(self.path.name, chapters())
        assert chapter is not None
        return answers_from(self.path, chapter.exercises)


class ExerciseItem(pytest.Item):
    """One exercise of a notebook."""

    def __init__(self, exercise: "Exercise", **others: Any) -> None:
        super().__init__(**others)
        self.exercise = exercise

    def runtest(self) -> None:
        """Check the answer."""
        from attn_course.practice.feedback import Feedback
        from attn_course.practice.notebook import NotebookProblem
        from attn_course.practice.report import report_of
        from attn_course.practice.results import Verdict

        assert isinstance(self.parent, CourseNotebook)
        exercise = self.exercise
        try:
            answers = self.parent.answers
        except NotebookProblem as fault:
            raise NotPassed(str(fault)) from fault
        notes = answers.problems_of(exercise.name)
        if exercise.name not in answers.values:
            self._note_points(0)
            raise NotPassed("\n".join(notes) or f"No cell defines {exercise.name}.")
        result = self._checked(answers.values[exercise.name])
        self._note_points(result.points)
        if result.verdict is Verdict.TODO and not self.config.getoption("all_exercises"):
            pytest.skip(Feedback(report_of(result)).text().splitlines()[0])
        if result.verdict is not Verdict.PASSED:
            raise NotPassed("\n".join([Feedback(report_of(result)).text(), *notes]))

    def _checked(self, answer: Any) -> "Result":
        return self.exercise.check(self.exercise.local(answer))

    def _note_points(self, points: int) -> None:
        """Put the points into the report, from where JUnit XML takes them."""
        self.user_properties.append(("points", points))
        self.user_properties.append(("max_points", self.exercise.points))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what the check says, without a traceback of ours."""
        if isinstance(excinfo.value, NotPassed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the name under which a failure is headed."""
        return self.path, None, self.name
