"""The multi-dimensional explorer standing still: weights, values and context, by Python."""

from html import escape
from typing import TYPE_CHECKING

from attn_course.figures.explorers.still import element, exact, figure, table, written

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
    frame = {
        "class": "picture chart",
        "role": "img",
        "aria-label": explorer.words["picture"],
        "viewBox": f"0 0 {RIGHT} {under + 52}",
        "height": under + 52,
    }

    second = width + GAP  # where the values start
    across, down = ("below", "below sure")
    if explorer.normalise == "features":
        across, down = down, across

    def middle(column: float) -> float:
        return round(LEFT + (column + 0.5) * room, 2)

    def cell(kind: str, column: float, row: int, number: float, strength: float) -> str:
        box = {
            "class": f"cell {kind}",
            "x": round(middle(column) - room / 2 + 1, 2),
            "y": TOP + row * ROW + 1,
            "width": round(room - 2, 2),
            "height": ROW - 2,
            "fill-opacity": round(strength, 4),
        }
        digits = 2 if kind == "weight" else 0
        written_number = f"{number:.{digits}f}"
        return element("rect", box) + _text(
            "below ink", middle(column), TOP + row * ROW + 20, written_number
        )

    between = middle(width + (GAP - 1) / 2)
    parts = [
        _text("below", middle((width - 1) / 2), 16, words["weights"]),
        _text("below", middle(second + (width - 1) / 2), 16, words["values"]),
        _text("below", between, 36, words["sum"]),
        _text("word", 0, under + 24, words["sum"]),
        _text("below", middle(second + (width - 1) / 2), under + 44, words["context"]),
    ]
    for i, aspect in enumerate(explorer.aspects):
        parts += [_text("below", middle(at), 36, escape(aspect)) for at in (i, second + i)]
        parts += [
            _text(down, middle(i), under + 24, f"{weights[:, i].sum():.2f}"),
            _text("answer", middle(second + i), under + 24, f"{explorer.context[i]:.2f}"),
        ]
    for row, word in enumerate(explorer.names):
        parts.append(_text("word", 0, TOP + row * ROW + 20, escape(word)))
        total = f"{weights[row].sum():.2f}"
        parts.append(_text(across, between, TOP + row * ROW + 20, total))
        for i in range(width):
            weight, value = weights[row, i], values[row][i]
            parts.append(cell("weight", i, row, weight, 0.5 * weight))
            parts.append(cell("value", second + i, row, value, 0.14 * value))
    return element("svg", frame, *parts)


def _text(kind: str, x: float, y: float, word: str) -> str:
    return element("text", {"class": kind, "x": x, "y": y}, word)


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
