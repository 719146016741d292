"""A real JupyterLab on loopback for the browser tests, and how to run a cell in it."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
PATIENCE = 120  # seconds, for a machine with much else to do

# No news, no look for updates, and every cell on the page even when it is out of sight.
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}


@dataclass
class Lab:
    """Where a running JupyterLab listens."""

    address: str
    token: str

    def ask(self, path):
        """Return what the server's API answers, or None while it does not."""
        request = urllib.request.Request(
            f"{self.address}{path}", headers={"Authorization": f"token {self.token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def open(self, page, notebook):
        """Open a notebook of the folder; wait for its kernel (the toolbar says idle too early)."""
        page.set_default_timeout(PATIENCE * 1000)
        # A cell run a moment too early makes JupyterLab ask which kernel is meant.
        page.add_locator_handler(
            page.locator(".jp-Dialog"), lambda dialog: dialog.locator(".jp-mod-accept").click()
        )
        page.goto(f"{self.address}lab/tree/{notebook}?token={self.token}&reset")
        expect(cell(page, 0)).to_be_visible(timeout=PATIENCE * 1000)
        wait_for(page, self._kernel_listens)

    def _kernel_listens(self):
        kernels = self.ask("api/kernels") or []
        return any(k["execution_state"] == "idle" and k["connections"] > 0 for k in kernels)


@contextmanager
def jupyter_lab(folder, log):
    """Run JupyterLab on `folder` until the block ends; its own words go to the file `log`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lab = Lab(f"http://127.0.0.1:{port}/", token="lab-in-a-test")
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={lab.token}", f"--ServerApp.root_dir={folder}"),
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with Path(log).open("w") as words:
        server = subprocess.Popen(
            command, cwd=folder, stdout=words, stderr=words, env=_environment(Path(f"{log}.home"))
        )
    try:
        _wait_for_start(lab, server, log)
        yield lab
    finally:
        _stop(server)


def _environment(home):
    """Return an environment in which nothing of the user's own Jupyter is read or written."""
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    foreign = ("JUPYTER", "IPYTHON", "ATTN_COURSE", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "PYTHONPATH": str(ROOT),  # the package of this checkout in the kernel
    }


def _stop(server):
    server.terminate()  # it asks its kernels to end first
    try:
        server.wait(timeout=20)
    except subprocess.TimeoutExpired:
        server.kill()  # kernels end when they miss their server
        server.wait()


def _wait_for_start(lab, server, log):
    end = time.monotonic() + PATIENCE
    while lab.ask("api/status") is None:
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=0.2)
        if server.returncode is not None or time.monotonic() > end:
            raise RuntimeError(f"JupyterLab did not start:\n{Path(log).read_text()}")


def cell(page, number):
    """Return the cell with this number, from 0."""
    return page.locator(".jp-Notebook .jp-Cell").nth(number)


def run(page, number):
    """Run a cell and wait until it is done; return it."""
    this = cell(page, number)
    prompt = this.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    this.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    wait_for(page, lambda: prompt.inner_text() not in (before, "[*]:", "[ ]:"))
    return this


def wait_for(page, true):
    """Wait until `true()` is, letting the page go on meanwhile."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "waited in vain"
        page.evaluate("() => new Promise(done => requestAnimationFrame(done))")
