"""The commands of a learner: check answers, see progress, get hints, put one back, begin.

Everything heavy is imported by the command that needs it, so that `attn-course --help` answers
at once.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attn_course.practice.numbers import Misuse, exercise_named, ids_and_files
from attn_course.practice.terminal import GOOD, OPEN, WRONG_USE, complain, quiet, show, unwritable
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.progress import Progress
    from attn_course.practice.results import Result
    from attn_course.practice.selection import Answers


def check(arguments: argparse.Namespace) -> int:
    """Check the asked exercises in the asked notebooks."""
    from attn_course.practice.exercises import chapters

    wanted, files = ids_and_files(arguments.what, chapters())
    codes = [_check_file(path, chosen) for path, chosen in _work(wanted, files)]
    return max(codes)


def progress(_arguments: argparse.Namespace) -> int:
    """Show what was reached."""
    from attn_course.practice.exercises import chapters

    remembered = _remembered_here()
    known = chapters()
    print(remembered.table(known))
    _print_notes(remembered.notes)
    done = all(
        entry is not None and entry.best_points >= exercise.points
        for chapter in known.values()
        for exercise in chapter.exercises.values()
        for entry in [remembered.entries.get(exercise.id)]
    )
    return GOOD if done else OPEN


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
    from attn_course.practice import workspace
    from attn_course.practice.notebook import NotebookProblem

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
    print(_("Begin with: cd {folder} && jupyter lab").format(folder=_quoted(folder)))
    return GOOD


def solution(arguments: argparse.Namespace) -> int:
    """Show the solution of an exercise, with its explanation."""
    from attn_course.practice.classroom import classroom
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
    print("\n".join(f"    {line}".rstrip() for line in exercise.solution.answer.split("\n")))
    if exercise.solution.explanation:
        print()
        show(exercise.solution.explanation)
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
    from attn_course.practice.notebook import NotebookProblem
    from attn_course.practice.results import Verdict
    from attn_course.practice.selection import answers_from

    os.environ.setdefault("MPLBACKEND", "Agg")  # a plot in an answer must not open a window
    try:
        chosen = wanted or _exercises_in(path)
        answers = answers_from(path, [exercise.name for exercise in chosen])
    except NotebookProblem as fault:
        return complain(str(fault), OPEN)
    print(f"{path}\n")
    remembered = _remembered(path.parent)
    results = []
    for exercise in chosen:
        result = _check_one(exercise, answers, at_length=len(chosen) == 1)
        results.append(result)
        if result is not None:
            remembered.record(result)
    passed = sum(result is not None and result.verdict is Verdict.PASSED for result in results)
    summary = _("Exercises passed: {passed} of {count}. Points: {points} of {most}.").format(
        passed=passed,
        count=len(chosen),
        points=sum(result.points for result in results if result),
        most=sum(exercise.points for exercise in chosen),
    )
    print(f"\n{summary}")
    _print_notes(remembered.notes)
    return GOOD if passed == len(chosen) else OPEN


def _check_one(exercise: "Exercise", answers: "Answers", at_length: bool) -> "Result | None":
    """Check one exercise and print what came of it; None where there is no answer to check."""
    from attn_course.practice.feedback import Feedback
    from attn_course.practice.report import report_of
    from attn_course.practice.results import Verdict

    notes = answers.problems_of(exercise.name)
    fields = {"title": exercise.title, "id": exercise.id, "name": exercise.name}
    if exercise.name not in answers.values:
        print(_("Not found: {title} ({id})").format(**fields))
        _print_indented(notes)
        if exercise.name in answers.undefined:
            _print_indented([_("To put its cell back: attn-course reset {id}").format(**fields)])
        return None
    with quiet():
        result = exercise.check(exercise.local(answers.values[exercise.name]))
    if result.verdict is Verdict.TODO:
        print(_("To do: {title} ({id})").format(**fields))
    elif result.verdict is Verdict.PASSED and not at_length:
        show(Feedback(report_of(result)).text().splitlines()[0])
    else:
        show("\n" + Feedback(report_of(result)).text())
    _print_indented(notes)
    if result.verdict in (Verdict.FAILED, Verdict.ERROR):
        print(_("Stuck? attn-course hint {id}").format(**fields) + "\n")
    return result


def _exercises_in(path: Path) -> list["Exercise"]:
    """Return the exercises of the chapter that a notebook belongs to: by name, else by content."""
    from attn_course.practice.exercises import chapters
    from attn_course.practice.notebook import read_notebook
    from attn_course.practice.numbers import chapter_of_file
    from attn_course.practice.selection import defined_names

    known = chapters()
    cells = read_notebook(path).cells
    named = chapter_of_file(path.name, known)
    if named is not None:
        return list(named.exercises.values())
    defined = frozenset().union(*(defined_names(cell) for cell in cells if cell.kind == "code"))
    for chapter in known.values():
        if defined & set(chapter.exercises):
            return list(chapter.exercises.values())
    raise Misuse(
        _("To which chapter does {path} belong? Say it: attn-course check NN {file}").format(
            path=path, file=_quoted(path)
        )
    )


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
        print(_("Passed over: {path} (name it to check it)").format(path=path))
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


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _print_indented(sentences: list[str]) -> None:
    for sentence in sentences:
        print(f"  {sentence}")


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        print(note)
