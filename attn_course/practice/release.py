"""From `solutions/NN_topic.md` to `exercises/NN_topic.ipynb`: the answers out, the stubs in.

A source is a MyST notebook. Cells of it become cells of the exercise notebook, except that

- a prose cell with the metadata `{"exercise": "name"}` gets the exercise's title, goal, difficulty,
  minutes and points in front and its hints, folded, behind (they stand in
  `attn_course/practice/exercises/` and nowhere else);
- in a code cell, what stands between `### BEGIN SOLUTION` and `### END SOLUTION` becomes a stub:
  `raise NotImplementedError(…)`, or `name = None` where a value is asked, or, where the region has
  lines `### STUB: code`, just this code;
- a cell tagged `solution` is left out.

The same source gives the same bytes each time.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attn_course.practice.exercise import Chapter, Exercise
from attn_course.practice.notebook import Cell, chapter_number, notebook_text
from attn_course.practice.selection import defined_names
from attn_course.translate import _

BEGIN, END, STUB = "### BEGIN SOLUTION", "### END SOLUTION", "### STUB:"


class ReleaseProblem(Exception):  # noqa: N818  (an author's source has a problem)
    """A source that can't become an exercise; the text begins with file and line."""


@dataclass
class SourceCell:
    """One cell of a source, and the line of the file on which its text begins."""

    kind: str
    text: str
    line: int
    metadata: dict[str, Any]

    @property
    def is_solution_only(self) -> bool:
        """Whether the cell is for the solution alone."""
        return "solution" in self.metadata.get("tags", [])


@dataclass
class _Parts:
    """The lines on which the parts of one exercise were found."""

    task: int
    answer: int | None = None
    check: int | None = None


