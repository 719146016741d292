"""Figures that stand still: what a reader sees before, or without, JavaScript.

The same classes as in the moving figure, so that `explorer.css` colours both.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

Place = Callable[[float], float]


def element(tag: str, attributes: Mapping[str, object] | None = None, *children: str) -> str:
    """Return one HTML or SVG element; `children` are markup, attributes plain text.

    >>> element("circle", {"cx": 2, "class": "seen"})
    '<circle cx="2" class="seen"></circle>'
    """
    given = "".join(f' {name}="{escape(str(value))}"' for name, value in (attributes or {}).items())
    return f"<{tag}{given}>{''.join(children)}</{tag}>"


def figure(words: Mapping[str, str], legend: str, picture: str, *tables: str) -> str:
    """Return an explorer at rest: legend, picture, and the tables behind it, all markup.

    `words` are plain text, of which this takes the title and the heading of the tables.
    """
    group = {"class": "attn-explorer still", "role": "group", "aria-label": words["title"]}
    summary = element("summary", {}, escape(words["numbers"]))
    numbers = element("details", {}, summary, element("div", {"class": "tables"}, *tables))
    return element("div", group, legend, picture, numbers)


def legend(entries: Mapping[str, str]) -> str:
    """Return the legend: for each kind of mark its word, as markup."""
    signs = (
        element("span", {}, element("span", {"class": f"sign {kind}"}), word)
        for kind, word in entries.items()
    )
    return element("p", {"class": "legend"}, *signs)


def scale(domain: Sequence[float], pixels: Sequence[float]) -> Place:
    """Return the straight line from one interval to another."""
    (low, high), (start, end) = domain, pixels
    return lambda x: round(start + (x - low) / (high - low) * (end - start), 2)


def line(points: Iterable[tuple[float, float] | None]) -> str:
    """Return the `d` of a path through the points; None leaves a gap."""
    steps, pen = [], "M"
    for point in points:
        if point is not None:
            steps.append(f"{pen}{point[0]} {point[1]}")
        pen = "M" if point is None else "L"
    return "".join(steps)


def ticks(low: float, high: float) -> list[float]:
    """Return the multiples of a power of ten from `low` to `high`, ten at most.

    >>> ticks(-0.4, 3.2)
    [0.0, 1.0, 2.0, 3.0]
    """
    step = 10.0 ** math.floor(math.log10(high - low))
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def exact(number: float, name: str) -> str:
    """Return a number, short to the eye and whole in `value`."""
    number = float(number)
    short = f"{number:.4f}".replace("-", "−")
    return element("data", {"value": repr(number), "data-name": name}, short)


def counted(number: int, name: str) -> str:
    """Return a number of things: whole, to the eye too."""
    return element("data", {"value": int(number), "data-name": name}, f"{number:d}")


def written(value: float | list) -> str:
    """Return a number, a vector or a matrix in one line; a semicolon ends a row.

    >>> written([[0.5, -1.0], [1.0, 0.0]])
    '0.5, −1; 1, 0'
    """
    if not isinstance(value, list):
        return f"{value:g}".replace("-", "−")
    return ("; " if isinstance(value[0], list) else ", ").join(map(written, value))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of markup; the first cell of a row is its heading."""
    header = element("tr", {}, *(element("th", {"scope": "col"}, word) for word in head))
    body = (
        element(
            "tr",
            {},
            element("th", {"scope": "row"}, first),
            *(element("td", {}, cell) for cell in others),
        )
        for first, *others in rows
    )
    return element("table", {}, element("thead", {}, header), element("tbody", {}, *body))
