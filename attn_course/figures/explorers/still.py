"""Still pictures: what a page shows before its JavaScript runs, and where none runs.

When the book is built, the module of an explorer runs in mini-racer (V8 as a Python package, one
of the `book` extra) and returns the data of its figure; here the data becomes markup. The browser
makes elements of the same data, so this picture and the moving one can't differ.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from attn_course.figures.explorers import page

# Names of tags and attributes come from our own modules; a mistake there must not become markup.
_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_VOID = frozenset({"br", "hr", "img", "input"})  # they have no end tag


class NoEngineError(RuntimeError):
    """mini-racer is not installed, so a still picture can't be drawn."""


def draw(name: str, state: Mapping[str, Any]) -> str:
    """Return the explorer `name` in this state, as markup without scripts."""
    return markup(data(name, state))


def data(name: str, state: Mapping[str, Any]) -> Any:
    """Return what the explorer's JavaScript draws, such as `["p", {"class": "a"}, ["text"]]`."""
    try:
        from py_mini_racer import MiniRacer
    except ImportError:
        raise NoEngineError(
            "Still pictures of explorers are drawn by mini-racer, which is not installed: "
            "`pip install 'attn-course[book]'` installs it."
        ) from None
    module = page.module_text(name).replace("export default ", "return ", 1)
    engine = MiniRacer()
    try:
        engine.eval(f"const explorer = (() => {{\n{module}\n}})();")
        engine.eval(f"const state = {json.dumps(state, allow_nan=False)};")
        text = engine.eval("JSON.stringify(explorer.still(state))")
    finally:
        engine.close()
    return json.loads(str(text))


def markup(node: str | Sequence[Any]) -> str:
    """Return a text or an element, with all that is in it, as HTML.

    >>> markup(["p", {"title": '"1 < 2"'}, ["R&D: ", ["b", {}, ["1 < 2"]]]])
    '<p title="&quot;1 &lt; 2&quot;">R&amp;D: <b>1 &lt; 2</b></p>'
    """
    if isinstance(node, str):
        return escape(node, quote=False)
    if not isinstance(node, list):
        raise ValueError(f"{node!r} is neither a text nor an element: is a word missing?")
    tag, attributes, children = node
    for name in (tag, *attributes):
        if not name or not set(name) <= _NAMES:
            raise ValueError(f"{name!r} can't be the name of a tag or an attribute.")
    start = "".join([tag, *(f' {name}="{escape(text)}"' for name, text in attributes.items())])
    if tag in _VOID:
        return f"<{start}>"
    return f"<{start}>{''.join(map(markup, children))}</{tag}>"
