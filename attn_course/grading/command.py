"""`attn-course grade`: the command line of the grader.

Exit codes as everywhere: 0 every notebook was graded, 1 something needs a look (a file that can't
be read, a folder without a notebook, a run that was stopped), 2 the command was used wrongly.
Who has no points is named on standard error, with the reason: their cells are blank.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sized
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attn_course.grading import desk_options
from attn_course.practice.numbers import Misuse, chapters_named
from attn_course.practice.terminal import GOOD, OPEN, WRONG_USE, count, seconds
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.grading.fresh_kernel import FreshKernel
    from attn_course.grading.gradebook import Entry, Gradebook
    from attn_course.grading.isolation_trial import Rung
    from attn_course.grading.report_options import ReportOptions
    from attn_course.grading.run import Settings
    from attn_course.grading.shards import Shard
    from attn_course.inside.limits import Limits
    from attn_course.practice.exercise import Chapter

_EXAMPLES = """\
  attn-course grade submissions --out results
  attn-course grade submissions --out results --chapters 01 02 --jobs 4
  attn-course grade submissions --out results --checks my-checks --export moodle
  attn-course grade submissions --out results --book https://example.org/attention
  attn-course grade submissions --out results --fresh      begin anew, with new inputs
  attn-course grade --watch inbox --out results            grade what arrives

