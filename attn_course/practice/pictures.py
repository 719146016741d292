"""Got and expected as heat maps: plain SVG, on one scale, with the cells that differ framed."""

from typing import Any

import numpy as np

from attn_course.practice.compare import as_array
from attn_course.practice.markup import Markup, fill, join
from attn_course.practice.printing import MOST_SHOWN
from attn_course.practice.results import Difference
from attn_course.translate import _

_MOST_CELLS = 24  # rows and columns of a picture


def pictures(difference: Difference) -> tuple[str, str]:
    """Return got and expected as heat maps on one scale, or nothing where they say nothing."""
    yours, expected = _matrix(difference.got), _matrix(difference.wanted)
    if yours is None or expected is None:
        return "", ""
    differs: np.ndarray = np.zeros((0, 0), dtype=bool)  # a wrong shape speaks for itself
    if difference.where is not None:
        differs = difference.where.reshape(yours.shape)
    if differs.all():
        differs = np.zeros_like(differs)  # frames around everything would point at nothing
    finite = [matrix[np.isfinite(matrix)] for matrix in (yours, expected)]
    scale = float(np.max(np.abs(np.concatenate(finite)), initial=0.0)) or 1.0
    rows, columns = np.maximum(yours.shape, expected.shape)
    size = 22 if max(rows, columns) <= MOST_SHOWN else 12
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


def _heat_map(
    matrix: np.ndarray, scale: float, size: int, differs: np.ndarray, label: str
) -> Markup:
    rows, columns = matrix.shape
    width, height = columns * size + 2, rows * size + 2
    cells = join(
        _cell(matrix[row, column], scale, column * size + 1, row * size + 1, size)
        for row in range(rows)
        for column in range(columns)
    )
    marks = join(
        fill(
            '<rect x="$x" y="$y" width="$side" height="$side" fill="none" stroke="$colour" '
            'stroke-width="$stroke"/>',
            x=column * size + 3,
            y=row * size + 3,
            side=size - 4,
            colour=colour,
            stroke=stroke,
        )
        for row, column in np.argwhere(differs)
        for colour, stroke in (("#fff", 4), ("#000", 2))  # seen on light and on dark cells
    )
    wrong = int(differs.sum())
    words = _("{label}: {rows} rows, {columns} columns").format(
        label=label, rows=rows, columns=columns
    )
    if wrong:
        words = _("{words}; {wrong} framed cells differ").format(words=words, wrong=wrong)
    return fill(
        '<svg role="img" aria-label="$words" width="$width" height="$height" '
        'viewBox="0 0 $width $height" style="max-width:100%;height:auto;display:block">'
        "$cells$marks</svg>",
        words=words,
        width=width,
        height=height,
        cells=cells,
        marks=marks,
    )


def _cell(number: float, scale: float, x: int, y: int, size: int) -> Markup:
    square = fill(
        '<rect x="$x" y="$y" width="$size" height="$size" stroke="#808080" fill="$colour"/>',
        x=x,
        y=y,
        size=size,
        colour=_colour(number / scale) if np.isfinite(number) else "#d0d0d0",
    )
    if np.isfinite(number):
        return square
    cross = f"M{x + 4} {y + 4}l{size - 8} {size - 8}M{x + 4} {y + size - 4}l{size - 8} {8 - size}"
    return join([square, fill('<path d="$d" stroke="#000" stroke-width="2"/>', d=cross)])


def _colour(share: float) -> str:
    """Return white for 0, blue towards 1, orange towards -1: told apart by all kinds of eyes."""
    end = (0, 90, 181) if share >= 0 else (220, 110, 0)
    red, green, blue = (round(255 + (channel - 255) * min(abs(share), 1.0)) for channel in end)
    return f"#{red:02x}{green:02x}{blue:02x}"
