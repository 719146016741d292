"""Figures that move, in pages without a kernel (the other half: attn_course/figures/explorers).

An explorer's output offers a widget for Jupyter and HTML for everyone else: pages take the HTML.
The code in it may have lain in the execution cache for months, so it is cut out, and today's is
put at the end of the page, once for all figures.
"""

from docutils import nodes

from attn_course.figures.explorers import page

WIDGET = "application/vnd.jupyter.widget-view+json"
# After text/html (30). Not excluded: an ordinary widget has no HTML and should still be seen.
AFTER_HTML = ("*", WIDGET, 35)


def setup(app):
    """Connect the handlers below to Sphinx."""
    app.connect("config-inited", _prefer_html)
    app.connect("doctree-read", _note_files)
    app.connect("doctree-read", _forget_widget_state)
    app.connect("doctree-resolved", _put_code_once)


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


def _put_code_once(app, doctree, docname):
    names = _names(doctree)
    if not names:
        return
    for output in _outputs(doctree):
        fresh = nodes.raw(text=page.without_code(output.astext()), **output.attributes)
        output.replace_self(fresh)
    doctree += nodes.raw(text=page.code(names), format="html")


def _names(doctree):
    """Return the names of the explorers on the page, each once, in order."""
    texts = (page.explorers_in(output.astext()) for output in _outputs(doctree))
    return list(dict.fromkeys(name for names in texts for name in names))


def _outputs(doctree):
    return [raw for raw in doctree.findall(nodes.raw) if page.explorers_in(raw.astext())]
