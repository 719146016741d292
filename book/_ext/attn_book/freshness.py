"""The cells of a page run again when something that they use has changed.

The cache knows a page by its cells alone. After a change of the package it would show the figures
of the old one, and every assertion would seem to pass. So a file in the cache says which code each
page was executed with, and a page is forgotten when that code, or data that it reads, is another.

Sphinx reads all pages again after any change, since what pages include may have changed: that is
quick, because only forgotten pages are executed.
"""

import json
import re
from functools import partial
from pathlib import Path

from jupyter_cache import get_cache

from attn_book.strictness import ENVIRONMENT
from attn_course._sources import code_without_comments, files_behind, fingerprint, imported_by

STAMP = "made_with.json"
EVERYTHING = ("attn_course",)  # what a page needs whose cells can't be read
ANYTHING = ""  # in the stamp: all that pages may include or show
CELL = re.compile(
    r"^(?P<fence>`{3,})\{code-cell\}[^\n]*\n"
    r"(?:---\n.*?^---\n)?(?::[^\n]*\n)*"  # options, as a block or as lines
    r"(?P<code>.*?)^(?P=fence)$",
    flags=re.DOTALL | re.MULTILINE,
)


def setup(app):
    """Connect the handler below to Sphinx, after `offline` has said where the cache is."""
    app.connect("config-inited", _forget_cells_of_other_code, priority=900)


def _forget_cells_of_other_code(app, config):
    root = Path(app.srcdir).parent
    if forget_changed(Path(config.nb_execution_cache_path), root):
        (Path(app.doctreedir) / ENVIRONMENT).unlink(missing_ok=True)  # so that pages are read anew


def forget_changed(cache, root):
    """Remove from the cache what was executed with other code; return the names of what changed."""
    stamp = cache / STAMP
    known = json.loads(stamp.read_text(encoding="utf-8")) if stamp.is_file() else {}
    now = versions(root)
    changed = {name for name in now if known.get(name) != now[name]}
    if changed:
        cache.mkdir(parents=True, exist_ok=True)
        forget(cache, changed)
        stamp.write_text(json.dumps(now, indent=1), encoding="utf-8")
    return changed


def forget(cache, names):
    """Remove the outputs of pages from the cache."""
    executed = get_cache(str(cache))
    for record in executed.list_cache_records():
        if Path(record.uri).name in names:  # by its name: the checkout may have been moved
            executed.remove_cache(record.pk)


def versions(root):
    """Return a fingerprint for each page by its name, and one for all that pages may include."""
    every_file = {path for path in (root / "attn_course").rglob("*") if path.is_file()}
    shown = {path for path in every_file if "__pycache__" not in path.parts} | _data(root)
    pages = {page.name: version_of(page, root) for page in sorted((root / "book").glob("*.md"))}
    return {ANYTHING: fingerprint(shown, root=root), **pages}


def version_of(page, root):
    """Return a fingerprint of the code and the data that the cells of a page use."""
    text = page.read_text(encoding="utf-8")
    cells = code_of(text)
    try:
        used = files_behind(imported_by(cells), root)
    except SyntaxError:
        used = files_behind(EVERYTHING, root)
    sources = [cells, *(path.read_text("utf-8") for path in used if path.suffix == ".py")]
    # A data file that neither the page nor its modules name is not read by them.
    used |= {path for path in _data(root) if any(path.name in source for source in sources)}
    content_of = partial(_content, shows_code="getsource" in cells)
    return fingerprint(used, root=root, content_of=content_of)


def code_of(page):
    """Return the Python in the code cells of a page."""
    return "\n".join(cell["code"] for cell in CELL.finditer(page))


def _content(path, shows_code):
    """Return what of a file may change a page: comments where code, or an answer, is shown."""
    shown = shows_code or "exercises" in path.parts
    return path.read_bytes() if shown else code_without_comments(path)


def _data(root):
    return {path for path in (root / "book" / "_data").rglob("*") if path.is_file()}
