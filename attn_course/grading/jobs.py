"""Several notebooks at once: a process for each job, which has a sandbox of its own.

The process that keeps the gradebook reads files and writes results, and nothing else. Jobs are
forked from it. They get a notebook as bytes and send a record back as JSON; both are ours, and
still there is no pickle. Which job grades a notebook makes no difference to its record.

A job that is gone is replaced and its notebook tried once more: that is our fault, not the
learner's. A job that is overdue is ended, and its notebook is not tried again: whatever held it up
costs one notebook and not the run. When the process that started them ends, however it ends, the
jobs see the end of their pipe and end too.
"""

import json
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Protocol

from attn_course.grading.records import Record, from_json
from attn_course.translate import _

_MOST_FAILED_STARTS = 3
_PATIENCE = 2.0  # seconds for a job to put its sandbox away
_LONGEST_WAIT = 3600.0  # seconds: the system can't count many days


@dataclass(frozen=True)
class ToGrade:
    """One notebook to grade: its content, and the name under which messages speak of it."""

    number: int  # the place among all notebooks, by which the record finds back
    seed: int  # of its inputs
    chapter: str
    name: str
    content: bytes


class Grader(Protocol):
    """What a job does its work with."""

    def grade(self, task: ToGrade) -> Record:
        """Return how a notebook went."""
        ...

    def close(self) -> None:
        """Put everything away."""
        ...


MakeGrader = Callable[[], Grader]


@dataclass(frozen=True)
class Done:
    """A graded notebook; without a record where the job was overdue, or ended twice on it."""

    task: ToGrade
    record: Record | None
    seconds: float
    is_overdue: bool = False
    rung: str = ""  # which isolation was in force, where that was not decided here


class JobsFailed(Exception):  # noqa: N818  (it says what is the matter)
    """No job could be started: the text says why."""


def in_this_process(make_grader: MakeGrader, tasks: Iterable[ToGrade]) -> Iterator[Done]:
    """Grade one after the other, here: where processes can't be forked."""
    grader = make_grader()
    try:
        for task in tasks:
            start = time.monotonic()
            record = grader.grade(task)
            yield Done(task, record, time.monotonic() - start)
    finally:
        grader.close()


def can_fork() -> bool:
    """Return whether jobs can be processes: on macOS a forked process may not use its libraries."""
    return sys.platform.startswith("linux")


