"""Chromium for tests and printing: the programs that will do, and how they start."""

import shutil

# Best first: the headless shell has no window of its own to draw, and opens a page in a third of
# the time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# With these it starts as root, in a container and without a network, and contacts no server.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find() -> str | None:
    """Return the path of the best program that is installed, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
