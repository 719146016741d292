"""The hard and soft explorer standing still: its picture and its numbers, drawn by Python."""

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attn_course.figures.explorers.still import (
    LEFT,
    RIGHT,
    bar,
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
    rule,
    scale,
    table,
    text,
    ticks,
    title,
    written,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.hard_soft import HardSoftExplorer

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
        columns(words, judged),
        columns(words, slopes),
    )


def _picture(explorer: "HardSoftExplorer", words: dict[str, str]) -> str:
    return picture(
        explorer.words,
        530,
        *_keys(explorer, words),
        *_contexts(explorer, words),
        *_variances(explorer, words),
    )


def _keys(explorer: "HardSoftExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the weights as bars, the shares of the draws as lines, values and rewards below."""
    weights, shares = explorer.weights, explorer.frequencies
    x = scale((0.5, len(weights) + 0.5), (LEFT, RIGHT))
    top = round_up(max(weights.max(), shares.max()))
    y = scale((0, top), (106, 26))
    yield title(16, words["weights"])
    yield levels(y, ticks(0, top, count=2))
    for key, (weight, share) in enumerate(zip(weights, shares, strict=True), start=1):
        yield bar("bar weight", x(key), 106, y(weight), THICK)
        mark = f"M{x(key) - THICK / 2 - 5} {y(share)}h{THICK + 10}"
        yield element("path", {"class": "slipped", "d": mark})
    yield rule("axis", 106)
    rows = {
        "l": [str(key + 1) for key in range(len(weights))],
        "v": [written(value) for value in explorer.values],
        "R": [written(reward) for reward in explorer.rewards],
    }
    for row, (symbol, numbers) in enumerate(rows.items()):
        yield text("symbol beside", LEFT - 7, 126 + 17 * row, symbol)
        for key, number in enumerate(numbers, start=1):
            yield text("tick below", x(key), 126 + 17 * row, number)


def _contexts(explorer: "HardSoftExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the values drawn, their mean so far, and the soft context that it nears."""
    values, n = explorer.values, explorer.n
    last = min(len(explorer.uniform), max(20, int(round_up(n))))
    x = scale((1, last), (LEFT + 8, RIGHT - 8))
    low, high = min(values), max(values)
    reach = (low, high) if low < high else (low - 1, high + 1)
    y = scale(reach, (310, 212))
    drawn = explorer.choices[:n] @ np.array(values)
    means = list(enumerate(explorer.running[:n], start=1))
    yield title(196, words["context"])
    yield levels(y, ticks(*reach, count=5))
    for i, value in enumerate(drawn, start=1):
        yield circle("seen", x(i), y(value), 2)
    yield rule("exact", y(explorer.soft))
    yield element("path", {"class": "fitted", "d": line((x(i), y(mean)) for i, mean in means)})
    yield circle("prediction", x(n), y(explorer.sampled), 6)
    yield rule("axis", 316)
    yield text("symbol beside", LEFT - 7, 334, "n")
    for draws, number in ticks(0, last, count=6)[1:]:
        yield text("tick below", x(draws), 334, number)


def _variances(explorer: "HardSoftExplorer", words: dict[str, str]) -> Iterator[str]:
    """Yield the variance for every baseline, exact and from the draws."""
    low, high = explorer.span
    top = 1.35 * max(explorer.variance(low), explorer.variance(high)) or 1.0
    x = scale((low, high), (LEFT + 8, RIGHT - 8))
    y = scale((0, top), (484, 378))

    def curve(of: Callable[[float], float]) -> str:
        heights = ((float(b), of(float(b))) for b in np.linspace(low, high, 31))
        return line((x(b), y(height)) if height <= top else None for b, height in heights)

    yield title(368, words["variance"])
    yield levels(y, ticks(0, top, count=3))
    yield rule("axis", 484)
    for b, number in ticks(low, high, count=6):
        yield text("tick below", x(b), 502, number)
    yield text("symbol beside", LEFT - 7, 502, "b")
    for symbol, b in {"J": explorer.expected_reward, "b*": explorer.best_baseline}.items():
        yield element("path", {"class": "query", "d": f"M{x(b)} {y(explorer.variance(b))}V508"})
        yield text("symbol below", x(b), 522, symbol)
    yield element("path", {"class": "fitted", "d": curve(explorer.estimated_variance)})
    yield element("path", {"class": "exact", "d": curve(explorer.variance)})
    here = explorer.baseline
    if explorer.estimated_variance(here) <= top:
        yield circle("prediction", x(here), y(explorer.estimated_variance(here)), 7)
    yield circle("weighed", x(here), y(explorer.variance(here)), 4)


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
