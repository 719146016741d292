"""The folder a learner works in: begin it, find the notebooks, put one exercise back, hand it out.

The notebooks as they were handed out come with the package, in the files that `practice.exercises`
reads. Nothing here overwrites what a learner wrote without keeping a backup.
"""

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from attn_course._files import create_file, replace_file
from attn_course.inside.notebook import (
    Cell,
    Notebook,
    notebook_text,
    read_notebook,
    source_of,
)
from attn_course.inside.selection import defined_names
from attn_course.practice import classroom, exercises
from attn_course.practice.exercise import Chapter, Exercise
from attn_course.practice.numbers import chapter_of_file
from attn_course.translate import _

HANDOUT = "attn-course-exercises.zip"


class WorkspaceProblem(Exception):  # noqa: N818  (the learner's folder has a problem)
    """Something a learner has to fix first; the text says what."""


@dataclass(frozen=True)
class Reset:
    """What `reset` did: "restored", "put back" or "unchanged", and where the backup is."""

    done: str
    backup: Path | None = None
    removed: int = 0


def course_root() -> Path | None:
    """Return the checkout that this package runs from, or None where it was installed."""
    root = Path(__file__).parents[2]
    return root if (root / "solutions").is_dir() else None


def pristine_notebook(chapter: Chapter) -> str:
    """Return a chapter's exercise notebook as it was handed out."""
    return notebook_text(exercises.compiled(chapter.stem)["notebook"])


def pristine_notebooks() -> dict[str, str]:
    """Return the name and text of every exercise notebook."""
    found = exercises.chapters().values()
    return {f"{chapter.stem}.ipynb": pristine_notebook(chapter) for chapter in found}


def working_folder(here: Path) -> Path:
    """Return where the notebooks are: here, or where `make lab` or a checkout has them below."""
    places = (here, here / "my-exercises", here / "exercises")
    known = exercises.chapters()
    with_notebooks = (
        place
        for place in places
        if any(chapter_of_file(path.name, known) for path in place.glob("*.ipynb"))
    )
    return next(with_notebooks, here)


def find_notebooks(folder: Path) -> tuple[dict[str, Path], list[Path]]:
    """Return the notebook of each chapter in `folder`, and those passed over.

    A copy that Jupyter made (`01_topic-Copy1.ipynb`) is taken only where the original is gone.
    """
    known = exercises.chapters()
    stems = {chapter.stem for chapter in known.values()}
    found: dict[str, Path] = {}
    passed_over: list[Path] = []
    for path in sorted(folder.glob("*.ipynb"), key=lambda path: (path.stem not in stems, path)):
        chapter = chapter_of_file(path.name, known)
        if chapter is not None and chapter.number in found:
            passed_over.append(path)
        elif chapter is not None:
            found[chapter.number] = path
    return dict(sorted(found.items())), passed_over


def start(folder: Path) -> tuple[list[Path], list[Path]]:
    """Copy the exercises into `folder`; return those copied and those kept, being there already."""
    if folder.exists() and not folder.is_dir():
        raise WorkspaceProblem(
            _("{folder} is a file; name a folder, new or existing.").format(folder=folder)
        )
    copied, kept = [], []
    texts = pristine_notebooks()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = folder / name
        try:
            create_file(path, text)
            copied.append(path)
        except FileExistsError:
            kept.append(path)
    return copied, kept


def reset(exercise: Exercise, path: Path, confirm: Callable[[str], bool]) -> Reset:
    """Put the answer cell of `exercise` in the notebook `path` back as it was handed out.

    A deleted cell is put back in its place. Where several cells answer the exercise, `confirm`
    is asked (with a question) whether to restore the first and take the others out.
    """
    notebook = read_notebook(path)
    original = json.loads(pristine_notebook(exercise.chapter))
    stub = _answer_cell(original, exercise)
    found = _answer_places(notebook, original, exercise)
    _refuse_shared_cells(notebook, found, exercise)
    cells = notebook.data["cells"]
    if len(found) == 1 and _same_cell(cells[found[0]], stub):
        return Reset("unchanged")
    if len(found) > 1:
        labels = _(" and ").join(notebook.cells[place].label for place in found)
        question = _("{labels} answer {id}. Restore the first and take the rest out?").format(
            labels=labels[:1].upper() + labels[1:], id=exercise.id
        )
        if not confirm(question):
            return Reset("unchanged")
    backup = keep_backup(path)
    if found:
        cells[found[0]] = _fitting(stub, notebook, cells[found[0]].get("id"))
        for place in reversed(found[1:]):
            del cells[place]
    else:
        cells.insert(_place_for(original, notebook, exercise), _fitting(stub, notebook))
    replace_file(path, notebook_text(notebook.data, like=notebook.text))
    return Reset("restored" if found else "put back", backup, removed=len(found[1:]))


def keep_backup(path: Path) -> Path:
    """Copy a file into `.attn-course/backups` next to it, under a name that is still free."""
    folder = path.parent / ".attn-course" / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    when = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    names = [f"{path.stem}_{when}{path.suffix}"]
    names += [f"{path.stem}_{when}_{number}{path.suffix}" for number in range(2, 1000)]
    for name in names:
        try:
            with (folder / name).open("xb") as file:
                file.write(path.read_bytes())
            return folder / name
        except FileExistsError:
            continue
    raise WorkspaceProblem(_("{folder} is full of backups; clear it up.").format(folder=folder))


