"""One submission in the sandbox, seen from outside: requests, answers, and how it ended."""

import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from attn_course.grading.launch import InfrastructureFault, WorkerProcess
from attn_course.inside.limits import Limits
from attn_course.inside.notebook import Cell
from attn_course.inside.protocol import (
    OUT_OF_MEMORY,
    UNASKED,
    Channel,
    Gone,
    OutOfTime,
    ProtocolBroken,
    printable,
    require_answer,
)
from attn_course.inside.selection import Problem
from attn_course.inside.wire import Plain
from attn_course.practice.results import Verdict
from attn_course.translate import _

NOTHING_AVOIDED: Mapping[str, Sequence[str]] = MappingProxyType({})
_SECONDS_TO_FORK = 60.0
_LONGEST_SENTENCE = 1000
_MOST_PROBLEMS = 1000


class SandboxedSubmission:
    """A learner's answers in a child of the worker; see `practice.submission` for the requests."""

    def __init__(
        self, worker: WorkerProcess, limits: Limits, let_go: Callable[[bool], None]
    ) -> None:
        self.verdict: Verdict | None = None
        self.problems: list[Problem] = []
        self.last_words = ""
        self._limits = limits
        self._worker = worker
        self._let_go = let_go
        self._is_open = True
        self._channel = Channel(worker.fork(), limits.message_mb * 2**20)
        self._await_ready()

    def begin(
        self,
        cells: Sequence[Cell],
        names: Sequence[str],
        file: str,
        without: Mapping[str, Sequence[str]] = NOTHING_AVOIDED,
    ) -> None:
        """Run what `names` need of `cells`. Nothing of a cell was looked at outside the sandbox."""
        sources = [[cell.number, cell.source] for cell in cells if cell.kind == "code"]
        avoided = {name: list(words) for name, words in without.items()}
        payload = {"cells": sources, "names": list(names), "file": file, "without": avoided}
        response = self.request("begin", payload, self._limits.submission_seconds)
        if self.verdict is None and "value" in response:
            try:
                self.problems = _problems(response["value"], names)
            except ProtocolBroken as fault:
                self._breach(fault)
        elif self.verdict is None:
            sentence = _("The cells could not be run: {type}.").format(**response["raised"])
            self.problems = [Problem(frozenset(names), sentence)]

    def request(
        self, op: str, payload: dict[str, Plain], seconds: float = math.inf
    ) -> dict[str, Plain]:
        """Carry out one request; after a verdict every answer is that verdict.

        It may take as long as one call may, and no longer than `seconds`.
        """
        if self._is_open:
            allowed = min(self._limits.call_seconds, seconds)
            try:
                answer = self._channel.ask([op, payload], allowed)
                return require_answer(answer, may_miss="name" in payload)
            except OutOfTime:
                self._out_of_time(is_call=allowed < seconds)
            except ProtocolBroken as fault:
                self._breach(fault)
            except Gone:
                self._ended()
        message = self.last_words or _("The submission was closed before.")
        return {"raised": {"type": str(self.verdict or "closed"), "message": message, "line": ""}}

    def close(self) -> None:
        """End the child; nothing of it is left."""
        if not self._is_open:
            return
        try:
            self._worker.end()
        except InfrastructureFault:  # the answers are there already; the next one gets a new worker
            self._hang_up(is_broken=True)
        else:
            self._hang_up()

    def _await_ready(self) -> None:
        """Wait until the child has locked itself: until then no foreign code has run in it."""
        try:
            identity, ready = self._channel.receive(time.monotonic() + _SECONDS_TO_FORK)
            why = "" if identity == UNASKED and ready == {"failed": ""} else str(ready)
        except (OutOfTime, Gone, ProtocolBroken) as fault:
            why = type(fault).__name__
        if why:
            failed = self._worker.end()["failed"]
            self._channel.close()
            raise InfrastructureFault(f"no child could be made: {why} {failed}")

    def _out_of_time(self, is_call: bool) -> None:
        # How much an exercise may take depends on the others, so the sentence has no number.
        sentence = _("It used up the time that there was for this exercise.")
        if is_call:
            sentence = _("It took longer than the {seconds:g} seconds allowed for one call.")
        self._judge(Verdict.TIMED_OUT, sentence.format(seconds=self._limits.call_seconds))

    def _breach(self, fault: ProtocolBroken) -> None:
        sentence = _("What came back is no answer to what was asked: {why}.")
        self._judge(Verdict.BROKE_PROTOCOL, sentence.format(why=printable(str(fault)[:300])))

    def _ended(self) -> None:
        """Find out how a child ended that is no longer there."""
        try:
            end = self._worker.end(hung_up=True)
        except InfrastructureFault:
            self._hang_up(is_broken=True)
            raise
        self._hang_up()
        self.verdict, self.last_words = _verdict(end, self._limits)

    def _judge(self, verdict: Verdict, sentence: str) -> None:
        self.verdict, self.last_words = verdict, sentence
        self.close()

    def _hang_up(self, is_broken: bool = False) -> None:
        self._is_open = False
        self._channel.close()
        self._let_go(is_broken)

    def __enter__(self) -> "SandboxedSubmission":
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()


def _verdict(end: dict[str, Plain], limits: Limits) -> tuple[Verdict, str]:
    """Return the verdict on a child that ended by itself, and the sentence for the learner."""
    status = end["status"]
    too_much = _("It needed more than the {mb} MB of memory allowed.").format(mb=limits.memory_mb)
    if end["was_alive"]:
        return Verdict.BROKE_PROTOCOL, _("It closed the connection to the grader.")
    if status == OUT_OF_MEMORY:
        return Verdict.OUT_OF_MEMORY, too_much
    if status == -signal.SIGKILL:  # by the kernel: it computed too long, or took all memory
        if end["seconds"] >= limits.submission_seconds:
            return Verdict.TIMED_OUT, _("It used more time of the processor than is allowed.")
        return Verdict.OUT_OF_MEMORY, too_much
    if status < 0:
        name = _signal_name(-status)
        return Verdict.CRASHED, _("It ended the whole Python process ({signal}).").format(
            signal=name
        )
    return Verdict.CRASHED, _("It left the whole Python process (exit code {code}).").format(
        code=status
    )


def _signal_name(number: int) -> str:
    """Return a signal's name; those between the named ones have only their number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return _("signal {number}").format(number=number)


def _problems(found: Plain, names: Sequence[str]) -> list[Problem]:
    """Return what the child says about the cells, as far as it concerns the names asked for."""
    if not isinstance(found, list) or len(found) > _MOST_PROBLEMS:
        raise ProtocolBroken("no list of problems")
    problems = []
    for entry in found:
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], str):
            raise ProtocolBroken("no problem")
        about = [name for name in names if isinstance(entry[0], list) and name in entry[0]]
        problems.append(Problem(frozenset(about), printable(entry[1][:_LONGEST_SENTENCE])))
    return problems
