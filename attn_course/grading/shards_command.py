"""`attn-course merge`: join the parts that `attn-course grade --shard` wrote.

Exit codes as of `grade`: 1 also where the parts do not fit, or some are missing.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from attn_course.grading.command import (
    add_report_options,
    explained,
    report_options,
    write_reports,
)
from attn_course.translate import _

_EXAMPLES = """\
  attn-course grade submissions --out part-1 --seed 7 --shard 1/2
  attn-course grade submissions --out part-2 --seed 7 --shard 2/2
  attn-course merge part-1 part-2 --out results

results is then what one run with that seed gives: the same gradebook, the same grades.csv and
exports, byte for byte. The times in results.json and in the feedback are those of the parts."""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add `merge` to the commands of `attn-course`."""
    help_ = _("join what several machines graded with --shard (for instructors)")
    made: argparse.ArgumentParser = commands.add_parser(
        "merge",
        help=help_,
        description=help_[:1].upper() + help_[1:] + ".",
        epilog=_("examples:") + "\n" + _EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    made.add_argument(
        "parts", type=Path, nargs="+", metavar="PART", help=_("the folders with the results")
    )
    made.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help=_("where the joined results go")
    )
    add_report_options(made)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Join the parts, write the reports, and say what came of it."""
    return explained(lambda: _joined(arguments))


def _joined(arguments: argparse.Namespace) -> int:
    from attn_course.grading import shards

    chosen = report_options(arguments)
    joined = shards.join(arguments.parts, arguments.out)
    # What the parts were told and this command was not. Above all, groups that an instructor added
    # stay hidden: which these are, only the parts know.
    files = {
        name: getattr(chosen, name) or getattr(joined.options, name)
        for name in ("policy", "collected", "roster")
    }
    options = replace(chosen, private=joined.options.private, **files)
    with joined.gradebook:
        return write_reports(arguments, joined.gradebook, joined.notices, options)
