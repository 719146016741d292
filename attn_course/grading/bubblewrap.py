"""Bubblewrap: the worker starts in a file system that contains only what submissions need.

Everything in it is read-only but one small folder in memory. There is no network, no other
process, no file of anybody's. Two things are easily got wrong here. Folders that bubblewrap makes
on the way to a bind are closed to others, so each is made openly first; else the loader, no longer
root, would not reach the interpreter's own library and silently use the system's: another Python.
And what was bound last is on top: first the folders, then what is hidden in them, then packages.
"""

import os
import shutil
from pathlib import Path

from attn_course.grading.sandbox_view import DEVICES, Visible, environment
from attn_course.inside.limits import Barriers

COURSE, SCRATCH = "/course", "/scratch"  # where they are inside


def around(
    command: list[str], seen: Visible, course: Path, barriers: Barriers, scratch_mb: int
) -> list[str]:
    """Return the command line that runs `command` where nothing but what is `seen` is there."""
    program = shutil.which("bwrap") or "bwrap"  # the worker's own PATH leads nowhere
    options = [program, "--die-with-parent", "--cap-drop", "ALL", "--clearenv"]
    options += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if "net" in barriers.namespaces:
        options += ["--unshare-net"]
    if os.geteuid() == 0:
        # The worker itself becomes another user: the kernel limits the number of root's threads by
        # nothing, and another user outside could not reach an interpreter in root's home.
        options += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        options += ["--unshare-user"]
    for name, value in environment(SCRATCH).items():
        options += ["--setenv", name, value]
    shown = [seen.interpreter, *seen.folders]
    cache = "/etc/ld.so.cache"  # where the loader looks libraries up
    options += _made_parents([*shown, cache])
    for path in shown:
        options += ["--ro-bind", path, path]
    for path in seen.hidden:
        options += ["--perms", "0755", "--tmpfs", path]
    single = [*seen.packages, *barriers.more_readable]
    options += _made_parents(single)
    for path in single:
        options += ["--ro-bind", path, path]
    for link in ("/lib", "/lib64"):
        if os.path.islink(link):
            options += ["--symlink", os.readlink(link), link]
    options += ["--ro-bind-try", cache, cache]
    options += ["--ro-bind", str(course), COURSE]
    options += ["--size", str(scratch_mb * 2**20), "--perms", "1777", "--tmpfs", SCRATCH]
    options += ["--proc", "/proc", "--perms", "0755", "--dir", "/dev"]
    for device in DEVICES:
        options += ["--dev-bind", device, device]
    return [*options, "--remount-ro", "/", "--chdir", "/", "--", *command]


def _made_parents(paths: list[str]) -> list[str]:
    """Return options that make the folders above `paths`, open to the user `nobody` too."""
    parents = {str(parent) for path in paths for parent in Path(path).parents} - {"/"}
    return [word for parent in sorted(parents) for word in ("--perms", "0755", "--dir", parent)]
