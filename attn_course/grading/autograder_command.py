"""`attn-course autograder`: files with which another system runs the checks itself."""

import argparse
from pathlib import Path
from typing import Any

from attn_course._files import replace_file
from attn_course.practice.numbers import Misuse, chapters_named
from attn_course.practice.terminal import GOOD, OPEN, complain, unwritable
from attn_course.translate import _

_EXAMPLES = """\
  attn-course autograder gradescope --chapters 01 --out dist
  attn-course autograder gradescope --chapters 01 --checks my-checks --out dist
  attn-course autograder classroom --chapters 01 --out dist

gradescope: upload gradescope.zip as the autograder of a programming assignment. It contains the
course with its solutions, so it is for instructors. What your own checks find is hidden from
learners. The grader's sandbox is used where the container allows one; where it does not, nothing is
graded unless the zip was made with --without-sandbox, and then a submission can read the checks
and write its own points.
classroom: put classroom.yml into the template of the assignment, as
.github/workflows/classroom.yml, next to the notebook. It runs pytest once for each exercise.

Neither can be run here: they follow what the systems document, are linted, and are untested. Try
them with a submission of your own before learners do."""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add `autograder` to the commands of `attn-course`."""
    help_ = _("make what Gradescope or GitHub Classroom need to run the checks (for instructors)")
    made: argparse.ArgumentParser = commands.add_parser(
        "autograder",
        help=help_,
        description=help_[:1].upper() + help_[1:] + ". " + _("Untested on these systems."),
        epilog=_("examples:") + "\n" + _EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    made.add_argument("system", choices=("gradescope", "classroom"), help=_("for which system"))
    made.add_argument(
        "--chapters", nargs="+", required=True, metavar="NN", help=_("what is assigned")
    )
    made.add_argument(
        "--checks", type=Path, metavar="DIR", help=_("your own further checks (gradescope)")
    )
    made.add_argument(
        "--without-sandbox",
        action="store_true",
        help=_("grade although there is no sandbox in the container (gradescope)"),
    )
    made.add_argument(
        "--install",
        metavar="SPEC",
        help=_("what pip installs (classroom; this version of attn-course)"),
    )
    made.add_argument(
        "--out", type=Path, default=Path("dist"), metavar="DIR", help=_("where to (dist)")
    )
    return made


def run(arguments: argparse.Namespace) -> int:
    """Write the file."""
    import attn_course
    from attn_course.grading.autograders import (
        AutograderProblem,
        classroom_workflow,
        gradescope_zip,
    )
    from attn_course.grading.instructor import ChecksProblem, with_own_checks
    from attn_course.practice.exercises import chapters

    if arguments.system == "classroom" and (arguments.checks or arguments.without_sandbox):
        raise Misuse(_("--checks and --without-sandbox are for gradescope alone."))
    if arguments.system == "gradescope" and arguments.install:
        raise Misuse(_("--install is for classroom alone: the zip contains the course."))
    try:
        known = chapters()
        if arguments.checks:  # a mistake in them should show here, and not in the container
            known = with_own_checks(known, arguments.checks)
        words = [word for several in arguments.chapters for word in several.split(",")]
        meant = {one.number: one for word in words for one in chapters_named(word, known)}
        asked = [meant[number] for number in sorted(meant)]
        if arguments.system == "gradescope":
            name = "gradescope.zip"
            content: str | bytes = gradescope_zip(
                asked, arguments.checks, arguments.without_sandbox
            )
        else:
            name = "classroom.yml"
            version = f"attn-course=={attn_course.__version__}"
            content = classroom_workflow(asked, arguments.install or version)
        arguments.out.mkdir(parents=True, exist_ok=True)
        replace_file(arguments.out / name, content)
    except ChecksProblem as fault:
        raise Misuse(str(fault)) from fault
    except AutograderProblem as fault:
        return complain(str(fault), OPEN)
    except OSError as fault:
        return complain(unwritable(arguments.out, fault), OPEN)
    print(_("Written, and untested there: {path}").format(path=arguments.out / name))
    return GOOD
