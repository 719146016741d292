"""A Python environment for each peer, made once and kept.

A peer brings all that it asks for itself. PyTorch and NumPy it would have to load from the network
again, and they must be the very same for a fair race: so where the peer has them not, they come
from the environment that runs this benchmark, by a line in a `.pth` file. Such a line is looked at
last: whatever the peer brings itself comes before.
"""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

PEERS = {"nbgrader": "nbgrader==0.9.6", "otter": "otter-grader==7.0.0"}
_BORROWED = "borrowed.pth"


def python_of(peer: str, cache: Path) -> Path:
    """Return the Python of a peer's environment below `cache`, which is made if it is not there."""
    folder = cache / PEERS[peer].replace("==", "-")
    program = folder / "bin" / "python"
    borrowed = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    if (borrowed / _BORROWED).exists():
        return program
    print(f"installing {PEERS[peer]} into {folder}", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    quietly = ["--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [program, "-m", "pip", "install", *quietly, PEERS[peer], "ipykernel"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    # Last, so that what is half installed is never taken for whole.
    places = [path for path in sys.path if path.endswith("site-packages")]
    (borrowed / _BORROWED).write_text("".join(f"{path}\n" for path in places))
    return program
