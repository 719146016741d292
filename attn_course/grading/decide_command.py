"""`attn-course override` and `attn-course comment`: what an instructor decides after the checks.

Nothing is graded. The decision goes into the gradebook, and the tables, the feedback and the
exports are written again, as they were written the last time.
"""

import argparse
import getpass
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_course.practice.numbers import Misuse, did_you_mean
from attn_course.practice.terminal import GOOD, OPEN, complain
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.grading.decisions import Decision
    from attn_course.grading.gradebook import Entry, Gradebook
    from attn_course.grading.records import ExerciseRecord

_OVERRIDE = """\
  attn-course override ann 03.masked_softmax --points 2 --reason "right but one" --in results
  attn-course override ann 03.masked_softmax --remove --in results
  attn-course override --list --in results

The override is kept with author and time, and survives when the notebooks are graded again. The
learner reads it, with the reason, in the feedback."""
_COMMENT = """\
  attn-course comment 03.masked_softmax all_keys_left_out "We saw this on Monday: …" --in results
  attn-course comment 03.masked_softmax all_keys_left_out --remove --in results

It is shown to everyone who made this mistake, now or after the next run."""


def add_parsers(commands: Any) -> None:
    """Add `override` and `comment` to the commands of `attn-course`."""
    made = _parser(
        commands,
        "override",
        _("set the points of one learner in one exercise, with a reason (for instructors)"),
        _OVERRIDE,
    )
    made.set_defaults(run=override)
    made.add_argument("learner", nargs="?", metavar="LEARNER", help=_("as in grades.csv"))
    made.add_argument(
        "exercise", nargs="?", metavar="NN.exercise", help=_("for example 03.masked_softmax")
    )
    what = made.add_mutually_exclusive_group(required=True)
    what.add_argument("--points", type=int, metavar="N", help=_("the points that count"))
    what.add_argument("--remove", action="store_true", help=_("let the check's points count again"))
    what.add_argument("--list", action="store_true", help=_("show every override there ever was"))
    made.add_argument("--reason", default="", help=_("why, for the learner and for the record"))
    made = _parser(
        commands,
        "comment",
        _("write one comment for everyone who made the same mistake (for instructors)"),
        _COMMENT,
    )
    made.set_defaults(run=comment)
    made.add_argument("exercise", metavar="NN.exercise", help=_("for example 03.masked_softmax"))
    made.add_argument("mistake", metavar="MISTAKE", help=_("its name, as the report shows it"))
    made.add_argument("text", nargs="?", default="", metavar="TEXT", help=_("the comment"))
    made.add_argument("--remove", action="store_true", help=_("take the comment out again"))


def _parser(commands: Any, name: str, help_: str, examples: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=help_[:1].upper() + help_[1:] + ".",
        epilog=_("examples:") + "\n" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--in",
        dest="results",
        type=Path,
        required=True,
        metavar="DIR",
        help=_("the results of `attn-course grade`"),
    )
    made.add_argument(
        "--by", default="", metavar="NAME", help=_("who decides (your name in git, or your login)")
    )
    return made


def override(arguments: argparse.Namespace) -> int:
    """Set the points of a learner in an exercise, or show what was set."""
    if arguments.list:
        return _with_gradebook(arguments, lambda gradebook: _list(gradebook.decisions()))
    if not arguments.learner or not arguments.exercise:
        raise Misuse(_("Say whose points, and of which exercise: LEARNER NN.exercise."))
    if arguments.points is not None and not arguments.reason.strip():
        raise Misuse(_('Say why, for the learner: --reason "…".'))
    return _with_gradebook(arguments, lambda gradebook: _override(arguments, gradebook))


def comment(arguments: argparse.Namespace) -> int:
    """Write a comment for everyone who made a mistake."""
    if arguments.remove == bool(arguments.text.strip()):
        raise Misuse(_("Say either the text of the comment, or --remove."))
    return _with_gradebook(arguments, lambda gradebook: _comment(arguments, gradebook))


def _with_gradebook(arguments: argparse.Namespace, act: Any) -> int:
    from attn_course.grading.folder import FolderProblem
    from attn_course.grading.gradebook import GradebookProblem, existing
    from attn_course.grading.write_faults import not_written

    try:
        with existing(arguments.results) as gradebook:
            act(gradebook)
    except (GradebookProblem, FolderProblem) as fault:
        return complain(str(fault), OPEN)
    except OSError as fault:
        why = fault.strerror or str(fault)
        return complain(not_written(fault.filename or "", why, fault.errno), OPEN)
    return GOOD


