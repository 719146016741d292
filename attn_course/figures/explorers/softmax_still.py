"""The softmax explorer standing still: its picture and its numbers, drawn by Python."""

from html import escape
from typing import TYPE_CHECKING

from attn_course.figures.explorers.still import element, exact, figure, scale, table

if TYPE_CHECKING:
    from attn_course.figures.explorers.softmax import SoftmaxExplorer


def draw(explorer: "SoftmaxExplorer") -> str:
    """Return picture and tables as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    tables = _quantities(explorer, words), _keys(explorer, words)
    return figure(explorer.words, "", _picture(explorer, words), *tables)


def _picture(explorer: "SoftmaxExplorer", words: dict[str, str]) -> str:
    frame = {
        "class": "picture",
        "role": "img",
        "aria-label": explorer.words["picture"],
        "viewBox": "0 0 640 340",
        "height": 340,
    }
    high = scale(explorer.frame, (152, 40))
    tall = scale((0, 1), (306, 206))
    room = 588 / len(explorer.names)
    columns = zip(
        explorer.names, explorer.scores, explorer.mask, explorer.weights, explorer.lost, strict=True
    )
    bars = []
    for place, (key, score, may, weight, lost) in enumerate(columns):
        x = round(40 + (place + 0.5) * room, 2)
        counts = may or explorer.masking == "after"
        number = f"{score:.1f}".replace("-", "−") if counts else "−∞"
        bars += [
            _bar("score bar" if counts else "hidden bar", x, high(0), high(score)),
            _text("below", x, high(score) + (-6 if score >= 0 else 15), number),
            _bar("weight bar", x, tall(0), tall(weight)),
            _bar("hidden bar", x, tall(0), tall(lost)) if lost else "",
            _text("below", x, tall(weight + lost) - 6, f"{weight:.2f}"),
            _text("below", x, 326, escape(key)),
        ]
    return element(
        "svg",
        frame,
        _text("word", 40, 14, words["scores"]),
        _text("word", 40, 186, words["weights"]),
        element("path", {"class": "axis", "d": f"M40 {high(0)}H628M40 306H628"}),
        *bars,
    )


def _bar(kind: str, x: float, start: float, end: float) -> str:
    top, height = min(start, end), abs(start - end)
    box = {"class": kind, "x": x - 18, "y": top, "width": 36, "height": height}
    return element("rect", box)


def _text(kind: str, x: float, y: float, word: str) -> str:
    return element("text", {"class": kind, "x": x, "y": y}, word)


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
