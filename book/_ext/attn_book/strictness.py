"""A build that warned is not remembered as good.

Sphinx reads only pages that changed. A page that warned yesterday would so be silent today,
and a build that failed under -W would pass when started a second time.
Forgetting the environment makes Sphinx read every page again; the cells stay in their cache.
"""

from pathlib import Path

# Under Sphinx's own name for the file in which it keeps what it has read.
ENVIRONMENT = "environment.pickle"


def setup(app):
    """Connect the handler below to Sphinx."""
    app.connect("build-finished", _forget_after_warnings)


def _forget_after_warnings(app, exception):
    if app._warncount or exception:
        (Path(app.doctreedir) / ENVIRONMENT).unlink(missing_ok=True)
