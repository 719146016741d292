"""Cells run again when what they run has changed.

The cache knows a page by its cells alone. Of another version of the package it would show the
figures of the old one, and every assertion would seem to hold.
"""

import shutil
from hashlib import sha256
from pathlib import Path

from attn_book.strictness import ENVIRONMENT

STAMP = "made_with.txt"
UNUSED = ("authoring", "grading", "__pycache__")  # no page runs a mutant or a sandbox


def setup(app):
    """Connect the handler below to Sphinx, after `offline` has said where the cache is."""
    app.connect("config-inited", _forget_cells_of_other_code, priority=900)


def _forget_cells_of_other_code(app, config):
    root = Path(app.srcdir).parent
    if forget_if_changed(Path(config.nb_execution_cache_path), root):
        (Path(app.doctreedir) / ENVIRONMENT).unlink(missing_ok=True)  # so that pages are read anew


def forget_if_changed(cache, root):
    """Empty the cache unless it was made with the code in `root`; return whether that was done."""
    stamp, now = cache / STAMP, version_of(root)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == now:
        return False
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    stamp.write_text(now, encoding="utf-8")
    return True


def version_of(root):
    """Return a name for the package and the data that pages use."""
    read = sha256()
    files = (*(root / "attn_course").rglob("*"), *(root / "book" / "_data").rglob("*"))
    for path in sorted(files):
        if path.is_file() and not set(UNUSED) & set(path.relative_to(root).parts):
            read.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return read.hexdigest()
