"""What a learner sees after a check: in a notebook as HTML, in a terminal as text.

Both say the same. Green: what was verified. Red: the mistake by its name if it is known, the
smallest input on which the answer is wrong, got and expected as numbers and as a picture, and
the section to read. An untouched stub gets one line.

Nothing here is loaded from elsewhere, colours come from JupyterLab's theme where there is one,
and `markup` escapes every word, whoever wrote it.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attn_course.practice.exercise import Solution
from attn_course.practice.markup import Markup, fill, join
from attn_course.practice.pictures import pictures
from attn_course.practice.printing import argument_lines, print_alike
from attn_course.practice.report import GroupReport, Report, Section
from attn_course.practice.results import Difference, Failure, Verdict, in_words
from attn_course.practice.terminal import Paint, plain, unpainted
from attn_course.translate import _


class Notice:
    """One sentence for a learner, where no check could be made."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def text(self) -> str:
        """Return the sentence."""
        return self.sentence

    __repr__ = text

    def _repr_html_(self) -> Markup:
        return _box("red", [_paragraph(self.sentence)])


class Feedback:
    """How a check went, ready to be shown; `report` has the facts."""

    def __init__(self, report: Report, notes: Sequence[str] = ()) -> None:
        self.report = report
        self.notes = tuple(notes)

    def text(self, paint: Paint = plain) -> str:
        """Return the feedback for a terminal."""
        report = self.report
        lines = [paint(self._headline(), self._colour)]
        if report.mistake:
            lines += ["", f"[{readable(report.mistake)}] {report.mistake_sentence}", ""]
        if report.observations:
            lines += ["", *report.observations, ""]
        if self._shows_groups:
            lines += aligned([_group_row(group, paint) for group in report.groups])
        if report.failure:
            lines += ["", *_failure_text(report.failure)]
        if self._needs_reading:
            lines += _helpers(report)
            words, page = _to_read(report.section), _built_page(report.section)
            lines += ["", f"{words} ({page})" if page else words]
        if self._shows_solution:
            lines.append(_ways(report))
        return "\n".join([*lines, *self.notes])

    __repr__ = text

    def _repr_html_(self) -> Markup:
        report = self.report
        parts = [_paragraph(self._headline(), bold=report.verdict is not Verdict.TODO)]
        if report.mistake:
            tag = _small_tag(readable(report.mistake))
            parts.append(fill(_APART, inside=join([tag, report.mistake_sentence])))
        parts += [fill(_APART, inside=inline(sentence)) for sentence in report.observations]
        if self._shows_groups:
            parts.append(_group_list(report.groups))
        if report.failure:
            parts.append(_failure_html(report.failure))
        if self._needs_reading:
            parts += map(_paragraph, _helpers(report))
            parts.append(_section_html(report.section))
        if self._shows_solution and report.solution:
            parts.append(_solution_html(report.solution))
            parts += [_others_html(report.others)] if report.others else []
        parts += [_paragraph(note, small=True) for note in self.notes]
        return _box(self._colour, parts, label=report.title)

    @property
    def _colour(self) -> str:
        return colour_of(self.report.verdict)

    def _headline(self) -> str:
        report = self.report
        if report.verdict is Verdict.TODO and not report.points:
            return _todo_line(report)
        fields = {"title": report.title, "points": report.points, "most": report.most}
        if report.verdict is Verdict.PASSED:
            return _("Passed: {title} (points: {points} of {most})").format(**fields)
        if report.verdict is Verdict.TODO:
            return _("Not finished: {title} (points: {points} of {most})").format(**fields)
        return _("Not yet: {title} (points: {points} of {most})").format(**fields)

    @property
    def _shows_groups(self) -> bool:
        """Whether there is more to say than that nothing is written yet."""
        return any(group.verdict is not Verdict.TODO for group in self.report.groups)

    @property
    def _needs_reading(self) -> bool:
        return self.report.verdict in (Verdict.FAILED, Verdict.ERROR)

    @property
    def _shows_solution(self) -> bool:
        return self.report.verdict is Verdict.PASSED and self.report.solution is not None


