"""One browser for the whole session, and the built book on loopback."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.requirements import need
from tools.chromium import FLAGS


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
