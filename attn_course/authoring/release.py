"""From `solutions/NN_topic.md` to what learners get: a notebook to work in, and the checks' data.

- `exercises/NN_topic.ipynb`: the cells of the source, with every solution replaced by its stub, the
  particulars of each exercise in front of its task and its hints, folded, behind it. Cells tagged
  `hints`, `mistakes`, `equivalent` or `solution` are left out.
- `attn_course/practice/exercises/NN_topic.json`: everything that a check needs and a person reads,
  and the notebook once more, so that learners need neither `solutions/` nor jupytext.

The same source gives the same bytes each time. Both are committed, and `attn-course release
--check` says when they are stale.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_course.authoring.entries import Entry
from attn_course.authoring.source import (
    SourceCell,
    SourceChapter,
    SourceExercise,
    SourceProblems,
    book_sections,
    page_title,
    read_chapter,
)
from attn_course.inside.notebook import notebook_text
from attn_course.practice.definition import Definition
from attn_course.practice.exercises import definition_of
from attn_course.practice.numbers import number_in
from attn_course.translate import _

COMPILED = Path("attn_course", "practice", "exercises")
NOTEBOOKS = Path("exercises")
GENERATED = "by `attn-course release` from solutions/{stem}.md; edit that file instead of this one"
Definitions = Callable[[str, str], Definition]


@dataclass(frozen=True)
class Released:
    """What one source becomes."""

    stem: str
    notebook: str
    compiled: str


def release(root: Path, definitions: Definitions = definition_of) -> dict[str, Released]:
    """Return what all sources of the course in `root` become; raises `SourceProblems`."""
    problems: list[str] = []
    released: dict[str, Released] = {}
    sections = book_sections(sorted((root / "book").glob("*.md")))
    for path in source_files(root):
        try:
            released[path.stem] = released_from(path, sections, definitions)
        except SourceProblems as found:
            problems.append(str(found))
    if problems:
        raise SourceProblems("\n".join(problems))
    return released


def source_files(root: Path) -> list[Path]:
    """Return the sources of the course in `root`."""
    return [path for path in sorted((root / "solutions").glob("*.md")) if number_in(path.stem)]


def source_chapter(root: Path, stem: str) -> SourceChapter:
    """Return one source of the course in `root`."""
    sections = book_sections(sorted((root / "book").glob("*.md")))
    return read_chapter(root / "solutions" / f"{stem}.md", sections)


def released_from(
    path: Path, sections: Mapping[str, tuple[str, str]], definitions: Definitions = definition_of
) -> Released:
    """Return what one source becomes."""
    chapter = read_chapter(path, sections)
    found = _definitions(chapter, definitions)
    _require_sections(chapter, found, sections)
    points = {name: sum(group.points for group in one.groups) for name, one in found.items()}
    notebook = _notebook(chapter, points)
    page = path.parent.parent / "book" / f"{chapter.stem}.md"
    content = {
        "generated": GENERATED.format(stem=chapter.stem),
        "stem": chapter.stem,
        "title": page_title(page) if page.is_file() else chapter.stem,
        "sections": _sections(chapter, found, sections),
        "exercises": [
            _compiled(chapter, exercise, points[name])
            for name, exercise in chapter.exercises.items()
        ],
        "notebook": notebook,
    }
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return Released(chapter.stem, notebook_text(notebook), text)


def _definitions(chapter: SourceChapter, definitions: Definitions) -> dict[str, Definition]:
    """Return the Python of every exercise; raise `SourceProblems` for those that have none."""
    found: dict[str, Definition] = {}
    problems = []
    for name, exercise in chapter.exercises.items():
        try:
            found[name] = definitions(chapter.stem, name)
        except (ImportError, AttributeError, AssertionError) as fault:
            topic = chapter.stem.partition("_")[2]
            sentence = _("{file} does not define {name!r} ({why}); `attn-course new` writes one")
            file = COMPILED / topic / f"{name}.py"
            told = sentence.format(file=file.as_posix(), name=name, why=fault)
            problems.append(f"{chapter.path}:{exercise.line}: {told}")
    if problems:
        raise SourceProblems("\n".join(problems))
    return found


def _require_sections(
    chapter: SourceChapter,
    definitions: Mapping[str, Definition],
    sections: Mapping[str, tuple[str, str]],
) -> None:
    """Raise `SourceProblems` where a mistake in Python points to a section that is not there."""
    problems = [
        f"{chapter.path}:{chapter.exercises[name].line}: "
        + _("the mistake {name!r} in Python points to {label!r}, which no page has").format(
            name=one.name, label=one.section
        )
        for name, found in definitions.items()
        for one in found.misconceptions
        if one.section and one.section not in sections
    ]
    if problems:
        raise SourceProblems("\n".join(problems))


def _sections(
    chapter: SourceChapter,
    definitions: Mapping[str, Definition],
    sections: Mapping[str, tuple[str, str]],
) -> dict[str, list[str]]:
    """Return the sections that the exercises point to: heading and page by label."""
    labels = {one.metadata["section"] for one in chapter.exercises.values()}
    labels |= {entry.section for one in chapter.exercises.values() for entry in one.mistakes}
    labels |= {one.section for found in definitions.values() for one in found.misconceptions}
    return {label: list(sections[label]) for label in sorted(filter(None, labels))}


def _compiled(chapter: SourceChapter, exercise: SourceExercise, points: int) -> dict[str, Any]:
    metadata = exercise.metadata
    return {
        "name": exercise.name,
        "title": exercise.title,
        "goal": exercise.goal,
        "kind": exercise.kind,
        "task": metadata.get("task", "implement"),
        "difficulty": metadata["difficulty"],
        "minutes": metadata["minutes"],
        "points": points,
        "section": metadata["section"],
        "without": metadata.get("without", []),
        "uses": metadata.get("uses", []),
        "hints": list(exercise.hints),
        "answer": exercise.answer,
        "explanation": exercise.explanation,
        "program": _joined(chapter.program(exercise.name)),
        "mistakes": [_compiled_mistake(chapter, exercise, entry) for entry in exercise.mistakes],
    }


def _compiled_mistake(
    chapter: SourceChapter, exercise: SourceExercise, entry: Entry
) -> dict[str, str]:
    program = chapter.program(exercise.name, chapter.answers_of(exercise, entry))
    made = {"name": entry.name, "message": entry.message}
    if entry.section:
        made["section"] = entry.section
    return made | {"program": _joined(program)}


def _joined(program: tuple[str, ...]) -> str:
    return "\n".join(program) + "\n"


# --- the notebook ----------------------------------------------------------------------------


def _notebook(chapter: SourceChapter, points: Mapping[str, int]) -> dict[str, Any]:
    parts = {
        line: (exercise, part)
        for exercise in chapter.exercises.values()
        for line, part in (
            (exercise.line, "task"),
            (exercise.answer_line, "answer"),
            (exercise.check_line, "check"),
        )
    }
    numbers = {name: number for number, name in enumerate(chapter.exercises, start=1)}
    cells: list[dict[str, Any]] = []
    others = 0
    for cell in chapter.cells:
        if cell.is_for_authors:
            continue
        exercise, part = parts.get(cell.line, (None, ""))
        if exercise is None:
            others += 1
            cells.append(_cell(cell, cell.text, f"cell-{others:02d}"))
            continue
        text = cell.text
        if part == "task":
            name = exercise.name
            text = task_text(chapter.stem, exercise, numbers[name], points[name])
        elif part == "answer":
            text = exercise.stub
        cells.append(_cell(cell, text, f"{exercise.name}-{part}"))
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(cell: SourceCell, text: str, cell_id: str) -> dict[str, Any]:
    metadata = {} if "exercise" in cell.metadata else dict(cell.metadata)
    made: dict[str, Any] = {"cell_type": cell.kind}
    if cell.kind == "code":
        made["execution_count"] = None
    made |= {"id": cell_id, "metadata": metadata}
    if cell.kind == "code":
        made["outputs"] = []
    return made | {"source": text.splitlines(keepends=True)}


def task_text(stem: str, exercise: SourceExercise, number: int, points: int) -> str:
    """Return a task with the exercise's particulars in front and its folded hints behind."""
    words = {1: _("easy"), 2: _("medium"), 3: _("hard")}
    difficulty = exercise.metadata["difficulty"]
    stars = "★" * difficulty + "☆" * (3 - difficulty)
    counted = _("1 point") if points == 1 else _("{n} points").format(n=points)
    minutes = _("about {n} minutes").format(n=exercise.metadata["minutes"])
    exercise_id = f"`{stem.partition('_')[0]}.{exercise.name}`"
    head = [
        "## " + _("Exercise {number}: {title}").format(number=number, title=exercise.title),
        _("**Goal:** {goal}").format(goal=exercise.goal),
        " · ".join([f"{stars} {words[difficulty]}", minutes, counted, exercise_id]),
    ]
    without = exercise.metadata.get("without", [])
    if without:
        names = ", ".join(f"`{name}`" for name in without)
        head.append(_("Write it yourself, without {names}.").format(names=names))
    hints = [
        f"<details><summary>{_('Hint {n}').format(n=n)}</summary>\n\n{hint.strip()}\n\n</details>"
        for n, hint in enumerate(exercise.hints, start=1)
    ]
    return "\n\n".join([*head, exercise.task_text, *hints])


# --- files -----------------------------------------------------------------------------------


def wanted_files(released: Mapping[str, Released]) -> dict[Path, str]:
    """Return every derived file by its path below the checkout."""
    files = {NOTEBOOKS / f"{stem}.ipynb": one.notebook for stem, one in released.items()}
    return files | {COMPILED / f"{stem}.json": one.compiled for stem, one in released.items()}


def stale_files(root: Path, wanted: Mapping[Path, str]) -> dict[Path, str]:
    """Return the derived files that are not as they should be, each with what is the matter."""
    stale = {}
    for name, text in wanted.items():
        path = root / name
        if not path.is_file():
            stale[name] = _("missing")
        elif path.read_bytes() != text.encode("utf-8"):
            stale[name] = _("differs from its source")
    for folder, ending in ((NOTEBOOKS, ".ipynb"), (COMPILED, ".json")):
        for path in sorted((root / folder).glob(f"*{ending}")):
            if folder / path.name not in wanted:
                stale[folder / path.name] = _("has no source in solutions/")
    return stale
