"""`attn-course` in the terminal: check answers, see progress, get hints, begin again.

Exit codes: 0 all is well, 1 something failed or is still open, 2 the command was used wrongly.
Everything heavy is imported by the command that needs it, so that `--help` answers at once.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import attn_course
from attn_course.grading import command as grade_command
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Chapter, Exercise, Result
    from attn_course.practice.selection import Answers
    from attn_course.practice.survivors import Trial

GOOD, OPEN, WRONG_USE = 0, 1, 2
_NUMBER = re.compile(r"(\d+)([a-z]?)")


class Misuse(Exception):  # noqa: N818  (the command was used wrongly; the text says how)
    """The user asked for something that does not exist."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an old terminal shows ? for what it can't print
            stream.reconfigure(errors="replace")
    try:
        reader = parser()
        arguments = reader.parse_args(argv)
        if "run" not in arguments:
            reader.print_help()
            return WRONG_USE
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as leaving:  # argparse: --help, --version, an unknown option
        return leaving.code if isinstance(leaving.code, int) else WRONG_USE
    except Misuse as fault:
        return _complain(str(fault), WRONG_USE)
    except KeyboardInterrupt:
        return _complain(_("Stopped."), OPEN)
    except BrokenPipeError:  # `attn-course progress | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="attn-course",
        description=_("Work on the exercises of the course on attention."),
        epilog=_(
            "examples:\n"
            "  attn-course start my-exercises      copy the exercises into a new folder\n"
            "  attn-course check                   check all notebooks in this folder\n"
            "  attn-course check 01                check chapter 01\n"
            "  attn-course hint 01.average_pooling the next hint for one exercise\n"
            "  attn-course progress                your points so far\n"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument(
        "--version", action="version", version=f"attn-course {attn_course.__version__}"
    )
    commands = top.add_subparsers(title=_("commands"), metavar=_("COMMAND"))

    def command(
        name: str, run: Callable[[argparse.Namespace], int], help_: str, examples: str
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=help_,
            description=help_[:1].upper() + help_[1:] + ".",
            epilog=_("examples:") + "\n" + examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    made = command(
        "check",
        check,
        _("check your answers in notebooks"),
        "  attn-course check\n  attn-course check 01.average_pooling\n"
        "  attn-course check 01 my_answers.ipynb",
    )
    made.add_argument(
        "what",
        nargs="*",
        metavar="NN[.exercise] | FILE",
        help=_("chapters, exercises, notebook files; without any, all notebooks in this folder"),
    )
    command("progress", progress, _("show your points"), "  attn-course progress")
    made = command(
        "hint",
        hint,
        _("show the next hint for an exercise, a stronger one each time"),
        "  attn-course hint 01.average_pooling",
    )
    made.add_argument("exercise", metavar="NN.exercise", help=_("for example 01.average_pooling"))
    made = command(
        "reset",
        reset,
        _("put an exercise back as it was, and keep a backup of your notebook"),
        "  attn-course reset 01.average_pooling\n"
        "  attn-course reset 01.average_pooling my_answers.ipynb",
    )
    made.add_argument("exercise", metavar="NN.exercise", help=_("for example 01.average_pooling"))
    made.add_argument("file", nargs="?", type=Path, metavar="FILE", help=_("the notebook"))
    made.add_argument("--yes", action="store_true", help=_("do not ask, do it"))
    made = command(
        "start",
        start,
        _("copy the exercises into a folder, without overwriting anything"),
        "  attn-course start my-exercises",
    )
    made.add_argument("folder", type=Path, metavar="DIR", help=_("a folder, new or existing"))
    made = command(
        "release",
        release,
        _("write exercises/ from solutions/ (for authors)"),
        "  attn-course release\n  attn-course release --check",
    )
    made.add_argument("--check", action="store_true", help=_("write nothing; fail if stale"))
    made = command(
        "handout",
        handout,
        _("make a zip of the exercises for learners, without any solution (for instructors)"),
        "  attn-course handout",
    )
    made.add_argument(
        "--folder", type=Path, default=Path("dist"), metavar="DIR", help=_("where to (dist)")
    )
    made = command(
        "selftest",
        selftest,
        _(
            "try known mistakes, known right answers and mutants of the solutions on the checks "
            "(for authors)"
        ),
        "  attn-course selftest                     all chapters\n"
        "  attn-course selftest 01 05b.ask          one chapter, and one exercise of another\n"
        "  attn-course selftest --no-mutants        the known mistakes and right answers alone",
    )
    made.add_argument(
        "what",
        nargs="*",
        metavar="NN[.exercise]",
        help=_("chapters and exercises; without any, all of them"),
    )
    made.add_argument(
        "--mutants",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=_("also change every operator, axis and constant of the solutions, one at a time"),
    )
    made = command(
        "tasks",
        tasks,
        _("train every mechanism and its ablation on their tasks, and print the table"),
        "  attn-course tasks --list\n  attn-course tasks --task key_lookup --seeds 3\n"
        "  attn-course tasks --json > tasks.json",
    )
    made.add_argument("--list", action="store_true", help=_("name the tasks, train nothing"))
    made.add_argument(
        "--task", action="append", metavar="NAME", help=_("this task alone; may be repeated")
    )
    made.add_argument(
        "--seeds", type=_count, default=1, metavar="N", help=_("train from N seeds each (1)")
    )
    made.add_argument(
        "--jobs", type=_count, metavar="N", help=_("so many trainings at once (one a core)")
    )
    made.add_argument("--json", action="store_true", help=_("print the rows as JSON"))
    made.add_argument("--save", type=Path, metavar="FILE", help=_("keep the table in a file"))
    made.add_argument(
        "--compare", type=Path, metavar="FILE", help=_("fail where a figure left its kept spread")
    )
    made.add_argument(
        "--fresh", action="store_true", help=_("train anew what an earlier run has finished")
    )
    made.add_argument(
        "--tune", action="store_true", help=_("try the three learning rates of every model")
    )
    made = command(
        "lab",
        lab,
        _("run the tests on whether attention is explanation, on two tasks, and print the tables"),
        "  attn-course lab\n  attn-course lab --seeds 2 --json",
    )
    made.add_argument(
        "--seeds", type=_count, metavar="N", help=_("train from N seeds (the lab's own five)")
    )
    made.add_argument("--json", action="store_true", help=_("print every number as JSON"))
    grade_command.add_parser(commands)
    return top


def _count(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(
            _("{word!r} is not a number of at least 1").format(word=word)
        )
    return int(word)


def check(arguments: argparse.Namespace) -> int:
    """Check the asked exercises in the asked notebooks."""
    wanted, files = _ids_and_files(arguments.what)
    codes = [_check_file(path, chosen) for path, chosen in _work(wanted, files)]
    return max(codes)


def progress(_arguments: argparse.Namespace) -> int:
    """Show what was reached."""
    from attn_course.practice.exercises import chapters

    remembered = _remembered(_working_folder())
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
    exercise = _exercise(arguments.exercise)
    remembered = _remembered(_working_folder())
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
    from attn_course.practice.release import ReleaseProblem

    exercise = _exercise(arguments.exercise)
    path = arguments.file or _notebook_of(exercise)
    refused = False

    def confirm(question: str) -> bool:
        nonlocal refused
        agreed = arguments.yes or _ask(question)
        refused = not agreed
        return agreed

    try:
        done = workspace.reset(exercise, path, confirm)
    except (NotebookProblem, ReleaseProblem, workspace.WorkspaceProblem, OSError) as fault:
        return _complain(str(fault), OPEN)
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
        return _complain(str(fault), WRONG_USE)
    except OSError as fault:
        return _complain(
            _("Nothing could be written to {folder}: {why}.").format(
                folder=folder, why=fault.strerror
            ),
            OPEN,
        )
    for path in copied:
        print(_("copied   {path}").format(path=path))
    for path in kept:
        print(_("kept     {path} (it was there already)").format(path=path))
    print(_("Begin with: cd {folder} && jupyter lab").format(folder=_quoted(folder)))
    return GOOD


def release(arguments: argparse.Namespace) -> int:
    """Write the exercise notebooks, or say which ones are stale."""
    from attn_course.practice import release as releasing
    from attn_course.practice.exercises import chapters
    from attn_course.practice.notebook import write_notebook

    root = _checkout("release")
    try:
        wanted = releasing.exercise_notebooks(root, chapters())
    except releasing.ReleaseProblem as fault:
        return _complain(str(fault), OPEN)
    except ImportError:
        return _complain(
            _("This needs jupytext, which `make env` or `pip install jupytext` installs."), OPEN
        )
    folder = root / "exercises"
    stale = releasing.stale_files(folder, wanted)
    if arguments.check:
        for name, why in stale.items():
            print(f"exercises/{name}: {why}", file=sys.stderr)
        if stale:
            return _complain(
                _("The exercises are stale. Mend it: `attn-course release` or `make exercises`"),
                OPEN,
            )
        print(_("The exercises agree with their solutions ({count}).").format(count=len(wanted)))
        return GOOD
    folder.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            write_notebook(folder / name, wanted[name])
            print(_("written   exercises/{name}").format(name=name))
        else:  # never delete what may be somebody's work
            print(_("stray     exercises/{name} has no source: delete it").format(name=name))
    for name in wanted:
        if name not in stale:
            print(_("unchanged exercises/{name}").format(name=name))
    return OPEN if set(stale) - set(wanted) else GOOD


def handout(arguments: argparse.Namespace) -> int:
    """Write the zip for learners."""
    from attn_course.practice import workspace
    from attn_course.practice.release import ReleaseProblem

    try:
        path = workspace.write_handout(arguments.folder)
    except (ReleaseProblem, workspace.WorkspaceProblem, OSError) as fault:
        return _complain(str(fault), OPEN)
    print(_("The exercises for your learners, without solutions: {path}").format(path=path))
    return GOOD


def selftest(arguments: argparse.Namespace) -> int:
    """Examine the checks themselves."""
    from attn_course._progress import Progress
    from attn_course.practice.exercises import chapters
    from attn_course.practice.selftest import examine, is_good, report

    wanted, files = _ids_and_files(arguments.what)
    if files:
        raise Misuse(_("{path} is no chapter: name it by its number.").format(path=files[0]))
    if not arguments.what:
        wanted = [one for chapter in chapters().values() for one in chapter.exercises.values()]
    examined = []
    with Progress(len(wanted), _("known answers"), unit=_("exercises")) as shown, _quiet():
        for exercise in wanted:
            shown.now(exercise.id)
            examined.append(examine(exercise))
            shown.advance()
    trials = _trials(wanted) if arguments.mutants else []
    print(report(examined, trials))
    return GOOD if is_good(examined, trials) else OPEN


def _trials(exercises: list["Exercise"]) -> list["Trial"]:
    """Try the mutants of every solution."""
    from attn_course._progress import Progress
    from attn_course.practice.survivors import NoMutants, solutions_of, try_mutants
    from attn_course.practice.workspace import course_root

    try:
        solutions = solutions_of(exercises, course_root())
        count = sum(len(solution.mutants) for solution in solutions)
        trials = []
        with Progress(count, _("mutants"), unit=_("tried")) as shown, _quiet():
            for solution in solutions:
                shown.now(solution.exercise.id)
                trials.append(try_mutants(solution, tried=shown.advance))
    except NoMutants as fault:
        raise Misuse(str(fault)) from fault
    return trials


# check


def _ids_and_files(words: Sequence[str]) -> tuple[list["Exercise"], list[Path]]:
    """Return the exercises and the files that the words name."""
    wanted: list[Exercise] = []
    files: list[Path] = []
    for word in words:
        if word.endswith(".ipynb") or "/" in word or os.sep in word or Path(word).is_file():
            files.append(Path(word))
        elif _NUMBER.fullmatch(word):
            meant = _chapters(word)
            if not meant:
                _find(f"{_number(word)}.")  # complains, with the chapters that there are
            wanted += [one for chapter in meant for one in chapter.exercises.values()]
        else:
            wanted.append(_exercise(word))
    return wanted, files


def tasks(arguments: argparse.Namespace) -> int:
    """Train and compare."""
    from attn_course.tasks import command

    try:
        return command.carry_out(arguments)
    except command.UnknownTask as fault:
        raise Misuse(str(fault)) from fault


def lab(arguments: argparse.Namespace) -> int:
    """Run the explanation lab."""
    import json

    from attn_course.evaluation.explanation import LabSettings, run_lab

    seeds = LabSettings().seeds if arguments.seeds is None else tuple(range(arguments.seeds))
    report = run_lab(LabSettings(seeds=seeds), progress=True)
    print(json.dumps(report.as_dict(), indent=1) if arguments.json else report.text())
    return GOOD


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
    from attn_course.practice.selection import answers_from

    os.environ.setdefault("MPLBACKEND", "Agg")  # a plot in an answer must not open a window
    try:
        chosen = wanted or _exercises_in(path)
        answers = answers_from(path, [exercise.name for exercise in chosen])
    except NotebookProblem as fault:
        return _complain(str(fault), OPEN)
    print(f"{path}\n")
    remembered = _remembered(path.parent)
    results = []
    for exercise in chosen:
        result = _check_one(exercise, answers, at_length=len(chosen) == 1)
        results.append(result)
        if result is not None:
            remembered.record(result)
    passed = sum(result is not None and result.status == "passed" for result in results)
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

    notes = answers.problems_of(exercise.name)
    fields = {"title": exercise.title, "id": exercise.id, "name": exercise.name}
    if exercise.name not in answers.values:
        print(_("Not found: {title} ({id})").format(**fields))
        _print_indented(notes)
        if notes == [_("No cell defines `{name}`.").format(**fields)]:
            _print_indented([_("To put its cell back: attn-course reset {id}").format(**fields)])
        return None
    with _quiet():
        result = exercise.check(exercise.local(answers.values[exercise.name]))
    if result.status == "todo":
        print(_("To do: {title} ({id})").format(**fields))
    elif result.status == "passed" and not at_length:
        print(Feedback(result).text().splitlines()[0])
    else:
        print("\n" + Feedback(result).text())
    _print_indented(notes)
    if result.status in ("failed", "error"):
        print(_("Stuck? attn-course hint {id}").format(**fields) + "\n")
    return result


def _exercises_in(path: Path) -> list["Exercise"]:
    """Return the exercises of the chapter that a notebook belongs to: by name, else by content."""
    from attn_course.practice.exercises import chapters
    from attn_course.practice.notebook import chapter_number, read_notebook
    from attn_course.practice.selection import defined_names

    known = chapters()
    cells = read_notebook(path).cells
    number = chapter_number(path.name)
    if number in known:
        return list(known[number].exercises.values())
    defined = frozenset().union(*(defined_names(cell) for cell in cells if cell.kind == "code"))
    for chapter in known.values():
        if defined & set(chapter.exercises):
            return list(chapter.exercises.values())
    raise Misuse(
        _("To which chapter does {path} belong? Say it: attn-course check NN {file}").format(
            path=path, file=_quoted(path)
        )
    )


# Names, folders, words


def _exercise(word: str) -> "Exercise":
    """Return the exercise that a learner means, or raise `Misuse` with what exists."""
    from attn_course.practice.exercises import chapters

    number, dot, name = word.partition(".")
    if not dot:
        meant = [c.exercises[word].id for c in chapters().values() if word in c.exercises]
        if meant:
            raise Misuse(
                _("{word!r} needs its chapter in front: {meant}").format(
                    word=word, meant=_(" or ").join(meant)
                )
            )
        whole = [one.id for chapter in _chapters(word) for one in chapter.exercises.values()]
        if whole:
            names = ", ".join(whole)
            raise Misuse(
                _("{word!r} is a whole chapter; name one of its exercises: {names}").format(
                    word=word, names=names
                )
            )
    return _find(f"{_number(number)}.{name}" if dot else word)


def _number(word: str) -> str:
    """Return a chapter's number as it is written: 1 is 01, 5b is 05b."""
    found = _NUMBER.fullmatch(word)
    return f"{found[1].zfill(2)}{found[2]}" if found else word


def _chapters(word: str) -> "list[Chapter]":
    """Return the chapter of that number, or all pages of it: 05 means 05a, 05b, …"""
    from attn_course.practice.exercises import chapters

    number, known = _number(word), chapters()
    if number in known:
        return [known[number]]
    return [one for name, one in known.items() if _NUMBER.fullmatch(word) and name[:-1] == number]


def _find(exercise_id: str) -> "Exercise":
    from attn_course.practice.exercises import find_exercise

    try:
        return find_exercise(exercise_id)
    except KeyError as fault:
        raise Misuse(str(fault.args[0])) from fault


def _found_notebooks() -> dict[str, Path]:
    from attn_course.practice.workspace import find_notebooks

    found, passed_over = find_notebooks(Path())
    if not found:
        raise Misuse(
            _(
                "There is no exercise notebook (NN_topic.ipynb) in {folder} or in its folder "
                "exercises. Copy them with `attn-course start DIR`, or name a file."
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


def _working_folder() -> Path:
    """Return where the notebooks are, which is where a check in Jupyter remembers progress."""
    from attn_course.practice.notebook import chapter_number

    def has_notebooks(folder: Path) -> bool:
        return any(chapter_number(path.name) for path in folder.glob("*.ipynb"))

    here = Path()
    if (here / ".attn-course").is_dir() or has_notebooks(here):
        return here
    below = here / "exercises"
    return below if has_notebooks(below) else here


def _remembered(folder: Path):  # type: ignore[no-untyped-def]  # loaded late
    from attn_course.practice import progress as kept

    return kept.load(os.environ.get("ATTN_COURSE_HOME") or folder)


def _checkout(command: str) -> Path:
    from attn_course.practice.workspace import course_root

    root = course_root()
    if root is None:
        raise Misuse(
            _("`attn-course {command}` works in a checkout of the course only.").format(
                command=command
            )
        )
    return root


def _ask(question: str) -> bool:
    if not sys.stdin or not sys.stdin.isatty():
        print(question)
        print(_("To do so, add --yes."))
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes", _("y"), _("yes"))


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what answers print or warn of while they are checked."""
    import warnings

    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _print_indented(sentences: list[str]) -> None:
    for sentence in sentences:
        print(f"  {sentence}")


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        print(note)


def _complain(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