def write_handout(folder: Path) -> Path:
    """Write the zip for learners into `folder`: exercises and a README, no solution."""
    texts = {f"attn-course-exercises/{n}": text for n, text in pristine_notebooks().items()}
    texts["attn-course-exercises/README.md"] = handout_readme(exercises.chapters())
    texts[f"attn-course-exercises/{classroom.FILE}"] = _(
        "# Settings of your class: with false, checks and `attn-course solution` keep the solutions"
        "\n# to themselves. Your instructor asks you to leave it so.\nsolutions = false\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / HANDOUT
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(texts):
            # A fixed date and system, and no compression: the same course gives the same bytes.
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, texts[name].encode("utf-8"))
    return path


def handout_readme(chapters: Mapping[str, Chapter]) -> str:
    """Return the README of the handout."""
    rows = "".join(
        f"- `{chapter.stem}.ipynb`: {chapter.title} "
        + _("({count} exercises, {points} points)").format(
            count=len(chapter.exercises), points=chapter.points
        )
        + "\n"
        for chapter in chapters.values()
    )
    first = next(iter(chapters), "01")
    text = _(
        "# Exercises on attention\n\n"
        "You need Python 3.11, 3.12 or 3.13.\n"
        "Open a terminal in this folder.\n\n"
        "1. Install the course once, best in an environment of its own: "
        "`python -m pip install attn-course jupyterlab`\n"
        "   (or the file that you were given: `python -m pip install FILE.whl jupyterlab`).\n"
        "2. Open the notebooks: `jupyter lab`\n"
        "3. Fill in an answer and run the check in the cell below it.\n"
        '4. Before you hand in, run `practice.summary("{first}")` in a cell: '
        "it says what is missing.\n\n"
        "In the terminal:\n\n"
        "- `attn-course check {first}` checks chapter {first}.\n"
        "- `attn-course watch` checks again whenever you save, and goes on to the next exercise.\n"
        "- `attn-course progress` shows your points.\n"
        "- `attn-course hint {example}` gives the next hint for an exercise.\n"
        "- `attn-course reset {example}` begins an exercise again and keeps a backup.\n\n"
        "The notebooks:\n\n"
    )
    example = next(iter(chapters[first].exercises.values())).id if chapters else "01.name"
    return text.format(first=first, example=example) + rows


def _answer_cell(original: dict[str, Any], exercise: Exercise) -> dict[str, Any]:
    wanted = f"{exercise.name}-answer"
    return next(cell for cell in original["cells"] if cell["id"] == wanted)


def _answer_places(notebook: Notebook, original: dict[str, Any], exercise: Exercise) -> list[int]:
    """Return where `exercise` is answered: by what a cell defines, or by its id; that one first."""
    wanted = f"{exercise.name}-answer"
    given = {source_of(cell) for cell in original["cells"] if cell["id"] != wanted}

    def answers(cell: Cell) -> bool:
        if cell.id == wanted:
            return True
        return (
            cell.kind == "code"
            and cell.source not in given  # a plot of ours may use the same name
            and exercise.name in defined_names(cell)
        )

    places = [place for place, cell in enumerate(notebook.cells) if answers(cell)]
    return sorted(places, key=lambda place: notebook.cells[place].id != wanted)


def _refuse_shared_cells(notebook: Notebook, places: list[int], exercise: Exercise) -> None:
    """Stop where resetting this exercise would discard another answer."""
    others = set(exercise.chapter.exercises) - {exercise.name}
    for place in places:
        cell = notebook.cells[place]
        also = sorted(others & defined_names(cell)) if cell.kind == "code" else []
        if also:
            raise WorkspaceProblem(
                _(
                    "{cell} contains {name} and also {others}, which a reset would discard. "
                    "Move {name} to a cell of its own, then reset it. Nothing was changed."
                ).format(
                    cell=cell.label[:1].upper() + cell.label[1:],
                    name=exercise.name,
                    others=", ".join(also),
                )
            )


def _same_cell(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["cell_type"] == other["cell_type"] and source_of(one) == source_of(other)


def _fitting(
    stub: dict[str, Any], notebook: Notebook, cell_id: str | None = None
) -> dict[str, Any]:
    """Return the stub as a cell for this notebook: before format 4.5, cells have no ids."""
    made = dict(stub)
    if cell_id is not None:
        made["id"] = cell_id
    elif notebook.data.get("nbformat_minor", 0) < 5:
        del made["id"]
    return made


def _place_for(original: dict[str, Any], notebook: Notebook, exercise: Exercise) -> int:
    """Return where a deleted answer cell belongs: after the nearest cell that came before it."""
    ids = [cell["id"] for cell in original["cells"]]
    at = ids.index(f"{exercise.name}-answer")

    def place_of(cell: dict[str, Any]) -> int | None:
        same = [
            place
            for place, mine in enumerate(notebook.cells)
            if mine.id == cell["id"] or mine.source == source_of(cell)
        ]
        return same[0] if same else None

    for cell in reversed(original["cells"][:at]):
        before = place_of(cell)
        if before is not None:
            return before + 1
    for cell in original["cells"][at + 1 :]:
        after = place_of(cell)
        if after is not None:
            return after
    return len(notebook.cells)
