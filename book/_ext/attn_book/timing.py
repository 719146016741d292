"""The build says how long the cells of each page take, and fails where a reader would give up.

Those who build the book wait for every page once, and a learner who runs a page as a notebook waits
for it each time. A budget is a promise for a quiet computer: a busy one may use twice as much.
"""

from pathlib import Path
from typing import NamedTuple

from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.util import logging

from attn_book.freshness import forget

PAGE, BOOK = 30.0, 600.0  # seconds
PATIENCE = 2.0  # times the budget, before the build fails

logger = logging.getLogger(__name__)


class Overrun(NamedTuple):
    """A page that takes longer than its budget, or the whole book, which has no page."""

    page: str
    sentence: str
    is_too_long: bool  # even for a busy computer


def setup(app):
    """Connect the handler below to Sphinx."""
    app.connect("env-check-consistency", _tell_times)


def _tell_times(app, env):
    executed = {name: NbMetadataCollector.get_exec_data(env, name) for name in env.found_docs}
    times = {name: data["runtime"] or 0.0 for name, data in executed.items() if data}
    for line in as_lines(times):
        logger.info(line)
    for overrun in overruns(times):
        if overrun.is_too_long:
            logger.warning(overrun.sentence)
            forget(Path(app.config.nb_execution_cache_path), {f"{overrun.page}.md"})  # measure anew
        else:
            logger.info(overrun.sentence)


def as_lines(times):
    """Return a line for each page, the longest first, and one for all of them."""
    pages = sorted(times, key=times.get, reverse=True)
    lines = [f"{times[page]:6.1f} s  {page}" for page in pages]
    return ["how long the cells of a page take:", *lines, f"{sum(times.values()):6.1f} s  in all"]


def overruns(times):
    """Return what takes longer than its budget: pages, and the whole book."""
    parts = [(page, f"the page {page}", seconds, PAGE) for page, seconds in times.items()]
    parts.append(("", "the book", sum(times.values()), BOOK))
    return [
        Overrun(
            page,
            f"{what} takes {seconds:.0f} s to execute, but its budget is {budget:.0f} s: "
            "let it train less, or quote figures that are kept in book/_data",
            seconds > PATIENCE * budget,
        )
        for page, what, seconds, budget in parts
        if seconds > budget
    ]
