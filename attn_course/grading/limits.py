"""How much a submission may use, and which walls stand around it.

`Limits` is what an instructor sets. `Barriers` is for tests alone: an attack that fails proves
something only where the same attack succeeds with its one barrier taken away.
"""

from dataclasses import dataclass

NAMESPACES = ("user", "pid", "net", "ipc", "mount", "uts")
RESOURCES = ("memory", "cpu", "processes", "file", "descriptors", "core")


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of waiting for it, memory, threads, files."""

    call_seconds: float = 10.0
    submission_seconds: float = 60.0  # all its calls together; the grader's own work not counted
    memory_mb: int = 1024  # on top of what the warm worker holds
    processes: int = 16  # threads, in fact: a second process can't be had at all
    file_mb: int = 16  # everything it writes, which is gone with it
    message_mb: int = 8  # the longest answer: a million numbers


@dataclass(frozen=True)
class Barriers:
    """All of them stand, unless a test takes one away."""

    landlock: bool = True
    seccomp: bool = True
    namespaces: tuple[str, ...] = NAMESPACES
    resources: tuple[str, ...] = RESOURCES
    more_readable: tuple[str, ...] = ()  # paths that become visible, at their own place
    more_syscalls: tuple[int, ...] = ()  # system calls that become allowed, by number