@dataclass
class _Builder:
    """Goes through a source from top to bottom and collects the cells of the exercise notebook."""

    path: Path
    chapter: Chapter
    cells: list[dict[str, Any]] = field(default_factory=list)
    found: dict[str, _Parts] = field(default_factory=dict)
    others: int = 0

    def add(self, cell: SourceCell) -> None:
        """Take one cell over."""
        if "exercise" in cell.metadata:
            self._add_task(cell)
        elif cell.is_solution_only:
            pass
        elif cell.kind == "code" and (BEGIN in cell.text or END in cell.text):
            self._add_answer(cell)
        elif cell.kind == "code" and "practice.check(" in cell.text:
            self._add_check(cell)
        else:
            self._append(cell, cell.text, self._other_id())

    def finish(self) -> None:
        """Make sure that nothing is missing."""
        for name, parts in self.found.items():
            for part, line in (("answer", parts.answer), ("check", parts.check)):
                if line is None:
                    raise self._problem(
                        parts.task,
                        _("exercise {name!r} has no {part} cell after its task; {remedy}").format(
                            name=name, part=part, remedy=self._remedy(part, name)
                        ),
                    )
        missing = [name for name in self.chapter.exercises if name not in self.found]
        if missing:
            raise self._problem(
                1,
                _("chapter {number} also has {missing}, and this source has no cell {cell}").format(
                    number=self.chapter.number,
                    missing=", ".join(missing),
                    cell=f'`+++ {{"exercise": "{missing[0]}"}}`',
                ),
            )

    def _add_task(self, cell: SourceCell) -> None:
        name = cell.metadata["exercise"]
        if name not in self.chapter.exercises:
            known = ", ".join(self.chapter.exercises)
            raise self._problem(
                cell.line,
                _("there is no exercise {name!r} in chapter {number}; it has: {known}").format(
                    name=name, number=self.chapter.number, known=known
                ),
            )
        if name in self.found:
            sentence = _("exercise {name!r} stands here a second time; the first is on line {line}")
            raise self._problem(cell.line, sentence.format(name=name, line=self.found[name].task))
        self.found[name] = _Parts(task=cell.line)
        number = len(self.found)
        text = task_text(self.chapter.exercises[name], number, cell.text)
        self._append(cell, text, f"{name}-task")

    def _add_answer(self, cell: SourceCell) -> None:
        if not self.found:
            raise self._problem(
                cell.line, _("a solution before the first task: to which exercise does it belong?")
            )
        name = list(self.found)[-1]
        parts = self.found[name]
        if parts.answer is not None:
            sentence = _("exercise {name!r} has a second answer cell; put its code into one cell")
            raise self._problem(cell.line, sentence.format(name=name))
        parts.answer = cell.line
        stub = self._stubbed(cell, self.chapter.exercises[name])
        self._append(cell, stub, f"{name}-answer")

    def _add_check(self, cell: SourceCell) -> None:
        named = re.search(r"practice\.check\(\s*[\"']([^\"']*)[\"']", cell.text)
        asked = named[1] if named else "?"
        current = list(self.found)[-1] if self.found else None
        wanted = f"{self.chapter.number}.{current}"
        if current is None or asked != wanted:
            sentence = _("this cell checks {asked!r}, but the task before it is {wanted!r}")
            raise self._problem(cell.line, sentence.format(asked=asked, wanted=wanted))
        self.found[current].check = cell.line
        self._append(cell, cell.text, f"{current}-check")

    def _stubbed(self, cell: SourceCell, exercise: Exercise) -> str:
        stub = "\n".join(self._with_stubs(cell, exercise))
        try:
            ast.parse(stub)
        except SyntaxError as fault:
            raise self._problem(
                cell.line,
                _("the stub of {name!r} is not valid Python ({why}): {line}").format(
                    name=exercise.name, why=fault.msg, line=(fault.text or "").strip()
                ),
            ) from fault
        if exercise.name not in defined_names(Cell(0, "code", stub)):
            raise self._problem(
                cell.line,
                _("the stub does not define {name!r}; keep its first line outside {region}").format(
                    name=exercise.name, region=BEGIN
                ),
            )
        return stub

    def _with_stubs(self, cell: SourceCell, exercise: Exercise) -> Iterator[str]:
        """Yield the lines of an answer cell with every region replaced."""
        begun: int | None = None
        indent, given = "", list[str]()
        for line, text in enumerate(cell.text.split("\n"), start=cell.line):
            mark = text.strip()
            if mark == BEGIN:
                if begun is not None:
                    sentence = _("{begin} inside the region that line {line} begins")
                    raise self._problem(line, sentence.format(begin=BEGIN, line=begun))
                begun, indent, given = line, text[: text.index("#")], []
            elif mark == END:
                if begun is None:
                    sentence = _("{end} without {begin} before it")
                    raise self._problem(line, sentence.format(end=END, begin=BEGIN))
                begun = None
                yield from (
                    indent + stub if stub else "" for stub in given or [default_stub(exercise)]
                )
            elif begun is None:
                yield text
            elif mark.startswith(STUB):
                given.append(mark.removeprefix(STUB).removeprefix(" "))
        if begun is not None:
            sentence = _("the region that begins here is not closed by {end}")
            raise self._problem(begun, sentence.format(end=END))

    def _append(self, cell: SourceCell, text: str, cell_id: str) -> None:
        metadata = {key: value for key, value in cell.metadata.items() if key != "exercise"}
        made: dict[str, Any] = {"cell_type": cell.kind}
        if cell.kind == "code":
            made["execution_count"] = None
        made |= {"id": cell_id, "metadata": metadata}
        if cell.kind == "code":
            made["outputs"] = []
        made["source"] = text.splitlines(keepends=True)
        self.cells.append(made)

    def _other_id(self) -> str:
        self.others += 1
        return f"cell-{self.others:02d}"

    def _remedy(self, part: str, name: str) -> str:
        if part == "check":
            return _("add one: {code}").format(
                code=f'`practice.check("{self.chapter.number}.{name}", {name})`'
            )
        return _("add a code cell with {begin} and {end}").format(begin=BEGIN, end=END)

    def _problem(self, line: int, sentence: str) -> ReleaseProblem:
        return ReleaseProblem(f"{self.path}:{line}: {sentence}")


