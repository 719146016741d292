"""Each page can be downloaded as a notebook, without outputs: you run it yourself.

The theme shows the button when a page's context names an `ipynb_source` in `_sources/`. Code that
a page includes from the package is copied into its notebook, because Jupyter knows no directives.
"""

import re
from pathlib import Path

import jupytext
import nbformat
from sphinx.directives.code import LiteralIncludeReader

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
INCLUDED = re.compile(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)```$", re.M)


def setup(app):
    """Connect the handler below to Sphinx, before the theme makes its buttons (501)."""
    app.connect("html-page-context", _offer_notebook, priority=490)


def _offer_notebook(app, pagename, templatename, context, doctree):
    if app.builder.name != "html" or pagename not in app.env.found_docs:
        return
    target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    page = Path(app.env.doc2path(pagename))
    text = with_code_included(page.read_text(encoding="utf-8"), page.parent, app.config)
    nbformat.write(as_notebook(text), target)
    context["ipynb_source"] = f"{pagename}.ipynb"


def with_code_included(text, folder, config):
    """Return the page with the code itself in place of each `literalinclude`."""

    def code_of(found):
        options = dict(re.findall(r"^:([\w-]+): (.*)$", found[2], re.M))
        lines, _count = LiteralIncludeReader(str(folder / found[1]), options, config).read()
        return f"```{options.get('language', '')}\n{lines.rstrip()}\n```"

    return INCLUDED.sub(code_of, text)


def as_notebook(text):
    """Turn a page in MyST Markdown into a notebook that is the same at every build."""
    notebook = jupytext.reads(text, fmt="md:myst")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # jupytext draws them at random
    return notebook
