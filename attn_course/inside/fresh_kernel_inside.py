"""Inside the sandbox: run a notebook from top to bottom in a fresh kernel, under nbval.

The notebook comes in on the standard input. What went out on the standard output is a word or two
for `fresh_kernel`, which does not believe them more than it must:

    started
    yes                          every cell ran
    no 7 ValueError: why         the cell that did not (0: no single one), and its error
    unable why                   nbval itself could not do its work

A kernel talks to its notebook through sockets and is a process of its own, so the walls here have
doors that those of `worker` lack: a network (private, with no other host) and one more process.
Once the kernel is there neither it nor this process can start another. Memory is limited for each
process, so it is limited in all only where their number is: to twice what one may have. No
namespace can be made, no other kind of socket opened, no other process traced.
"""

import errno
import json
import os
import platform
import resource
import sys
import threading
from contextlib import suppress
from typing import Any

from attn_course.inside import lockdown, namespaces, seccomp

_LIBRARIES_MB = 1536  # address space that a kernel with PyTorch takes before it does anything
_TASKS = 64  # threads: nbval and the kernel have about twenty
_KERNEL = "one_process"  # the name under which nbval finds our kernel
_OPEN_FILES = 256
_LONGEST_ERROR = 1000

# What a kernel needs beyond `seccomp`'s list: numbers on x86_64, on aarch64.
_MORE_CALLS = {
    **{"connect": (42, 203), "accept": (43, 202), "accept4": (288, 242), "bind": (49, 200)},
    **{"listen": (50, 201), "shutdown": (48, 210), "socketpair": (53, 199)},
    **{"sendmsg": (46, 211), "recvmsg": (47, 212), "setsockopt": (54, 208)},
    **{"getpeername": (52, 205), "fork": (57, None), "vfork": (58, None), "execve": (59, 221)},
    **{"kill": (62, 129), "tgkill": (234, 131), "setsid": (112, 157), "setpgid": (109, 154)},
    **{"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53)},
    **{"epoll_create": (213, None), "signalfd4": (289, 74), "timerfd_create": (283, 85)},
    **{"utimensat": (280, 88), "sched_setscheduler": (144, 119), "setpriority": (141, 140)},
    **{"seccomp": (317, 277)},  # until the kernel is there
}
_CLONE, _SOCKET = (56, 220), (41, 198)
_NAMESPACES = 0x7E020080  # every CLONE_NEW… flag
_UNIX, _INTERNET, _INTERNET_6 = 1, 2, 10
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


def main(
    seconds: float,
    memory_mb: int,
    file_mb: int,
    compares: bool,
    is_locked: bool,
    is_one_process: bool,
) -> None:
    """Read a notebook, run it, say what came of it."""
    content = sys.stdin.buffer.read()
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    with open(os.devnull, "r+b", buffering=0) as nothing:
        for stream in (0, 1, 2):
            os.dup2(nothing.fileno(), stream)
    os.chdir(os.environ["HOME"])
    with open("notebook.ipynb", "wb") as file:
        file.write(content if compares else _without_outputs(content))
    if is_locked:
        _lock_down(seconds, memory_mb, file_mb)
    os.environ.pop("MPLBACKEND", None)  # a kernel has a backend of its own
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # the kernel is a Python of its own
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.write(answers, b"started\n")
    watch = _Watch(answers, is_one_process)
    try:
        _run(seconds, compares, watch, is_one_process)
    except BaseException as fault:
        watch.say(f"unable {type(fault).__name__}: {fault}")
    watch.say("yes")


def _run(seconds: float, compares: bool, watch: "_Watch", is_one_process: bool) -> None:
    import pytest

    plugins = [word for name in ("nbval.plugin", "no:cacheprovider") for word in ("-p", name)]
    kernel = ["--nbval-current-env"]
    if is_one_process:
        _describe_kernel()
        kernel = [f"--nbval-kernel-name={_KERNEL}"]
    options = ["--nbval" if compares else "--nbval-lax", *kernel, "--exitfirst"]
    timeout = f"--nbval-cell-timeout={seconds}"
    rules = ["-c", os.devnull, "--rootdir", "."]
    code = pytest.main([*plugins, *options, timeout, *rules, "notebook.ipynb"], plugins=[watch])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):  # no code, no fault
        watch.say(f"unable pytest ended with {code!r}")


