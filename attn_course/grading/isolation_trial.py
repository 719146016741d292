"""Which rung of isolation can be had here? Found by trying, strongest first.

That a program is installed or a kernel knows a feature says little: it may be forbidden. So each
rung is built, and then attacked from inside by a small program of our own. The first rung on
which every attack fails is taken. See `isolation` for what the rungs are.
"""

import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Literal

from attn_course.grading.isolation import Rung
from attn_course.grading.launch import InfrastructureFault, WorkerProcess
from attn_course.grading.sandboxed_submission import SandboxedSubmission
from attn_course.grading.temporary_folders import make_folder
from attn_course.inside import landlock, seccomp
from attn_course.inside.limits import Barriers, Limits
from attn_course.inside.notebook import Cell
from attn_course.translate import _

__all__ = ["NoSandbox", "Rung", "attacks_that_succeed", "find_rung"]

_STRICT = "ABC"  # "strict" allows no rung without namespaces
_LIMITS = Limits(call_seconds=10, submission_seconds=20, memory_mb=256)


class NoSandbox(Exception):  # noqa: N818 (it says what there is not)
    """No rung that is strong enough can be had here; the text says why."""


def find_rung(wanted: Literal["auto", "strict", "none"] = "auto") -> Rung:
    """Return the strongest rung here; "none" is rung E, "strict" raises rather than go below C."""
    if not hasattr(os, "fork"):
        raise NoSandbox(_("Grading needs Linux or macOS; on Windows, use WSL."))
    if wanted == "none":
        return _named("E", _("asked for"))
    reasons: list[str] = []
    for letter in _STRICT if wanted == "strict" else "ABCD":
        reason = _why_not(letter)
        if not reason:
            return _named(letter, "; ".join(reasons))
        reasons.append(f"{letter}: {reason}")
    if wanted == "strict":
        raise NoSandbox(
            _(
                "None of the rungs A to C of isolation can be had here ({reasons}): "
                "install bubblewrap, or allow user namespaces, or say --isolation auto."
            ).format(reasons="; ".join(reasons))
        )
    return _named("E", "; ".join(reasons))


def attacks_that_succeed(rung: Rung, barriers: Barriers | None = None) -> list[str]:
    """Run the program of attacks on `rung` and return the names of those that did harm."""
    folder = make_folder("rung")
    try:
        return _attacks_that_succeed(rung, barriers, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _attacks_that_succeed(rung: Rung, barriers: Barriers | None, folder: Path) -> list[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        secret, target = folder / "secret", folder / "written"
        secret.write_text("a secret")
        os.chmod(folder, 0o777)  # so that only the sandbox is in the way
        payload = {
            "name": "attack",
            "args": (str(secret), str(target), listener.getsockname()[1], os.getpid()),
            "kwargs": {},
        }
        worker = WorkerProcess(rung, _LIMITS, barriers, is_warm=False)
        try:
            with SandboxedSubmission(worker, _LIMITS, lambda _is_broken: None) as submission:
                submission.begin([Cell(1, "code", _ATTACK)], ["attack"], "attack")
                response = submission.request("call", payload)
        finally:
            worker.close()
        if "value" not in response:
            raise InfrastructureFault(str(response["raised"]["message"]))
        wrote = ["write"] if target.exists() and "write" not in response["value"] else []
        return [*response["value"], *wrote]


def _why_not(letter: str) -> str:
    """Return why a rung can't be had, in a few words; nothing where it can."""
    if not sys.platform.startswith("linux"):
        return _("it needs Linux")
    if not seccomp.is_known_machine():
        return _("the system calls of this machine are not known")
    if not landlock.version():
        return _("the kernel has no Landlock")
    try:
        harm = attacks_that_succeed(Rung(letter))
    except InfrastructureFault as fault:
        return str(fault)
    return _("an attack succeeds: {names}").format(names=", ".join(harm)) if harm else ""


def _named(letter: str, reasons: str) -> Rung:
    means = Rung(letter).means
    if not reasons:
        line = _("Isolation: rung {letter} ({means}).").format(letter=letter, means=means)
    else:
        line = _("Isolation: rung {letter} ({means}), since {reasons}.").format(
            letter=letter, means=means, reasons=reasons
        )
    if Rung(letter).is_sandbox and not Rung(letter).has_bubblewrap:
        line += " " + _(
            "Without bubblewrap a submission can find out which files there are on this computer, "
            "how large and how old (stat), and enter folders (chdir), though it can open none of "
            "them."
        )
    return Rung(letter, line)


# Each attempt returns a true value where it did harm, and fails where there is a wall.
_ATTACK = """
def attack(secret, target, port, grader):
    import ctypes, importlib, os, socket

    def read():
        return open(secret).read()

    def write():
        return open(target, "w").write("x")

    def connect():
        return socket.create_connection(("127.0.0.1", port), timeout=1)

    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return True

    def execute():
        return os.posix_spawn("/bin/true", ["true"], {}) > 0

    def signal():
        os.kill(grader, 0)
        return True

    def trace():
        seize = 0x4206  # it does not stop the other, and ends with this process
        return ctypes.CDLL(None).ptrace(seize, grader, 0, 0) == 0

    def other_process():
        return open(f"/proc/{grader}/environ").read()

    def reference():
        return importlib.import_module("attn_course.scoring")

    def memory():
        return len(bytearray(2**29))

    of_files = (read, write, other_process, reference)
    of_the_system = (connect, fork, execute, signal, trace, memory)
    harm = []
    for attempt in of_files + of_the_system:
        try:
            if attempt():
                harm.append(attempt.__name__)
        except (OSError, MemoryError, ImportError):
            pass
    return harm
"""
