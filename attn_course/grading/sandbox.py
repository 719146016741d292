"""A sandbox for submissions: cells go in, requests go in, plain values come out.

    with Sandbox(find_rung("auto"), Limits()) as sandbox:
        with sandbox.open(cells, ["softmax"]) as submission:
            submission.request("call", {"name": "softmax", "args": (x,), "kwargs": {}})

A submission that crashes, loops, takes too much memory or lies about its answers gets a verdict,
and every later request is answered with it at once. `InfrastructureFault` means that the grader's
own machinery failed; nothing else is worth a second try.
"""

from collections.abc import Mapping, Sequence

from attn_course.grading.isolation import Rung
from attn_course.grading.launch import InfrastructureFault, WorkerProcess
from attn_course.grading.sandboxed_submission import NOTHING_AVOIDED, SandboxedSubmission
from attn_course.inside.limits import Barriers, Limits
from attn_course.inside.notebook import Cell

__all__ = ["HeadStart", "InfrastructureFault", "Sandbox", "SandboxedSubmission"]


class Sandbox:
    """Keeps a warm worker on a rung, and opens one submission after the other in it.

    A worker lives no longer than the thread that made the sandbox. One that is not warm starts
    sooner and loads PyTorch only in the submissions that ask for it. With `waits=False` the worker
    warms up while we do something else, and the first submission waits for it.
    """

    def __init__(
        self,
        rung: Rung,
        limits: Limits,
        barriers: Barriers | None = None,
        is_warm: bool = True,
        waits: bool = True,
    ) -> None:
        self.rung = rung
        self.limits = limits
        self._barriers = barriers
        self._is_warm = is_warm
        self._worker: WorkerProcess | None = self._start(waits)
        self._open: SandboxedSubmission | None = None

    def open(
        self,
        cells: Sequence[Cell],
        names: Sequence[str],
        file: str = "notebook",
        without: Mapping[str, Sequence[str]] = NOTHING_AVOIDED,
    ) -> "SandboxedSubmission":
        """Return a fresh child that has run what `names` need of `cells`.

        `without` has for some names what they are asked to do without. There is one child at a
        time: the one before is closed.
        """
        if self._open is not None:
            self._open.close()
        if self._worker is None:
            self._worker = self._start()
        try:
            self._worker.wait()
            submission = SandboxedSubmission(self._worker, self.limits, self._let_go)
        except InfrastructureFault:
            self._let_go(is_broken=True)
            raise
        self._open = submission
        submission.begin(cells, names, file, without)
        return submission

    def wait(self) -> None:
        """Wait until the worker is warm."""
        if self._worker is not None:
            self._worker.wait()

    def hand_over(self) -> None:
        """Leave it to a process that was forked from this one; `close` then only tidies up."""
        if self._worker is not None:
            self._worker.hand_over()

    def close(self) -> None:
        """End the worker and everything in it."""
        if self._open is not None:
            self._open.close()
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _start(self, waits: bool = True) -> WorkerProcess:
        return WorkerProcess(self.rung, self.limits, self._barriers, self._is_warm, waits)

    def _let_go(self, is_broken: bool) -> None:
        """Forget a child that ended; with it a worker that did not obey."""
        self._open = None
        if is_broken and self._worker is not None:
            self._worker.close()
            self._worker = None

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()


class HeadStart:
    """Opens sandboxes; the first begins to warm up at once, for whoever opens it in a fork.

    Warming up takes seconds, in which this process loads what it needs itself. That saves about 5 s
    per run, which is 8 % of the time for 200 notebooks (two jobs on two busy cores; medians of six
    pairs of runs, with and without).
    """

    def __init__(self, rung: Rung, limits: Limits) -> None:
        self._rung = rung
        self._limits = limits
        self._started = Sandbox(rung, limits, waits=False)
        self._is_taken = False

    def open(self) -> Sandbox:
        """Return a warm sandbox."""
        if self._is_taken:
            return Sandbox(self._rung, self._limits)
        self._is_taken = True
        self._started.wait()
        return self._started

    def hand_over(self) -> None:
        """Leave the first to the process that was just forked."""
        if not self._is_taken:
            self._is_taken = True
            self._started.hand_over()

    def __enter__(self) -> "HeadStart":
        return self

    def __exit__(self, *_fault: object) -> None:
        self._started.close()