submissions has a folder for each learner, submissions/<learner>/<NN_topic>.ipynb, or flat files
submissions/<learner>__<NN_topic>.ipynb. When a run was stopped, run the same command again: it
goes on where it was. results then has gradebook.sqlite (with all history), grades.csv,
results.json and feedback/<learner>/<NN_topic>.html. What was not judged is blank in them, with the
reason, and never 0; points that were earned stay when a later file can't be read."""
_BOOK = "ATTN_COURSE_BOOK"


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add `grade` to the commands of `attn-course`."""
    help_ = _("grade a folder of notebooks, each in a sandbox (for instructors)")
    made: argparse.ArgumentParser = commands.add_parser(
        "grade",
        help=help_,
        description=help_[:1].upper() + help_[1:] + ".",
        epilog=_("examples:") + "\n" + _EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(run=run)
    made.add_argument(
        "submissions", type=Path, metavar="SUBMISSIONS", help=_("the folder with the notebooks")
    )
    made.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help=_("where the results go")
    )
    made.add_argument(
        "--chapters", nargs="+", metavar="NN", help=_("only these chapters (all by default)")
    )
    made.add_argument(
        "--jobs", type=count, metavar="N", help=_("so many at once (one for each core)")
    )
    made.add_argument(
        "--seed", type=int, help=_("draw the inputs from this number (random; stored and reused)")
    )
    some = made.add_mutually_exclusive_group()
    some.add_argument(
        "--watch",
        action="store_true",
        help=_("grade what arrives, once a file has settled, until you press Ctrl-C"),
    )
    some.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help=_("grade the I-th of N parts of the class; `attn-course merge` joins them"),
    )
    made.add_argument(
        "--every",
        type=seconds,
        default=5.0,
        metavar="S",
        help=_("seconds between two looks of --watch (%(default)g)"),
    )
    made.add_argument(
        "--engine",
        choices=("jobs", "dask"),
        default="jobs",
        help=_("what does the work: jobs on this machine, or workers of a Dask cluster"),
    )
    made.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        default="",
        help=_("where Dask's scheduler is, tls://host:port; without it, Dask works here"),
    )
    made.add_argument(
        "--insecure-scheduler",
        action="store_true",
        help=_("allow a scheduler without TLS on this machine, tcp://127.0.0.1:port"),
    )
    made.add_argument(
        "--isolation",
        choices=("auto", "strict", "none"),
        default="auto",
        help=_(
            "auto: the best there is; strict: refuse where neither bubblewrap nor namespaces can "
            "be had (below rung C); none: no sandbox"
        ),
    )
    made.add_argument(
        "--i-trust-these-files",
        action="store_true",
        help=_("run them although there is no sandbox: they can do all that you can do"),
    )
    made.add_argument(
        "--timeout-call", type=seconds, metavar="S", help=_("seconds for one call of an answer")
    )
    made.add_argument(
        "--timeout-submission",
        type=seconds,
        metavar="S",
        help=_("seconds for all exercises of a notebook, which share them"),
    )
    made.add_argument(
        "--memory", type=count, metavar="MB", help=_("memory for a notebook's own data")
    )
    made.add_argument(
        "--checks", type=Path, metavar="DIR", help=_("your own further checks, Python files")
    )
    made.add_argument(
        "--nbval",
        action="store_true",
        help=_(
            "also say whether each runs from top to bottom in a fresh kernel (slow, no points); "
            "it has the memory of two processes, and can start no other"
        ),
    )
    again = made.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true", help=_("go on with what is in DIR (the default)")
    )
    again.add_argument(
        "--fresh", action="store_true", help=_("start again, and keep the old gradebook")
    )
    add_report_options(made)
    return made


def add_report_options(made: argparse.ArgumentParser) -> None:
    """Add what may be chosen about reports and exports, for every command that writes them."""
    desk_options.add_arguments(made)
    made.add_argument(
        "--export",
        action="append",
        choices=("canvas", "moodle", "gradescope"),
        default=[],
        help=_("also write the points for this system"),
    )
    made.add_argument(
        "--missing",
        choices=("blank", "zero"),
        default="blank",
        help=_(
            "what to write for notebooks that were not handed in or can't be read (blank); zero is "
            "never for what the grader itself failed to judge, which stays blank"
        ),
    )
    made.add_argument(
        "--spreadsheet-safe",
        action="store_true",
        help=_(
            "put a ' before names that a spreadsheet would take for a formula (they begin with "
            "= + - @); other systems then no longer know them"
        ),
    )
    made.add_argument(
        "--book",
        type=address,
        default=os.environ.get(_BOOK, ""),
        metavar="URL",
        help=_("where learners read the book, for links in the feedback (or set {name})").format(
            name=_BOOK
        ),
    )
    made.add_argument("--json", action="store_true", help=_("print results.json, and no summary"))


def run(arguments: argparse.Namespace) -> int:
    """Grade, write the reports, and say what came of it."""
    # Before NumPy or PyTorch: jobs are forked, and a fork takes no threads along.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.engine == "dask":
        return explained(lambda: _graded_by_dask(arguments))
    if arguments.scheduler or arguments.insecure_scheduler:
        return _complain(_("--scheduler is for --engine dask."), WRONG_USE)
    from attn_course.grading.isolation_trial import NoSandbox, find_rung
    from attn_course.grading.launch import sweep

    sweep()
    try:
        rung = find_rung(arguments.isolation)
    except NoSandbox as fault:
        return _complain(str(fault), WRONG_USE)
    _say(rung.why)
    if not rung.is_sandbox and not arguments.i_trust_these_files:
        return _complain(
            _(
                "Without a sandbox these notebooks could do all that you can do: read and delete "
                "your files, for example. They are not run. Grade on Linux, or say "
                "--i-trust-these-files."
            ),
            WRONG_USE,
        )
    return explained(lambda: _graded(arguments, rung))


def explained(work: Callable[[], int]) -> int:
    """Do the work of a command; where it can't be done, say why and return the exit code."""
    from attn_course.grading.folder import FolderProblem
    from attn_course.grading.gradebook import GradebookProblem
    from attn_course.grading.instructor import ChecksProblem
    from attn_course.grading.intake import IntakeProblem
    from attn_course.grading.jobs import JobsFailed
    from attn_course.grading.shards import ShardsProblem

    try:
        return work()
    except (FolderProblem, IntakeProblem, ChecksProblem, Misuse) as fault:
        return _complain(str(fault), WRONG_USE)
    except (GradebookProblem, JobsFailed, ShardsProblem) as fault:
        return _complain(str(fault), OPEN)
    except OSError as fault:
        return _complain(_stopped_by(fault), OPEN)
    except KeyboardInterrupt:
        return _complain(
            _("Stopped. What was graded is kept; run the same command again to go on."), OPEN
        )


def _graded(arguments: argparse.Namespace, rung: "Rung") -> int:
    from attn_course.grading.sandbox import HeadStart

    _refuse_at_once(arguments)
    limits = _limits(arguments)
    kernel = fresh_kernel(rung, limits) if arguments.nbval else None
    with HeadStart(rung, limits) as sandboxes:  # one warms up while we load the chapters
        settings = _settings(
            arguments,
            open_sandbox=sandboxes.open,
            after_fork=sandboxes.hand_over,
            rung=rung.letter,
            fresh_kernel=kernel,
        )
        return _reported(arguments, settings)


