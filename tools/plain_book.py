"""Build the book with Sphinx alone: `python tools/plain_book.py FOLDER`.

Jupyter Book 1 only turns `_config.yml` and `_toc.yml` into a configuration for Sphinx and starts
it. This tool does the same in two steps: `jupyter-book config sphinx` writes a plain `conf.py`, and
`sphinx-build` reads it. So the book outlives Jupyter Book 1: commit that `conf.py` to `book/`.
The cells are those of the last build, from the cache.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"


def main(folder):
    with tempfile.TemporaryDirectory() as name:
        copy = copied_checkout(Path(name))
        write_configuration(copy)
        built = ["-b", "html", "-W", "-n", "--keep-going", "-q", copy / "book", Path(folder)]
        command = [sys.executable, "-m", "sphinx", *built]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": paths(copy)})
    print(f"Sphinx alone builds the book too: {folder}/index.html")


def copied_checkout(copy):
    """Return a folder with links to everything here and a copy of the pages, to write into."""
    for path in ROOT.iterdir():
        if path.name not in ("book", "_build"):
            (copy / path.name).symlink_to(path)
    shutil.copytree(ROOT / "book", copy / "book")
    return copy


def write_configuration(copy):
    """Let Jupyter Book write `conf.py`; Sphinx expects it next to the pages."""
    words = ["config", "sphinx", "book", "--config", "_config.yml"]
    command = [sys.executable, "-c", JUPYTER_BOOK, *words]
    subprocess.run(command, cwd=copy, check=True, stdout=subprocess.DEVNULL)
    (copy / "conf.py").rename(copy / "book" / "conf.py")


def paths(copy):
    """Return where Python finds our extension, which Jupyter Book knows from `_config.yml`."""
    return os.pathsep.join(
        filter(None, [str(copy / "book" / "_ext"), os.environ.get("PYTHONPATH")])
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
