"""What a learner sees after a check: in a notebook as HTML, in a terminal as text.

Both say the same. Green: what was verified. Red: the mistake by its name if it is known, the
smallest input on which the answer is wrong, got and expected as numbers and as a picture, and
the section to read. An untouched stub gets one line.

Nothing here is loaded from elsewhere, colours come from JupyterLab's theme where there is one,
and every word that comes from the learner's code is escaped.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from attn_course.practice.compare import RELATIVE, as_array, same
from attn_course.practice.exercise import Chapter, Exercise, Failure, GroupResult, Result
from attn_course.translate import _

_MOST_SHOWN = 12  # rows and columns of an array in print
_EDGE = 4  # of a longer array, so many numbers at each end
_MOST_CELLS = 24  # rows and columns of a picture


class Notice:
    """One sentence for a learner, where no check could be made."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def text(self) -> str:
        """Return the sentence."""
        return self.sentence

    __repr__ = text

    def _repr_html_(self) -> str:
        return _box("red", [_paragraph(self.sentence)])


class Feedback:
    """How a check went, ready to be shown; `result` holds the facts."""

    def __init__(self, result: Result, notes: tuple[str, ...] = ()) -> None:
        self.result = result
        self.notes = notes

    def text(self) -> str:
        """Return the feedback for a terminal."""
        result = self.result
        lines = [self._headline()]
        known = result.misconception
        if known:
            lines += ["", f"[{_readable(known.name)}] {known.message}", ""]
        if self._shows_groups:
            rows = [("", _status(group), _points(group), group.label) for group in result.groups]
            lines += aligned(rows)
        if result.failure:
            lines += ["", *_failure_text(result.failure, self._raised)]
        if self._needs_reading:
            lines += _helpers(result.exercise)
            words, page = _section(result)
            lines += ["", f"{words} ({page})" if page else words]
        return "\n".join([*lines, *self.notes])

    __repr__ = text

    def _repr_html_(self) -> str:
        result = self.result
        colour = {"passed": "green", "todo": "grey"}.get(result.status, "red")
        parts = [_paragraph(self._headline(), bold=result.status != "todo")]
        known = result.misconception
        if known:
            tag = _small_tag(_readable(known.name))
            parts.append(f'<p style="margin:0.5em 0">{tag}{escape(known.message)}</p>')
        if self._shows_groups:
            parts.append(_group_list(result.groups))
        if result.failure:
            parts.append(_failure_html(result.failure, self._raised))
        if self._needs_reading:
            parts += map(_paragraph, _helpers(result.exercise))
            parts.append(_section_html(result))
        parts += [_paragraph(note, small=True) for note in self.notes]
        return _box(colour, parts, label=result.exercise.title)

    def _headline(self) -> str:
        result = self.result
        if result.status == "todo":
            return _todo_line(result.exercise)
        fields = {
            "title": result.exercise.title,
            "points": result.points,
            "most": result.exercise.points,
        }
        if result.status == "passed":
            return _("Passed: {title} (points: {points} of {most})").format(**fields)
        return _("Not yet: {title} (points: {points} of {most})").format(**fields)

    @property
    def _shows_groups(self) -> bool:
        """Whether there is more to say than that nothing is written yet."""
        return any(group.status != "todo" for group in self.result.groups)

    @property
    def _raised(self) -> bool:
        """Whether the failure shown is an exception rather than a wrong answer."""
        first = next((group for group in self.result.groups if group.failure), None)
        return first is not None and first.status == "error"

    @property
    def _needs_reading(self) -> bool:
        return self.result.status in ("failed", "error")


