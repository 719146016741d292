"""What Jupyter knows about the cell an answer comes from: was it run since it was changed?

A check is handed a function. If the cell that defines it had a SyntaxError, or was changed and not
run again, that is an older function than the one on the screen.
"""

import inspect
import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from attn_course.translate import _


def note_on_age(name: str, answer: Any) -> str:
    """Return a sentence if `answer` is older than what its cell says now, or nothing."""
    source = _source_of(answer)
    if not source:
        return ""
    if _last_run(name) and source not in _last_run(name):
        return _(
            "This judges an older version of {name}: the cell you ran last did not define it. "
            "Did it stop with an error?"
        ).format(name=name)
    written = _saved_cell(name)
    if written and source not in written:
        return _(
            "This judges {name} as it was when its cell last ran; "
            "the notebook on disk has another version. Run that cell again."
        ).format(name=name)
    return ""


def _source_of(answer: Any) -> str:
    """Return the text of a function or class as it was run, or nothing where it is not known."""
    try:
        return textwrap.dedent(inspect.getsource(answer)).strip()
    except (OSError, TypeError):
        return ""


def _last_run(name: str) -> str:
    """Return the last cell given to IPython that would define `name`, or nothing elsewhere."""
    main = sys.modules.get("__main__")
    cells = getattr(main, "In", None)
    if not isinstance(cells, list):
        return ""
    pattern = re.compile(rf"^(?:def|class)\s+{re.escape(name)}\b", re.MULTILINE)
    found = (cell for cell in reversed(cells) if isinstance(cell, str) and pattern.search(cell))
    return next(found, "")


def _saved_cell(name: str) -> str:
    """Return the answer cell of the notebook on disk, where Jupyter says which file it is."""
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))
    if path.suffix != ".ipynb":
        return ""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found = next(cell for cell in cells if cell.get("id") == f"{name}-answer")
        return "".join(found["source"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return ""
