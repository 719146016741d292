"""`{drawing} FILE`: an SVG file of ours, drawn into the page itself.

An `<img>` does not see the page's colours; inlined, the drawing follows light and dark through
CSS variables. It is a figure otherwise: `:name:` to refer to it, the content is the caption.
`:alt:` says in words what is to be seen, and is required.
"""

from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


def setup(app):
    """Add the directive."""
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Drawing(SphinxDirective):
    """A figure whose picture is inline SVG."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"alt": directives.unchanged_required, "name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the figure."""
        if not self.options.get("alt"):
            raise self.error("a drawing needs `:alt:`, what is to be seen in it, in words")
        _relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        figure = nodes.figure("", nodes.raw("", self._svg(Path(path)), format="html"))
        self.set_source_info(figure)
        self.add_name(figure)
        box = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, box)
        if box.children:
            figure += nodes.caption("", "", *box.children[0].children)
        return [figure]

    def _svg(self, path: Path) -> str:
        """Return the file's text with its description; what is not XML is an error here."""
        text = path.read_text(encoding="utf-8")
        try:
            ElementTree.fromstring(text)
        except ElementTree.ParseError as error:
            raise self.error(f"{path.name} is not an SVG drawing: {error}") from None
        alt = self.options["alt"].replace("&", "&amp;").replace('"', "&quot;")
        return text.replace("<svg", f'<svg class="drawing" role="img" aria-label="{alt}"', 1)
