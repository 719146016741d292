"""`attn-course` in the terminal: the words it knows.

The commands of learners are in `practice.command`, those of authors in `authoring.command`, those
of graders in `grading.command`.

Exit codes: 0 all is well, 1 something failed or is still open, 2 the command was used wrongly.
Everything heavy is imported by the command that needs it, so that `--help` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import attn_course
from attn_course.authoring import command as author_command
from attn_course.grading import (
    autograder_command,
    collect_command,
    decide_command,
    report_command,
    shards_command,
)
from attn_course.grading import command as grade_command
from attn_course.practice.command import check, hint, progress, reset, solution, start, watch
from attn_course.practice.numbers import Misuse, did_you_mean
from attn_course.practice.terminal import GOOD, OPEN, WRONG_USE, complain, count, unwritable
from attn_course.translate import _

_CHECK_KEYS = """\
--json prints an object:
  "format"                the number of this description, 1
  "points", "max_points"  in all
  "notebooks"             a list of objects:
    "file"                  the notebook
    "problem"               why it can't be read, or null
    "points", "max_points"  of what was checked in it
    "exercises"             a list of objects:
      "id", "title"
      "verdict"               "passed", "failed", "error", "todo" or "missing"
      "points", "max_points"
      "mistake"               the name of a known mistake, or null
      "notes"                 what was noticed in the file, a list of sentences
      "text"                  all that the check says"""
_PROGRESS_KEYS = """\
--json prints an object:
  "format"                the number of this description, 1
  "points", "max_points"  in all; points are the best that a check ever gave
  "chapters"              a list of objects:
    "number", "title", "points", "max_points"
    "exercises"             a list of objects:
      "id", "title"
      "verdict"               of the last check: "passed", "failed", "error", "todo", or null
      "points", "max_points"
      "attempts", "hints"     how many checks ran your code, how many hints you saw
      "checked"               when the last check was (ISO 8601, UTC), or null"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an old terminal shows ? for what it can't print
            stream.reconfigure(errors="replace")
    try:
        reader = parser()
        _refuse_unknown_command(sys.argv[1:] if argv is None else argv, reader.commands)
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


class Reader(argparse.ArgumentParser):
    """The parser of the command line; it says which commands there are."""

    commands: Mapping[str, argparse.ArgumentParser] = MappingProxyType({})


def _refuse_unknown_command(words: Sequence[str], commands: Iterable[str]) -> None:
    """Ask who mistyped a command what was meant; argparse would list all of them alone."""
    if words and not words[0].startswith("-") and words[0] not in commands:
        raise Misuse(
            _("There is no command {word!r}; there are: {known}.{meant}").format(
                word=words[0], known=", ".join(commands), meant=did_you_mean(words[0], commands)
            )
        )


