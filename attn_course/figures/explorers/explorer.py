"""The base of all explorers: one figure, shown as a widget where Python runs, else as a page.

`_repr_mimebundle_` offers both, and the viewer shows what it can: JupyterLab with a kernel shows
the widget, which talks to Python; every other viewer shows the HTML, in which the same JavaScript
computes. Until it does, and where scripts are switched off, the HTML shows a sentence. The book
replaces the sentence by the still picture (`still`), for which it needs one more package.
"""

import math
from collections.abc import Iterable
from html import escape
from typing import Any, ClassVar

import anywidget
import traitlets

from attn_course.figures.explorers import page
from attn_course.translate import _

_NOT_OURS = {*anywidget.AnyWidget.class_trait_names(), "_esm", "_css", "_anywidget_id"}


class Explorer(anywidget.AnyWidget):
    """A figure that moves. What its JavaScript reads, and may change, are synchronised traits.

    A subclass names its module (`name`, and `_esm = page.module_text(name)`), adds traits of
    plain JSON values, says which of them a reader moves (`moving`), and brings its words: a title,
    a description of the picture, and a question to predict with its answer.
    """

    name: ClassVar[str]
    _css = page.style_text()

    # Every word the figure shows, translated here: JavaScript has none of its own.
    words = traitlets.Dict().tag(sync=True)
    # The names of the other traits, for JavaScript: those that a reader moves, and the rest.
    moves = traitlets.List(traitlets.Unicode()).tag(sync=True)
    fixed = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, *, words: dict[str, str], **values: Any) -> None:
        super().__init__(words=_shared_words() | words, **values)

    @traitlets.default("moves")
    def _default_moves(self) -> list[str]:
        return list(self.moving())

    @traitlets.default("fixed")
    def _default_fixed(self) -> list[str]:
        return sorted({*self.trait_names(sync=True)} - _NOT_OURS - {*self.moving()})

    def state(self) -> dict[str, Any]:
        """Return what the JavaScript works with, by name."""
        ours = sorted(set(self.trait_names(sync=True)) - _NOT_OURS)
        return {name: getattr(self, name) for name in ours}

    def to_html(self) -> str:
        """Return the figure for a page without Python: a sentence at first, then its own code."""
        sentence = escape(f"{self.words['title']}. {self.words['sleeping']}")
        shown = f'<p class="attn-explorer">{sentence}</p>'
        return f"{page.host(self.name, self.state(), shown)}\n{page.code([self.name])}"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        return {**data, "text/html": self.to_html()}, metadata

    def __repr__(self) -> str:
        """Show the moving parts: an address in memory would differ at every run."""
        shown = (f"{name}={getattr(self, name)!r}" for name in self.moving())
        return f"{type(self).__name__}({', '.join(shown)})"

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ()


def finite(proposal: Any) -> float:
    """Validate a trait: the number, if it is one that JSON can carry."""
    if not math.isfinite(proposal["value"]):
        raise traitlets.TraitError(
            f"{proposal['trait'].name} must be a finite number, but is {proposal['value']}."
        )
    return float(proposal["value"])


def _shared_words() -> dict[str, str]:
    return {
        "predict": _("Predict first:"),
        "again": _("Start again"),
        "copy": _("Copy link"),
        "copied": _("Link copied"),
        "in_address": _("Link is in the address bar"),
        "numbers": _("The numbers behind the picture"),
        "sleeping": _("This figure moves. It needs JavaScript, or a notebook that is running."),
    }
