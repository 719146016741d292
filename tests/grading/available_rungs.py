"""The rungs of isolation that can be had on this computer, for tests."""

import os
import pwd
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from attn_course.grading.isolation import Rung
from attn_course.grading.isolation_trial import _why_not
from tests.requirements import demanded, need

ROOT = Path(__file__).parents[2]
SANDBOXES = "ABCD"
DEMANDED = "AD"  # where a run skips nothing, these two must be there


@cache
def why_not(letter: str) -> str:
    return _why_not(letter)


def rung_or_skip(letter: str) -> Rung:
    """Return the rung; without it skip the test, or fail where everything is demanded."""
    if letter in "AB":
        need("bubblewrap")
    reason = why_not(letter)
    if reason and letter in DEMANDED and "bubblewrap" in demanded():
        pytest.fail(f"rung {letter} is demanded: {reason}", False)
    if reason:
        pytest.skip(f"rung {letter}: {reason}")
    return Rung(letter)


def run_as_nobody(program: str) -> subprocess.CompletedProcess:
    """Run a Python program as a user without privileges; skip where there is no way to."""
    command = [sys.executable, "-c", program]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv") or pytest.skip("setpriv is not installed")
        nobody = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
        command = [*_with_an_open_way_to_python(), *nobody, *command]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, cwd=ROOT
    )


def _with_an_open_way_to_python() -> list[str]:
    """Return a command that opens root's home, where the interpreter may be, in its own mounts."""
    # Not `Path.home()`: HOME may be set to another folder.
    home, inside = Path(pwd.getpwuid(os.getuid()).pw_dir), Path(sys.base_prefix)
    if home not in inside.parents:
        return []
    shown = [str(path) for path in (inside, Path(sys.prefix), ROOT) if home in path.parents]
    command = [need("bubblewrap"), "--dev-bind", "/", "/", "--perms", "0755", "--tmpfs", str(home)]
    for path in dict.fromkeys(shown):
        for parent in reversed(Path(path).relative_to(home).parents):
            if str(parent) != ".":
                command += ["--perms", "0755", "--dir", str(home / parent)]
        command += ["--ro-bind", path, path]
    return [*command, "--"]
