"""`attn-course` in the terminal: the words it knows, and the commands of authors and instructors.

Those of learners are in `practice.command`, those of graders in `grading.command`.

Exit codes: 0 all is well, 1 something failed or is still open, 2 the command was used wrongly.
Everything heavy is imported by the command that needs it, so that `--help` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attn_course
from attn_course._files import replace_file
from attn_course.grading import command as grade_command
from attn_course.practice.command import check, hint, progress, reset, start
from attn_course.practice.named import Misuse, ids_and_files
from attn_course.practice.terminal import GOOD, OPEN, WRONG_USE, complain, quiet, unwritable
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise
    from attn_course.practice.survivors import Trial


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
        return complain(str(fault), WRONG_USE)
    except KeyboardInterrupt:
        return complain(_("Stopped."), OPEN)
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
        "--jobs", type=_count, metavar="N", help=_("so many trainings at once (one per core)")
    )
    made.add_argument("--json", action="store_true", help=_("print the rows as JSON"))
    made.add_argument("--save", type=Path, metavar="FILE", help=_("keep the table in a file"))
    made.add_argument(
        "--compare",
        type=Path,
        metavar="FILE",
        help=_("fail where a figure is not the one kept for its seed"),
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


def release(arguments: argparse.Namespace) -> int:
    """Write the exercise notebooks, or say which ones are stale."""
    from attn_course.practice import release as releasing
    from attn_course.practice.exercises import chapters
    from attn_course.practice.workspace import keep_backup

    root = _checkout("release")
    try:
        wanted = releasing.exercise_notebooks(root, chapters())
    except releasing.ReleaseProblem as fault:
        return complain(str(fault), OPEN)
    except ImportError:
        return complain(
            _("This needs jupytext, which `make env` or `pip install jupytext` installs."), OPEN
        )
    folder = root / "exercises"
    stale = releasing.stale_files(folder, wanted)
    if arguments.check:
        for name, why in stale.items():
            print(f"exercises/{name}: {why}", file=sys.stderr)
        if stale:
            return complain(
                _("The exercises are stale. Mend it: `attn-course release` or `make exercises`"),
                OPEN,
            )
        print(_("The exercises agree with their solutions ({count}).").format(count=len(wanted)))
        return GOOD
    folder.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            if (folder / name).exists():  # somebody may have worked in it
                keep_backup(folder / name)
            replace_file(folder / name, wanted[name])
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
    except (ReleaseProblem, workspace.WorkspaceProblem) as fault:
        return complain(str(fault), OPEN)
    except OSError as fault:
        return complain(unwritable(arguments.folder, fault), OPEN)
    print(_("The exercises for your learners, without solutions: {path}").format(path=path))
    return GOOD


def selftest(arguments: argparse.Namespace) -> int:
    """Examine the checks themselves."""
    from attn_course._progress import Progress
    from attn_course.practice.exercises import chapters
    from attn_course.practice.selftest import examine, is_good, report

    wanted, files = ids_and_files(arguments.what)
    if files:
        raise Misuse(_("{path} is no chapter: name it by its number.").format(path=files[0]))
    if not arguments.what:
        wanted = [one for chapter in chapters().values() for one in chapter.exercises.values()]
    examined = []
    with Progress(len(wanted), _("known answers"), unit=_("exercises")) as shown, quiet():
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
        with Progress(count, _("mutants"), unit=_("tried")) as shown, quiet():
            for solution in solutions:
                shown.now(solution.exercise.id)
                trials.append(try_mutants(solution, tried=shown.advance))
    except NoMutants as fault:
        raise Misuse(str(fault)) from fault
    return trials


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


if __name__ == "__main__":
    raise SystemExit(main())
