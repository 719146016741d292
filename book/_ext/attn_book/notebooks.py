"""Each page can be downloaded as a notebook, without outputs: you run it yourself.

The theme shows the button when a page's context names an `ipynb_source` in `_sources/`.
"""

from pathlib import Path

import jupytext
import nbformat

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def setup(app):
    """Connect the handler below to Sphinx, before the theme makes its buttons (501)."""
    app.connect("html-page-context", _offer_notebook, priority=490)


def _offer_notebook(app, pagename, templatename, context, doctree):
    if app.builder.name != "html" or pagename not in app.env.found_docs:
        return
    target = Path(app.outdir) / "_sources" / f"{pagename}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    notebook = as_notebook(Path(app.env.doc2path(pagename)).read_text(encoding="utf-8"))
    nbformat.write(notebook, target)
    context["ipynb_source"] = f"{pagename}.ipynb"


def as_notebook(text):
    """Turn a page in MyST Markdown into a notebook that is the same at every build."""
    notebook = jupytext.reads(text, fmt="md:myst")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL})
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # jupytext draws them at random
    return notebook
