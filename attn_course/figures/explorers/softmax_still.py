"""The softmax explorer standing still: its picture and its numbers, drawn by Python."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from attn_course.figures.explorers.still import (
    LEFT,
    RIGHT,
    Place,
    bar,
    beside,
    exact,
    figure,
    levels,
    picture,
    rounded,
    rule,
    scale,
    table,
    text,
    title,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.softmax import SoftmaxExplorer

FLOOR = 306  # where the weights stand
THICK = 36


def draw(explorer: "SoftmaxExplorer") -> str:
    """Return picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    tables = _quantities(explorer, words), _keys(explorer, words)
    return figure(explorer.words, "", _picture(explorer, words), *tables)


def _picture(explorer: "SoftmaxExplorer", words: dict[str, str]) -> str:
    high = scale(explorer.frame, (152, 40))
    tall = scale((0, 1), (FLOOR, 206))
    return picture(
        explorer.words,
        340,
        title(14, words["scores"]),
        levels(high, [(end, rounded(end, 0)) for end in explorer.frame]),
        title(186, words["weights"]),
        levels(tall, [(0.5, "0.5"), (1, "1")]),
        *_bars(explorer, high, tall),
        *(rule("axis", zero) + beside(zero, "0") for zero in (high(0), FLOOR)),
    )


def _bars(explorer: "SoftmaxExplorer", high: Place, tall: Place) -> Iterator[str]:
    """Yield for each key its score, its weight and its name."""
    room = (RIGHT - LEFT) / len(explorer.names)
    columns = zip(
        explorer.names, explorer.scores, explorer.mask, explorer.weights, explorer.lost, strict=True
    )
    for place, (key, score, may, weight, lost) in enumerate(columns):
        x = round(LEFT + (place + 0.5) * room, 2)
        counts = may or explorer.masking == "after"
        yield bar("score bar" if counts else "hidden bar", x, high(0), high(score), THICK)
        number = rounded(score, 1) if counts else "−∞"
        yield text("below", x, high(score) + (-6 if score >= 0 else 15), number)
        yield bar("weight bar", x, FLOOR, tall(weight), THICK)
        if lost:
            yield bar("hidden bar", x, FLOOR, tall(lost), THICK)
        yield text("below", x, tall(weight + lost) - 6, rounded(weight, 2))
        yield text("below" if may else "below struck", x, FLOOR + 20, escape(key))


def _quantities(explorer: "SoftmaxExplorer", words: dict[str, str]) -> str:
    entropy = explorer.entropy
    rows = [
        (words["temperature"], exact(explorer.temperature, "temperature")),
        (words["total"], exact(explorer.total, "total")),
        (words["entropy"], words["none"] if entropy is None else exact(entropy, "entropy")),
    ]
    return table([words["quantity"], words["number"]], rows)


def _keys(explorer: "SoftmaxExplorer", words: dict[str, str]) -> str:
    columns = zip(explorer.names, explorer.scores, explorer.mask, explorer.weights, strict=True)
    rows = [
        (
            escape(key),
            words["yes"] if may else words["no"],
            exact(score, "score"),
            exact(weight, "weight"),
        )
        for key, score, may, weight in columns
    ]
    return table([words["key"], words["seen"], words["score"], words["weight"]], rows)
