"""The scores explorer standing still: two arrows, seven bars and the parameters, by Python."""

from html import escape
from math import floor
from typing import TYPE_CHECKING, Any

from attn_course.figures.explorers.still import (
    counted,
    element,
    exact,
    figure,
    scale,
    table,
    written,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.scores import ScoresExplorer

SIDE = 300
LONGEST = 10  # the longest bar: where scores differ by more, a softmax has no choice left


def draw(explorer: "ScoresExplorer") -> str:
    """Return picture, scores and parameters as markup."""
    words = {name: escape(word) for name, word in explorer.words.items()}
    scores = element("div", {"class": "bars"}, _scores(explorer, words))
    pair = element("div", {"class": "pair"}, _picture(explorer), scores)
    note = element("p", {"class": "note"}, words["note"])
    tables = _pair(explorer, words), _parameters(explorer, words)
    spread = element("p", {"class": "note"}, words["spread"])
    return figure(explorer.words, "", pair + note, *tables, spread)


def _picture(explorer: "ScoresExplorer") -> str:
    frame = {
        "class": "picture plane",
        "role": "img",
        "aria-label": explorer.words["picture"],
        "viewBox": f"0 0 {SIDE} {SIDE}",
        "height": SIDE,
    }
    x = scale((-explorer.reach, explorer.reach), (14, SIDE - 14))
    y = scale((-explorer.reach, explorer.reach), (SIDE - 14, 14))
    whole = range(-floor(explorer.reach), floor(explorer.reach) + 1)
    rules = [f"M{x(at)} 14V{SIDE - 14}M14 {y(at)}H{SIDE - 14}" for at in whole]
    return element(
        "svg",
        frame,
        element("path", {"class": "grid", "d": "".join(rules)}),
        element("path", {"class": "axis", "d": f"M{x(0)} 14V{SIDE - 14}M14 {y(0)}H{SIDE - 14}"}),
        *_arrow("key", x, y, explorer.key),
        *_arrow("query", x, y, explorer.query),
    )


def _arrow(kind: str, x: Any, y: Any, vector: list[float]) -> list[str]:
    across, up = x(vector[0]), y(vector[1])
    return [
        element("path", {"class": f"arrow {kind}", "d": f"M{x(0)} {y(0)}L{across} {up}"}),
        element("circle", {"class": f"tip {kind}", "cx": across, "cy": up, "r": 6}),
        element("text", {"class": f"vector-name {kind}", "x": across + 10, "y": up - 8}, kind[0]),
    ]


def _scores(explorer: "ScoresExplorer", words: dict[str, str]) -> str:
    scores = explorer.scores
    rows = []
    for name, score in scores.items():
        formula = explorer.formulas[explorer.similarity if name == "similarity" else name]
        rows.append(
            (
                words[name] + element("span", {"class": "formula"}, escape(formula)),
                _bar(name, score / LONGEST),
                exact(score, name),
            )
        )
    ends = (element("span", {}, text) for text in (f"−{LONGEST}", "0", f"{LONGEST}"))
    heads = [words["score_name"], element("span", {"class": "ends"}, *ends), words["number"]]
    return table(heads, rows)


def _bar(name: str, part: float) -> str:
    """Return a bar from the middle of its cell; a sign at its end says that there is more."""
    half = max(-50.0, min(50.0, 50 * part))
    start, width = min(50 + half, 50.0), abs(half)
    box = {"class": "bar", "x": f"{start}%", "y": 2, "width": f"{width}%", "height": 12}
    more = {"class": "more beside", "x": "98%"} if part > 1 else {"class": "more", "x": "2%"}
    sign = "»" if part > 1 else "«"
    return element(
        "svg",
        {"class": "bar-cell", "height": 16, "aria-hidden": "true", "data-bar": name},
        element("rect", box),
        element("line", {"class": "axis", "x1": "50%", "x2": "50%", "y1": 0, "y2": 16}),
        element("text", {**more, "y": 12}, sign) if abs(part) > 1 else "",
    )


def _pair(explorer: "ScoresExplorer", words: dict[str, str]) -> str:
    rows = [
        (words[name], *(exact(entry, name) for entry in getattr(explorer, name)))
        for name in ("query", "key")
    ]
    rows.append((words["d_k"], counted(explorer.d_k, "d_k"), ""))
    return table([words["quantity"], "1", "2"], rows)


def _parameters(explorer: "ScoresExplorer", words: dict[str, str]) -> str:
    owners = {"W": "generals", "b": "biased_general", "b_activated": "activated_general"}
    rows = [
        (
            escape(explorer.formulas[name]),
            words[owners.get(name, "additive")],
            escape(written(value)),
        )
        for name, value in explorer.parameters.items()
    ]
    return table([words["parameter"], words["belongs"], words["values"]], rows)