def _graded_by_dask(arguments: argparse.Namespace) -> int:
    """Have it graded elsewhere: the workers have the sandboxes, and say which rung they are on."""
    from attn_course.grading.dask_engine import DaskEngine, Scheduler
    from attn_course.grading.fresh_kernel import FreshKernel
    from attn_course.grading.isolation import Rung

    def open_sandbox() -> Any:
        raise AssertionError("nothing is graded in this process")

    _refuse_at_once(arguments)
    limits = _limits(arguments)
    kernel = FreshKernel(Rung("A"), limits) if arguments.nbval else None
    settings = _settings(arguments, open_sandbox=open_sandbox, rung="", fresh_kernel=kernel)
    scheduler = Scheduler(arguments.scheduler, arguments.insecure_scheduler, settings.jobs)
    engine = DaskEngine(settings, scheduler, arguments.isolation, arguments.i_trust_these_files)
    return _reported(arguments, replace(settings, engine=engine))


def _refuse_at_once(arguments: argparse.Namespace) -> None:
    """Raise what is wrong with the options before anything is started or graded."""
    report_options(arguments)  # a policy that can't be read
    if arguments.shard is not None and arguments.seed is None:
        raise Misuse(_("--shard needs --seed, with the same number for every part."))


def _settings(arguments: argparse.Namespace, **others: Any) -> "Settings":
    from attn_course.grading import run
    from attn_course.grading.instructor import files_in
    from attn_course.grading.jobs import default_jobs

    limits = _limits(arguments)
    return run.Settings(
        submissions=arguments.submissions,
        out=arguments.out,
        chapters=_chapters(arguments),
        limits=limits,
        jobs=arguments.jobs or default_jobs(limits.memory_mb),
        seed=arguments.seed,
        fresh=arguments.fresh,
        own_checks=tuple(files_in(arguments.checks)) if arguments.checks else (),
        shard=arguments.shard,
        **others,
    )


def _reported(arguments: argparse.Namespace, settings: "Settings") -> int:
    from attn_course.grading import changes, run

    if arguments.watch:
        return _watched(arguments, settings)
    with run.open_gradebook(settings) as gradebook:
        changes.begin(gradebook)
        found = run.grade_folder(settings, gradebook)
        return write_reports(arguments, gradebook, found.notices, report_options(arguments))


def _watched(arguments: argparse.Namespace, settings: "Settings") -> int:
    """Grade what arrives; Ctrl-C is how this ends, so it is no failure."""
    from attn_course.grading import changes
    from attn_course.grading.watch import Watch

    def report(gradebook: "Gradebook", settled: Sized, notices: tuple[str, ...]) -> None:
        options = report_options(arguments)
        _written(arguments, gradebook, notices, options)
        for sentence in changes.sentences(changes.end(arguments.out, gradebook, options)):
            print(sentence)
        words = _("Settled and graded: {count}. Results: {folder}")
        print(words.format(count=len(settled), folder=arguments.out), flush=True)

    _say(_("Watching {folder}; Ctrl-C ends it.").format(folder=settings.submissions))
    try:
        Watch(settings, report, _say, lambda: time.sleep(arguments.every)).run()
    except KeyboardInterrupt:
        _say(_("Stopped. What was graded is kept; the same command goes on."))
    return GOOD


def write_reports(
    arguments: argparse.Namespace,
    gradebook: "Gradebook",
    notices: tuple[str, ...],
    options: "ReportOptions",
) -> int:
    """Write reports and exports into `arguments.out`, and sum up; return the exit code."""
    from attn_course.grading import changes, reports

    entries = _written(arguments, gradebook, notices, options)
    changed = changes.end(arguments.out, gradebook, options)
    if arguments.json:
        print(reports.results_json(entries, gradebook.seed, notices, options), end="")
    else:
        print(*changes.sentences(changed), sep="\n", end="\n" if changed else "")
    return _summed_up(arguments, entries, notices, options)


