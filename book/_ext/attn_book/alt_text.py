"""A picture without a description in words is a warning, and so an error under -W."""

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

ADVICE = (
    "this picture has no alt text: write `![alt text](file)`, give a figure the option "
    "`:alt:`, or a code cell the option `mystnb: {image: {alt: ...}}` (see book/_static/book.css)"
)


def setup(app):
    """Connect the handler below to Sphinx."""
    app.connect("doctree-read", _ask_for_alt_text)


def _ask_for_alt_text(app, doctree):
    for picture in doctree.findall(nodes.image):
        if not picture.get("alt", "").strip():
            place = (app.env.docname, _line(picture))
            logger.warning(ADVICE, location=place, type="alt_text")


def _line(picture):
    """Return the line of the picture; a cell's output only has that of what is around it."""
    node = picture
    while node is not None and not node.line:
        node = node.parent
    return node.line if node is not None else None