def colour_of(verdict: Verdict | None) -> str:
    """Return the colour of a verdict; None: nothing was judged yet."""
    unwritten = (Verdict.TODO, Verdict.MISSING, None)
    return {Verdict.PASSED: "green", **dict.fromkeys(unwritten, "grey")}.get(verdict, "red")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of words as lines with aligned columns."""
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            word + " " * (width - _width(word)) for word, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    """Return the columns that a terminal needs: a Chinese character takes two."""
    shown = unpainted(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in shown)


# --- sentences -------------------------------------------------------------------------------


def _todo_line(report: Report) -> str:
    if not report.is_live:
        return _("Not answered.") if report.kind == "value" else _("Not written.")
    if report.kind == "value":
        return _("Not answered yet: put your answer into {name} in the cell above.").format(
            name=report.name
        )
    if report.uses:  # which of the stubs raised it is not known here
        return _(
            "Not written yet: {name}, or what it uses ({used}). Fill it in, then run this again."
        ).format(name=report.name, used=", ".join(report.uses))
    return _("Not written yet: fill in {name} in the cell above, then run this again.").format(
        name=report.name
    )


def _ways(report: Report) -> str:
    """Return where right answers are, for a terminal."""
    if not report.others:
        return _("One way to write it: attn-course solution {id}").format(id=report.id)
    return _(
        "One way to write it, and other right ways ({count}): attn-course solution {id}"
    ).format(count=len(report.others), id=report.id)


def _helpers(report: Report) -> list[str]:
    """Return a sentence about earlier answers that this one calls: they may be what is wrong."""
    if not report.uses:
        return []
    used = ", ".join(report.uses)
    return [
        _("If your answer uses earlier ones ({used}), check that they are green.").format(used=used)
    ]


def readable(name: str) -> str:
    """Return the name of a function or class as words: `WithoutBias` is "without bias"."""
    parts = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    words = re.sub(parts, " ", name.replace("NaN", "Nan")).replace("_", " ")
    return words.lower()


def _group_words(group: GroupReport) -> tuple[str, str]:
    """Return how a group went, and its points."""
    earned = group.points if group.verdict is Verdict.PASSED else 0
    points = _("{earned} of {most}").format(earned=earned, most=group.points)
    return in_words(group.verdict), points


def _group_row(group: GroupReport, paint: Paint) -> tuple[str, ...]:
    words, points = _group_words(group)
    return "", paint(words, colour_of(group.verdict)), points, group.label


def _to_read(section: Section) -> str:
    return _("Read: chapter {number}, section “{section}”").format(
        number=section.chapter, section=section.heading
    )


def _built_page(section: Section) -> Path | None:
    """Return the page with that section, of a built book in this folder or one above."""
    here = Path.cwd()
    pages = (
        folder / "_build" / "html" / f"{section.page}.html" for folder in (here, *here.parents)
    )
    return next((page for page in pages if section.page and page.is_file()), None)


# --- got and expected ------------------------------------------------------------------------


def _failure_text(failure: Failure) -> list[str]:
    lines = [failure.sentence]
    if failure.raised and failure.raised.line:
        lines += [_("at the line:"), f"    {failure.raised.line}"]
    if failure.arguments:
        lines += [_("The smallest input on which it goes wrong:")]
        lines += _indented(argument_lines(failure.arguments))
    if failure.parameters:
        lines += [_("with these numbers as its parameters:")]
        lines += _indented(argument_lines(failure.parameters))
    for title, numbers in _columns(failure.difference):
        lines += [title, *_indented([numbers])]
    return lines


def _columns(difference: Difference | None) -> list[tuple[str, str]]:
    """Return yours and, where it is no secret, what was expected: a title and the numbers."""
    if difference is None:
        return []
    place = ", ".join(difference.place)
    yours, expected = print_alike(difference.got, difference.wanted)
    columns = [(_titled(_("yours"), place), yours)]
    if not difference.is_secret:
        columns.append((_titled(_("expected"), place), expected))
    return columns


def _titled(word: str, place: str) -> str:
    return f"{word} ({place}):" if place else f"{word}:"


def _indented(texts: Iterable[str]) -> list[str]:
    return ["    " + line for text in texts for line in text.split("\n")]


# --- HTML ------------------------------------------------------------------------------------

TEXT = "color:var(--jp-content-font-color1,inherit);font-size:var(--jp-content-font-size1,1em)"
_CODE = (
    "margin:0.2em 0;padding:0.4em 0.6em;overflow-x:auto;white-space:pre;line-height:1.35;"
    "font-family:var(--jp-code-font-family,monospace);font-size:0.92em;"
    "color:inherit;background:rgba(128,128,128,0.12);border:0"
)
_APART = '<p style="margin:0.5em 0">$inside</p>'
_COLOURS = {"green": (26, 127, 55), "red": (179, 38, 30), "grey": (110, 119, 129)}


def _box(colour: str, parts: Iterable[str], label: str = "") -> Markup:
    name = fill(' role="group" aria-label="$label"', label=label) if label else ""
    line = "rgb({}, {}, {})".format(*_COLOURS[colour])
    tint = "rgba({}, {}, {}, 0.08)".format(*_COLOURS[colour])
    return fill(
        '<div$name class="attn-feedback attn-$colour" style="border-left:5px solid $line;'
        "padding:0.3em 0.9em;margin:0.3em 0;line-height:1.5;background:$tint;"
        '$text">$inside</div>',
        name=name,
        colour=colour,
        line=line,
        tint=tint,
        text=TEXT,
        inside=join(parts),
    )


def _paragraph(sentence: str, bold: bool = False, small: bool = False) -> Markup:
    style = "margin:0.3em 0"
    style += ";font-weight:600" if bold else ""
    style += ";font-size:0.9em" if small else ""
    return fill('<p style="$style">$sentence</p>', style=style, sentence=sentence)


def _code(text: str) -> Markup:
    return fill('<pre style="$style">$text</pre>', style=_CODE, text=text)


def _small_tag(words: str) -> Markup:
    return fill(
        '<span style="display:inline-block;font-size:0.85em;line-height:1.5;padding:0 0.6em;'
        'margin-right:0.6em;border-radius:1em;color:#fff;background:#b3261e">$words</span> ',
        words=words,
    )


def _group_list(groups: Iterable[GroupReport]) -> Markup:
    """Return a line for each group: a mark and a word, so that it does not rest on colour."""
    rows = join(
        fill(
            '<li style="margin:0">$mark$label: $words</li>',
            mark=mark_html(group.verdict),
            label=group.label,
            words=", ".join(_group_words(group)),
        )
        for group in groups
    )
    return fill('<ul style="list-style:none;margin:0.2em 0;padding:0">$rows</ul>', rows=rows)


def mark_html(verdict: Verdict | None) -> Markup:
    """Return a mark for a verdict, of a fixed width; None: nothing was judged yet."""
    marks = {Verdict.PASSED: "✓", Verdict.TODO: "·", Verdict.MISSING: "·", None: "·"}
    return fill(
        '<span aria-hidden="true" style="display:inline-block;width:1.4em">$mark</span>',
        mark=marks.get(verdict, "✗"),
    )


def _failure_html(failure: Failure) -> Markup:
    parts = [_paragraph(failure.sentence)]
    if failure.raised and failure.raised.line:
        parts.append(_code(failure.raised.line))
    if failure.arguments:
        parts.append(_paragraph(_("The smallest input on which it goes wrong:")))
        parts.append(_code("\n".join(argument_lines(failure.arguments))))
    if failure.parameters:
        parts.append(_paragraph(_("with these numbers as its parameters:")))
        parts.append(_code("\n".join(argument_lines(failure.parameters))))
    if failure.difference is not None:
        parts.append(_both_html(failure.difference))
    return join(parts)


def _both_html(difference: Difference) -> Markup:
    """Return yours and, where it is no secret, what was expected, side by side."""
    drawn = ("", "") if difference.is_secret else pictures(difference)
    shown = join(
        fill(
            '<div style="min-width:0;max-width:100%">$inside</div>',
            inside=join([_paragraph(title), picture, _code(numbers)]),
        )
        for (title, numbers), picture in zip(_columns(difference), drawn, strict=False)
    )
    layout = "display:flex;flex-wrap:wrap;gap:0.3em 2em;align-items:flex-start"
    return fill('<div style="$layout">$shown</div>', layout=layout, shown=shown)


def comparison_html(arguments: dict[str, Any], difference: Difference) -> Markup:
    """Return an input, and what both answers make of it."""
    inputs = _code("\n".join(argument_lines(arguments)))
    return join([inputs, _paragraph(difference.sentence), _both_html(difference)])


def _section_html(section: Section) -> Markup:
    words, page = _to_read(section), _built_page(section)
    if page is None:
        return _paragraph(words)
    # Relative, as JupyterLab and a browser both follow it; a file: address only one of them would.
    relative = Path(os.path.relpath(page, Path.cwd())).as_posix()
    address = f"{quote(relative)}#{quote(section.label)}"
    link = "color:var(--jp-content-link-color,#0969da)"
    return fill(
        '<p style="margin:0.5em 0 0.3em"><a href="$address" style="$link">$words</a></p>',
        address=address,
        link=link,
        words=words,
    )


def _solution_html(solution: Solution) -> Markup:
    """Return one right way to write it and why, folded."""
    inside = join([_code(solution.answer), _prose(solution.explanation)])
    return _folded(_("One way to write it, and why"), inside)


def _others_html(others: Sequence[str]) -> Markup:
    """Return other right ways to write it, folded."""
    summary = _("Other right ways to write it ({count})").format(count=len(others))
    return _folded(summary, join(map(_code, others)))


def _folded(summary: str, inside: Markup) -> Markup:
    return fill(
        '<details style="margin:0.4em 0"><summary style="cursor:pointer">$summary</summary>'
        "$inside</details>",
        summary=summary,
        inside=inside,
    )


def _prose(markdown: str) -> Markup:
    """Return simple Markdown as HTML: paragraphs, code and emphasis, and formulas as they are."""
    paragraphs = re.split(r"\n\s*\n", markdown.strip())
    texts = (" ".join(paragraph.split("\n")) for paragraph in paragraphs if paragraph)
    return join(fill('<p style="margin:0.3em 0">$text</p>', text=inline(text)) for text in texts)


def inline(text: str) -> Markup:
    """Return a line as HTML, escaped, its code, bold and italic words marked."""
    coded = re.sub(r"`(.+?)`", _inline_code, fill("$text", text=text))
    bold = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", coded)
    # What is added to the escaped text is markup of ours.
    return Markup(re.sub(r"(?<![\w*])\*([^*\s][^*]*?)\*(?![\w*])", r"<em>\1</em>", bold))


def _inline_code(found: re.Match[str]) -> str:
    """Return code in a line; its stars are powers and nothing bold."""
    return "<code>" + found[1].replace("*", "&#42;") + "</code>"
