"""A sandbox that is none: the answers run in this very process, so that tests start at once.

An answer ends its "child" by raising an exception with a telling name: `Crash`, `Loop`, `Bomb`,
`Forge`. A fake worker fails when a cell says so: `# the worker fails here`. Time passes only by
`takes`, which says how many seconds each call of an answer takes, and on a clock of its own.
"""

import math
from contextlib import contextmanager

from attn_course.grading.sandbox import InfrastructureFault
from attn_course.inside.selection import answers_in
from attn_course.inside.submission import LocalSubmission
from attn_course.practice.results import Verdict

VERDICTS = {
    "Crash": Verdict.CRASHED,
    "Loop": Verdict.TIMED_OUT,
    "Bomb": Verdict.OUT_OF_MEMORY,
    "Forge": Verdict.BROKE_PROTOCOL,
}
EXCEPTIONS = "\n".join(f"class {name}(Exception): pass" for name in VERDICTS)


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


class FakeSandbox:
    def __init__(self, takes=None, call_seconds=10.0, cells_take=0.0):
        self.opened = []  # the names asked of each child
        self.closed = False
        self.failures_left = 0
        self.clock = Clock()
        self.takes = takes or {}
        self.call_seconds = call_seconds
        self.cells_take = cells_take

    @contextmanager
    def open(self, cells, names, file="notebook", without=None):
        assert not self.closed
        self.opened.append(list(names))
        if self.failures_left > 0 or any("# the worker fails here" in c.source for c in cells):
            self.failures_left -= 1
            raise InfrastructureFault("the worker is gone")
        self.clock.advance(self.cells_take)
        yield FakeSubmission(answers_in(cells, names, file), self)

    def wait(self):
        assert not self.closed

    def hand_over(self):
        raise AssertionError("this sandbox does not fork")

    def close(self):
        self.closed = True


class FakeSubmission:
    def __init__(self, answers, sandbox):
        self._sandbox = sandbox
        self._local = LocalSubmission(answers.values)
        self.problems = answers.problems
        self.verdict = None
        for problem in answers.problems:
            for name, verdict in VERDICTS.items():
                if f"raised {name}:" in problem.sentence:
                    self.verdict = verdict

    @property
    def last_words(self):
        return f"It {self.verdict}." if self.verdict else ""

    def request(self, op, payload, seconds=math.inf):
        if self.verdict is None:
            self._let_time_pass(payload.get("name"), seconds)
        if self.verdict is None:
            response = self._local.request(op, payload)
            self.verdict = VERDICTS.get(response.get("raised", {}).get("type"))
            if self.verdict is None:
                return response
        return {"raised": {"type": str(self.verdict), "message": self.last_words, "line": ""}}

    def _let_time_pass(self, name, seconds):
        needed = self._sandbox.takes.get(name, 0.0)
        allowed = min(self._sandbox.call_seconds, seconds)
        self._sandbox.clock.advance(min(needed, allowed))
        if needed > allowed:
            self.verdict = Verdict.TIMED_OUT
