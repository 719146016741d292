"""Check the answers in a notebook file: what `attn-course check` and `attn-course watch` share."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_course.inside.notebook import NotebookProblem, read_notebook
from attn_course.inside.selection import answers_from, defined_names
from attn_course.practice import exercises
from attn_course.practice.classroom import classroom
from attn_course.practice.exercise import Exercise
from attn_course.practice.feedback import Feedback
from attn_course.practice.numbers import Misuse, chapter_of_file
from attn_course.practice.progress import Progress
from attn_course.practice.report import report_of
from attn_course.practice.results import Result, Verdict
from attn_course.practice.terminal import Paint, in_quotes, plain, quiet
from attn_course.translate import _

FORMAT = 1  # of the JSON: it changes when a key goes away or means something else


@dataclass(frozen=True)
class Checked:
    """How one exercise of a file went; without a result there was no answer to check."""

    exercise: Exercise
    result: Result | None
    notes: Sequence[str]
    is_undefined: bool = False
    with_solution: bool = False  # whether a right answer is told where to see others

    @property
    def verdict(self) -> Verdict:
        """How the check went."""
        return self.result.verdict if self.result else Verdict.MISSING

    @property
    def points(self) -> int:
        """What was earned."""
        return self.result.points if self.result else 0

    @property
    def is_unwritten(self) -> bool:
        """Whether there is nothing to judge yet."""
        return self.result is None or (self.verdict is Verdict.TODO and not self.points)

    def headline(self, paint: Paint = plain) -> str:
        """Return the check in one line."""
        fields = {"title": self.exercise.title, "id": self.exercise.id}
        if self.result is None:
            return paint(_("Not found: {title} ({id})").format(**fields), "red")
        if self.is_unwritten:
            return paint(_("To do: {title} ({id})").format(**fields), "grey")
        return Feedback(report_of(self.result)).text(paint).splitlines()[0]

    def text(self, paint: Paint = plain) -> str:
        """Return all that the check says."""
        if self.result is None:
            return self.headline(paint)
        return Feedback(report_of(self.result, self.with_solution)).text(paint)

    def advice(self) -> list[str]:
        """Return what was noticed in the file, and the command that helps."""
        lines = [f"  {note}" for note in self.notes]
        if self.is_undefined:
            put_back = _("To put its cell back: attn-course reset {id}")
            lines.append("  " + put_back.format(id=self.exercise.id))
        if self.verdict in (Verdict.FAILED, Verdict.ERROR):
            lines.append(_("Stuck? attn-course hint {id}").format(id=self.exercise.id))
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return the check for a program."""
        mistake = self.result.mistake if self.result else None
        return {
            "id": self.exercise.id,
            "title": self.exercise.title,
            "verdict": self.verdict.value,
            "points": self.points,
            "max_points": self.exercise.points,
            "mistake": mistake.name if mistake else None,
            "notes": list(self.notes),
            "text": self.text(),
        }


def checked(path: Path, wanted: Sequence[Exercise], remembered: Progress) -> Iterator[Checked]:
    """Check exercises in a notebook one after the other, and remember how they went.

    Raises `NotebookProblem` where the file is no notebook.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")  # a plot in an answer must not open a window
    answers = answers_from(path, [exercise.name for exercise in wanted])
    solutions = classroom(remembered.file.parents[1]).solutions
    for exercise in wanted:
        notes = answers.problems_of(exercise.name)
        if exercise.name not in answers.values:
            yield Checked(exercise, None, notes, exercise.name in answers.undefined)
            continue
        with quiet():
            answer = exercise.local(answers.values[exercise.name])
            result = exercise.check(answer, closer=True)
        remembered.record(result)
        yield Checked(exercise, result, notes, with_solution=solutions)


def file_as_json(path: Path, wanted: Sequence[Exercise], remembered: Progress) -> dict[str, Any]:
    """Check exercises in a notebook and return what came of it, for a program."""
    problem, found = None, []
    try:
        found = [one.as_json() for one in checked(path, wanted, remembered)]
    except NotebookProblem as fault:
        problem = str(fault)
    return {
        "file": str(path),
        "problem": problem,
        "points": sum(one["points"] for one in found),
        "max_points": sum(exercise.points for exercise in wanted),
        "exercises": found,
    }


def exercises_in(path: Path) -> list[Exercise]:
    """Return the exercises of the chapter that a notebook belongs to: by name, else by content."""
    known = exercises.chapters()
    named = chapter_of_file(path.name, known)
    if named is not None:
        return list(named.exercises.values())
    cells = read_notebook(path).cells
    defined = frozenset().union(*(defined_names(cell) for cell in cells if cell.kind == "code"))
    for chapter in known.values():
        if defined & set(chapter.exercises):
            return list(chapter.exercises.values())
    raise Misuse(
        _("To which chapter does {path} belong? Say it: attn-course check NN {file}").format(
            path=path, file=in_quotes(path)
        )
    )
