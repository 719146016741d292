"""The commands of authors: write derived files, try the checks, begin an exercise, see mistakes.

Everything heavy is imported by the command that needs it.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attn_course._files import replace_file
from attn_course.practice.numbers import Misuse, exercise_named, ids_and_files
from attn_course.practice.terminal import GOOD, OPEN, complain, quiet
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.authoring.survivors import Trial
    from attn_course.practice.exercise import Exercise

AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str, str], argparse.ArgumentParser]


def add_parsers(command: AddCommand) -> None:
    """Add the commands of authors to those of `attn-course`."""
    made = command(
        "release",
        release,
        _("write exercises/ and the checks' data from solutions/ (for authors)"),
        "  attn-course release\n  attn-course release --check",
    )
    made.add_argument("--check", action="store_true", help=_("write nothing; fail if stale"))
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
        "new",
        new,
        _("begin an exercise: its cells, its Python, and mutants as ready mistakes (for authors)"),
        "  attn-course new 01.boxcar_weights                       the cells and the Python file\n"
        "  attn-course new 05b.asked_twice --kind module\n"
        "  attn-course new 01.boxcar_weights --mistakes            once its solution is written",
    )
    made.add_argument("exercise", metavar="NN.name", help=_("the notebook, and the new name"))
    made.add_argument(
        "--kind", choices=("function", "value", "module"), default="function", help=_("of answer")
    )
    made.add_argument(
        "--mistakes",
        action="store_true",
        help=_("print mutants that no mistake names yet, as edits that want only a sentence"),
    )
    made = command(
        "mistakes",
        mistakes,
        _("show each mistake of an exercise: its change, its output, its nearest neighbour"),
        "  attn-course mistakes 01.gaussian_weights",
    )
    made.add_argument("exercise", metavar="NN.exercise", help=_("for example 01.average_pooling"))
    made.add_argument("--seed", type=int, default=0, help=_("draw the inputs from this number (0)"))


def release(arguments: argparse.Namespace) -> int:
    """Write the derived files, or say which ones are stale."""
    from attn_course.authoring import release as releasing
    from attn_course.authoring.source import SourceProblems
    from attn_course.practice.workspace import keep_backup

    root = _checkout("release")
    try:
        wanted = releasing.wanted_files(releasing.release(root))
    except SourceProblems as problems:
        return complain(str(problems), OPEN)
    except ImportError as fault:
        return complain(_needs_jupytext(fault), OPEN)
    stale = releasing.stale_files(root, wanted)
    if arguments.check:
        for name, why in stale.items():
            print(f"{name.as_posix()}: {why}", file=sys.stderr)
        if stale:
            sentence = _("Derived files are stale: run `attn-course release` or `make exercises`.")
            return complain(sentence, OPEN)
        sentence = _("The exercises agree with their solutions ({count} files).")
        print(sentence.format(count=len(wanted)))
        return GOOD
    for name in stale:
        if name in wanted:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if (root / name).exists() and name.parent == releasing.NOTEBOOKS:
                keep_backup(root / name)  # somebody may have worked in it
            replace_file(root / name, wanted[name])
            print(_("written   {name}").format(name=name.as_posix()))
        else:  # never delete what may be somebody's work
            print(_("stray     {name} has no source: delete it").format(name=name.as_posix()))
    for name in wanted:
        if name not in stale:
            print(_("unchanged {name}").format(name=name.as_posix()))
    return OPEN if set(stale) - set(wanted) else GOOD


def selftest(arguments: argparse.Namespace) -> int:
    """Examine the checks themselves."""
    from attn_course._progress_bar import ProgressBar
    from attn_course.authoring.first_look import looks_by_exercise
    from attn_course.authoring.selftest import examine, is_good, report
    from attn_course.practice.exercises import chapters
    from attn_course.practice.workspace import course_root

    known = chapters()
    wanted, files = ids_and_files(arguments.what, known)
    if files:
        raise Misuse(_("{path} is no chapter: name it by its number.").format(path=files[0]))
    if not arguments.what:
        wanted = [one for chapter in known.values() for one in chapter.exercises.values()]
    examined = []
    with ProgressBar(len(wanted), _("known answers"), unit=_("exercises")) as shown, quiet():
        for exercise in wanted:
            shown.now(exercise.id)
            examined.append(examine(exercise))
            shown.advance()
    trials = _trials(wanted) if arguments.mutants else []
    root = course_root()
    print(report(examined, trials, looks_by_exercise(root) if root else None))
    return GOOD if is_good(examined, trials) else OPEN


def _trials(exercises: list["Exercise"]) -> list["Trial"]:
    """Try the mutants of every solution."""
    from attn_course._progress_bar import ProgressBar
    from attn_course.authoring.source import SourceProblems
    from attn_course.authoring.survivors import NoMutants, solutions_of, try_mutants
    from attn_course.practice.workspace import course_root

    try:
        solutions = solutions_of(exercises, course_root())
        count = sum(len(solution.mutants) for solution in solutions)
        trials = []
        with ProgressBar(count, _("mutants"), unit=_("tried")) as shown, quiet():
            for solution in solutions:
                shown.now(solution.exercise.id)
                trials.append(try_mutants(solution, tried=shown.advance))
    except (NoMutants, SourceProblems) as fault:
        raise Misuse(str(fault)) from fault
    except ImportError as fault:
        raise Misuse(_needs_jupytext(fault)) from fault
    return trials


def new(arguments: argparse.Namespace) -> int:
    """Write the beginning of an exercise, or print mutants as mistakes to name."""
    from attn_course.authoring import scaffold
    from attn_course.authoring.source import SourceProblems

    root = _checkout("new")
    try:
        if arguments.mistakes:
            print(scaffold.unnamed_mutants(root, arguments.exercise))
            return GOOD
        for path in scaffold.begin(root, arguments.exercise, arguments.kind):
            print(_("written  {path}").format(path=path.relative_to(root).as_posix()))
    except scaffold.CannotBegin as fault:
        raise Misuse(str(fault)) from fault
    except SourceProblems as problems:
        return complain(str(problems), OPEN)
    print(scaffold.next_steps(arguments.exercise))
    return GOOD


def mistakes(arguments: argparse.Namespace) -> int:
    """Show the mistakes of an exercise."""
    from attn_course.authoring.neighbours import mistakes_in_words
    from attn_course.practice.exercises import chapters

    exercise = exercise_named(arguments.exercise, chapters())
    with quiet():
        text = mistakes_in_words(exercise, arguments.seed)
    print(text)
    return GOOD


def _needs_jupytext(fault: ImportError) -> str:
    if fault.name != "jupytext":
        raise fault
    return _("This needs jupytext, which `make env` or `pip install jupytext` installs.")


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
