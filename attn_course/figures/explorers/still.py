"""Figures that stand still: what a reader sees before, or without, JavaScript.

The same classes as in the moving figure, so that `explorer.css` colours both.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

Place = Callable[[float], float]

WIDTH = 640  # of a picture, in pixels
LEFT, RIGHT = 40, 628  # where its axes start and end


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
    # Wider than a phone: it scrolls in its own box, which a keyboard can reach.
    box = element("div", {"class": "scroll-box", "tabindex": 0}, picture)
    summary = element("summary", {}, escape(words["numbers"]))
    numbers = element("details", {}, summary, element("div", {"class": "tables"}, *tables))
    return element("div", group, legend, box, numbers)


def picture(
    words: Mapping[str, str], height: int, *parts: str, kind: str = "", width: int = WIDTH
) -> str:
    """Return the drawing made of `parts`, markup; `words` are plain text, and describe it."""
    frame = {
        "class": f"picture {kind}".strip(),
        "role": "img",
        "aria-label": words["picture"],
        "viewBox": f"0 0 {width} {height}",
        "height": height,
    }
    return element("svg", frame, *parts)


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


def round_up(number: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at or above `number`.

    >>> round_up(0.3)
    0.5
    """
    power = 10.0 ** math.floor(math.log10(number))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number * (1 - 1e-9))


def ticks(low: float, high: float, *, count: int) -> list[tuple[float, str]]:
    """Return about `count` round numbers from `low` to `high`, and how each is written.

    >>> ticks(-1.4, 1.2, count=5)
    [(-1.0, '−1'), (0.0, '0'), (1.0, '1')]
    """
    step = round_up((high - low) / count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(i * step, rounded(i * step, digits)) for i in range(first, last + 1)]


def text(kind: str, x: float, y: float, word: str) -> str:
    """Return a word, markup, in a picture."""
    return element("text", {"class": kind, "x": x, "y": y}, word)


def title(y: float, word: str) -> str:
    """Return the title of a row."""
    return text("word", LEFT, y, word)


def beside(y: float, number: str) -> str:
    """Return a number to the left of the axes."""
    return text("tick beside", LEFT - 7, y + 4, number)


def rule(kind: str, y: float) -> str:
    """Return a line from one side to the other."""
    return element("path", {"class": kind, "d": f"M{LEFT} {y}H{RIGHT}"})


def levels(y: Place, marks: Iterable[tuple[float, str]]) -> str:
    """Return thin lines at the marks, each with its number."""
    return "".join(rule("grid", y(value)) + beside(y(value), number) for value, number in marks)


def bar(kind: str, centre: float, base: float, tip: float, thick: float) -> str:
    """Return an upright bar, which may hang."""
    size = {"width": thick, "height": round(abs(base - tip), 2)}
    return element("rect", {"class": kind, "x": centre - thick / 2, "y": min(base, tip), **size})


def circle(kind: str, x: float, y: float, radius: float) -> str:
    """Return a circle."""
    return element("circle", {"class": kind, "cx": x, "cy": y, "r": radius})


def rounded(number: float, digits: int) -> str:
    """Return a number with so many digits, and a minus that is one.

    >>> rounded(-0.25, 1)
    '−0.2'
    """
    return f"{number:.{digits}f}".replace("-", "−")


def exact(number: float, name: str) -> str:
    """Return a number, short to the eye and whole in `value`."""
    number = float(number)
    return element("data", {"value": repr(number), "data-name": name}, rounded(number, 4))


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


def columns(words: Mapping[str, str], lists: Mapping[str, Iterable[float]]) -> str:
    """Return a table with a row for each key and a column for each list, by its name."""
    rows = [
        (str(key), *(exact(number, name) for name, number in zip(lists, numbers, strict=True)))
        for key, numbers in enumerate(zip(*lists.values(), strict=True), start=1)
    ]
    return table([words["key"], *(words[name] for name in lists)], rows)