def _describe_kernel() -> None:
    """Write down, where Jupyter looks for it, how our kernel is started."""
    place = os.path.join(os.getcwd(), "kernels", _KERNEL)
    os.makedirs(place)
    start = [sys.executable, "-m", "attn_course.inside.one_process_kernel"]
    described = {"argv": [*start, "-f", "{connection_file}"], "display_name": _KERNEL}
    with open(os.path.join(place, "kernel.json"), "w", encoding="utf-8") as file:
        json.dump(described | {"language": "python"}, file)
    os.environ["JUPYTER_PATH"] = os.getcwd()


class _Watch:
    """Sees in pytest what goes wrong first, and also whether the kernel is alive."""

    def __init__(self, answers: int, is_one_process: bool) -> None:
        self._answers = answers
        self._is_one_process = is_one_process
        self._once = threading.Lock()
        self._ended = threading.Event()

    def say(self, words: str) -> None:
        """Say how it ended and end, since nothing that comes later counts."""
        if self._once.acquire(blocking=False):
            os.write(self._answers, words.encode(errors="replace"))
            os._exit(0)

    def pytest_runtest_call(self, item: Any) -> None:
        """See with the first cell that its kernel stays: nbval would wait for a dead one."""
        if item.cell_num == 0:
            if self._is_one_process:  # no cell has run yet, and no process is needed any more
                seccomp.install_in_all_threads(seccomp.program_against_processes())
            kernel = item.parent.kernel.km.provisioner.process
            threading.Thread(target=self._see_it_live, args=(kernel,), daemon=True).start()

    def _see_it_live(self, kernel: Any) -> None:
        while not self._ended.wait(0.1):
            if kernel.poll() is not None:
                self.say("no 0 the kernel ended")

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Say which cell raised what."""
        self._ended.set()
        fault = call.excinfo.value
        if getattr(call, "when", "") != "call":  # the kernel did not start, or no notebook is here
            self.say(f"unable {type(fault).__name__}: {fault}"[:_LONGEST_ERROR])
        raised = [out for out in node.test_outputs or () if "ename" in out]
        place = _places()[node.cell_num]
        if "Timeout" in str(fault):
            error = "timeout"
        elif raised:
            error = f"{raised[-1]['ename']}: {raised[-1]['evalue']}"
        elif "Kernel" in str(fault):
            place, error = 0, "the kernel ended"
        else:
            error = str(fault)
        self.say(f"no {place} {error}"[:_LONGEST_ERROR])

    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> None:
        """After the last cell the kernel may end."""
        if nextitem is None:
            self._ended.set()


def _places() -> list[int]:
    """Return the places (from 1) of the code cells, which nbval counts by themselves."""
    with open("notebook.ipynb", encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    return [place for place, cell in enumerate(cells, start=1) if cell["cell_type"] == "code"]


def _without_outputs(content: bytes) -> bytes:
    """Return the notebook without what was shown when its author ran it: the shim shows less."""
    notebook = json.loads(content)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return json.dumps(notebook).encode()


def _lock_down(seconds: float, memory_mb: int, file_mb: int) -> None:
    """Give up what can be given up here; bubblewrap has hidden the rest already."""
    if os.geteuid() == 0:
        lockdown.become(lockdown.NOBODY)
        with suppress(OSError):  # in a new namespace its threads are counted from zero
            namespaces.unshare(["user"])
    lockdown.set_capabilities(0)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if memory runs out, it is this one that goes
    megabyte = 2**20
    for kind, value in (
        (resource.RLIMIT_AS, (_LIBRARIES_MB + memory_mb) * megabyte),
        (resource.RLIMIT_CPU, 2 * int(seconds) + 60),
        (resource.RLIMIT_NPROC, _TASKS),
        (resource.RLIMIT_FSIZE, file_mb * megabyte),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    _filter_calls()


def _filter_calls() -> None:
    """Put two filters before every system call: what a call may be, and what two of them may do."""
    column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
    clone, socket = _CLONE[column], _SOCKET[column]
    more = [numbers[column] for numbers in _MORE_CALLS.values()]
    arguments = [
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _NAMESPACES),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 5, socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 3, 0, _UNIX),
        (_EQUAL, 2, 0, _INTERNET),
        (_EQUAL, 1, 0, _INTERNET_6),
        (_RETURN, 0, 0, _REFUSE | errno.EINVAL),  # ZeroMQ can do without, if told so in this way
        (_RETURN, 0, 0, _ALLOW),
    ]
    allowed = [number for number in [*more, clone, socket] if number is not None]
    seccomp.install(arguments)
    seccomp.install(seccomp.program(os.getpid(), allowed))
