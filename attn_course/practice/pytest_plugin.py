"""Check exercise notebooks with pytest: one test for each exercise, named by its id.

    pytest my-exercises                           every notebook of the course in the folder
    pytest my-exercises/01_nadaraya_watson.ipynb
    pytest my-exercises -k gaussian_weights
    pytest my-exercises --all-exercises           exercises not written yet fail instead of being
                                                  skipped

A failure is what the check says. The points are in the report (`user_properties`), so `--junitxml`
writes them down. It runs the notebook's own code in this process, so it is for your own files and
for those that you trust; `attn-course grade` is for strangers'. Other notebooks are left alone.

Together with nbval (`pytest --nbval-lax my-exercises`) cells are nbval's to run. A check in a
notebook then fails its cell where the answer is wrong or missing: `CELLS_MUST_PASS` in the
environment tells the kernel so.

pytest loads this file in every run where the package is installed, so nothing heavy is imported
before a notebook of the course is found.
"""

import os
import re
import warnings
from collections.abc import Generator, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attn_course.inside.notebook import NotebookProblem, notebook_from_bytes
from attn_course.practice import CELLS_MUST_PASS
from attn_course.practice.numbers import Misuse, chapter_of_file, exercise_named, number_in
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.inside.selection import Answers
    from attn_course.practice.checking import Checked
    from attn_course.practice.exercise import Chapter, Exercise

_CHECK = rb"practice\.check\(\s*\\?[\"']([\w.]+)"  # as it is written in JSON


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of this plugin."""
    parser.getgroup("attn-course", _("notebooks of the course on attention")).addoption(
        "--all-exercises",
        action="store_true",
        help=_("exercises that are not written yet fail instead of being skipped"),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tell the kernels that nbval starts that a check must fail its cell."""
    if _nbval_collects(config):
        patch = pytest.MonkeyPatch()
        patch.setenv(CELLS_MUST_PASS, "1")
        config.add_cleanup(patch.undo)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CourseNotebook | None":
    """Collect a notebook of the course, unless nbval does."""
    if file_path.suffix != ".ipynb" or _nbval_collects(parent.config):
        return None
    chapter = _chapter_of(file_path)
    if chapter is None:
        return None
    return CourseNotebook.from_parent(parent, path=file_path, chapter=chapter)


@pytest.hookimpl(hookwrapper=True)  # not `wrapper`: somebody's pytest may be older
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Say of a skipped exercise that it is skipped in its notebook, and not in this file."""
    outcome = yield
    report = outcome.get_result()
    if isinstance(item, ExerciseItem) and isinstance(report.longrepr, tuple):
        _file, _line, reason = report.longrepr
        report.longrepr = (str(item.path), 1, reason)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many points there are, and what was run."""
    points = most = 0
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        if isinstance(report, pytest.TestReport) and report.when == "call":
            noted: dict[str, Any] = dict(report.user_properties)
            if "max_points" in noted:
                points += noted["points"]
                most += noted["max_points"]
    if most:
        sentence = _(
            "attn-course: {points} of {most} points. The notebooks' own code ran in this process; "
            "for other people's notebooks there is `attn-course grade`."
        )
        terminalreporter.write_line(sentence.format(points=points, most=most))


def _nbval_collects(config: pytest.Config) -> bool:
    return any(config.getoption(name, default=False) for name in ("nbval", "nbval_lax"))


def _chapter_of(path: Path) -> "Chapter | None":
    """Return the chapter whose exercises the notebook `path` is about, or None.

    That is what its checks are about. Where nothing can be read any more, the name will do: such a
    file was a notebook of the course, and its owner should hear of it.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checked = re.findall(_CHECK, content) if b"attn_course" in content else []
    if not checked and (number_in(path.name) is None or _is_notebook(path, content)):
        return None
    from attn_course.practice.exercises import chapters

    known = chapters()
    for word in checked:
        try:
            return exercise_named(word.decode(errors="replace"), known).chapter
        except Misuse:
            continue
    named = chapter_of_file(path.name, known)
    return named if named and not checked and path.name.startswith(named.stem) else None


def _is_notebook(path: Path, content: bytes) -> bool:
    try:
        notebook_from_bytes(path, content)
    except NotebookProblem:
        return False
    return True


class CourseNotebook(pytest.File):
    """A notebook of the course."""

    def __init__(self, chapter: "Chapter", **others: Any) -> None:
        super().__init__(**others)
        self.chapter = chapter

    def collect(self) -> Iterator["ExerciseItem"]:
        """Yield a test for each exercise."""
        for exercise in self.chapter.exercises.values():
            yield ExerciseItem.from_parent(self, name=exercise.id, exercise=exercise)

    @cached_property
    def answers(self) -> "Answers":
        """What the chosen tests need of the notebook; it runs when the first of them does."""
        from attn_course.inside.selection import answers_from

        chosen = [
            item.exercise.name
            for item in self.session.items
            if isinstance(item, ExerciseItem) and item.parent is self
        ]
        return answers_from(self.path, chosen)


class ExerciseItem(pytest.Item):
    """One exercise of a notebook."""

    def __init__(self, exercise: "Exercise", **others: Any) -> None:
        super().__init__(**others)
        self.exercise = exercise

    def runtest(self) -> None:
        """Check the answer."""
        from attn_course.practice.results import Verdict

        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            if "MPLBACKEND" not in os.environ:  # a plot in an answer must not open a window
                patch.setenv("MPLBACKEND", "Agg")
            warnings.simplefilter("ignore")  # whatever the settings of the project it is in
            found = self._found()
        points = 0 if isinstance(found, NotebookProblem) else found.points
        self.user_properties.append(("points", points))
        self.user_properties.append(("max_points", self.exercise.points))
        if isinstance(found, NotebookProblem):
            pytest.fail(str(found), pytrace=False)
        if found.verdict is Verdict.TODO:
            if not self.config.getoption("all_exercises"):
                pytest.skip(found.headline())
            pytest.fail(found.headline(), pytrace=False)
        if found.verdict is not Verdict.PASSED:
            pytest.fail("\n".join([found.text(), *found.advice()]), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file and the words above a failure."""
        heading = _("{id} in {file}").format(id=self.name, file=self.path.name)
        return self.path, None, heading

    def _found(self) -> "Checked | NotebookProblem":
        """Return what came of the check, or what is the matter with the whole file."""
        from attn_course.inside.submission import FirstPrints
        from attn_course.practice.checking import Checked

        assert isinstance(self.parent, CourseNotebook)
        exercise = self.exercise
        try:
            answers = self.parent.answers
        except NotebookProblem as fault:
            return fault
        notes = answers.problems_of(exercise.name)
        if exercise.name not in answers.values:
            return Checked(exercise, None, notes, exercise.name in answers.undefined)
        submission = FirstPrints(exercise.local(answers.values[exercise.name]))
        result = exercise.check(submission, closer=True)
        print(submission.printed, end="")
        return Checked(exercise, result, notes)
