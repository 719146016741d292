"""Figures that move, in pages without a kernel (the other half: attn_course/figures/explorers).

An explorer's output offers a widget for Jupyter and HTML for everyone else: pages use the HTML.
The code in it may have been in the execution cache for months, so it is cut out, and today's is
put at the end of the page, once for all figures. Today's code also draws the still pictures.

    {explore}`a low temperature <softmax?temperature=0.1>`

is a link that sets the figure (the form of such links: attn_course/figures/explorers/links.js).
A link to a figure that the page does not have, or to a trait that no reader can move, is a warning.
"""

from collections import Counter
from importlib.util import find_spec
from urllib.parse import parse_qsl

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole

from attn_course.figures.explorers import page, still

logger = logging.getLogger(__name__)

WIDGET = "application/vnd.jupyter.widget-view+json"
# After text/html (30). Not excluded: an ordinary widget has no HTML and should still be seen.
AFTER_HTML = ("*", WIDGET, 35)


def setup(app):
    """Connect the handlers below to Sphinx."""
    if not find_spec("py_mini_racer"):
        raise ExtensionError(
            "The book draws the still pictures of explorers with the package mini-racer, which is "
            "not installed. `make book` installs it."
        )
    app.add_role("explore", Explore())
    app.connect("config-inited", _prefer_html)
    app.connect("doctree-read", _note_files)
    app.connect("doctree-read", _forget_widget_state)
    app.connect("doctree-resolved", _check_links)
    app.connect("doctree-resolved", _put_code_once)


class Explore(ReferenceRole):
    """A link in the text that sets an explorer of the same page."""

    def run(self):
        """Return the link."""
        link = nodes.reference("", self.title, refuri=f"#{self.target}", classes=["explore"])
        self.set_source_info(link)
        return [link], []


def _prefer_html(app, config):
    config.nb_mime_priority_overrides = [*config.nb_mime_priority_overrides, AFTER_HTML]
    config.nb_ipywidgets_js = {}  # the manager would come from a network


def _note_files(app, doctree):
    """Have a page built again when the code of its figures changes.

    Now, and not when the code is put in: Sphinx saves what it knows before it writes pages.
    """
    for file in page.files(_names(doctree)) if _names(doctree) else []:
        app.env.note_dependency(str(file))


def _forget_widget_state(app, doctree):
    """Drop what myst-nb embeds for a widget manager, which no page has."""
    metadata = getattr(app.env, "nb_metadata", {}).get(app.env.docname, {})
    metadata.get("js_files", {}).pop("ipywidgets_state", None)


def _check_links(app, doctree, docname):
    """Warn of links that would set nothing."""
    figures = _movable(doctree)
    for link in doctree.findall(nodes.reference):
        if "explore" not in link["classes"]:
            continue
        target, _mark, query = link["refuri"].removeprefix("#").partition("?")
        asked = {trait for trait, _value in parse_qsl(query, keep_blank_values=True)}
        if target not in figures:
            there = ", ".join(figures) or "none"
            problem = f"no explorer {target!r} on this page, which has: {there}"
        elif unknown := asked.difference(figures[target]):
            there = ", ".join(figures[target])
            problem = f"{target} has no {', '.join(sorted(unknown))} to move, but: {there}"
        else:
            continue
        logger.warning(problem, location=link)


def _movable(doctree):
    """Return what a reader can move of each explorer of the page, by its name in links."""
    figures = {}
    count = Counter()
    for output in _outputs(doctree):
        for name, values in page.values_in(output.astext()):
            count[name] += 1
            link = name if count[name] == 1 else f"{name}-{count[name]}"
            figures[link] = values["moves"]
    return figures


def _put_code_once(app, doctree, docname):
    names = _names(doctree)
    if not names:
        return
    for output in _outputs(doctree):
        figure = page.redrawn(page.without_code(output.astext()), still.draw)
        output.replace_self(nodes.raw(text=figure, **output.attributes))
    doctree += nodes.raw(text=page.code(names), format="html")


def _names(doctree):
    """Return the names of the explorers on the page, each once, in order."""
    texts = (page.explorers_in(output.astext()) for output in _outputs(doctree))
    return list(dict.fromkeys(name for names in texts for name in names))


def _outputs(doctree):
    return [raw for raw in doctree.findall(nodes.raw) if page.explorers_in(raw.astext())]