def _override(arguments: argparse.Namespace, gradebook: "Gradebook") -> None:
    from attn_course.grading.decisions import Decision, Decisions

    entries = _results(gradebook)
    _refuse_unknown(arguments.learner, [one.learner for one in entries], _("learner"))
    own = [one for one in entries if one.learner == arguments.learner]
    entry, record = _exercise_in(own, arguments.exercise, arguments.learner)
    before = Decisions(gradebook.decisions()).override(entry.learner, record.id)
    if arguments.remove and before is None:
        raise Misuse(_("There is no override to remove."))
    if arguments.points is not None and not 0 <= arguments.points <= record.max_points:
        raise Misuse(
            _("{id} has 0 to {most} points, not {points}.").format(
                id=record.id, most=record.max_points, points=arguments.points
            )
        )
    decision = Decision(
        learner=entry.learner,
        chapter=entry.chapter,
        exercise=record.id.partition(".")[2],
        points=arguments.points,
        words=arguments.reason.strip(),
        author=arguments.by.strip() or author(),
    )
    _keep(gradebook, decision, arguments.results)
    was = before.points if before else record.points
    now = record.points if arguments.remove else arguments.points
    blank = _("blank")
    print(
        _("{learner}, {id}: {was} → {now} of {most}").format(
            learner=entry.learner,
            id=record.id,
            was=blank if was is None else was,
            now=blank if now is None else now,
            most=record.max_points,
        )
    )


def _comment(arguments: argparse.Namespace, gradebook: "Gradebook") -> None:
    from attn_course.grading.decisions import Decision

    entries = _results(gradebook)
    entry, record = _exercise_in(entries, arguments.exercise, _("the gradebook"))
    name = arguments.mistake.strip().replace(" ", "_")
    made = [
        one.mistake
        for entry in entries
        for one in entry.record.exercises
        if one.id == record.id and one.mistake
    ]
    _refuse_unknown(name, [*made, *_mistakes_known(record.id)], _("mistake"))
    decision = Decision(
        chapter=entry.chapter,
        exercise=record.id.partition(".")[2],
        mistake=name,
        words="" if arguments.remove else arguments.text.strip(),
        author=arguments.by.strip() or author(),
    )
    _keep(gradebook, decision, arguments.results)
    words = _("{id}, {name}: shown in the feedback of {count}, and of whoever still makes it")
    if arguments.remove:
        words = _("{id}, {name}: no longer shown in the feedback of {count}")
    print(words.format(id=record.id, name=name.replace("_", " "), count=made.count(name)))


def _results(gradebook: "Gradebook") -> list["Entry"]:
    """Return the results that count, as the checks gave them."""
    from attn_course.grading.outputs import options_of

    return options_of(gradebook).desk.counted(gradebook.latest(is_decided=False))


def _keep(gradebook: "Gradebook", decision: "Decision", out: Path) -> None:
    from attn_course.grading import outputs
    from attn_course.practice.numbers import current_stem

    def is_changed(entry: "Entry") -> bool:
        is_of_chapter = current_stem(entry.chapter) == current_stem(decision.chapter)
        return is_of_chapter and decision.learner in ("", entry.learner)

    gradebook.decide(decision)
    outputs.write_again(out, gradebook, is_changed)


def _list(decisions: Iterable["Decision"]) -> None:
    from attn_course.grading.safe_names import line

    overrides = [one for one in decisions if not one.is_comment]
    for one in overrides:
        points = _("removed") if one.points is None else one.points
        row = (one.made, one.author, one.learner, one.exercise_id, str(points), one.words)
        print(line("  ".join(row)))
    if not overrides:
        print(_("There are no overrides."))


def _exercise_in(
    entries: Sequence["Entry"], wanted: str, where: str
) -> tuple["Entry", "ExerciseRecord"]:
    """Return the exercise of that id among results; or raise `Misuse` with what there is."""
    found = {one.id: (entry, one) for entry in entries for one in entry.record.exercises}
    if wanted not in found:
        names = [one for one in found if one.endswith(f".{wanted.rpartition('.')[2]}")]
        if len(names) == 1:  # 03.name is 03e.name, where there is only one
            return found[names[0]]
        number = wanted.partition(".")[0]
        blank = [entry for entry in entries if entry.chapter.partition("_")[0] == number]
        if blank and not any(entry.record.exercises for entry in blank):
            raise Misuse(
                _(
                    "{where}: {chapter} has no points to override, since it was not judged: {why}"
                ).format(where=where, chapter=blank[0].chapter, why=blank[0].record.reason)
            )
        raise Misuse(
            _("There is no result of {id!r} for {where}.{meant}").format(
                id=wanted, where=where, meant=did_you_mean(wanted, found)
            )
        )
    return found[wanted]


def _refuse_unknown(name: str, known: Iterable[str], kind: str) -> None:
    names = list(dict.fromkeys(known))
    if name not in names:
        raise Misuse(
            _("There is no {kind} {name!r} here.{meant}").format(
                kind=kind, name=name, meant=did_you_mean(name, names)
            )
        )


def _mistakes_known(exercise_id: str) -> list[str]:
    """Return the mistakes of an exercise of the course; a chapter of your own may be none of it."""
    from attn_course.practice.exercises import chapters
    from attn_course.practice.numbers import exercise_named

    try:
        return [one.name for one in exercise_named(exercise_id, chapters()).mistakes]
    except Misuse:
        return []


def author() -> str:
    """Return who decides: the name that git knows, or the login."""
    try:
        asked = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, check=False, timeout=10
        )
        name = asked.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):  # there is no git
        name = ""
    return name or getpass.getuser()
