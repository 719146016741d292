"""What a child does to itself before it runs a stranger's code; none of it can be undone.

The order matters: descriptors first, while they can be seen; then namespaces, which need
privileges; then no privileges; then limits; then Landlock; and seccomp last, since it takes away
the very system calls that the steps before it used.
"""

import ctypes
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

from attn_course.inside import landlock, namespaces, seccomp
from attn_course.inside.plan import Plan

with suppress(ImportError):  # on Windows
    import resource

NOBODY = 65534
_FIRST_OWN_USER = 2**30  # far from every user that a machine gives out
_USERS_HERE = Path("/proc/self/uid_map")
_READ_ANY_FILE = 1 << 2  # CAP_DAC_READ_SEARCH
_SET_DUMPABLE, _KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 4, 8, 38
_CAPABILITY_VERSION = 0x20080522
_OPEN_FILES = 64

# There is none on Windows, where `isolation_trial` refuses to grade: that must be possible to say.
_libc: Any = ctypes.CDLL(None, use_errno=True) if hasattr(os, "fork") else None


def lock_down(plan: Plan, channel: int, rules: int | None) -> None:
    """Give up everything that `plan` says, and keep `channel` open.

    `rules` are Landlock's, made beforehand; where the child has a file system of its own they
    name its folder, so they are made here.
    """
    kept = {channel} if rules is None else {channel, rules}
    silence_and_close_all_but(kept)
    os.setsid()  # a group of its own, to be ended as one
    namespaces.die_with_parent()
    if not plan.locked:
        return
    memory_so_far = _memory_of_this_process()
    # A new namespace of users counts its threads from none.
    tasks_so_far = 0 if "user" in plan.namespaces else _tasks_of(plan.user)
    if plan.namespaces:
        namespaces.unshare(set(plan.namespaces) - {"pid"})  # that one was made by the fork
        if "mount" in plan.namespaces:
            namespaces.furnish(plan.scratch, plan.limits.file_mb)
            os.chdir(plan.scratch)
    become(plan.user) if os.geteuid() == 0 else set_capabilities(0)
    namespaces.die_with_parent()  # again: a change of user takes it back
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    set_limits(plan, memory_so_far, tasks_so_far)
    if plan.landlock:
        rules = rules_for(plan) if rules is None else rules
        landlock.restrict(rules)
        os.close(rules)
    if plan.seccomp:
        seccomp.install(seccomp.program(os.getpid(), plan.more_syscalls))


def rules_for(plan: Plan) -> int:
    """Return Landlock's rules: read what is shown; write where it is gone with the child."""
    writable = [plan.scratch] if "mount" in plan.namespaces else []
    return landlock.ruleset(plan.readable, ["/dev/null", *writable])


def silence_and_close_all_but(kept: set[int]) -> None:
    """Point the standard streams at /dev/null and close every descriptor but those `kept`."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def own_user() -> int:
    """Return the user that this grader's workers shall be: where it is root, one of its own.

    The kernel limits a user's threads all together, so two graders that both ran as the user
    `nobody` would use up each other's. Where root has few users, as in a container, it is `nobody`.
    """
    if os.geteuid() != 0 or not _USERS_HERE.exists():
        return os.geteuid()
    wanted = _FIRST_OWN_USER + os.getpid()
    for line in _USERS_HERE.read_text().splitlines():
        first, _outside, count = map(int, line.split())
        if first <= wanted < first + count:
            return wanted
    return NOBODY


def become(user: int) -> None:
    """Be `user`, without any privilege but to read what Landlock lets through.

    That one is needed where the interpreter is in a folder closed to others, as root's home is.
    Inside bubblewrap it is not even there to be kept.
    """
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    _checked(_libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0), "keepcaps")
    os.setresuid(user, user, user)
    try:
        set_capabilities(_READ_ANY_FILE)
    except PermissionError:
        set_capabilities(0)
    # Who changed user may not write to its own /proc/self, which new namespaces need.
    _checked(_libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0), "dumpable")


def set_capabilities(mask: int) -> None:
    """Keep these capabilities, as far as they are held, and drop all others."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    data = struct.pack("=6I", mask, mask, 0, 0, 0, 0)
    _checked(_libc.capset(header, data), "capset")


def set_limits(plan: Plan, memory_so_far: int, tasks_so_far: int) -> None:
    """Set the limits of the kernel for this process."""
    limits = plan.limits
    # The whole submission counts, with a margin: the deadline outside should be what ends it.
    # Soft and hard alike: process 1 of a namespace ignores the signal of the soft one.
    seconds = 2 * int(limits.submission_seconds) + 5
    values = {
        "memory": [(resource.RLIMIT_AS, memory_so_far + limits.memory_mb * 2**20)],
        "cpu": [(resource.RLIMIT_CPU, seconds)],
        "processes": [(resource.RLIMIT_NPROC, tasks_so_far + limits.processes)],
        "file": [(resource.RLIMIT_FSIZE, limits.file_mb * 2**20)],
        "descriptors": [(resource.RLIMIT_NOFILE, _OPEN_FILES)],
        "core": [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_MEMLOCK, 0)],
    }
    for name in plan.resources:
        for kind, value in values[name]:
            resource.setrlimit(kind, (value, value))


def _memory_of_this_process() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _tasks_of(user: int) -> int:
    """Return how many threads `user` has now: the kernel's limit counts all of them together.

    Inside bubblewrap those outside are not seen, so that limit is tighter than it says there.
    """
    count = 0
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(f"/proc/{entry.name}/task"))
        except OSError:  # it ended just now
            continue
    return count


def _checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
