"""The figures that the book states: every comparison of the tasks, over five seeds each.

They are kept in `book/_data/tasks.json`, which `make tasks` writes; the installed package has a
copy of that file, so that a page runs as a notebook wherever it was saved.
"""

from pathlib import Path

from attn_course.tasks.table import Row, read_table

_PACKAGED = Path(__file__).with_name("stated.json")  # filled when the package is built
_KEPT = Path(__file__).parents[2] / "book" / "_data" / "tasks.json"


def stated_figures() -> dict[tuple[str, str, str], Row]:
    """Return the row of every comparison by task, mechanism and ablation.

    >>> print(stated_figures()["key_lookup", "dot", "uniform"].verdict)
    wins
    """
    return read_table(_PACKAGED if _PACKAGED.is_file() else _KEPT)
