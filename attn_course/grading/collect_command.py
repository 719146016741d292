"""`attn-course collect`: from what a system gives to download to a folder that can be graded.

Exit codes as everywhere: 0 everybody on the roster and every notebook has its place, 1 somebody
or something is missing, 2 the command was used wrongly.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_course.practice.terminal import GOOD, OPEN, WRONG_USE
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.grading.collect import Collection
    from attn_course.grading.roster import Roster
    from attn_course.grading.submission_times import SubmissionTimes

_SYSTEMS = ("auto", "canvas", "moodle", "gradescope", "classroom", "nbgrader")
_MOST_LINES = 40  # of a kind: all of them are in no terminal's interest
_EXAMPLES = """\
  attn-course collect submissions.zip --roster roster.csv --into submissions
  attn-course collect clones --from classroom --roster roster.csv --into submissions
  attn-course collect week3.zip --into submissions --attempt best

DOWNLOAD is what your system gives you, a zip file or a folder. canvas: "Download Submissions";
moodle: "Download all submissions", in folders; gradescope: "Export Submissions"; classroom: a
folder of clones, <assignment>-<login>; nbgrader: the folder submitted. Nothing in it is run.

roster.csv has a line for each learner and a header; a column login is enough, and name, email, id
and github help to find them. Canvas' own gradebook will do. Without a roster, learners have the
names that the download tells, and nobody is known to be missing.

--times is a table with login (or email, name, github_username) and handed_in, a time with its zone;
GitHub Classroom's table of grades will do.

--into then has a folder for each learner, for `attn-course grade`, and collected.csv with who, when
and which file. Collect as many downloads into it as you like, one after the other.
--attempt best keeps all attempts: the grader judges each, and the best one counts."""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add `collect` to the commands of `attn-course`."""
    help_ = _("sort what your system gives to download into a folder to grade (for instructors)")
    made: argparse.ArgumentParser = commands.add_parser(
        "collect",
        help=help_,
        description=help_[:1].upper() + help_[1:] + ".",
        epilog=_("examples:") + "\n" + _EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    made.add_argument("download", type=Path, metavar="DOWNLOAD", help=_("a zip file or a folder"))
    made.add_argument(
        "--from",
        dest="system",
        choices=_SYSTEMS,
        default="auto",
        help=_("where it comes from (auto: look, and say what it seems to be)"),
    )
    made.add_argument("--roster", type=Path, metavar="FILE", help=_("who takes the course, CSV"))
    made.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        help=_("when learners handed in, CSV, where the download does not tell"),
    )
    made.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help=_("where the notebooks go")
    )
    made.add_argument(
        "--attempt",
        choices=("last", "first", "best"),
        default="last",
        help=_("which one counts where a learner handed in several (last)"),
    )
    return made


def run(arguments: argparse.Namespace) -> int:
    """Collect, and say what came of it."""
    from attn_course.grading.collect import CollectProblem, collect
    from attn_course.grading.collected import CollectedProblem
    from attn_course.grading.download import DownloadProblem, open_download
    from attn_course.grading.folder import FolderProblem
    from attn_course.grading.intake import Unreadable
    from attn_course.grading.roster import RosterProblem
    from attn_course.grading.write_faults import not_written
    from attn_course.practice.exercises import chapters

    try:
        roster = _roster(arguments.roster) if arguments.roster else None
        times = _times(arguments.times, roster) if arguments.times else None
        choices = (arguments.into, arguments.attempt)
        with open_download(arguments.download) as download:
            found = collect(download, arguments.system, roster, *choices, chapters(), times)
    except (RosterProblem, DownloadProblem, CollectProblem, CollectedProblem) as fault:
        return _complain(str(fault), WRONG_USE)
    except (FolderProblem, Unreadable) as fault:
        return _complain(str(fault), OPEN)
    except OSError as fault:
        why = fault.strerror or fault
        name = fault.filename or arguments.into
        return _complain(not_written(str(name), why, fault.errno), OPEN)
    return _summed_up(arguments, found)


def _roster(file: Path) -> "Roster":
    from attn_course.grading.desk import read_text
    from attn_course.grading.roster import read_roster

    return read_roster(read_text(file), str(file))


def _times(file: Path, roster: "Roster | None") -> "SubmissionTimes":
    from attn_course.grading.desk import read_text
    from attn_course.grading.submission_times import read_times

    return read_times(read_text(file), str(file), roster)


def _summed_up(arguments: argparse.Namespace, found: "Collection") -> int:
    asked = arguments.system != "auto"
    words = _("From {system}:") if asked else _("It looks like a download from {system}:")
    print(words.format(system=found.system), end=" ")
    print(
        _("{placed} notebooks were placed; {into} now has those of {learners} learners.").format(
            placed=found.placed, into=arguments.into, learners=found.learners
        )
    )
    _print_lines(found.notices, sys.stdout)
    _print_lines(found.not_placed, sys.stderr)
    _print_lines(
        [
            _("Missing from {chapter}: {logins}.").format(chapter=chapter, logins=", ".join(logins))
            for chapter, logins in found.missing.items()
        ],
        sys.stderr,
    )
    if not found.placed:
        _complain(_("No notebook was found that could be placed."), OPEN)
    return OPEN if found.missing or found.not_placed or not found.placed else GOOD


def _print_lines(sentences: Any, stream: Any) -> None:
    from attn_course.grading.safe_names import shown

    for sentence in sentences[:_MOST_LINES]:
        print(shown(sentence), file=stream)
    if len(sentences) > _MOST_LINES:
        more = _("… and {count} more like this.").format(count=len(sentences) - _MOST_LINES)
        print(more, file=stream, flush=True)


def _complain(sentence: str, code: int) -> int:
    from attn_course.grading.safe_names import shown

    print(shown(sentence), file=sys.stderr, flush=True)
    return code
