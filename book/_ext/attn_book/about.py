"""What a page says of itself: a description for search engines and previews, and the version."""

import re
from html import escape
from importlib.metadata import version

from docutils import nodes

LONGEST = 160  # search engines cut what is longer


def setup(app):
    """Connect the handler below to Sphinx."""
    app.connect("html-page-context", _add_description)


def _add_description(app, pagename, templatename, context, doctree):
    tags = [f'<meta name="version" content="{escape(version("attn-course"))}">']
    text = description(doctree) if doctree else ""
    if text:
        tags.append(f'<meta name="description" content="{escape(text)}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def description(doctree):
    """Return the first words of a page's text, up to the end of a word."""
    sentences = []
    for paragraph in doctree.findall(nodes.paragraph):
        sentences.append(re.sub(r"\s+", " ", paragraph.astext()).strip())
        if len(" ".join(sentences)) > LONGEST:
            break
    text = " ".join(sentences)
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"