def _written(
    arguments: argparse.Namespace,
    gradebook: "Gradebook",
    notices: tuple[str, ...],
    options: "ReportOptions",
) -> list["Entry"]:
    from attn_course.grading import outputs

    submissions = getattr(arguments, "submissions", None)  # who merges knows of none
    return outputs.write(arguments.out, gradebook, notices, options, arguments.export, submissions)


def _summed_up(
    arguments: argparse.Namespace,
    entries: list["Entry"],
    notices: tuple[str, ...],
    options: "ReportOptions",
) -> int:
    from attn_course.grading import reports
    from attn_course.grading.safe_names import line

    if not arguments.json:
        print(reports.summary(entries, options) or _("No notebook was found."))
        for sentence in [*reports.problems(entries, options), *map(line, notices)]:
            print(sentence)
        print(_("Results: {folder}").format(folder=arguments.out), flush=True)
    for sentence in [*reports.blanks(entries, options), *options.desk.strangers(entries)]:
        _say(line(sentence))
    failed = [entry for entry in entries if not entry.record.is_judged or entry.has_later]
    return OPEN if failed or not entries else GOOD


def _chapters(arguments: argparse.Namespace) -> Mapping[str, "Chapter"]:
    """Return the chapters that are asked for, with the instructor's own checks."""
    from attn_course.grading.instructor import with_own_checks
    from attn_course.practice.exercises import chapters

    known: Mapping[str, Chapter] = chapters()
    if arguments.checks:
        known = with_own_checks(known, arguments.checks)
    if arguments.chapters is None:
        return known
    asked = [word for words in arguments.chapters for word in words.split(",")]
    meant = {one.number for word in asked for one in chapters_named(word, known)}
    return {number: known[number] for number in sorted(meant)}


def fresh_kernel(rung: "Rung", limits: "Limits") -> "FreshKernel":
    """Return what says whether a notebook runs from top to bottom."""
    from attn_course.grading.fresh_kernel import FreshKernel, missing_packages

    missing = missing_packages()
    if missing:
        raise Misuse(
            _("--nbval needs packages that are not installed: {names}.").format(
                names=", ".join(missing)
            )
        )
    kernel = FreshKernel(rung, limits)
    if kernel.why_not:
        _say(_("No notebook is run in a fresh kernel: {why}.").format(why=kernel.why_not))
    return kernel


def _limits(arguments: argparse.Namespace) -> "Limits":
    from attn_course.inside.limits import Limits

    asked = {
        "call_seconds": arguments.timeout_call,
        "submission_seconds": arguments.timeout_submission,
        "memory_mb": arguments.memory,
    }
    return Limits(**{name: value for name, value in asked.items() if value is not None})


def report_options(arguments: argparse.Namespace) -> "ReportOptions":
    """Return what was chosen about reports and exports."""
    from attn_course.grading.report_options import ReportOptions

    return ReportOptions(
        missing_is_zero=arguments.missing == "zero",
        for_spreadsheets=arguments.spreadsheet_safe,
        book=arguments.book,
        private=_private_groups(arguments),
        **desk_options.texts(arguments),
    )


def _private_groups(arguments: argparse.Namespace) -> list[str]:
    """Return the groups of the instructor's own checks, as `ReportOptions` names them."""
    if not getattr(arguments, "checks", None):
        return []
    from attn_course.grading.instructor import private_groups

    return private_groups(_chapters(arguments))


def _shard(word: str) -> "Shard":
    from attn_course.grading.shards import shard

    return shard(word)


def address(word: str) -> str:
    """Return an address of the web, or nothing; a page would run what is no address."""
    try:
        parts = urlsplit(word)
    except ValueError:
        parts = urlsplit("")
    if word and not (parts.scheme in ("http", "https") and parts.netloc):
        raise argparse.ArgumentTypeError(
            _("{word!r} is no address of a book: it begins with https:// or http://").format(
                word=word
            )
        )
    return word


def _stopped_by(fault: OSError) -> str:
    from attn_course.grading.write_faults import not_written

    why = fault.strerror or fault
    if fault.filename is not None:
        return not_written(fault.filename, why, fault.errno)
    return _(
        "Stopped by the system ({why}). What was graded is kept; run the same command again to go "
        "on."
    ).format(why=why)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _complain(sentence: str, code: int) -> int:
    from attn_course.grading.safe_names import shown

    _say(shown(sentence))
    return code
