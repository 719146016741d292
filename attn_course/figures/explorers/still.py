"""Figures that stand still: what a reader sees before, or without, JavaScript.

The same classes as in the moving figure, so that `explorer.css` colours both.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

Place = Callable[[float], float]


def element(tag: str, attributes: dict[str, object] | None = None, *children: str) -> str:
    """Return one HTML or SVG element; `children` are markup, attributes plain text.

    >>> element("circle", {"cx": 2, "class": "seen"})
    '<circle cx="2" class="seen"></circle>'
    """
    given = "".join(f' {name}="{escape(str(value))}"' for name, value in (attributes or {}).items())
    return f"<{tag}{given}>{''.join(children)}</{tag}>"


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
    return element("data", {"value": repr(number), "data-name": name}, f"{number:.4f}")


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
