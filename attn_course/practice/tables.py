"""The exercises of a chapter as tables: what there is to do, what is done, what is missing.

`practice.overview` and `practice.summary` return these. Text and HTML have the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attn_course.practice.exercise import Chapter, Exercise, title_of
from attn_course.practice.feedback import TEXT, aligned, inline, mark_html
from attn_course.practice.markup import Markup, fill, join
from attn_course.practice.progress import Progress
from attn_course.practice.results import Verdict
from attn_course.translate import _


@dataclass(frozen=True)
class Table:
    """One table: a title, a head, and rows; in HTML the last column has marks, one for each row."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    verdicts: Sequence[Verdict | None] = ()

    def text(self) -> str:
        """Return the table for a terminal."""
        return "\n".join([self.title, *aligned([self.head, *self.rows])])

    def html(self) -> Markup:
        """Return the table for a notebook."""
        cell = "padding:0.25em 0.9em 0.25em 0;text-align:left;vertical-align:top"
        whole = f"{cell};white-space:nowrap"
        below = "border-bottom:1px solid rgba(128,128,128,0.5)"
        head = join(
            fill('<th scope="col" style="$style">$name</th>', style=f"{whole};{below}", name=name)
            for name in self.head
        )
        marks = [*map(mark_html, self.verdicts)] if self.verdicts else [""] * len(self.rows)
        td = '<td style="$style">$inside</td>'
        body = join(
            fill(
                "<tr>$cells$last</tr>",
                cells=join(fill(td, style=cell, inside=item) for item in row[:-1]),
                last=fill(td, style=whole, inside=join([mark, row[-1]])),
            )
            for row, mark in zip(self.rows, marks, strict=True)
        )
        return fill(
            '<div style="overflow-x:auto"><table style="border-collapse:collapse;$text">'
            '<caption style="text-align:left;font-weight:600">$title</caption>'
            "<thead><tr>$head</tr></thead><tbody>$body</tbody></table></div>",
            text=TEXT,
            title=self.title,
            head=head,
            body=body,
        )


@dataclass(frozen=True, repr=False)
class Tables:
    """One table or more, and a line or more below them, ready to be shown."""

    tables: Sequence[Table]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return the tables for a terminal."""
        return "\n".join(["\n\n".join(table.text() for table in self.tables), *self.notes])

    __repr__ = text

    def _repr_html_(self) -> Markup:
        p = '<p style="margin:0.4em 0;$text">$note</p>'
        notes = (fill(p, text=TEXT, note=inline(note)) for note in self.notes)
        return join([*(table.html() for table in self.tables), *notes])


def overview(chapters: Sequence[Chapter], remembered: Progress | None = None) -> Tables:
    """Return what there is to do and, once something was tried, your progress."""
    if remembered is None:
        return Tables([_to_do(chapter) for chapter in chapters])
    tried = any(
        remembered.verdict_of(exercise) is not None
        for chapter in chapters
        for exercise in chapter.exercises.values()
    )
    tables = [_with_standing(one, remembered) if tried else _to_do(one) for one in chapters]
    return Tables(tables, remembered.notes)


def summary(chapters: Sequence[Chapter], remembered: Progress) -> Tables:
    """Return the points and what is missing, for a last look before one hands in."""
    numbers = " ".join(chapter.number for chapter in chapters)
    advice = _(
        "Save the notebook before you hand it in: "
        "`attn-course check {numbers}` looks at the file as it is saved."
    )
    return Tables(
        [_missing(chapter, remembered) for chapter in chapters],
        [advice.format(numbers=numbers), *remembered.notes],
    )


def _to_do(chapter: Chapter) -> Table:
    rows = [
        (*_described(exercise), str(exercise.points)) for exercise in chapter.exercises.values()
    ]
    return Table(_title(chapter), (*_description(), _("Points")), rows)


def _with_standing(chapter: Chapter, remembered: Progress) -> Table:
    exercises = chapter.exercises.values()
    return Table(
        _title(chapter),
        (*_description(), _("Best points"), _("Last check")),
        [
            (*_described(one), _of(remembered.points_of(one), one.points), remembered.words_of(one))
            for one in exercises
        ],
        [remembered.verdict_of(one) for one in exercises],
    )


def _missing(chapter: Chapter, remembered: Progress) -> Table:
    exercises = chapter.exercises.values()
    rows = [
        (
            one.title,
            _of(remembered.points_of(one), one.points),
            _("nothing") if remembered.is_done(one) else _what_is_missing(one, remembered),
        )
        for one in exercises
    ]
    verdicts = [Verdict.PASSED if remembered.is_done(one) else None for one in exercises]
    missing = verdicts.count(None)
    counted = _("exercises: {missing} of {count}").format(missing=missing, count=len(rows))
    reached = sum(map(remembered.points_of, exercises))
    total = (_("In all"), _of(reached, chapter.points), counted if missing else _("nothing"))
    return Table(
        _title(chapter),
        (_("Exercise"), _("Best points"), _("What is missing")),
        [*rows, total],
        [*verdicts, None if missing else Verdict.PASSED],
    )


def _what_is_missing(exercise: Exercise, remembered: Progress) -> str:
    short = exercise.points - remembered.points_of(exercise)
    if not short:
        return _("it was right before, and not in the last check")
    return _("points: {count} ({words})").format(count=short, words=remembered.words_of(exercise))


def _title(chapter: Chapter) -> str:
    return f"{chapter.number} {chapter.title}"


def _description() -> tuple[str, ...]:
    return (_("Exercise"), _("Task"), _("Difficulty"), _("Minutes"))


def _described(exercise: Exercise) -> tuple[str, ...]:
    levels = {1: _("easy"), 2: _("medium"), 3: _("hard")}
    level = levels[exercise.difficulty]
    return (exercise.title, title_of(exercise.task), level, str(exercise.minutes))


def _of(points: int, most: int) -> str:
    return _("{points} of {most}").format(points=points, most=most)
