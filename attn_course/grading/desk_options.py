"""The options of commands that write reports, for an instructor's files: policy and roster."""

import argparse
from pathlib import Path

from attn_course.practice.numbers import Misuse
from attn_course.translate import _


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help=_(
            "deadlines, late work, extensions and names of assignments, TOML: shown in feedback "
            "and tables, next to the points as they were earned"
        ),
    )
    parser.add_argument(
        "--roster", type=Path, metavar="FILE", help=_("names and ids of learners, for Canvas, CSV")
    )
    parser.add_argument(
        "--collected",
        type=Path,
        metavar="FILE",
        help=_("the table of `attn-course collect` (the one in SUBMISSIONS)"),
    )


def texts(arguments: argparse.Namespace) -> dict[str, str]:
    """Return what the files say, for `ReportOptions`; or raise `Misuse`."""
    from attn_course.grading.collected import FILE, read_collected
    from attn_course.grading.desk import PROBLEMS, read_text
    from attn_course.grading.policy import read_policy
    from attn_course.grading.roster import read_roster

    submissions = getattr(arguments, "submissions", None)
    beside = submissions / FILE if submissions is not None else None
    table = arguments.collected or (beside if beside is not None and beside.is_file() else None)
    files = {"policy": arguments.policy, "collected": table, "roster": arguments.roster}
    found = {name: read_text(file) for name, file in files.items() if file is not None}
    try:  # each by its own name, before anything is graded
        if arguments.policy:
            read_policy(found["policy"], str(arguments.policy))
        if table:
            read_collected(found["collected"], str(table))
        if arguments.roster:
            read_roster(found["roster"], str(arguments.roster))
    except PROBLEMS as fault:
        raise Misuse(str(fault)) from fault
    return found
