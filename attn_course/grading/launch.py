"""Start a worker on a rung, and give it orders: the grader's end of `worker`.

    command line (bubblewrap around it or not) → plan → "ready", with versions → fork, end, …

A worker that does not start, or does not obey, is an `InfrastructureFault`: not the submission
is to blame, so it may be tried again.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from attn_course.grading import bubblewrap
from attn_course.grading.isolation import Rung
from attn_course.grading.sandbox_view import copy_course, environment, what_is_visible
from attn_course.grading.temporary_folders import make_folder
from attn_course.grading.temporary_folders import sweep as sweep  # whoever grades does this first
from attn_course.inside.limits import Barriers, Limits
from attn_course.inside.lockdown import own_user
from attn_course.inside.plan import Plan
from attn_course.inside.protocol import (
    END,
    FORK,
    UNASKED,
    WAIT,
    Channel,
    Gone,
    OutOfTime,
    ProtocolBroken,
)
from attn_course.inside.wire import Plain

_SECONDS_TO_START = 120.0
_SECONDS_TO_OBEY = 30.0
_LARGEST_REPORT = 100_000


class InfrastructureFault(Exception):  # noqa: N818 (the word of the design: not the submission)
    """The grader's own machinery failed: the only thing that is worth another try."""


class WorkerProcess:
    """A running worker. It lives no longer than the thread that made it.

    One that is made with `waits=False` warms up while we do something else; `wait` for it before
    the first order.
    """

    def __init__(
        self,
        rung: Rung,
        limits: Limits,
        barriers: Barriers | None = None,
        is_warm: bool = True,
        waits: bool = True,
    ) -> None:
        barriers = barriers or Barriers()
        self._is_warm = is_warm
        self._is_ready = False
        self._folder = make_folder("worker")
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in _put_away)
        ours, theirs = socket.socketpair()
        self._control = Channel(ours, _LARGEST_REPORT)
        try:
            command, plan = _prepare(rung, limits, barriers, is_warm, self._folder, theirs.fileno())
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env=environment(plan.scratch),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd="/",
                start_new_session=True,
            )
        except OSError as fault:
            self._put_away()
            raise InfrastructureFault(f"the worker could not be started: {fault}") from fault
        finally:
            theirs.close()
        # Without bubblewrap, files are mounted on it.
        self._is_folder_needed = "mount" in plan.namespaces and not rung.has_bubblewrap
        with suppress(Gone):  # as `wait` will find
            self._control.send(UNASKED, plan.to_plain())
        if waits:
            self.wait()

    def wait(self) -> None:
        """Wait until it is warm; see that the same Python and packages run inside as outside."""
        if self._is_ready:
            return
        try:
            self._see_versions(self._report(_SECONDS_TO_START))
        except InfrastructureFault:
            self.close()
            raise
        self._is_ready = True
        if not self._is_folder_needed:
            # All that the worker needs of it is loaded by now, so nothing is left behind even
            # where the grader gets killed.
            shutil.rmtree(self._folder, ignore_errors=True)

    def fork(self) -> socket.socket:
        """Have a child made; return the socket on which it answers."""
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control.socket, [FORK], [theirs.fileno()])
        except OSError as fault:
            ours.close()
            raise InfrastructureFault(f"the worker is gone: {self._last_words()}") from fault
        finally:
            theirs.close()
        return ours

    def end(self, hung_up: bool = False) -> dict[str, Plain]:
        """Have the child ended, and return how it ended; one that `hung_up` may end by itself."""
        try:
            self._control.socket.sendall(WAIT if hung_up else END)
            return self._report(_SECONDS_TO_OBEY)
        except OSError as fault:
            raise InfrastructureFault(f"the worker is gone: {self._last_words()}") from fault

    def hand_over(self) -> None:
        """Hang up here, and leave the orders to a process that was forked from this one."""
        self._control.close()

    def close(self) -> None:
        """End the worker and everything below it."""
        self._control.close()  # the worker then ends its child and itself
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._put_away()

    def _see_versions(self, ready: Plain) -> None:
        wanted = _versions(self._is_warm)
        try:
            found = {"python": ready["python"], **ready["packages"]}
        except (KeyError, TypeError) as fault:
            why = f"the worker did not start: {self._last_words()}"
            raise InfrastructureFault(why) from fault
        differing = [name for name in wanted if found.get(name) != wanted[name]]
        if differing:
            pairs = [f"{n} {found.get(n)} instead of {wanted[n]}" for n in differing]
            raise InfrastructureFault(f"inside runs {', '.join(pairs)}")

    def _report(self, seconds: float) -> Plain:
        try:
            return self._control.receive(time.monotonic() + seconds)[1]
        except (Gone, OutOfTime, ProtocolBroken) as fault:
            why = f"the worker does not answer ({type(fault).__name__}): {self._last_words()}"
            raise InfrastructureFault(why) from fault

    def _last_words(self) -> str:
        """Return the end of what the worker wrote to its standard error."""
        try:
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
        except (OSError, ValueError):
            return ""
        return lines[-1][:300] if lines else ""

    def _put_away(self) -> None:
        self._control.close()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _prepare(
    rung: Rung, limits: Limits, barriers: Barriers, is_warm: bool, folder: Path, control: int
) -> tuple[list[str], Plan]:
    """Return the command line of a worker, and its plan."""
    copy_course(folder / "course")
    (folder / "scratch").mkdir()
    folder.chmod(0o755)
    seen = what_is_visible()
    course, scratch = str(folder / "course"), str(folder / "scratch")
    if rung.has_bubblewrap:
        course, scratch = bubblewrap.COURSE, bubblewrap.SCRATCH
    import_paths = [course, *seen.import_paths]
    start = (
        f"import sys; sys.path[:] = {import_paths!r}; "
        f"from attn_course.inside.worker import main; main({control})"
    )
    command = [seen.interpreter, "-S", "-s", "-P", "-B", "-c", start]
    if rung.has_bubblewrap:
        command = bubblewrap.around(command, seen, folder / "course", barriers, limits.file_mb)
    # Bubblewrap hides the rest already, so a few folders say it all, and cost each child less.
    readable = seen.shown if rung.has_bubblewrap else seen.paths
    hidden = () if rung.has_bubblewrap else seen.hidden_modules
    is_root = os.geteuid() == 0
    kinds = barriers.namespaces if rung.has_namespaces else ()
    if is_root and not rung.has_bubblewrap:  # root needs no namespace of users, and would lose
        kinds = tuple(kind for kind in kinds if kind != "user")  # the right to read its own home
    plan = Plan(
        limits=limits,
        locked=rung.is_sandbox,
        namespaces=kinds,
        landlock=rung.is_sandbox and barriers.landlock,
        seccomp=rung.is_sandbox and barriers.seccomp,
        resources=barriers.resources,
        more_syscalls=barriers.more_syscalls,
        readable=(*readable, course, *barriers.more_readable),
        hidden_modules=hidden,
        scratch=scratch,
        user=own_user(),
        drops_early=is_root and rung.has_bubblewrap,
        is_warm=is_warm,
    )
    return command, plan


def _versions(is_warm: bool) -> dict[str, str]:
    import msgpack
    import numpy

    wanted = {"python": sys.version, "numpy": numpy.__version__}
    wanted["msgpack"] = str(getattr(msgpack, "__version__", ""))
    if is_warm:
        from importlib.metadata import version

        wanted["torch"] = version("torch")
    return wanted
