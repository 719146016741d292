"""What a page says of itself: a description for search engines and previews, and the version."""

import re
from html import escape
from importlib.metadata import version

from docutils import nodes

LONGEST = 160  # search engines cut what is longer
# Sphinx makes these pages, and they have no text of their own.
OF_SPHINX = {
    "genindex": "Index of the functions and classes in the reference of the package attn_course, "
    "each with a link to its entry.",
    "search": "Search the pages of this book on attention for a word, a mechanism, a paper or a "
    "function of the package.",
}


def setup(app):
    """Connect the handler below to Sphinx."""
    app.connect("html-page-context", _add_description)


def _add_description(app, pagename, templatename, context, doctree):
    tags = [f'<meta name="version" content="{escape(version("attn-course"))}">']
    text = description(doctree) if doctree else OF_SPHINX.get(pagename, "")
    if text:
        tags.append(f'<meta name="description" content="{escape(text)}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def description(doctree):
    """Return the first words of a page's text, up to the end of a word; a table is no text."""
    sentences = []
    for paragraph in doctree.findall(nodes.paragraph):
        if _is_in_table(paragraph):
            continue
        sentences.append(re.sub(r"\s+", " ", paragraph.astext()).strip())
        if len(" ".join(sentences)) > LONGEST:
            break
    text = " ".join(sentences)
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _is_in_table(node):
    while node is not None and not isinstance(node, nodes.table):
        node = node.parent
    return node is not None
