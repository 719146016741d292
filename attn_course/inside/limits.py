"""How much a submission may use, and which walls are around it.

`Limits` is what an instructor sets. `Barriers` is for tests alone: an attack that fails proves
something only where the same attack succeeds with its one barrier taken away.
"""

from dataclasses import dataclass

NAMESPACES = ("user", "pid", "net", "ipc", "mount", "uts")
RESOURCES = ("memory", "cpu", "processes", "file", "descriptors", "core")


@dataclass(frozen=True)
class Limits:
    """What one submission may use: time, memory, threads, files.

    One call of an answer, or running the cells, may take `call_seconds`. The exercises together
    have `submission_seconds`, our own time for judging them included, and share them fairly: each
    in turn may take what is not spent divided by the number of exercises that are not done, and one
    that is stopped for that is tried again with what the others did not need (see `time_shares`).
    Running the cells, which happens again after each fault, is on no exercise's account; but after
    twice `submission_seconds` the whole notebook ends.
    """

    call_seconds: float = 10.0
    submission_seconds: float = 60.0
    memory_mb: int = 1024  # on top of what the warm worker holds
    processes: int = 16  # threads, in fact: a second process can't be had at all
    file_mb: int = 16  # everything it writes, which is gone with it
    message_mb: int = 8  # the longest answer: a million numbers


@dataclass(frozen=True)
class Barriers:
    """All of them are up, unless a test removes one."""

    landlock: bool = True
    seccomp: bool = True
    namespaces: tuple[str, ...] = NAMESPACES
    resources: tuple[str, ...] = RESOURCES
    more_readable: tuple[str, ...] = ()  # paths that become visible, at their own place
    more_syscalls: tuple[int, ...] = ()  # system calls that become allowed, by number
    one_process_kernel: bool = True  # a fresh kernel can start no other process
