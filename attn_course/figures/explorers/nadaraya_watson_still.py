"""The Nadaraya–Watson explorer standing still: its picture and its numbers, drawn by Python."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attn_course.figures.explorers.still import (
    LEFT,
    RIGHT,
    beside,
    circle,
    element,
    exact,
    figure,
    legend,
    levels,
    line,
    picture,
    round_up,
    rounded,
    rule,
    scale,
    table,
    text,
    ticks,
    title,
    written,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.nadaraya_watson import NadarayaWatsonExplorer

FLOOR = 368  # where the weights stand


def draw(explorer: "NadarayaWatsonExplorer") -> str:
    """Return legend, picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    kinds = ("seen", "truth", "fitted") if explorer.truth else ("seen", "fitted")
    return figure(
        explorer.words,
        legend({kind: words[kind] for kind in kinds}),
        _picture(explorer, words),
        _quantities(explorer, words),
        _largest(explorer, words),
    )


def _picture(explorer: "NadarayaWatsonExplorer", words: dict[str, str]) -> str:
    x = scale(explorer.span, (LEFT + 6, RIGHT - 6))
    y = scale(explorer.height, (262, 28))
    weights = explorer.weights
    top = round_up(weights.max()) if weights.any() else 1.0
    h = scale((0, top), (FLOOR, 296))
    points = list(zip(explorer.inputs, explorer.targets, weights, strict=True))
    truth = [(x(at), y(f)) for at, f in zip(explorer.grid, explorer.truth, strict=False)]
    fitted = [
        None if f is None else (x(at), y(f))
        for at, f in zip(explorer.grid, explorer.curve, strict=True)
    ]
    query = x(explorer.query)
    prediction = [
        circle("prediction", query, y(explorer.prediction), 7),
        text("answer", query, 18, rounded(explorer.prediction, 2)),
    ]
    return picture(
        explorer.words,
        400,
        levels(y, ticks(*explorer.height, count=5)),
        title(284, words["weights"]),
        levels(h, [(top, written(top))]),
        rule("axis", FLOOR) + beside(FLOOR, "0"),
        *(
            text("tick below", x(at), FLOOR + 18, number)
            for at, number in ticks(*explorer.span, count=6)
        ),
        element("path", {"class": "truth", "d": line(truth)}),
        element("path", {"class": "fitted", "d": line(fitted)}),
        *(circle("seen", x(key), y(value), 3.5) for key, value, _ in points),
        element("path", {"class": "query", "d": f"M{query} 28V{FLOOR}"}),
        *(
            element("path", {"class": "stem", "d": f"M{x(key)} {FLOOR}V{h(weight)}"})
            for key, _, weight in points
        ),
        *(prediction if weights.any() else []),
    )


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
