"""Fix what the theme and docutils get wrong for screen readers and keyboards.

Small replacements in the written HTML, each with its reason; doing them twice does no harm.
The output of the build names a fix that changed nothing in the whole book: the theme has
probably been corrected, and the fix can go.
"""

import re
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)

# name: (pattern, replacement)
FIXES = {
    # Its label hides the text that is seen, so that a spoken "click Search Control K" misses.
    "search field": (
        re.compile(r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"'),
        r"\1",
    ),
    # The button has a name already; <i> has no role that may have one.
    "theme switch": (re.compile(r'(<i class="theme-switch [^>]*?) title="[^"]*"'), r"\1"),
    # These two open a sidebar and have a tooltip, but no name.
    "sidebar toggles": (
        re.compile(r'(<button class="sidebar-toggle (?![^>]*aria-label)[^>]*?)title="([^"]*)"'),
        r'\1aria-label="\2" title="\2"',
    ),
    # An entry of a list has to be a list item.
    "bibliography": (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    # The arrow that folds a chapter's pages in the table of contents has no name.
    "folds": (
        re.compile(r"<summary>(?=\s*<span class=\"toctree-toggle\")"),
        '<summary aria-label="Pages of this chapter">',
    ),
    # Everything on a page belongs to a landmark; the logo is the way home.
    "logo": (
        re.compile(r'<div class="sidebar-primary-item">(?=\s*<a class="navbar-brand)'),
        '<div class="sidebar-primary-item" role="navigation" aria-label="Home">',
    ),
    # A notebook is to be saved, not shown as text in a new tab.
    "downloads": (
        re.compile(r'(<a href="[^"]*_sources/[^"]*") target="_blank"'),
        r"\1 download",
    ),
}


def setup(app):
    """Connect the handler below to Sphinx."""
    app.connect("build-finished", _fix_pages)


def _fix_pages(app, exception):
    if exception or app.builder.format != "html":
        return
    pages = sorted(Path(app.outdir).glob("**/*.html"))
    used = set()
    for page in pages:
        html = page.read_text(encoding="utf-8")
        fixed = fix(html, used)
        if fixed != html:
            page.write_text(fixed, encoding="utf-8")
    # After an incremental build most pages are fixed already: only a full build can show this.
    if used:
        for name in FIXES.keys() - used:
            logger.info("attn_book.access: the fix %r changed nothing", name)


def fix(html, used):
    """Apply every fix to a page; add to `used` those that changed something."""
    for name, (pattern, replacement) in FIXES.items():
        html, count = pattern.subn(replacement, html)
        if count:
            used.add(name)
    return html
