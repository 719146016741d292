"""The commands of a learner: check answers, watch, see progress, get hints, put one back, begin.

Everything heavy is imported by the command that needs it, so that `attn-course --help` answers
at once.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from attn_course.practice.numbers import Misuse, exercise_named, ids_and_files
from attn_course.practice.terminal import (
    GOOD,
    OPEN,
    WRONG_USE,
    complain,
    in_quotes,
    paint,
    show,
    unwritable,
)
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.checking import Checked
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.progress import Progress


def check(arguments: argparse.Namespace) -> int:
    """Check the asked exercises in the asked notebooks."""
    from attn_course.practice.exercises import chapters

    work = _work(*ids_and_files(arguments.what, chapters()))
    if arguments.json:
        return _check_as_json(work)
    codes = [_check_file(path, chosen) for path, chosen in work]
    return max(codes)


def watch(arguments: argparse.Namespace, pause: Callable[[float], None] = time.sleep) -> int:
    """Check again whenever a notebook is saved."""
    from attn_course.inside.notebook import NotebookProblem
    from attn_course.practice.checking import exercises_in
    from attn_course.practice.exercises import chapters
    from attn_course.practice.watching import Watch

    found = _work(*ids_and_files(arguments.what, chapters()))
    try:
        work = [(path, chosen or exercises_in(path)) for path, chosen in found]
    except NotebookProblem as fault:
        return complain(str(fault), OPEN)
    return Watch(work, lambda path: _remembered(path.parent)).run(pause)


def progress(arguments: argparse.Namespace) -> int:
    """Show what was reached."""
    from attn_course.practice.exercises import chapters

    remembered = _remembered_here()
    if arguments.json:
        _print_json(remembered.as_json(chapters()))
        _print_notes(remembered.notes, sys.stderr)
        return GOOD
    print(remembered.table(chapters(), paint))
    _print_notes(remembered.notes)
    return GOOD


def hint(arguments: argparse.Namespace) -> int:
    """Show the next hint."""
    exercise = _exercise_named(arguments.exercise)
    remembered = _remembered_here()
    number, text = remembered.next_hint(exercise)
    total = len(exercise.hints)
    print(
        _("Hint {number} of {total} for {title}:").format(
            number=number, total=total, title=exercise.title
        )
    )
    print(f"\n{text}\n")
    if number < total:
        print(_("For a stronger one, run this again."))
    else:
        print(
            _("That is the last hint. Chapter {number} of the book says more.").format(
                number=exercise.chapter.number
            )
        )
    _print_notes(remembered.notes)
    return GOOD


def reset(arguments: argparse.Namespace) -> int:
    """Put one exercise back as it was."""
    from attn_course.inside.notebook import NotebookProblem
    from attn_course.practice import workspace

    exercise = _exercise_named(arguments.exercise)
    path = arguments.file or _notebook_of(exercise)
    refused = False

    def confirm(question: str) -> bool:
        nonlocal refused
        agreed = arguments.yes or _ask(question)
        refused = not agreed
        return agreed

    try:
        done = workspace.reset(exercise, path, confirm)
    except (NotebookProblem, workspace.WorkspaceProblem) as fault:
        return complain(str(fault), OPEN)
    except OSError as fault:
        sentence = _("{path} and its backup can't be written: {why}. Nothing was changed.")
        return complain(sentence.format(path=path, why=fault.strerror), OPEN)
    fields = {"id": exercise.id, "path": path, "backup": done.backup, "removed": done.removed}
    if refused:
        print(_("{path} was left as it is.").format(**fields))
        return OPEN
    if done.done == "unchanged":
        print(
            _("{id} in {path} is as it was handed out; there is nothing to reset.").format(**fields)
        )
        return GOOD
    if done.done == "restored":
        print(_("{id} in {path} is as it was handed out.").format(**fields))
    else:
        print(_("The answer cell of {id} was missing; it is back in {path}.").format(**fields))
    if done.removed:
        print(_("Further cells taken out: {removed}.").format(**fields))
    print(_("Your notebook as it was before: {backup}").format(**fields))
    print(_("If it is open in Jupyter, choose “Reload Notebook from Disk” in the File menu."))
    return GOOD


def start(arguments: argparse.Namespace) -> int:
    """Copy the exercises into a folder."""
    from attn_course.practice import workspace

    folder = arguments.folder
    try:
        copied, kept = workspace.start(folder)
    except workspace.WorkspaceProblem as fault:
        return complain(str(fault), WRONG_USE)
    except OSError as fault:
        return complain(unwritable(folder, fault), OPEN)
    for path in copied:
        print(_("copied   {path}").format(path=path))
    for path in kept:
        print(_("kept     {path} (it was there already)").format(path=path))
    if importlib.util.find_spec("jupyterlab") is None:
        print(
            _(
                "JupyterLab is not installed here yet. "
                "To install it: {python} -m pip install jupyterlab"
            ).format(python=in_quotes(sys.executable))
        )
    print(_("Begin with: cd {folder} && jupyter lab").format(folder=in_quotes(folder)))
    return GOOD


def solution(arguments: argparse.Namespace) -> int:
    """Show the solution of an exercise, with its explanation."""
    from attn_course.practice.classroom import classroom
    from attn_course.practice.other_ways import other_ways
    from attn_course.practice.workspace import working_folder

    exercise = _exercise_named(arguments.exercise)
    settings = classroom(Path(os.environ.get("ATTN_COURSE_HOME") or working_folder(Path())))
    if not settings.solutions:
        return complain(
            _("Your class has switched solutions off, in {file}.").format(file=settings.file), OPEN
        )
    if exercise.solution is None:
        return complain(_("There is no solution of {id} here.").format(id=exercise.id), OPEN)
    question = _(
        "The solution of {id} is best seen after a try of your own; `attn-course hint {id}` helps "
        "a little at a time. Show the solution?"
    ).format(id=exercise.id)
    if not arguments.yes and not _ask(question):
        return OPEN
    print(f"{exercise.title} ({exercise.id})\n")
    _print_code(exercise.solution.answer)
    if exercise.solution.explanation:
        print()
        show(exercise.solution.explanation)
    others = other_ways(exercise)
    if others:
        print("\n" + _("Other right ways to write it:"))
    for code in others:
        print()
        _print_code(code)
    return GOOD


# Checking


def _work(
    wanted: list["Exercise"], files: list[Path]
) -> Iterator[tuple[Path, list["Exercise"] | None]]:
    """Yield each notebook with the exercises to check in it; None: all of its chapter."""
    if files:
        yield from ((path, wanted or None) for path in files)
        return
    found = _found_notebooks()
    if not wanted:
        yield from ((path, None) for path in found.values())
        return
    for number in dict.fromkeys(exercise.chapter.number for exercise in wanted):
        chosen = [exercise for exercise in wanted if exercise.chapter.number == number]
        if number not in found:
            raise Misuse(_no_notebook_of(number))
        yield found[number], chosen


def _check_file(path: Path, wanted: list["Exercise"] | None) -> int:
    from attn_course.inside.notebook import NotebookProblem
    from attn_course.practice.checking import checked, exercises_in
    from attn_course.practice.results import Verdict

    remembered = _remembered(path.parent)
    found: list[Checked] = []
    try:
        chosen = wanted or exercises_in(path)
        for one in checked(path, chosen, remembered):
            if not found:
                print(f"{path}\n")
            found.append(one)
            _print_checked(one, at_length=len(chosen) == 1)
    except NotebookProblem as fault:
        return complain(str(fault), OPEN)
    passed = sum(one.verdict is Verdict.PASSED for one in found)
    summary = _("Exercises passed: {passed} of {count}. Points: {points} of {most}.").format(
        passed=passed,
        count=len(chosen),
        points=sum(one.points for one in found),
        most=sum(exercise.points for exercise in chosen),
    )
    print(f"\n{summary}")
    _print_notes(remembered.notes)
    return GOOD if passed == len(chosen) else OPEN


def _print_checked(one: "Checked", at_length: bool) -> None:
    from attn_course.practice.results import Verdict

    if one.is_unwritten or (one.verdict is Verdict.PASSED and not at_length):
        show(one.headline(paint))
    else:
        show("\n" + one.text(paint))
    print("".join(f"{line}\n" for line in one.advice()), end="")
    if one.verdict in (Verdict.FAILED, Verdict.ERROR):
        print()


def _check_as_json(work: Iterator[tuple[Path, list["Exercise"] | None]]) -> int:
    from attn_course.inside.notebook import NotebookProblem
    from attn_course.practice.checking import FORMAT, exercises_in, file_as_json

    notebooks = []
    for path, wanted in work:
        remembered = _remembered(path.parent)
        try:
            chosen = wanted or exercises_in(path)
        except NotebookProblem:
            chosen = []  # the reason is told with the file
        notebooks.append(file_as_json(path, chosen, remembered))
        _print_notes(remembered.notes, sys.stderr)
    points, most = (sum(one[key] for one in notebooks) for key in ("points", "max_points"))
    _print_json({"format": FORMAT, "points": points, "max_points": most, "notebooks": notebooks})
    is_good = all(one["verdict"] == "passed" for book in notebooks for one in book["exercises"])
    return GOOD if is_good and not any(one["problem"] for one in notebooks) else OPEN


# Folders, words


def _found_notebooks() -> dict[str, Path]:
    from attn_course.practice.workspace import find_notebooks, working_folder

    found, passed_over = find_notebooks(working_folder(Path()))
    if not found:
        raise Misuse(
            _(
                "There is no exercise notebook (NN_topic.ipynb) in {folder}, nor in my-exercises "
                "or exercises below it. Copy them with `attn-course start DIR`, or name a file."
            ).format(folder=Path.cwd())
        )
    for path in passed_over:
        print(_("Passed over: {path} (name it to check it)").format(path=path), file=sys.stderr)
    return found


def _notebook_of(exercise: "Exercise") -> Path:
    found = _found_notebooks()
    if exercise.chapter.number not in found:
        raise Misuse(_no_notebook_of(exercise.chapter.number))
    return found[exercise.chapter.number]


def _no_notebook_of(number: str) -> str:
    return _("There is no notebook of chapter {number} here; name its file.").format(number=number)


def _exercise_named(word: str) -> "Exercise":
    from attn_course.practice.exercises import chapters

    return exercise_named(word, chapters())


def _remembered_here() -> "Progress":
    """Return the progress kept with the notebooks, where a check in Jupyter keeps it too."""
    from attn_course.practice.workspace import working_folder

    return _remembered(working_folder(Path()))


def _remembered(folder: Path) -> "Progress":
    from attn_course.practice.progress import load

    return load(os.environ.get("ATTN_COURSE_HOME") or folder)


def _ask(question: str) -> bool:
    if not sys.stdin or not sys.stdin.isatty():
        print(question)
        print(_("To do so, add --yes."))
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes", _("y"), _("yes"))


def _print_code(code: str) -> None:
    print("\n".join(f"    {line}".rstrip() for line in code.split("\n")))


def _print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False))


def _print_notes(notes: list[str], file: TextIO | None = None) -> None:
    for note in notes:
        print(note, file=file)
