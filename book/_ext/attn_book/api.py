"""The reference of the package, from its docstrings, linked with the pages that teach it.

`sphinx.ext.autodoc` writes the entries. This module adds what it can't know:

- docstrings are Markdown with formulas, and autodoc expects reStructuredText
- an entry ends with the sections that teach it, which `taxonomy.yml` knows
- a name in backticks becomes a link to its entry, on every page

A short name such as `softmax` is a link where its module is clear: on the page that teaches it,
next to the full name of the module, as on summary cards, and within the reference, where it means
a name of the module described, or else one that can be imported from the top.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.domains.python import ObjectEntry
from sphinx.util.nodes import make_refnode

import attn_course
from attn_book.taxonomy import FILE, PACKAGE, Leaf, _all_leaves, load
from attn_course.translate import _

# Text between backticks, a displayed formula, or one within a sentence: the first that begins.
MARKED = re.compile(
    r"`(?P<code>[^`]+)`|\$\$(?P<display>.+?)\$\$|(?<!\\)\$(?P<formula>[^$]+)\$", re.DOTALL
)
# A doctest, up to the blank line that ends it: its dollars and backticks are code.
DOCTEST = re.compile(r"^ *>>> .*?(?:\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
# Methods and fields are taught with their class.
TAUGHT = ("function", "class", "exception", "data", "module")


def setup(app):
    """Start autodoc, and connect the handlers below to Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _finish_docstring)
    app.connect("doctree-resolved", _link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# ---- Docstrings ----------------------------------------------------------------------------


def _finish_docstring(app, what, name, thing, options, lines):
    """Change the lines of a docstring in place, as autodoc wants it."""
    text = as_restructured_text("\n".join(lines))
    if what in TAUGHT:
        app.env.note_dependency(str(Path(app.srcdir, FILE).resolve()))
        text += f"\n\n{taught_in(name, _leaves(app))}\n"
    lines[:] = text.splitlines()


def _leaves(app) -> tuple[Leaf, ...]:
    """Return the mechanisms of the taxonomy."""
    file = Path(app.srcdir, FILE).resolve()
    return _leaves_of(file, file.stat().st_mtime_ns)


@cache
def _leaves_of(file: Path, changed: int) -> tuple[Leaf, ...]:
    """Return the mechanisms of a file, read again only if it has `changed` since."""
    return tuple(_all_leaves(load(file)))


def as_restructured_text(markdown: str) -> str:
    """Return a docstring with its code and formulas in the marks of reStructuredText."""
    parts, end = [], 0
    for doctest in DOCTEST.finditer(markdown):
        parts += [MARKED.sub(_marked, markdown[end : doctest.start()]), doctest[0]]
        end = doctest.end()
    return "".join([*parts, MARKED.sub(_marked, markdown[end:])])


def _marked(found: re.Match) -> str:
    if found["display"]:
        return ".. math:: " + " ".join(found["display"].split())
    text = " ".join((found["code"] or found["formula"]).split())
    marked = f"``{text}``" if found["code"] else f":math:`{text}`"
    # Markdown lets a letter follow, as in `key`s; reStructuredText needs a mark in between.
    return marked + ("\\ " if found.string[found.end() : found.end() + 1].isalnum() else "")


def taught_in(name: str, leaves: Iterable[Leaf]) -> str:
    """Return a sentence with the sections that teach a name, or else the first page of its module.

    A name of a module that no mechanism belongs to has no sentence.
    """
    module = name.rpartition(".")[0]
    by_name = defaultdict(list)
    for leaf in leaves:
        for taught in leaf.names:
            by_name[taught].append(leaf)
    own = by_name.get(name) or by_name.get(module)
    if own:
        sections = ", ".join(f":ref:`{leaf.title} <{leaf.label}>`" for leaf in own)
        return _("Taught in {sections}.").format(sections=sections)
    around = {name, module} - {PACKAGE}
    neighbours = [
        leaf
        for taught, its_leaves in by_name.items()
        if taught.rpartition(".")[0] in around
        for leaf in its_leaves
    ]
    if not neighbours:
        return ""
    page = min(leaf.chapter for leaf in neighbours)
    return _("See {page}.").format(page=f":doc:`{page}`")


# ---- Links ---------------------------------------------------------------------------------


def _link_names(app, doctree, page):
    """Turn every literal that names an entry of the reference into a link to it."""
    entries = app.env.get_domain("py").objects
    here = [name for name, entry in entries.items() if _is_described_on(page, entry)]
    taught = names_taught_on(page, _leaves(app))
    for literal in list(doctree.findall(nodes.literal)):
        if _is_link_or_title(literal):
            continue
        candidates = full_names(literal.astext(), [*modules_named(_block(literal)), *here])
        candidates += taught.get(literal.astext().partition("(")[0], [])
        if here:
            candidates += names_at_the_top(literal.astext())
        name = next((candidate for candidate in candidates if candidate in entries), None)
        if name:
            entry = entries[name]
            text = literal.deepcopy()
            link = make_refnode(app.builder, page, entry.docname, entry.node_id, text, name)
            literal.replace_self(link)


def names_taught_on(page: str, leaves: Iterable[Leaf]) -> dict[str, list[str]]:
    """Return the full name, by its short one, of what the mechanisms of a page are called."""
    names = {name for leaf in leaves if leaf.chapter == page for name in leaf.names}
    return {name.rpartition(".")[2]: [name] for name in names}


def _is_described_on(page: str, entry: ObjectEntry) -> bool:
    return entry.objtype == "module" and entry.docname == page


def _is_link_or_title(literal: nodes.literal) -> bool:
    parent = literal.parent
    while parent is not None and not isinstance(parent, nodes.reference | nodes.title):
        parent = parent.parent
    return parent is not None


def _block(literal: nodes.literal) -> nodes.Element:
    """Return what the literal is read with: its item of a definition list, or its paragraph."""
    block = literal.parent
    around = block
    while around is not None and not isinstance(around, nodes.definition_list_item | nodes.section):
        around = around.parent
    return around if isinstance(around, nodes.definition_list_item) else block


def modules_named(block: nodes.Element) -> Iterator[str]:
    """Yield the modules of the package that the literals of a block name, or name something of."""
    for literal in block.findall(nodes.literal):
        text = literal.astext()
        if text.startswith(f"{PACKAGE}."):
            yield from {text, text.rpartition(".")[0]} - {PACKAGE}


def full_names(text: str, modules: Iterable[str]) -> list[str]:
    """Return what a literal such as `softmax(scores)` or `alignment.softmax` may mean."""
    name = text.partition("(")[0]
    short = [f"{PACKAGE}.{name}"] if "." in name else []
    return [name, *short, *(f"{module}.{name}" for module in modules)]


def names_at_the_top(text: str) -> list[str]:
    """Return the full name of what can be imported from the package itself, if this is one."""
    home = attn_course._HOMES.get(text)
    return [f"{PACKAGE}.{home}.{text}"] if home else []
