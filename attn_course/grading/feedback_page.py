"""The page that a learner gets back: what a check in the notebook shows, for every exercise.

It is made of the record alone, so it can be written again at any time. Inputs are named and not
shown. Whatever came from the learner's code is escaped, and the page may run no script.
"""

from attn_course.grading.gradebook import Entry
from attn_course.grading.records import ExerciseRecord, Record
from attn_course.grading.report_options import ReportOptions
from attn_course.practice.feedback import Feedback
from attn_course.practice.markup import Markup, fill, join
from attn_course.practice.report import GroupReport, Report, Section
from attn_course.practice.results import FAULTS, Verdict, in_words
from attn_course.translate import _

_STYLE = """
body { font-family: sans-serif; line-height: 1.5; max-width: 48em; margin: 1em auto; padding: 0 1em;
       overflow-wrap: break-word; }
h1 { font-size: 1.6em; line-height: 1.25; margin: 0.8em 0 0.2em; }
h2 { font-size: 1.15em; line-height: 1.3; margin: 1.6em 0 0.3em; }
.about { margin: 0 0 1.2em; opacity: 0.75; }
.points { font-size: 1.15em; font-weight: 600; margin: 0.6em 0; }
.attn-feedback li { padding-left: 1.4em; text-indent: -1.4em; }
.attn-feedback li span { text-indent: 0; }
.read { margin: 0.4em 0 0; padding-left: calc(5px + 1em); font-size: 0.9em; }
a { color: #0969da; }
@media (prefers-color-scheme: dark) { a { color: #6cb6ff; } }
"""
# Should an escape ever fail: nothing on the page may load or run anything.
# The address of the page may have a name in it, which is no business of the book's.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>$learner: $heading</title>
<style>$style</style></head>
<body><h1>$heading</h1>
<p class="about"><bdi>$learner</bdi>$graded_on</p>
<p class="points">$points</p>
$inside
</body></html>
"""
_DEFAULTS = ReportOptions()


def page(entry: Entry, options: ReportOptions = _DEFAULTS) -> Markup:
    """Return the feedback on one notebook as a whole HTML page."""
    record = entry.record
    lines = [*_handed_in(entry, options), *([record.message] if record.message else [])]
    if record.runs:
        runs = _("Runs from top to bottom in a fresh kernel (no points): {answer}")
        lines.append(runs.format(answer=record.runs))
    paragraphs = [fill("<p>$line</p>", line=line) for line in lines]
    exercises = [_exercise(entry.chapter, one, options) for one in record.exercises]
    return fill(
        _PAGE,
        learner=entry.learner,
        heading=_heading(entry),
        style=Markup(_STYLE),
        graded_on=_graded_on(entry),
        points=_points(record, options),
        inside=join([*paragraphs, *exercises], between="\n"),
    )


def _handed_in(entry: Entry, options: ReportOptions) -> list[str]:
    """Return which attempt this is, how late it was and what that costs, where that is known."""
    lines = []
    attempt, late = options.desk.attempt(entry), options.lateness(entry)
    if attempt and attempt.attempts > 1:
        words = _("Of your {count} attempts, number {number} counts: it is your best.")
        lines.append(words.format(count=attempt.attempts, number=attempt.attempt))
    if late:
        lines.append(late.why)
    if late and late.deduction and late.final is not None:
        words = _("Deducted: {deduction:g}. Points that are left: {final:g} of {most}.")
        most = entry.record.max_points
        lines.append(words.format(deduction=late.deduction, final=late.final, most=most))
    return lines


def _heading(entry: Entry) -> str:
    """Return number and title of the chapter; a record from before has no title."""
    number = entry.chapter.partition("_")[0]
    return f"{number} {entry.record.title}" if entry.record.title else entry.chapter


def _graded_on(entry: Entry) -> str:
    day = entry.graded.partition("T")[0]  # the time of day helps no learner
    graded, looked_at = _("Graded on {day}"), _("Looked at on {day}")
    words = graded if entry.record.is_judged else looked_at
    return " · " + words.format(day=day) if day else ""


def _points(record: Record, options: ReportOptions) -> str:
    """Return the points, or in a sentence that there are none: a blank is not a 0."""
    points = options.points(record)
    if points is not None:
        return _("Points: {points} of {most}").format(points=points, most=record.max_points)
    sentences = {
        Verdict.NOTHING_HANDED_IN: _("There are no points yet: nothing was handed in."),
        Verdict.UNREADABLE: _("There are no points yet: the notebook could not be read."),
        Verdict.NOT_GRADED: _(
            "There are no points yet: the notebook was not graded, which is not your fault."
        ),
    }
    in_part = _(
        "There is no total yet: not every exercise could be judged, which is not your fault."
    )
    return sentences.get(record.status, in_part)


class _Graded(Feedback):
    """Feedback whose first line does without the title, which is above it.

    `decision` is what an instructor decided about the points, where that counts.
    """

    def __init__(self, report: Report, notes: list[str], decision: str = "") -> None:
        super().__init__(report, [decision, *notes] if decision else notes)
        self._is_decided = bool(decision)

    def _headline(self) -> str:
        report = self.report
        if self._is_decided:
            decided = _("Points: {points} of {most}, as your instructor decided")
            return decided.format(points=report.points, most=report.most)
        if report.verdict is Verdict.NOT_JUDGED:
            return _("Not judged, which is not your fault: there are no points yet.")
        if report.verdict is Verdict.TODO and not report.points:
            return super()._headline()
        passed, not_yet = (
            _("Passed, points: {points} of {most}"),
            _("Not yet, points: {points} of {most}"),
        )
        sentence = passed if report.verdict is Verdict.PASSED else not_yet
        return sentence.format(points=report.points, most=report.most)

    @property
    def _colour(self) -> str:
        return "grey" if self.report.verdict is Verdict.NOT_JUDGED else super()._colour

    @property
    def _needs_reading(self) -> bool:
        """Whether to link a section: the book of whoever grades is not where the learner is."""
        return False


def _exercise(stem: str, record: ExerciseRecord, options: ReportOptions) -> Markup:
    notes = list(record.notes)
    if record.verdict in FAULTS and record.verdict is not Verdict.NOT_JUDGED:
        notes.insert(0, _("Stopped: {verdict}.").format(verdict=in_words(record.verdict)))
    if record.verdict is Verdict.MISSING and not notes:
        notes = [_("Not found in the notebook.")]
    report = report_of_record(stem, record)
    heading = fill("<h2>$title</h2>", title=record.title)
    parts = [heading, _Graded(report, notes, record.decision)._repr_html_()]
    if record.verdict not in (Verdict.PASSED, Verdict.TODO, Verdict.NOT_JUDGED):
        parts.append(_to_read(report.section, options))
    return join(parts)


def _to_read(section: Section, options: ReportOptions) -> Markup:
    words = _("Read: chapter {number}, section “{section}”").format(
        number=section.chapter, section=section.heading
    )
    address = options.address(section.page, section.label)
    a = '<a href="$address">$words</a>'
    linked = fill(a, address=address, words=words) if address else words
    return fill('<p class="read">$linked</p>', linked=linked)


def report_of_record(stem: str, record: ExerciseRecord) -> Report:
    """Return the report of a stored record: no input or output is kept in it."""
    return Report(
        id=record.id,
        title=record.title,
        kind=record.kind,
        verdict=record.verdict,
        points=record.points or 0,
        most=record.max_points,
        groups=_groups(record),
        section=Section(
            stem.partition("_")[0], record.section, record.section_label, record.section_page
        ),
        mistake=record.mistake,
        mistake_sentence=record.mistake_message,
        observations=record.observations,
        is_live=False,
    )


def _groups(record: ExerciseRecord) -> tuple[GroupReport, ...]:
    """Return how the groups went; of what was not judged that is not known."""
    if record.verdict is Verdict.NOT_JUDGED:
        return ()
    return tuple(GroupReport(one.label, one.points, one.status) for one in record.groups)
