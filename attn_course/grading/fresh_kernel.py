"""Does a notebook run from top to bottom in a fresh kernel? A column of its own, and no points.

A learner may define things in one order and keep them in another; the points do not tell, since
cells are found by what they define. nbval does: it runs every cell in turn in a new kernel. That
needs sockets and a second process, so it has a sandbox of its own, with a private network that
no other process is on: bubblewrap as around a worker, then `fresh_kernel_inside`. Where there is no
bubblewrap the answer is "not run". What runs inside can lie about how it went, hence no points.

Memory is limited by the number of processes times what each may have: nbval's and the kernel, which
can start no other (see `one_process_kernel`). That needs no right to make a cgroup, which few have.
"""

import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from attn_course.grading import bubblewrap
from attn_course.grading.isolation import Rung
from attn_course.grading.sandbox_view import PACKAGES, copy_course, environment, what_is_visible
from attn_course.grading.temporary_folders import make_folder
from attn_course.inside.limits import Barriers, Limits
from attn_course.inside.protocol import printable
from attn_course.translate import _

YES, NO, NOT_RUN = "yes", "no", "not run"
NEEDED = ("nbval", "ipykernel", "pytest")
_SECONDS_TO_START = 120.0  # for pytest and the kernel, before the first cell
_MOST_BYTES = 8192  # of an answer
_LONGEST_ERROR = 200
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")


def missing_packages() -> list[str]:
    """Return which of the packages that are needed for it are not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    missing = []
    for name in NEEDED:
        try:
            distribution(name)
        except PackageNotFoundError:
            missing.append(name)
    return missing


class FreshKernel:
    """Runs one notebook after the other, each in a kernel and a sandbox of its own."""

    def __init__(
        self,
        rung: Rung,
        limits: Limits,
        compares: bool = False,
        barriers: Barriers | None = None,
    ) -> None:
        self._rung = rung
        self._limits = limits
        self._barriers = barriers or Barriers()
        self._compares = compares  # also what cells show, with what the file says they show
        self.why_not = ""  # why no kernel can be had here
        if rung.is_sandbox and not rung.has_bubblewrap:  # without a sandbox the files are trusted
            self.why_not = _("there is no bubblewrap, and so no private network for a kernel")

    def is_answered(self, runs: str) -> bool:
        """Return whether an answer from before will do: "not run" only where it can't be run."""
        return bool(runs) and (bool(self.why_not) or not runs.startswith(NOT_RUN))

    def run(self, content: bytes) -> str:
        """Return "yes", or "no" or "not run" with the reason, as one line."""
        if self.why_not:
            return _not_run(self.why_not)
        try:
            return self._run(content)
        except OSError as fault:
            return _not_run(str(fault))

    def _run(self, content: bytes) -> str:
        with tempfile.TemporaryFile() as errors, self._started(content, errors) as process:
            seconds = self._limits.submission_seconds + _SECONDS_TO_START
            answer = _answer(process, seconds)
            if answer is None:
                return _no(_too_long(seconds))
            if not answer.startswith("started\n"):
                _end(process)  # it is complete now: what it said last is why
                return _not_run(_last_line(errors))
        return self._sentence(answer.removeprefix("started\n"))

    def _sentence(self, answer: str) -> str:
        word, _space, rest = answer.partition(" ")
        if word == "yes":
            return YES
        if word == "unable":
            return _not_run(rest)
        place, _space, error = rest.partition(" ")
        if word != "no" or not place.isdecimal():
            return _no(_("the kernel ended"))
        if error == "timeout":
            error = _too_long(self._limits.submission_seconds)
        cell = _("cell {number}").format(number=place)
        return _no(error if place == "0" else f"{cell}: {error}")

    @contextmanager
    def _started(self, content: bytes, errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
        """Start it; at the end, nothing of it is left."""
        folder = make_folder("kernel")
        try:
            command, scratch = self._prepared(folder, len(content))
            with tempfile.TemporaryFile() as notebook:
                notebook.write(content)
                notebook.seek(0)
                process = subprocess.Popen(
                    command,
                    env=environment(scratch),
                    stdin=notebook,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd="/",
                    start_new_session=True,
                )
            try:
                yield process
            finally:
                _end(process)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _prepared(self, folder: Path, length: int) -> tuple[list[str], str]:
        """Return the command line, and where it may write."""
        copy_course(folder / "course")
        (folder / "scratch").mkdir()
        folder.chmod(0o755)
        seen = what_is_visible((*PACKAGES, *NEEDED))
        course, scratch = str(folder / "course"), str(folder / "scratch")
        if self._rung.has_bubblewrap:
            course, scratch = bubblewrap.COURSE, bubblewrap.SCRATCH
        limits = self._limits
        megabytes = limits.file_mb + length // 2**20 + 1
        arguments = (
            limits.submission_seconds,
            limits.memory_mb,
            megabytes,
            self._compares,
            self._rung.is_sandbox,
            self._rung.is_sandbox and self._barriers.one_process_kernel,
        )
        start = (
            f"import sys; sys.path[:] = {[course, *seen.import_paths]!r}; "
            f"from attn_course.inside.fresh_kernel_inside import main; main(*{arguments!r})"
        )
        command = [seen.interpreter, "-S", "-s", "-P", "-B", "-c", start]
        if self._rung.has_bubblewrap:
            command = bubblewrap.around(command, seen, folder / "course", self._barriers, megabytes)
        return command, scratch


def _answer(process: subprocess.Popen[bytes], seconds: float) -> str | None:
    """Return what is said until the end; None if that does not come in time."""
    assert process.stdout is not None
    end = time.monotonic() + seconds
    answer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(answer) < _MOST_BYTES:
            if not selector.select(max(0.0, end - time.monotonic())):
                return None
            piece = os.read(process.stdout.fileno(), _MOST_BYTES)
            if not piece:
                break
            answer += piece
    return answer[:_MOST_BYTES].decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and, with its namespace of processes, all others in it."""
    assert process.stdout is not None
    process.stdout.close()
    process.kill()
    process.wait()


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(100_000).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else _("it did not start")


def _too_long(seconds: float) -> str:
    return _("it took longer than {seconds:g} seconds").format(seconds=seconds)


def _no(reason: str) -> str:
    return f"{NO}: {_one_line(reason)}"


def _not_run(reason: str) -> str:
    return f"{NOT_RUN}: {_one_line(reason)}"


def _one_line(text: str) -> str:
    """Return the first line of a text, short, without what differs from run to run."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    same = _ADDRESS.sub("0x…", printable(first))
    return same if len(same) <= _LONGEST_ERROR else same[: _LONGEST_ERROR - 1] + "…"
