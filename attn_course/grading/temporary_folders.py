"""Folders of ours among the temporary ones of the system, and how none of them stays for good.

A run that is killed can't tidy up. So each folder has the number of the process in its name that
made it, and the next run sweeps away those of processes that are gone. Whatever else begins with
the same letters may be somebody's work, such as the handout of the course unpacked there: it stays.
"""

import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "attn-course-"
_KINDS = ("worker", "kernel", "rung")
_NUMBERED = re.compile(rf"{_PREFIX}(?:{'|'.join(_KINDS)})-(?P<process>\d+)-\w+")
# Versions before this one left them without a number; so they are known by what is in them.
_UNNUMBERED = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
_IN_UNNUMBERED = frozenset({"course", "scratch", "secret", "written"})
_A_DAY = 24 * 3600


def make_folder(kind: str) -> Path:
    """Make an empty folder for one of our purposes."""
    assert kind in _KINDS
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-{os.getpid()}-"))


def sweep() -> None:
    """Remove what graders left behind that were killed."""
    if not hasattr(os, "geteuid"):  # on Windows nothing is graded
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else does the same
            if _is_old_and_ours(folder) and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_old_and_ours(folder: Path) -> bool:
    status = folder.lstat()
    # A day, since a process of that number may live where we don't see it: in a container.
    is_old = time.time() - status.st_mtime > _A_DAY
    return is_old and status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode)


def _is_abandoned(folder: Path) -> bool:
    numbered = _NUMBERED.fullmatch(folder.name)
    if numbered:
        return not Path("/proc", numbered["process"]).exists()
    if not _UNNUMBERED.fullmatch(folder.name):
        return False
    return {entry.name for entry in folder.iterdir()} <= _IN_UNNUMBERED
