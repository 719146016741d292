"""A copy of this process, in which a program may go wrong in any way without harm to this one.

A changed program may never end, or fill the memory, or change a variable of the notebook. So it
runs in a copy, with a limit on its time and its memory, and only a short text comes back.
"""

import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_MEMORY = 2**30  # that the copy may have beyond what there is already


class TooLong(BaseException):
    """Time is up; no `except Exception` of a learner's catches it."""


def in_a_copy(work: Callable[[], str], seconds: float) -> str:
    """Return what `work` returns in a copy of this process; nothing where it takes too much."""
    if not hasattr(os, "fork"):
        return ""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this process may have threads, and the copy needs none
        copy = os.fork()
    if copy == 0:
        _be_the_copy(work, writing)
    os.close(writing)
    try:
        return _read(reading, time.monotonic() + seconds).decode(errors="replace")
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Stop what runs below after some seconds, in a copy: it is the copy's only alarm."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _read(end: int, deadline: float) -> bytes:
    """Return all that comes before the deadline; nothing where it does not end by then."""
    text = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([end], [], [], left)[0]:
            return b""
        part = os.read(end, 65536)
        if not part:
            return text
        text += part


def _be_the_copy(work: Callable[[], str], writing: int) -> None:
    """Do the work, write down what came of it, and end at once, whatever happens."""
    try:
        _limit_memory()
        signal.signal(signal.SIGALRM, _time_is_up)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)  # its threads were not copied
        os.write(writing, work().encode())
    finally:
        os._exit(0)


def _time_is_up(_number: int, _frame: Any) -> None:
    raise TooLong


def _limit_memory() -> None:
    """Give the copy little more memory than it has; where that can't be told, it has no limit."""
    import resource

    with suppress(OSError, ValueError):
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
