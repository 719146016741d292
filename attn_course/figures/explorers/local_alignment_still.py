"""The local alignment explorer standing still: its picture and its numbers, drawn by Python."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attn_course.figures.explorers.still import (
    LEFT,
    RIGHT,
    Place,
    bar,
    beside,
    circle,
    columns,
    counted,
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
    title,
    written,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.local_alignment import LocalAlignmentExplorer

TOP, BOTTOM = 20, 344  # of the three rows together
THICK = 24


def draw(explorer: "LocalAlignmentExplorer") -> str:
    """Return legend, picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    signs = {"hollow": words["window"], "bar weight": words["weighed"]}
    slipped = []
    if explorer.slip:
        signs["slipped"] = words["slipped"]
        slipped = [columns(words, {"slip_weight": explorer.slip_weights})]
    keys = {
        "score": explorer.scores,
        "softmax": explorer.window,
        "factor": explorer.factors,
        "weight": explorer.weights,
    }
    return figure(
        explorer.words,
        legend({**signs, "void": words["void"]}),
        _picture(explorer, words),
        _quantities(explorer, words),
        columns(words, keys),
        *slipped,
    )


def _picture(explorer: "LocalAlignmentExplorer", words: dict[str, str]) -> str:
    low, high = explorer.span
    x = scale((low, high), (LEFT, RIGHT))
    edges = (explorer.position - explorer.half_width, explorer.position + explorer.half_width)
    keys = len(explorer.scores)
    at = x(explorer.position)
    return picture(
        explorer.words,
        436,
        *_plate("void", x, (low, 0.5), explorer.span),
        *_plate("void", x, (keys + 0.5, high), explorer.span),
        *_plate("band", x, edges, explorer.span),
        *_scores(explorer, words, x),
        *_bell(explorer, words, x),
        element("path", {"class": "query", "d": f"M{at} 26V{BOTTOM}"}),
        *_weights(explorer, words, x),
        *_sum(explorer, words),
    )


def _scores(explorer: "LocalAlignmentExplorer", words: dict[str, str], x: Place) -> Iterator[str]:
    scores = explorer.scores
    reach = (min(0.0, scores.min()), max(0.0, scores.max()))
    y = scale(reach if reach[0] < reach[1] else (-1, 1), (88, 26))
    yield title(16, words["scores"])
    yield rule("axis", y(0)) + beside(y(0), "0")
    for key, (score, inside) in enumerate(zip(scores, explorer.inside, strict=True), start=1):
        yield bar("bar" if inside else "bar away", x(key), y(0), y(score), THICK)


def _bell(explorer: "LocalAlignmentExplorer", words: dict[str, str], x: Place) -> Iterator[str]:
    """Yield the Gaussian as far as the window goes, and its value at each key."""
    y = scale((0, 1), (196, 124))
    low = max(explorer.span[0], explorer.position - explorer.half_width)
    high = min(explorer.span[1], explorer.position + explorer.half_width)
    places = np.linspace(low, high, 81) if low < high else np.array([])
    heights = np.exp(-((places - explorer.position) ** 2) / (2 * explorer.sigma**2))
    curve = line((x(at), y(height)) for at, height in zip(places, heights, strict=True))
    yield title(114, words["gaussian"])
    yield levels(y, [(1, "1")])
    yield rule("axis", y(0)) + beside(y(0), "0")
    yield element("path", {"class": "fitted", "d": curve})
    for key in np.flatnonzero(explorer.inside).tolist():
        yield circle("weighed", x(key + 1), y(explorer.factors[key]), 4)


def _weights(explorer: "LocalAlignmentExplorer", words: dict[str, str], x: Place) -> Iterator[str]:
    window, weights, slipped = explorer.window, explorer.weights, explorer.slip_weights
    largest = max(window.max(), weights.max(), slipped.max() if explorer.slip else 0)
    top = round_up(largest) if largest else 1.0
    y = scale((0, top), (BOTTOM, 232))
    yield title(222, words["weights"])
    yield levels(y, [(top, written(top))])
    yield rule("axis", BOTTOM) + beside(BOTTOM, "0")
    for key in range(len(weights)):
        centre = x(key + 1)
        yield bar("bar weight", centre, BOTTOM, y(weights[key]), THICK)
        yield bar("hollow", centre, BOTTOM, y(window[key]), THICK)
        if explorer.slip and explorer.inside[key]:
            mark = f"M{centre - THICK / 2 - 2} {y(slipped[key])}h{THICK + 4}"
            yield element("path", {"class": "slipped", "d": mark})
        yield text("tick below", centre, BOTTOM + 18, str(key + 1))
    yield text("tick beside", LEFT - 7, BOTTOM + 18, words["key"])


def _sum(explorer: "LocalAlignmentExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the sum of the weights as a part of 1."""
    yield title(396, words["total"])
    yield text("word end", RIGHT, 396, rounded(explorer.total, 4))
    for kind, part in (("bar weight", explorer.total), ("hollow", 1.0)):
        size = {"width": round(part * (RIGHT - LEFT), 2), "height": 14}
        yield element("rect", {"class": kind, "x": LEFT, "y": 406, **size})


def _plate(kind: str, x: Place, ends: tuple[float, float], span: list[float]) -> Iterator[str]:
    start, end = x(max(ends[0], span[0])), x(min(ends[1], span[1]))
    if start < end:
        size = {"width": round(end - start, 2), "height": BOTTOM - TOP}
        yield element("rect", {"class": kind, "x": start, "y": TOP, **size})


def _quantities(explorer: "LocalAlignmentExplorer", words: dict[str, str]) -> str:
    numbers = {
        "position": explorer.position,
        "half_width": explorer.half_width,
        "sigma": explorer.sigma,
        "edge": explorer.edge,
        "total": explorer.total,
    }
    if explorer.slip:
        numbers["slip_total"] = explorer.slip_weights.sum()
    rows = [(words[name], exact(number, name)) for name, number in numbers.items()]
    rows.append((words["count"], counted(explorer.inside.sum(), "count")))
    return table([words["quantity"], words["number"]], rows)
