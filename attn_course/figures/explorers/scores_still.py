"""The scores explorer standing still: two arrows, seven bars and the parameters, by Python."""

from html import escape
from math import floor
from typing import TYPE_CHECKING

from attn_course.figures.explorers.still import (
    Place,
    circle,
    counted,
    element,
    exact,
    figure,
    picture,
    rounded,
    scale,
    table,
    text,
    written,
)

if TYPE_CHECKING:
    from attn_course.figures.explorers.scores import ScoresExplorer

SIDE = 300
EDGE = 26  # a name beside the tip of an arrow has room
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
    reach, near, far = explorer.reach, EDGE, SIDE - EDGE
    x = scale((-reach, reach), (near, far))
    y = scale((-reach, reach), (far, near))
    whole = range(-floor(reach), floor(reach) + 1)
    rules = [f"M{x(at)} {near}V{far}M{near} {y(at)}H{far}" for at in whole]
    marks = [
        text("tick below", x(at), y(0) + 15, rounded(at, 0))
        + text("tick beside", x(0) - 5, y(at) + 4, rounded(at, 0))
        for at in (-reach + 1, reach - 1)
    ]
    return picture(
        explorer.words,
        SIDE,
        element("path", {"class": "grid", "d": "".join(rules)}),
        element("path", {"class": "axis", "d": f"M{x(0)} {near}V{far}M{near} {y(0)}H{far}"}),
        *marks,
        *_arrow("key", x, y, explorer.key),
        *_arrow("query", x, y, explorer.query),
        kind="plane",
        width=SIDE,
    )


def _arrow(kind: str, x: Place, y: Place, vector: list[float]) -> list[str]:
    across, up = x(vector[0]), y(vector[1])
    # The name stands on the far side of the tip, clear of the arrow.
    beside, above = -17 if vector[0] < 0 else 10, 16 if vector[1] < 0 else -8
    return [
        element("path", {"class": f"arrow {kind}", "d": f"M{x(0)} {y(0)}L{across} {up}"}),
        circle(f"tip {kind}", across, up, 6),
        text(f"vector-name {kind}", across + beside, up + above, kind[0]),
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