def default_jobs(memory_mb: int) -> int:
    """Return as many jobs as there are cores, but no more than there is memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, _free_memory_mb() // (memory_mb + 600)))  # 600: our own side


def _free_memory_mb() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = next(line for line in lines if line.startswith("MemAvailable"))
        return int(found.split()[1]) // 1024
    except (OSError, StopIteration):
        return 4096


class Jobs:
    """So many processes that grade: `for done in Jobs(2, make_grader).run(tasks): …`.

    A job that has had its notebook for more than `seconds` is overdue.
    """

    def __init__(
        self,
        count: int,
        make_grader: MakeGrader,
        seconds: float,
        after_fork: Callable[[], None] = lambda: None,
    ) -> None:
        self._seconds = seconds
        self._make_grader = make_grader
        self._after_fork = after_fork
        self._count = count
        self._jobs: list[_Job] = []
        self._failed_starts = 0
        self._again: deque[ToGrade] = deque()
        self._tried: set[int] = set()

    def run(self, tasks: Iterable[ToGrade]) -> Iterator[Done]:
        """Yield what was graded, in the order in which it is finished."""
        waiting = iter(tasks)
        try:
            while True:
                self._start()
                self._hand_out(waiting)
                busy = [job for job in self._jobs if job.task is not None]
                if not busy:
                    return
                left = min(job.deadline for job in busy) - time.monotonic()
                connections = [job.connection for job in busy]
                ready = wait(connections, min(max(left, 0.0), _LONGEST_WAIT))
                for job in busy:
                    done = self._collect(job) if job.connection in ready else self._stop(job)
                    if done is not None:
                        yield done
        finally:
            self.close()

    def close(self) -> None:
        """End all jobs, whatever they are doing."""
        for job in self._jobs:
            job.connection.close()
        for job in self._jobs:
            job.end()
        self._jobs.clear()

    def _start(self) -> None:
        while len(self._jobs) < self._count:
            self._jobs.append(_Job(self._make_grader, self._jobs))
            self._after_fork()

    def _hand_out(self, waiting: Iterator[ToGrade]) -> None:
        for job in [job for job in self._jobs if job.task is None]:
            task = self._again.popleft() if self._again else next(waiting, None)
            if task is None:
                return
            job.send(task, time.monotonic() + self._seconds)

    def _collect(self, job: "_Job") -> Done | None:
        """Return what a job sent; None where it sent nothing and its notebook is tried again."""
        task = job.task
        assert task is not None  # only busy jobs are listened to
        try:
            answer = job.receive()
        except (EOFError, OSError):
            return self._replace(job, task)  # it ended without a word
        if "failed" in answer:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                why = answer["failed"].rstrip(".")
                raise JobsFailed(_("No job could be started: {why}.").format(why=why))
            return self._replace(job, task)
        self._failed_starts = 0
        return Done(task, from_json(answer["record"]), answer["seconds"])

    def _stop(self, job: "_Job") -> Done | None:
        """End a job that is overdue; return None for one that has time left."""
        task = job.task
        assert task is not None  # only busy jobs are waited for
        if time.monotonic() < job.deadline:
            return None
        self._jobs.remove(job)
        job.connection.close()
        job.end(patience=0.0)
        return Done(task, None, self._seconds, is_overdue=True)

    def _replace(self, job: "_Job", task: ToGrade) -> Done | None:
        self._jobs.remove(job)
        job.connection.close()
        job.end()
        if task.number in self._tried:
            return Done(task, None, 0.0)
        self._tried.add(task.number)
        self._again.append(task)
        return None


class _Job:
    """One process, and what it is working on."""

    def __init__(self, make_grader: MakeGrader, others: Iterable["_Job"]) -> None:
        self.connection, theirs = Pipe()
        self.task: ToGrade | None = None
        self.deadline = 0.0  # for this task, by `time.monotonic`
        # The ends that we hold must not live on in the new process, or no job would see them close.
        ours = [self.connection, *(job.connection for job in others)]
        fork: Any = multiprocessing.get_context("fork")
        self._process = fork.Process(target=_serve, args=(theirs, ours, make_grader), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, task: ToGrade, deadline: float) -> None:
        self.task, self.deadline = task, deadline
        header = {name: getattr(task, name) for name in ("number", "seed", "chapter", "name")}
        with suppress(OSError):  # it is gone, as `receive` will find
            self.connection.send_bytes(json.dumps(header).encode())
            self.connection.send_bytes(task.content)

    def receive(self) -> dict[str, Any]:
        answer = json.loads(self.connection.recv_bytes())
        self.task = None
        return answer

    def end(self, patience: float = _PATIENCE) -> None:
        self._process.join(patience)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()


def _serve(connection: Connection, inherited: list[Connection], make_grader: MakeGrader) -> None:
    """Be a job: grade what comes until nothing comes any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started us
    for other in inherited:
        other.close()
    try:
        grader = make_grader()
    except Exception as fault:
        with suppress(OSError):  # whoever started us found the same, and is gone
            _send(connection, {"failed": str(fault) or type(fault).__name__})
        return
    try:
        while True:
            header = json.loads(connection.recv_bytes())
            task = ToGrade(**header, content=connection.recv_bytes())
            start = time.monotonic()
            record = grader.grade(task)
            seconds = time.monotonic() - start
            _send(connection, {"record": record.to_json(), "seconds": seconds})
    except (EOFError, ConnectionError):
        pass  # whoever started us is done, or gone
    finally:
        grader.close()


def _send(connection: Connection, answer: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(answer).encode())
