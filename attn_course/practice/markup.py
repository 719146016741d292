"""HTML from templates: a text can't become markup, wherever it comes from.

Whatever shows the words of a learner builds its HTML here, so that an escape can't be forgotten.
"""

from collections.abc import Iterable
from html import escape
from string import Template


class Markup(str):
    """HTML that is finished. Every other string is text, which `fill` and `join` escape."""


def fill(template: str, /, **parts: object) -> Markup:
    """Return the template with its `$names` filled in; quotes are escaped too, for attributes.

    >>> fill('<p title="$tip">$inside</p>', tip='"a"', inside=fill("<b>$word</b>", word="x < y"))
    '<p title="&quot;a&quot;"><b>x &lt; y</b></p>'
    """
    return Markup(
        Template(template).substitute({name: _safe(part) for name, part in parts.items()})
    )


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Return parts one after the other.

    >>> join([Markup("<br>"), "<br>"])
    '<br>&lt;br&gt;'
    """
    return Markup(_safe(between).join(map(_safe, parts)))


def _safe(part: object) -> str:
    return part if isinstance(part, Markup) else escape(str(part))
