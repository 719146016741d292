"""The page that a learner gets back: what a check in the notebook shows, for every exercise.

It is made of the record alone, so it can be written again at any time. Inputs are named and not
shown. Whatever came from the learner's code is escaped, and the page may run no script.
"""

from html import escape

from attn_course.grading.gradebook import Entry
from attn_course.grading.records import FAULTS, ExerciseRecord
from attn_course.practice.exercise import (
    Chapter,
    Exercise,
    Group,
    GroupResult,
    Misconception,
    Result,
)
from attn_course.practice.feedback import Feedback
from attn_course.translate import _

_STYLE = "font-family:sans-serif;max-width:60em;margin:1em auto;padding:0 1em;line-height:1.5"


def page(entry: Entry) -> str:
    """Return the feedback on one notebook as a whole HTML page."""
    record = entry.record
    title = f"{entry.learner}: {entry.chapter}"
    points = _("Points: {points} of {most}").format(points=record.points, most=record.max_points)
    lines = [points, record.message] if record.message else [points]
    if record.runs:
        runs = _("Runs from top to bottom in a fresh kernel (no points): {answer}")
        lines.append(runs.format(answer=record.runs))
    exercises = [_exercise(entry.chapter, one) for one in record.exercises]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Should an escape ever be forgotten: nothing here may load or run anything.
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title></head>",
            f'<body style="{_STYLE}"><h1 dir="auto">{escape(title)}</h1>',
            *(f"<p>{escape(line)}</p>" for line in lines),
            *exercises,
            "</body></html>",
            "",
        ]
    )


class _Graded(Feedback):
    """Feedback without a link: the book of whoever grades is not where the learner is.

    Its first line does without the title, which stands above it.
    """

    def _headline(self) -> str:
        result = self.result
        if result.status == "todo":
            return super()._headline()
        words = _("Passed, points: {points} of {most}"), _("Not yet, points: {points} of {most}")
        sentence = words[0] if result.status == "passed" else words[1]
        return sentence.format(points=result.points, most=result.exercise.points)

    @property
    def _needs_reading(self) -> bool:
        return False


def _exercise(stem: str, record: ExerciseRecord) -> str:
    notes = list(record.notes)
    if record.verdict in FAULTS:
        notes.insert(0, _("Stopped: {verdict}.").format(verdict=_(record.verdict)))
    if record.verdict == "missing" and not notes:
        notes = [_("Not found in the notebook.")]
    if record.verdict not in ("passed", "todo"):
        notes.append(
            _("Read: chapter {number}, section “{section}”").format(
                number=stem.partition("_")[0], section=record.section
            )
        )
    heading = f"<h2>{escape(record.title)}</h2>"
    return heading + _Graded(_result(stem, record), tuple(notes))._repr_html_()


def _result(stem: str, record: ExerciseRecord) -> Result:
    """Return the record in the form that feedback is made of, without any input or output."""
    groups: list[GroupResult] = []
    for group in record.groups:
        groups.append(GroupResult(group.label, group.points, group.status))  # type: ignore[arg-type]
    exercise = Exercise(
        chapter=Chapter(stem, title="", sections={}),
        name=record.id.partition(".")[2],
        kind=record.kind,  # type: ignore[arg-type]
        title=record.title,
        goal="",
        task="implement",
        difficulty=1,
        minutes=0,
        section="",
        hints=(),
        reference=None,
        groups=[Group(group.label, group.points, lambda rng: ()) for group in record.groups],
    )
    mistake = Misconception(record.mistake, record.mistake_message, None, "")
    return Result(exercise, tuple(groups), mistake if record.mistake else None)
