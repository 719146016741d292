"""What this book adds to Jupyter Book: everything offline, accessible, and strict.

One module for each concern, each with its own `setup(app)`:

- `offline`    MathJax from an installed package, no thebe, search that works from a folder
- `about`      the description and the version of every page
- `notebooks`  each page can be downloaded as a notebook
- `alt_text`   a picture without a description is a warning
- `access`     what the theme gets wrong for screen readers and keyboards
- `strictness` a build that warned is not remembered as good
- `freshness`  the cells of a page run again when something they use has changed
- `timing`     how long they take
- `numbers`    the pages of a chapter count from 1
- `explorers`  figures that move
- `phone_figures`  a narrow form of every figure, for phones
- `taxonomy`   the clickable map
- `claims`     what the tests show about each mechanism
- `api`        the reference of the package, linked with the pages
"""

from importlib import import_module
from importlib.util import find_spec

PARTS = (
    "offline",
    "about",
    "notebooks",
    "alt_text",
    "access",
    "strictness",
    "freshness",
    "timing",
    "numbers",
    "explorers",
    "phone_figures",
    "taxonomy",
    "claims",
    "api",
)


def setup(app):
    """Set up every part that is there."""
    for part in PARTS:
        name = f"{__name__}.{part}"
        if find_spec(name):
            import_module(name).setup(app)
    # The parts keep nothing between pages that a parallel build could lose.
    return {"parallel_read_safe": True, "parallel_write_safe": True}
