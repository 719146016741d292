"""The page that a learner gets back: what a check in the notebook shows, for every exercise.

It is made of the record alone, so it can be written again at any time. Inputs are named and not
shown. Whatever came from the learner's code is escaped, and the page may run no script.
"""

from html import escape

from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord
from attn_course.practice.feedback import Feedback
from attn_course.practice.report import GroupReport, Report, Section
from attn_course.practice.results import FAULTS, Verdict, in_words
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
    """Feedback whose first line does without the title, which is above it."""

    def _headline(self) -> str:
        report = self.report
        if report.verdict is Verdict.TODO and not report.points:
            return super()._headline()
        words = _("Passed, points: {points} of {most}"), _("Not yet, points: {points} of {most}")
        sentence = words[0] if report.verdict is Verdict.PASSED else words[1]
        return sentence.format(points=report.points, most=report.most)

    @property
    def _needs_reading(self) -> bool:
        """Whether to link a section: the book of whoever grades is not where the learner is."""
        return False


def _exercise(stem: str, record: ExerciseRecord) -> str:
    notes = list(record.notes)
    if record.verdict in FAULTS:
        notes.insert(0, _("Stopped: {verdict}.").format(verdict=in_words(record.verdict)))
    if record.verdict is Verdict.MISSING and not notes:
        notes = [_("Not found in the notebook.")]
    report = report_of_record(stem, record)
    if record.verdict not in (Verdict.PASSED, Verdict.TODO):
        notes.append(
            _("Read: chapter {number}, section “{section}”").format(
                number=report.section.chapter, section=report.section.heading
            )
        )
    heading = f"<h2>{escape(record.title)}</h2>"
    return heading + _Graded(report, notes)._repr_html_()


def report_of_record(stem: str, record: ExerciseRecord) -> Report:
    """Return the report of a stored record: no input or output is kept in it."""
    return Report(
        id=record.id,
        title=record.title,
        kind=record.kind,
        verdict=record.verdict,
        points=record.points,
        most=record.max_points,
        groups=tuple(GroupReport(one.label, one.points, one.status) for one in record.groups),
        section=Section(stem.partition("_")[0], record.section),
        mistake=record.mistake,
        mistake_sentence=record.mistake_message,
        is_live=False,
    )
