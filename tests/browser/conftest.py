"""One browser for the whole session, and the built book on loopback."""

import os
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import what_changed
from tests.requirements import need
from tools.chromium import FLAGS

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config, items):
    """In CI, leave out the explorers that have not changed since everything was tested."""
    if not os.environ.get("CI"):
        return
    wanted = what_changed.to_test("explorers in the browser", what_changed.explorers())
    kept, left_out = [], []
    for item in items:
        name = explorer_of(item)
        (kept if name is None or name in wanted else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def explorer_of(item):
    """Return the name of the explorer that a test is about, or None."""
    if item.path.name == "test_explorers_for_everyone.py":
        kind = item.callspec.params.get("kind") if hasattr(item, "callspec") else None
        return kind and kind.name
    if item.path.name == "test_explorers.py":
        return "nadaraya_watson"
    named = re.fullmatch(r"test_(\w+)_explorer", item.path.stem)
    return named[1] if named and item.path.parent == HERE else None


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing: a test's output is for the test."""


@pytest.fixture(scope="session")
def browser():
    """Return a headless Chromium."""
    executable = need("chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """Return a function that opens a page with an explorer; in the end nothing has gone wrong."""
    from tests.browser.explorer_checks import visitor

    with visitor(browser) as go:
        yield go


@pytest.fixture
def live(visit, bare):
    """Return the explorer of the page that a module calls `bare`, moving."""
    return bare.live(visit(bare))


@pytest.fixture(scope="module")
def lab(browser, request, tmp_path_factory):
    """Return a JupyterLab with explorer.ipynb, which has the cells that the module calls CELLS."""
    pytest.importorskip("jupyterlab")
    import nbformat

    from tests.browser.jupyter_server import jupyter_lab

    folder = tmp_path_factory.mktemp("notebooks")
    codes = request.module.CELLS.split("---")
    cells = [nbformat.v4.new_code_cell(code.strip()) for code in codes]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    nbformat.write(notebook, folder / "explorer.ipynb")
    with jupyter_lab(folder, tmp_path_factory.mktemp("jupyter") / "log") as lab:
        yield lab


@pytest.fixture(scope="session")
def serve():
    """Return a function that serves a folder on loopback and returns its address."""
    servers = []

    def start(folder):
        handler = partial(_Quiet, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def book_address(book_html, serve):
    """Return the address of the built book."""
    return serve(book_html)