class Overview:
    """The exercises of a chapter as a table."""

    def __init__(self, chapter: Chapter) -> None:
        self.chapter = chapter

    def text(self) -> str:
        """Return the table for a terminal."""
        title = f"{self.chapter.number} {self.chapter.title}"
        return "\n".join([title, *aligned([self._head(), *self._rows()])])

    __repr__ = text

    def _repr_html_(self) -> str:
        cell = "padding:0.25em 0.9em 0.25em 0;text-align:left;vertical-align:top"
        head = "".join(
            f'<th scope="col" style="{cell};{_LINE_BELOW}">{escape(name)}</th>'
            for name in self._head()
        )
        body = "".join(
            "<tr>" + "".join(f'<td style="{cell}">{escape(item)}</td>' for item in row) + "</tr>"
            for row in self._rows()
        )
        caption = escape(f"{self.chapter.number} {self.chapter.title}")
        return (
            f'<div style="overflow-x:auto"><table style="border-collapse:collapse;{_TEXT}">'
            f'<caption style="text-align:left;font-weight:600">{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    @staticmethod
    def _head() -> tuple[str, ...]:
        return (_("Exercise"), _("Task"), _("Difficulty"), _("Minutes"), _("Points"))

    def _rows(self) -> list[tuple[str, ...]]:
        tasks = {
            "implement": _("implement"),
            "find the bug": _("find the bug"),
            "predict": _("predict"),
            "complete the training step": _("complete the training step"),
            "reproduce": _("reproduce an experiment"),
        }
        levels = {1: _("easy"), 2: _("medium"), 3: _("hard")}
        return [
            (
                exercise.title,
                tasks[exercise.task],
                levels[exercise.difficulty],
                str(exercise.minutes),
                str(exercise.points),
            )
            for exercise in self.chapter.exercises.values()
        ]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of words as lines whose columns stand under one another."""
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            word + " " * (width - _width(word)) for word, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    """Return the columns that a terminal needs: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


# Sentences


def _todo_line(exercise: Exercise) -> str:
    if exercise.kind == "value":
        return _("Not answered yet: put your answer into {name} in the cell above.").format(
            name=exercise.name
        )
    if exercise.uses:  # whichever stub spoke, it can't be told from here
        return _(
            "Not written yet: {name}, or what it uses ({used}). Fill it in, then run this again."
        ).format(name=exercise.name, used=", ".join(exercise.uses))
    return _("Not written yet: fill in {name} in the cell above, then run this again.").format(
        name=exercise.name
    )


def _helpers(exercise: Exercise) -> list[str]:
    """Return a sentence about earlier answers that this one calls: they may be what is wrong."""
    if not exercise.uses:
        return []
    used = ", ".join(exercise.uses)
    return [_("It uses your earlier answers ({used}): are they green?").format(used=used)]


def _readable(name: str) -> str:
    """Return the name of a function or class as words: `WithoutBias` is "without bias"."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ")
    return words.lower()


def _status(group: GroupResult) -> str:
    words = {
        "passed": _("passed"),
        "failed": _("wrong"),
        "error": _("stopped"),
        "todo": _("to do"),
    }
    return words[group.status]


def _points(group: GroupResult) -> str:
    earned = group.points if group.status == "passed" else 0
    return _("{earned} of {most}").format(earned=earned, most=group.points)


def _section(result: Result) -> tuple[str, Path | None]:
    """Return the section to read in words, and the page of the built book if there is one."""
    chapter, label = result.exercise.chapter, _label(result)
    page = _built_page(chapter.number, label)
    words = _("Read: chapter {number}, section “{section}”").format(
        number=chapter.number, section=chapter.sections[label]
    )
    return words, page


def _label(result: Result) -> str:
    """Return the label of the section to read."""
    return result.misconception.section if result.misconception else result.exercise.section


def _built_page(number: str, label: str) -> Path | None:
    """Return the chapter's page with that section, of a built book in this folder or one above.

    A long chapter has several pages: `03_alignment.html`, `03b_masks.html`, …
    """
    here = Path.cwd()
    built = (folder / "_build" / "html" for folder in (here, *here.parents))
    pages = (page for folder in built for page in sorted(folder.glob(f"{number}*.html")))
    anchor = f'id="{label}"'
    return next((page for page in pages if anchor in page.read_text(encoding="utf-8")), None)


# Got and expected


def _differing_part(got: Any, wanted: Any) -> tuple[str, Any, Any]:
    """Return the first part that differs and where it stands: a tuple or dict says little."""
    if isinstance(wanted, dict) and isinstance(got, dict) and set(got) == set(wanted):
        keys: Iterable[Any] = wanted
        place: Callable[[Any], str] = str
    elif _is_pair(got, wanted):
        keys = range(len(wanted))
        place = _part
    else:
        return "", got, wanted
    for key in keys:
        if not same(got[key], wanted[key]):
            inner, one, other = _differing_part(got[key], wanted[key])
            return ", ".join(filter(None, [place(key), inner])), one, other
    return "", got, wanted


def _is_pair(got: Any, wanted: Any) -> bool:
    shape = isinstance(wanted, tuple) and all(isinstance(item, int) for item in wanted)
    both = isinstance(wanted, tuple) and isinstance(got, list | tuple)
    return both and not shape and len(got) == len(wanted)


def _part(index: int) -> str:
    return _("part {number}").format(number=index + 1)


def _failure_text(failure: Failure, raised: bool) -> list[str]:
    lines = [failure.sentence]
    if failure.line:
        lines += [_("at the line:"), f"    {failure.line}"]
    if failure.arguments:
        lines += [_("The smallest input on which it goes wrong:")]
        lines += _indented(_argument_lines(failure.arguments))
    if raised:
        return lines
    place, got, wanted = _differing_part(failure.got, failure.wanted)
    yours, expected = _print_alike(got, wanted)
    lines += [_titled(_("yours"), place), *_indented([yours])]
    if failure.wanted is not None:
        lines += [_titled(_("expected"), place), *_indented([expected])]
    return lines


def _titled(word: str, place: str) -> str:
    return f"{word} ({place}):" if place else f"{word}:"


def _indented(texts: Iterable[str]) -> list[str]:
    return ["    " + line for text in texts for line in text.split("\n")]


def _argument_lines(arguments: dict[str, Any]) -> list[str]:
    lines = []
    for name, value in arguments.items():
        start = f"{name} = "
        printed = _print(value).replace("\n", "\n" + " " * len(start))
        lines.append(start + printed + _kind_of_array(value))
    return lines


def _kind_of_array(value: Any) -> str:
    if not hasattr(value, "shape"):
        return ""
    shape = tuple(value.shape)
    if type(value).__module__.startswith("torch"):
        return "    # " + _("a tensor of shape {shape}").format(shape=shape)
    return "    # " + _("shape {shape}").format(shape=shape)


def _print_alike(got: Any, wanted: Any) -> tuple[str, str]:
    """Return both in print, with as many digits as it takes to tell them apart."""
    arrays = [array for array in (as_array(got), as_array(wanted)) if array is not None]
    numbers = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
    for style in (_style_for(numbers), "{:.7f}", "{:.9e}"):
        width = _number_width(numbers, style)
        texts = _print(got, style, width), _print(wanted, style, width)
        if texts[0] != texts[1]:
            break
    return texts


def _print(value: Any, style: str = "", width: int = 0) -> str:
    """Return a plain value in print: numbers rounded and under one another, long arrays cut."""
    array = as_array(value)
    if isinstance(value, dict) and value:
        return "\n".join(f"{key}: {_print(item)}" for key, item in value.items())
    if array is None or isinstance(value, bool | int):
        return _cut(repr(value))
    if isinstance(value, tuple) and array.dtype.kind != "f":
        return _cut(repr(value))
    if array.ndim == 0:
        return _number(array.item(), style).strip() if width else repr(float(f"{array:.6g}"))
    style = style or _style_for(array)
    width = width or _number_width(array, style)
    formatter: Any = {"float_kind": lambda number: _number(number, style).rjust(width)}
    long = array.size > _MOST_SHOWN**2 or max(array.shape) > 2 * _MOST_SHOWN
    return np.array2string(
        array,
        separator=", ",
        formatter=formatter if array.dtype.kind == "f" else None,
        threshold=0 if long else array.size + 1,
        edgeitems=_EDGE if array.ndim <= 2 else 2,
        max_line_width=88,
    )


def _cut(text: str, longest: int = 300) -> str:
    return text if len(text) <= longest else text[:longest] + " …"


def _style_for(numbers: np.ndarray) -> str:
    """Return up to four decimals, or the scientific form where these would hide the numbers."""
    if numbers.dtype.kind != "f":
        return "{:.4f}"
    finite = numbers[np.isfinite(numbers)].astype(float)
    largest = np.abs(finite).max(initial=0.0)
    if largest >= 1e6 or 0 < largest < 1e-2:
        return "{:.3e}"
    enough = (d for d in (1, 2, 3) if np.abs(finite - finite.round(d)).max(initial=0.0) < 1e-7)
    return f"{{:.{next(enough, 4)}f}}"


def _number_width(numbers: np.ndarray, style: str) -> int:
    if numbers.dtype.kind != "f" or numbers.size == 0 or numbers.size > 10_000:
        return 0
    return max(len(_number(number, style)) for number in numbers.ravel().tolist())


def _number(number: float, style: str) -> str:
    text = style.format(number)
    return text.removeprefix("-") if float(text) == 0 else text


# HTML

_TEXT = "color:var(--jp-content-font-color1,inherit);font-size:var(--jp-content-font-size1,1em)"
_LINE_BELOW = "border-bottom:1px solid rgba(128,128,128,0.5)"
_CODE = (
    "margin:0.2em 0;padding:0.4em 0.6em;overflow-x:auto;white-space:pre;line-height:1.35;"
    "font-family:var(--jp-code-font-family,monospace);font-size:0.92em;"
    "color:inherit;background:rgba(128,128,128,0.12);border:0"
)
_COLOURS = {"green": (26, 127, 55), "red": (179, 38, 30), "grey": (110, 119, 129)}


def _box(colour: str, parts: Iterable[str], label: str = "") -> str:
    name = f' role="group" aria-label="{escape(label)}"' if label else ""
    line = "rgb({}, {}, {})".format(*_COLOURS[colour])
    tint = "rgba({}, {}, {}, 0.08)".format(*_COLOURS[colour])
    return (
        f'<div{name} class="attn-feedback attn-{colour}" style="border-left:5px solid {line};'
        f"padding:0.3em 0.9em;margin:0.3em 0;line-height:1.5;background:{tint};"
        f'{_TEXT}">{"".join(parts)}</div>'
    )


def _paragraph(sentence: str, bold: bool = False, small: bool = False) -> str:
    style = "margin:0.3em 0"
    style += ";font-weight:600" if bold else ""
    style += ";font-size:0.9em" if small else ""
    return f'<p style="{style}">{escape(sentence)}</p>'


def _small_tag(words: str) -> str:
    return (
        '<span style="display:inline-block;font-size:0.85em;line-height:1.5;padding:0 0.6em;'
        "margin-right:0.6em;border-radius:1em;color:#fff;background:#b3261e"
        f'">{escape(words)}</span> '
    )


def _group_list(groups: Iterable[GroupResult]) -> str:
    """Return a line for each group: a mark and a word, so that it does not rest on colour."""
    marks = {"passed": "✓", "failed": "✗", "error": "✗", "todo": "·"}
    rows = "".join(
        f'<li style="margin:0"><span aria-hidden="true" style="display:inline-block;width:1.4em">'
        f"{marks[group.status]}</span>{escape(group.label)}: "
        f"{escape(_status(group))}, {escape(_points(group))}</li>"
        for group in groups
    )
    return f'<ul style="list-style:none;margin:0.2em 0;padding:0">{rows}</ul>'


def _failure_html(failure: Failure, raised: bool) -> str:
    parts = [_paragraph(failure.sentence)]
    if failure.line:
        parts += [f'<pre style="{_CODE}">{escape(failure.line)}</pre>']
    if failure.arguments:
        parts += [_paragraph(_("The smallest input on which it goes wrong:"))]
        shown = "\n".join(_argument_lines(failure.arguments))
        parts += [f'<pre style="{_CODE}">{escape(shown)}</pre>']
    if raised:
        return "".join(parts)
    place, got, wanted = _differing_part(failure.got, failure.wanted)
    yours, expected = _print_alike(got, wanted)
    columns = [(_titled(_("yours"), place), got, yours)]
    if failure.wanted is not None:
        columns += [(_titled(_("expected"), place), wanted, expected)]
    pictures = _pictures(got, wanted)
    shown = "".join(
        f'<div style="min-width:0;max-width:100%">{_paragraph(title)}{picture}'
        f'<pre style="{_CODE}">{escape(numbers)}</pre></div>'
        for (title, _value, numbers), picture in zip(columns, pictures, strict=False)
    )
    layout = "display:flex;flex-wrap:wrap;gap:0.3em 2em;align-items:flex-start"
    return "".join(parts) + f'<div style="{layout}">{shown}</div>'


def _section_html(result: Result) -> str:
    words, page = _section(result)
    if page is None:
        return _paragraph(words)
    # Relative, as JupyterLab and a browser both follow it; a file: address only one of them would.
    relative = Path(os.path.relpath(page, Path.cwd())).as_posix()
    address = f"{quote(relative)}#{quote(_label(result))}"
    link = "color:var(--jp-content-link-color,#0969da)"
    return (
        f'<p style="margin:0.5em 0 0.3em"><a href="{escape(address)}" style="{link}">'
        f"{escape(words)}</a></p>"
    )


# Pictures


def _pictures(got: Any, wanted: Any) -> tuple[str, str]:
    """Return got and expected as heat maps on one scale, or nothing where they say nothing."""
    yours, expected = _matrix(got), _matrix(wanted)
    if yours is None or expected is None:
        return "", ""
    if yours.shape == expected.shape:
        differs = ~np.isclose(yours, expected, rtol=RELATIVE, atol=1e-5, equal_nan=True)
    else:
        differs = np.zeros((0, 0), dtype=bool)  # a wrong shape speaks for itself
    if differs.all():
        differs = np.zeros_like(differs)  # frames around everything would point at nothing
    finite = [matrix[np.isfinite(matrix)] for matrix in (yours, expected)]
    scale = float(np.max(np.abs(np.concatenate(finite)), initial=0.0)) or 1.0
    rows, columns = np.maximum(yours.shape, expected.shape)
    size = 22 if max(rows, columns) <= _MOST_SHOWN else 12
    return (
        _heat_map(yours, scale, size, differs, _("Your numbers as a heat map")),
        _heat_map(expected, scale, size, differs, _("The expected numbers as a heat map")),
    )


def _matrix(value: Any) -> np.ndarray | None:
    """Return an array of numbers as a matrix that is small enough to draw, or None."""
    array = as_array(value)
    if array is None or array.size < 2 or array.ndim > 4:
        return None
    rows = array.astype(float).reshape(-1, array.shape[-1])
    return rows if max(rows.shape) <= _MOST_CELLS else None


def _heat_map(matrix: np.ndarray, scale: float, size: int, differs: np.ndarray, label: str) -> str:
    rows, columns = matrix.shape
    width, height = columns * size + 2, rows * size + 2
    cells = "".join(
        _cell(matrix[row, column], scale, column * size + 1, row * size + 1, size)
        for row in range(rows)
        for column in range(columns)
    )
    marks = "".join(
        f'<rect x="{column * size + 3}" y="{row * size + 3}" width="{size - 4}" '
        f'height="{size - 4}" fill="none" stroke="{colour}" stroke-width="{stroke}"/>'
        for row, column in np.argwhere(differs)
        for colour, stroke in (("#fff", 4), ("#000", 2))  # seen on light and on dark cells
    )
    wrong = int(differs.sum())
    words = _("{label}: {rows} rows, {columns} columns").format(
        label=label, rows=rows, columns=columns
    )
    if wrong:
        words = _("{words}; {wrong} framed cells differ").format(words=words, wrong=wrong)
    return (
        f'<svg role="img" aria-label="{escape(words)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto;display:block">'
        f"{cells}{marks}</svg>"
    )


def _cell(number: float, scale: float, x: int, y: int, size: int) -> str:
    place = f'x="{x}" y="{y}" width="{size}" height="{size}" stroke="#808080"'
    if np.isfinite(number):
        return f'<rect {place} fill="{_colour(number / scale)}"/>'
    cross = f"M{x + 4} {y + 4}l{size - 8} {size - 8}M{x + 4} {y + size - 4}l{size - 8} {8 - size}"
    return f'<rect {place} fill="#d0d0d0"/><path d="{cross}" stroke="#000" stroke-width="2"/>'


def _colour(share: float) -> str:
    """Return white for 0, blue towards 1, orange towards -1: told apart by all kinds of eyes."""
    end = (0, 90, 181) if share >= 0 else (220, 110, 0)
    red, green, blue = (round(255 + (channel - 255) * min(abs(share), 1.0)) for channel in end)
    return f"#{red:02x}{green:02x}{blue:02x}"
