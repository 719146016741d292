"""The multi-dimensional explorer standing still: weights, values and context, by Python."""

from html import escape
from typing import TYPE_CHECKING

from attn_course.figures.explorers.still import (
    element,
    exact,
    figure,
    picture,
    rounded,
    table,
    text,
    written,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.multi_dimensional import MultiDimensionalExplorer

TOP, ROW = 46, 30  # where the first position starts, and how high each is
LEFT, RIGHT = 52, 640
GAP = 0.9  # the column of sums, in columns of weights


def draw(explorer: "MultiDimensionalExplorer") -> str:
    """Return picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    tables = (
        _weights(explorer, words),
        _context(explorer, words),
        _parameters(explorer, words),
    )
    return figure(explorer.words, "", _picture(explorer, words), *tables)


def _picture(explorer: "MultiDimensionalExplorer", words: dict[str, str]) -> str:
    weights, values = explorer.weights, explorer.values
    positions, width = len(explorer.names), len(explorer.aspects)
    room = (RIGHT - LEFT) / (2 * width + GAP)
    under = TOP + positions * ROW
    second = width + GAP  # where the values start
    across, down = ("below", "below sure")
    if explorer.normalise == "features":
        across, down = down, across

    def middle(column: float) -> float:
        return round(LEFT + (column + 0.5) * room, 2)

    def line(row: int) -> int:
        return TOP + row * ROW + 20

    def cell(kind: str, column: float, row: int, number: float, strength: float) -> str:
        box = {
            "class": f"cell {kind}",
            "x": round(middle(column) - room / 2 + 1, 2),
            "y": TOP + row * ROW + 1,
            "width": round(room - 2, 2),
            "height": ROW - 2,
            "fill-opacity": round(strength, 4),
        }
        shown = rounded(number, 2 if kind == "weight" else 0)
        return element("rect", box) + text("below ink", middle(column), line(row), shown)

    between = middle(width + (GAP - 1) / 2)
    parts = [
        text("below", middle((width - 1) / 2), 16, words["weights"]),
        text("below", middle(second + (width - 1) / 2), 16, words["values"]),
        text("below", between, 36, words["sum"]),
        text("word", 0, under + 24, words["sum"]),
        text("below", middle(second + (width - 1) / 2), under + 44, words["context"]),
    ]
    for i, aspect in enumerate(explorer.aspects):
        parts += [text("below", middle(at), 36, escape(aspect)) for at in (i, second + i)]
        parts += [
            text(down, middle(i), under + 24, rounded(weights[:, i].sum(), 2)),
            text("answer", middle(second + i), under + 24, rounded(explorer.context[i], 2)),
        ]
    for row, word in enumerate(explorer.names):
        parts.append(text("word", 0, line(row), escape(word)))
        parts.append(text(across, between, line(row), rounded(weights[row].sum(), 2)))
        for i in range(width):
            weight, value = weights[row, i], values[row][i]
            parts.append(cell("weight", i, row, weight, 0.5 * weight))
            parts.append(cell("value", second + i, row, value, 0.14 * value))
    return picture(explorer.words, under + 52, *parts, kind="chart")


def _weights(explorer: "MultiDimensionalExplorer", words: dict[str, str]) -> str:
    weights = explorer.weights
    rows = [
        (
            escape(word),
            *(exact(weight, "weight") for weight in weights[row]),
            exact(weights[row].sum(), "row_sum"),
        )
        for row, word in enumerate(explorer.names)
    ]
    rows.append((words["sum"], *(exact(total, "column_sum") for total in weights.sum(axis=0)), ""))
    return table([words["position"], *map(escape, explorer.aspects), words["sum"]], rows)


def _context(explorer: "MultiDimensionalExplorer", words: dict[str, str]) -> str:
    rows = [
        (escape(aspect), exact(entry, "context"))
        for aspect, entry in zip(explorer.aspects, explorer.context, strict=True)
    ]
    return table([words["context"], words["number"]], rows)


def _parameters(explorer: "MultiDimensionalExplorer", words: dict[str, str]) -> str:
    rows = [(escape(name), escape(written(value))) for name, value in explorer.parameters.items()]
    return table([words["parameter"], words["number"]], rows)