def exercise_notebook(source: Path, chapter: Chapter) -> str:
    """Return the text of the exercise notebook that `source` describes."""
    builder = _Builder(source, chapter)
    for cell in read_source(source):
        builder.add(cell)
    builder.finish()
    return notebook_text(
        {
            "cells": builder.cells,
            "metadata": {
                "kernelspec": {
                    "display_name": "Python 3 (ipykernel)",
                    "language": "python",
                    "name": "python3",
                },
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def default_stub(exercise: Exercise) -> str:
    """Return the line that stands in the exercise for the answer."""
    if exercise.kind == "value":
        return f"{exercise.name} = None  # " + _("your answer")
    return f'raise NotImplementedError("{_("Your answer goes here, instead of this line.")}")'


def task_text(exercise: Exercise, number: int, task: str) -> str:
    """Return a task with the exercise's particulars in front and its folded hints behind."""
    words = {1: _("easy"), 2: _("medium"), 3: _("hard")}
    stars = "★" * exercise.difficulty + "☆" * (3 - exercise.difficulty)
    points = _("1 point") if exercise.points == 1 else _("{n} points").format(n=exercise.points)
    minutes = _("about {n} minutes").format(n=exercise.minutes)
    facts = [f"{stars} {words[exercise.difficulty]}", minutes, points, f"`{exercise.id}`"]
    head = [
        "## " + _("Exercise {number}: {title}").format(number=number, title=exercise.title),
        _("**Goal:** {goal}").format(goal=exercise.goal),
        " · ".join(facts),
    ]
    if exercise.without:
        names = ", ".join(f"`{name}`" for name in exercise.without)
        head.append(_("Write it yourself, without {names}.").format(names=names))
    hints = [
        f"<details><summary>{_('Hint {n}').format(n=n)}</summary>\n\n{hint.strip()}\n\n</details>"
        for n, hint in enumerate(exercise.hints, start=1)
    ]
    return "\n\n".join([*head, task.strip(), *hints])


def read_source(path: Path) -> list[SourceCell]:
    """Return the cells of a MyST notebook with the lines on which their texts begin."""
    # Needed by authors alone, so it is no dependency of the package.
    import jupytext  # type: ignore[import-untyped]

    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    cursor = front[0].count("\n") if front else 0
    cells = []
    for cell in jupytext.reads(text, fmt="md:myst").cells:
        source = cell.source.split("\n")
        cursor = next(
            (at for at in range(cursor, len(lines)) if lines[at : at + len(source)] == source),
            cursor,
        )
        cells.append(SourceCell(cell.cell_type, cell.source, cursor + 1, dict(cell.metadata)))
        cursor += len(source)
    return cells


def exercise_notebooks(root: Path, chapters: Mapping[str, Chapter]) -> dict[str, str]:
    """Return the file name and text of every exercise notebook of the course in `root`."""
    sources = {
        path.stem: path
        for path in sorted((root / "solutions").glob("*.md"))
        if chapter_number(path.name)
    }
    stems = {chapter.stem: chapter for chapter in chapters.values()}
    for stem, path in sources.items():
        if stem not in stems:
            raise ReleaseProblem(
                _(
                    "{path}:1: there is no chapter {stem!r} in attn_course/practice/exercises"
                ).format(path=path, stem=stem)
            )
    missing = [stem for stem in stems if stem not in sources]
    if missing:
        raise ReleaseProblem(
            _("{path}: chapter {stem!r} has exercises but no source {stem}.md here").format(
                path=root / "solutions", stem=missing[0]
            )
        )
    return {f"{stem}.ipynb": exercise_notebook(path, stems[stem]) for stem, path in sources.items()}


def stale_files(folder: Path, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the files of `folder` that differ from `wanted`, each with what is the matter."""
    stale = {}
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file():
            stale[name] = _("missing")
        elif path.read_bytes() != text.encode("utf-8"):
            stale[name] = _("differs from its source")
    for path in sorted(folder.glob("*.ipynb")):
        if path.name not in wanted:
            stale[path.name] = _("has no source in solutions/")
    return stale
