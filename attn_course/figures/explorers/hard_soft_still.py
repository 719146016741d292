"""The hard and soft explorer standing still: its picture and its numbers, drawn by Python."""

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attn_course.figures.explorers.still import (
    Place,
    counted,
    element,
    exact,
    figure,
    legend,
    line,
    scale,
    table,
    ticks,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.hard_soft import HardSoftExplorer

LEFT, RIGHT = 40, 628
THICK = 56


def draw(explorer: "HardSoftExplorer") -> str:
    """Return legend, picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    signs = {"exact": words["exact"], "fitted": words["drawn"], "seen": words["one"]}
    values, rewards = np.array(explorer.values), np.array(explorer.rewards)
    judged = {
        "value": values,
        "reward": rewards,
        "weight": explorer.weights,
        "share": explorer.frequencies,
    }
    slopes = {"gradient": explorer.gradient, "estimate": explorer.estimate}
    return figure(
        explorer.words,
        legend(signs),
        _picture(explorer, words),
        _quantities(explorer, words),
        _baselines(explorer, words),
        _columns(judged, words),
        _columns(slopes, words),
    )


def _picture(explorer: "HardSoftExplorer", words: dict[str, str]) -> str:
    frame = {
        "class": "picture",
        "role": "img",
        "aria-label": explorer.words["picture"],
        "viewBox": "0 0 640 530",
        "height": 530,
    }
    return element(
        "svg",
        frame,
        *_keys(explorer, words),
        *_contexts(explorer, words),
        *_variances(explorer, words),
    )


def _keys(explorer: "HardSoftExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the weights as bars, the shares of the draws as lines, values and rewards below."""
    weights, shares = explorer.weights, explorer.frequencies
    x = scale((0.5, len(weights) + 0.5), (LEFT, RIGHT))
    top = max(weights.max(), shares.max())
    y = scale((0, top), (106, 26))
    yield _word(16, words["weights"])
    yield from _levels(y, 0, top)
    for key, (weight, share) in enumerate(zip(weights, shares, strict=True), start=1):
        start = x(key) - THICK / 2
        size = {"width": THICK, "height": round(106 - y(weight), 2)}
        yield element("rect", {"class": "bar weight", "x": start, "y": y(weight), **size})
        mark = f"M{start - 5} {y(share)}h{THICK + 10}"
        yield element("path", {"class": "slipped", "d": mark})
    yield _rule("axis", 106)
    rows = {
        "l": [str(key + 1) for key in range(len(weights))],
        "v": [f"{value:g}" for value in explorer.values],
        "R": [f"{reward:g}" for reward in explorer.rewards],
    }
    for row, (symbol, texts) in enumerate(rows.items()):
        yield _text("symbol beside", LEFT - 7, 126 + 17 * row, symbol)
        for key, text in enumerate(texts, start=1):
            yield _text("tick below", x(key), 126 + 17 * row, text)


def _contexts(explorer: "HardSoftExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the values drawn, their mean so far, and the soft context that it nears."""
    values, n = explorer.values, explorer.n
    x = scale((1, max(20, n)), (LEFT + 8, RIGHT - 8))
    y = _up((min(values), max(values)), (310, 212))
    drawn = explorer.choices[:n] @ np.array(values)
    means = list(enumerate(explorer.running[:n], start=1))
    yield _word(196, words["context"])
    yield from _levels(y, min(values), max(values))
    for i, value in enumerate(drawn, start=1):
        yield _circle("seen", x(i), y(value), 2)
    yield _rule("exact", y(explorer.soft))
    yield element("path", {"class": "fitted", "d": line((x(i), y(mean)) for i, mean in means)})
    yield _circle("prediction", x(n), y(explorer.sampled), 6)
    yield _rule("axis", 316)
    yield _text("symbol beside", LEFT - 7, 334, "n")
    yield _text("tick below", x(n), 334, str(n))


def _variances(explorer: "HardSoftExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the variance for every baseline, exact and from the draws."""
    low, high = explorer.span
    top = 1.35 * max(explorer.variance(low), explorer.variance(high)) or 1.0
    x = scale((low, high), (LEFT + 8, RIGHT - 8))
    y = scale((0, top), (484, 378))

    def curve(of: Callable[[float], float]) -> str:
        heights = ((float(b), of(float(b))) for b in np.linspace(low, high, 31))
        return line((x(b), y(height)) if height <= top else None for b, height in heights)

    yield _word(368, words["variance"])
    yield from _levels(y, 0, top)
    yield _rule("axis", 484)
    for level in ticks(low, high):
        yield _text("tick below", x(level), 502, f"{level:g}")
    yield _text("symbol beside", LEFT - 7, 502, "b")
    for symbol, b in {"J": explorer.expected_reward, "b*": explorer.best_baseline}.items():
        yield element("path", {"class": "query", "d": f"M{x(b)} {y(explorer.variance(b))}V508"})
        yield _text("symbol below", x(b), 522, symbol)
    yield element("path", {"class": "fitted", "d": curve(explorer.estimated_variance)})
    yield element("path", {"class": "exact", "d": curve(explorer.variance)})
    here = explorer.baseline
    if explorer.estimated_variance(here) <= top:
        yield _circle("prediction", x(here), y(explorer.estimated_variance(here)), 7)
    yield _circle("weighed", x(here), y(explorer.variance(here)), 4)


def _up(domain: tuple[float, float], pixels: tuple[float, float]) -> Place:
    """Return a scale that also serves when all numbers are one and the same."""
    low, high = domain
    return scale(domain if low < high else (low - 1, high + 1), pixels)


def _levels(y: Place, low: float, high: float) -> Iterator[str]:
    """Yield thin lines at round numbers."""
    for level in ticks(low, high) if low < high else [low]:
        yield _rule("grid", y(level))
        yield _text("tick beside", LEFT - 7, y(level) + 4, f"{level:g}")


def _text(kind: str, x: float, y: float, text: str) -> str:
    return element("text", {"class": kind, "x": x, "y": y}, text)


def _word(y: float, word: str) -> str:
    return _text("word", LEFT, y, word)


def _rule(kind: str, y: float) -> str:
    return element("path", {"class": kind, "d": f"M{LEFT} {y}H{RIGHT}"})


def _circle(kind: str, x: float, y: float, radius: float) -> str:
    return element("circle", {"class": kind, "cx": x, "cy": y, "r": radius})


def _quantities(explorer: "HardSoftExplorer", words: dict[str, str]) -> str:
    rows = [
        (words["n"], counted(explorer.n, "n")),
        (words["soft"], exact(explorer.soft, "soft")),
        (words["sampled"], exact(explorer.sampled, "sampled")),
    ]
    return table([words["quantity"], words["number"]], rows)


def _baselines(explorer: "HardSoftExplorer", words: dict[str, str]) -> str:
    """Return the variance at the baseline as set, and at three worth knowing."""
    baselines = {
        "this": explorer.baseline,
        "none": 0.0,
        "expected": explorer.expected_reward,
        "least": explorer.best_baseline,
    }
    rows = [
        (
            words[name],
            exact(b, "baseline"),
            exact(explorer.variance(b), "true_variance"),
            exact(explorer.estimated_variance(b), "estimated_variance"),
        )
        for name, b in baselines.items()
    ]
    head = [words["baseline"], "b", words["true_variance"], words["estimated_variance"]]
    return table(head, rows)


def _columns(columns: dict[str, np.ndarray], words: dict[str, str]) -> str:
    """Return a table with a row for each key."""
    keys = range(len(next(iter(columns.values()))))
    rows = [
        (str(key + 1), *(exact(column[key], name) for name, column in columns.items()))
        for key in keys
    ]
    return table([words["key"], *(words[name] for name in columns)], rows)
