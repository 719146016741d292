"""The base of all explorers: one figure, shown as a widget where Python runs, else as a page.

`_repr_mimebundle_` offers both and the viewer takes what it can: JupyterLab with a kernel the
widget, which talks to Python; the built book the HTML, in which the same JavaScript computes.
"""

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import anywidget
import traitlets

from attn_course.figures.explorers import page
from attn_course.figures.explorers.still import element

_NOT_OURS = {*anywidget.AnyWidget.class_trait_names(), "_esm", "_css", "_anywidget_id"}


class Explorer(anywidget.AnyWidget):
    """A figure that moves. What its JavaScript reads, and may change, are synchronised traits.

    A subclass names its module (`name`, and `_esm = page.module_text(name)`), adds traits of
    plain JSON values, and draws itself in `still`.
    """

    name: ClassVar[str]
    _css = page.style_text()

    # Every word the figure shows, translated here: JavaScript has none of its own.
    words = traitlets.Dict().tag(sync=True)

    def still(self) -> str:
        """Return the figure as it stands now, as markup without scripts."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return what the JavaScript works with, by name."""
        ours = sorted(set(self.trait_names(sync=True)) - _NOT_OURS)
        return {name: getattr(self, name) for name in ours}

    def to_html(self) -> str:
        """Return the figure for a page without Python: still at first, moved by its own code."""
        values = element(
            "script",
            {"type": "application/json", "data-explorer-values": ""},
            page.script_json(self.state()),
        )
        host = element("div", {"data-explorer": self.name}, self.still(), values)
        return f"{host}\n{page.code([self.name])}"

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
