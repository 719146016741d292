"""What every test shares: reproducible hypothesis, and the built book."""

import os
from pathlib import Path

# Two workers share the cores, and with two threads each they wait for one another. Before torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests import what_changed
from tests.requirements import demanded, done_without

ROOT = Path(__file__).parents[1]

# No deadline: the first call of a function may import PyTorch, and no test measures time.
settings.register_profile("local", deadline=None)
# In CI the same examples each time: a red run there is red for everybody.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config):
    demanded()  # a misspelt ATTN_COURSE_REQUIRE stops the run at once


def pytest_terminal_summary(terminalreporter):
    for line in [*done_without(), *what_changed.sentences()]:
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture(scope="session")
def book_html() -> Path:
    """The folder of the built book: `_build/html`, or where ATTN_COURSE_BOOK says."""
    folder = Path(os.environ.get("ATTN_COURSE_BOOK", ROOT / "_build" / "html"))
    if not (folder / "index.html").is_file():
        pytest.fail(f"there is no built book in {folder}: build it with `make book`", False)
    return folder