def parser() -> Reader:
    """Return the parser of the command line."""
    top = Reader(
        prog="attn-course",
        description=_("Work on the exercises of the course on attention."),
        epilog=_(
            "examples:\n"
            "  attn-course start my-exercises      copy the exercises into a new folder\n"
            "  attn-course check                   check all notebooks in this folder\n"
            "  attn-course check 01                check chapter 01\n"
            "  attn-course watch                   check whenever you save, and go on\n"
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
        "  attn-course check 01 my_answers.ipynb\n\n" + _CHECK_KEYS,
    )
    what = _("chapters, exercises, notebook files; without any, all notebooks in this folder")
    made.add_argument("what", nargs="*", metavar="NN[.exercise] | FILE", help=what)
    made.add_argument("--json", action="store_true", help=_("print what was found as JSON"))
    made = command(
        "watch",
        watch,
        _("check again whenever a notebook is saved, and go on to the next exercise"),
        "  attn-course watch\n  attn-course watch 01",
    )
    made.add_argument("what", nargs="*", metavar="NN[.exercise] | FILE", help=what)
    made = command(
        "progress",
        progress,
        _("show your points"),
        "  attn-course progress\n\n" + _PROGRESS_KEYS,
    )
    made.add_argument("--json", action="store_true", help=_("print your points as JSON"))
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
        "solution",
        solution,
        _("show the solution of an exercise and its explanation, after a question"),
        "  attn-course solution 01.average_pooling",
    )
    made.add_argument("exercise", metavar="NN.exercise", help=_("for example 01.average_pooling"))
    made.add_argument("--yes", action="store_true", help=_("do not ask, show it"))
    made = command(
        "handout",
        handout,
        _("make a zip of the exercises for learners, without any solution (for instructors)"),
        "  attn-course handout",
    )
    made.add_argument(
        "--folder", type=Path, default=Path("dist"), metavar="DIR", help=_("where to (dist)")
    )
    author_command.add_parsers(command)
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
        "--seeds", type=count, default=1, metavar="N", help=_("train from N seeds each (1)")
    )
    made.add_argument(
        "--jobs", type=count, metavar="N", help=_("so many trainings at once (one per core)")
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
        "--changed",
        action="store_true",
        help=_("with --compare: only tasks whose code has changed since their figures were kept"),
    )
    made.add_argument(
        "--pick",
        default="",
        metavar="WORD",
        help=_("with --changed: one unchanged task too, chosen by a word such as a commit's hash"),
    )
    made.add_argument(
        "--confirm",
        action="store_true",
        help=_("with --compare: note in FILE that this code reproduces its figures"),
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
        "--seeds", type=count, metavar="N", help=_("train from N seeds (the lab's own five)")
    )
    made.add_argument("--json", action="store_true", help=_("print every number as JSON"))
    made = command(
        "translate",
        translate,
        _("train a small model to translate dates, once, and let it translate yours"),
        '  attn-course translate "March 5, 2024" --language en\n'
        '  attn-course translate "5. März 2024" 24.12.99 --language de --alignment\n'
        "  attn-course translate --language fr < dates.txt\n\n"
        + _("It is a small neural network and not a parser, so it may be wrong."),
    )
    made.add_argument(
        "date", nargs="*", metavar="DATE", help=_("dates; without any, one per line is read")
    )
    made.add_argument(
        "--language",
        metavar="CODE",
        help=_("in which language they are written, for example en; de, fr, ru and others too"),
    )
    made.add_argument(
        "--alignment",
        action="store_true",
        help=_("show for each digit the characters that the model looked at"),
    )
    made.add_argument(
        "--model",
        type=Path,
        default=Path(".attn-course") / "date_translator.pt",
        metavar="FILE",
        help=_("where the trained weights are kept (%(default)s)"),
    )
    made.add_argument(
        "--fresh", action="store_true", help=_("train anew, and replace the weights in the file")
    )
    collect_command.add_parser(commands)
    autograder_command.add_parser(commands)
    grade_command.add_parser(commands)
    decide_command.add_parsers(commands)
    report_command.add_parser(commands)
    shards_command.add_parser(commands)
    top.commands = commands.choices
    return top


def handout(arguments: argparse.Namespace) -> int:
    """Write the zip for learners."""
    from attn_course.practice import workspace

    try:
        path = workspace.write_handout(arguments.folder)
    except OSError as fault:
        return complain(unwritable(arguments.folder, fault), OPEN)
    print(_("The exercises for your learners, without solutions: {path}").format(path=path))
    return GOOD


def tasks(arguments: argparse.Namespace) -> int:
    """Train and compare."""
    from attn_course.tasks import all_tasks, command

    try:
        return command.carry_out(arguments)
    except command.UnknownTask as fault:
        known = all_tasks()
        unknown = next(name for name in arguments.task if name not in known)
        raise Misuse(f"{fault}{did_you_mean(unknown, known)}") from fault


def translate(arguments: argparse.Namespace) -> int:
    """Let a small model translate dates."""
    from attn_course.tasks.dates import command
    from attn_course.tasks.dates.rendering import LOCALES
    from attn_course.tasks.dates.translator import TranslatorProblem

    try:
        return command.carry_out(arguments)
    except command.UnknownLanguage as fault:
        meant = did_you_mean(arguments.language or "", LOCALES)
        raise Misuse(f"{fault}{meant}") from fault
    except TranslatorProblem as fault:
        return complain(str(fault), OPEN)
    except ImportError as fault:  # Babel is installed on demand
        return complain(str(fault), OPEN)
    except OSError as fault:
        sentence = _("The weights can be neither read from nor written to {path}: {why}.")
        return complain(sentence.format(path=arguments.model, why=fault.strerror), OPEN)


def lab(arguments: argparse.Namespace) -> int:
    """Run the explanation lab."""
    import json

    from attn_course.explanation import LabSettings, run_lab

    seeds = LabSettings().seeds if arguments.seeds is None else tuple(range(arguments.seeds))
    report = run_lab(LabSettings(seeds=seeds), progress=True)
    print(json.dumps(report.as_dict(), indent=1) if arguments.json else report.text())
    return GOOD


if __name__ == "__main__":
    raise SystemExit(main())
