"""The Nadaraya–Watson explorer standing still: its picture and its numbers, drawn by Python."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attn_course.figures.explorers.still import element, exact, line, scale, table, ticks

if TYPE_CHECKING:
    from attn_course.figures.explorers.nadaraya_watson import NadarayaWatsonExplorer


def draw(explorer: "NadarayaWatsonExplorer") -> str:
    """Return legend, picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    group = {
        "class": "attn-explorer still",
        "role": "group",
        "aria-label": explorer.words["title"],
    }
    tables = element(
        "div", {"class": "tables"}, _quantities(explorer, words), _largest(explorer, words)
    )
    numbers = element("details", {}, element("summary", {}, words["numbers"]), tables)
    return element("div", group, _legend(explorer, words), _picture(explorer), numbers)


def _legend(explorer: "NadarayaWatsonExplorer", words: dict[str, str]) -> str:
    kinds = ("seen", "truth", "fitted") if explorer.truth else ("seen", "fitted")
    entries = (
        element("span", {}, element("span", {"class": f"sign {kind}"}), words[kind])
        for kind in kinds
    )
    return element("p", {"class": "legend"}, *entries)


def _picture(explorer: "NadarayaWatsonExplorer") -> str:
    frame = {
        "class": "picture",
        "role": "img",
        "aria-label": explorer.words["picture"],
        "viewBox": "0 0 640 400",
        "height": 400,
    }
    x = scale(explorer.span, (46, 622))
    y = scale(explorer.height, (262, 28))
    weights = explorer.weights
    h = scale((0, weights.max() or 1), (368, 300))
    points = list(zip(explorer.inputs, explorer.targets, weights, strict=True))
    truth = [(x(at), y(f)) for at, f in zip(explorer.grid, explorer.truth, strict=False)]
    fitted = [
        None if f is None else (x(at), y(f))
        for at, f in zip(explorer.grid, explorer.curve, strict=True)
    ]
    query = x(explorer.query)
    return element(
        "svg",
        frame,
        element("path", {"class": "axis", "d": "M40 368H628"}),
        *(_label("below", x(at), 386, at) for at in ticks(*explorer.span)),
        *(_label("beside", 33, y(f) + 4, f) for f in ticks(*explorer.height)),
        element("path", {"class": "truth", "d": line(truth)}),
        element("path", {"class": "fitted", "d": line(fitted)}),
        *(_circle("seen", x(key), y(value), 3.5) for key, value, _ in points),
        element("path", {"class": "query", "d": f"M{query} 28V368"}),
        *(
            element("path", {"class": "stem", "d": f"M{x(key)} 368V{h(weight)}"})
            for key, _, weight in points
        ),
        _circle("prediction", query, y(explorer.prediction), 7) if weights.any() else "",
    )


def _label(where: str, x: float, y: float, number: float) -> str:
    return element("text", {"class": f"tick {where}", "x": x, "y": y}, f"{number:g}")


def _circle(kind: str, x: float, y: float, radius: float) -> str:
    return element("circle", {"class": kind, "cx": x, "cy": y, "r": radius})


def _quantities(explorer: "NadarayaWatsonExplorer", words: dict[str, str]) -> str:
    numbers = {
        "query": explorer.query,
        "w": explorer.w,
        "prediction": explorer.prediction,
        "total": explorer.weights.sum(),
        "loss": explorer.loss,
    }
    rows = [(words[name], exact(number, name)) for name, number in numbers.items()]
    return table([words["quantity"], words["number"]], rows)


def _largest(explorer: "NadarayaWatsonExplorer", words: dict[str, str]) -> str:
    """Return the five keys that count most."""
    weights = explorer.weights
    order = np.argsort(-weights, kind="stable")[:5]
    rows = [
        (
            str(place + 1),
            exact(explorer.inputs[i], "key"),
            exact(explorer.targets[i], "value"),
            exact(weights[i], "weight"),
        )
        for place, i in enumerate(order)
    ]
    return table([words["rank"], words["key"], words["value"], words["weight"]], rows)
