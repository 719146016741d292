"""The worker: a warm Python inside the sandbox that forks one child for each submission.

It has NumPy and PyTorch loaded and used once, so that a child is ready in milliseconds. It runs no
submission itself and never reads a byte that one wrote: the grader hands it one end of a fresh
socket pair, the child inherits it, and the grader talks to the child alone. On the control
socket the worker gets one byte at a time:

    F, with a descriptor     fork a child that answers on this socket
    E                        end the child, whatever it does, and say how it ended
    W                        the same, but one that hung up may end by itself, to see how

In the child: lock everything (`lockdown`), say that it is ready, run the cells that the wanted
names need, and answer requests until the grader hangs up.
"""

import gc
import importlib
import os
import random
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import Any

from attn_course.inside import lockdown, namespaces
from attn_course.inside.notebook import Cell
from attn_course.inside.plan import Plan
from attn_course.inside.protocol import (
    COULD_NOT_LOCK,
    END,
    FORK,
    OUT_OF_MEMORY,
    UNASKED,
    WAIT,
    Channel,
    Gone,
)
from attn_course.inside.selection import answers_in
from attn_course.inside.shortcuts import shortcuts
from attn_course.inside.submission import LocalSubmission
from attn_course.inside.wire import NotPlain, Plain
from attn_course.translate import _

_PATIENCE = 2.0  # seconds for threads of libraries, or a child that hung up, to end


class Worker:
    """The fork server."""

    def __init__(self, control: Channel) -> None:
        self._control = control
        self._child = 0
        self._why_no_child = ""
        self._home: int | None = None
        self._rules: int | None = None

    def run(self) -> None:
        """Build the walls, get warm, then serve until the grader closes the control socket."""
        _identity, values = self._control.receive()
        plan = Plan.from_plain(values)
        if plan.drops_early:
            lockdown.become(plan.user)
        if plan.namespaces:
            self._home = namespaces.settle(plan.namespaces)
        importlib.import_module("attn_course.practice")  # the inert one; locked up, no file is read
        _find_no_more(frozenset(plan.hidden_modules))
        if plan.is_warm:
            warm_up()
        if plan.landlock and "mount" not in plan.namespaces:
            self._rules = lockdown.rules_for(plan)
        _seed()  # once: each child is a copy
        _wait_for_other_threads()
        gc.collect()
        gc.freeze()  # or the child's first collection would copy every page
        self._control.send(UNASKED, {"python": sys.version, "packages": _versions()})
        self._serve(plan)

    def _serve(self, plan: Plan) -> None:
        while True:
            order, descriptors, _flags, _address = socket.recv_fds(self._control.socket, 1, 1)
            if order == FORK and descriptors:
                self._fork(plan, descriptors[0])
            elif order in (WAIT, END):
                self._control.send(UNASKED, self._end(waits=order == WAIT))
            else:  # the grader is gone
                self._end()
                return

    def _fork(self, plan: Plan, channel: int) -> None:
        try:
            if self._home is not None and "pid" in plan.namespaces:
                self._child = namespaces.fork_as_first(self._home)
            else:
                self._child = os.fork()
        except OSError as fault:
            self._why_no_child = str(fault)
        else:
            if self._child == 0:
                _be_a_submission(plan, channel, self._rules)
        os.close(channel)  # the child has it now; its end must be the end of the connection

    def _end(self, waits: bool = False) -> dict[str, Plain]:
        """End the child and all it started; say how it ended."""
        failed, self._why_no_child = self._why_no_child, ""
        if not self._child:
            failed = failed or "there is no child"
            return {"status": 0, "seconds": 0.0, "was_alive": False, "failed": failed}
        ended = _wait(self._child, time.monotonic() + _PATIENCE) if waits else None
        for everyone in (-self._child, self._child):  # the group, where there are no namespaces
            with suppress(ProcessLookupError, PermissionError):
                os.kill(everyone, signal.SIGKILL)
        _pid, status, usage = ended or os.wait4(self._child, 0)
        self._child = 0
        return {
            "status": os.waitstatus_to_exitcode(status),
            "seconds": usage.ru_utime + usage.ru_stime,
            "was_alive": ended is None,
            "failed": failed,
        }


def _find_no_more(hidden: frozenset[str]) -> None:
    """Let Python find no hidden module: else it finds the file, and is refused to read it."""

    class Finder(PathFinder):
        @classmethod
        def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
            return None if name in hidden else PathFinder.find_spec(name, path, target)

    sys.meta_path[:] = [Finder if one is PathFinder else one for one in sys.meta_path]


def _wait(child: int, deadline: float) -> Any:
    """Return how the child ended, if it ends before `deadline`."""
    while time.monotonic() < deadline:
        ended = os.wait4(child, os.WNOHANG)
        if ended[0]:
            return ended
        time.sleep(0.001)
    return None


def warm_up() -> None:
    """Load and use once what submissions use: later it would cost each of them a second."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot
    import torch

    torch.set_num_threads(1)  # one thread: a fork takes no other along, and would hang
    torch.set_num_interop_threads(1)
    layer = torch.nn.Linear(3, 2)
    optimiser = torch.optim.Adam(layer.parameters())
    layer(torch.ones(5, 3)).sum().backward()
    optimiser.step()
    _rehearse()


# An answer of every kind, and one that is not written yet.
_REHEARSAL = """
import numpy as np
import torch
def function(x):
    return np.exp(x) / np.exp(x).sum()
def stub():
    raise NotImplementedError
class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
    def forward(self, x):
        return torch.softmax(self.layer(x), dim=-1)
"""


def _rehearse() -> None:
    """Do once what a submission does: what Python and PyTorch prepare at first use is then there.

    Each child has a sixth fewer pages to copy for it.
    """
    import numpy
    import torch

    names = ["function", "stub", "Module"]
    submission, _response = _begin([[1, _REHEARSAL]], names, "rehearsal", {})
    inputs = numpy.ones((5, 3), numpy.float32)
    tensor = torch.from_numpy(inputs)
    weights = {"layer.weight": inputs[:2], "layer.bias": inputs[0, :2]}
    for op, payload in (
        ("call", {"name": "function", "args": (inputs,), "kwargs": {}}),
        ("call", {"name": "stub", "args": (), "kwargs": {}}),
        ("construct", {"name": "Module", "kwargs": {}}),
        ("parameters", {"module": 0}),
        ("load", {"module": 0, "parameters": weights}),
        ("forward", {"module": 0, "args": (tensor,)}),
        ("vjp", {"module": 0, "args": (tensor,), "cotangent": inputs[:, :2]}),
    ):
        submission.request(op, payload)


def _be_a_submission(plan: Plan, channel: int, rules: int | None) -> None:
    """Do all that a child does. It never returns, nor runs what the worker left to do at exit."""
    code = COULD_NOT_LOCK
    try:
        end = Channel(socket.socket(fileno=channel))
        try:
            lockdown.lock_down(plan, channel, rules)
        except Exception as fault:
            end.send(UNASKED, {"failed": f"{type(fault).__name__}: {fault}"})
            os._exit(COULD_NOT_LOCK)
        code = 0
        random.seed(0)  # Python itself seeds its own anew at each fork
        end.send(UNASKED, {"failed": ""})
        _answer(end)
    except MemoryError:
        code = OUT_OF_MEMORY
    except Gone:
        code = 0
    finally:
        os._exit(code)


def _answer(end: Channel) -> None:
    submission = LocalSubmission({})
    while True:
        identity, (op, payload) = end.receive()
        try:
            if op == "begin":
                submission, response = _begin(**payload)
            else:
                response = submission.request(op, payload)
        except MemoryError:
            raise
        except BaseException as fault:  # KeyboardInterrupt, or a class that imitates it
            raised = {"type": type(fault).__name__[:200], "message": "", "line": ""}
            response = {"raised": raised}
        try:
            end.send(identity, response)
        except NotPlain:  # half a character in a name, say
            end.send(identity, {"raised": {"type": "TypeError", "message": "", "line": ""}})


def _begin(
    cells: list[Any], names: list[str], file: str, without: dict[str, list[str]]
) -> tuple[LocalSubmission, dict[str, Plain]]:
    """Run what `names` need of `cells`; the response has what a learner should know about it."""
    made = [Cell(number, "code", source) for number, source in cells]
    notes = [note for name in names for note in _shortcuts(made, name, without.get(name, []))]
    answers = answers_in(made, names, file)  # from here on nothing in this process can be trusted
    problems = [[sorted(problem.names), problem.sentence] for problem in answers.problems]
    problems += notes
    return LocalSubmission(answers.values), {"value": problems}


def _shortcuts(cells: list[Cell], name: str, avoided: list[str]) -> list[Any]:
    used = shortcuts(cells, name, avoided) if avoided else []
    if not used:
        return []
    sentence = _("You were asked to do without {words}. The points are yours all the same.")
    return [[[name], sentence.format(words=", ".join(used))]]


def _seed() -> None:
    """Let every child begin with the same random numbers."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(0)
    if torch is not None:
        torch.manual_seed(0)


def _wait_for_other_threads() -> None:
    """Wait until this thread is the only one, since only then a fork is safe."""
    end = time.monotonic() + _PATIENCE
    while os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > 1:
        if time.monotonic() > end:
            raise RuntimeError("a library started a thread of its own, and a fork would hang")
        time.sleep(0.01)


def _versions() -> dict[str, str]:
    names = ("numpy", "torch", "matplotlib", "msgpack")
    loaded = {name: sys.modules[name] for name in names if name in sys.modules}
    return {name: str(getattr(module, "__version__", "")) for name, module in loaded.items()}


def main(control: int) -> None:
    """Serve on the socket with this descriptor."""
    Worker(Channel(socket.socket(fileno=control))).run()
