"""A submission in the sandbox answers as one at home does; its faults are its own."""

import copy
import os
import signal

import numpy as np
import pytest
import torch

from attn_course.grading import isolation_trial
from attn_course.grading.grade_one import grade_cells
from attn_course.grading.isolation import Rung
from attn_course.grading.sandbox import HeadStart, InfrastructureFault, Sandbox
from attn_course.inside.limits import Limits
from attn_course.inside.protocol import Channel
from attn_course.inside.selection import answers_in
from attn_course.inside.submission import LocalSubmission
from attn_course.practice.compare import same
from attn_course.practice.results import Verdict
from tests.grading.available_rungs import SANDBOXES, rung_or_skip
from tests.grading.fixture_chapter import chapter, sources
from tests.grading.in_a_sandbox import ask, call, cells, open_with, value_of

LIMITS = Limits(call_seconds=10, submission_seconds=60, memory_mb=300, message_mb=1)
SHORT = Limits(call_seconds=0.5, submission_seconds=60)
HARMLESS = "def f(x):\n    return 2 * x"


@pytest.fixture(scope="module", params=[*SANDBOXES, "E"])
def rung(request):
    return Rung("E") if request.param == "E" else rung_or_skip(request.param)


@pytest.fixture(scope="module")
def sandbox(rung):
    with Sandbox(rung, LIMITS, is_warm=False) as made:
        yield made


@pytest.fixture(scope="module")
def impatient(rung):
    with Sandbox(rung, SHORT, is_warm=False) as made:
        yield made


@pytest.fixture(scope="module")
def warm():
    with Sandbox(isolation_trial.find_rung("auto"), LIMITS) as made:
        yield made


NOTEBOOK = (
    "%matplotlib inline\nimport numpy as np\nimport torch\nfrom attn_course import practice",
    "def shift(x, by=1):\n    return x + by",
    'practice.check("01.shift", shift)',
    "answer = {'rows': (2, 3), 'name': 'π'}",
    """
    class Scale(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(width))
            self.unused = torch.nn.Parameter(torch.ones(2))
        def forward(self, x):
            return self.w * x, x
    """,
    "def fails(x):\n    raise ValueError('not ' + str(x))",
    "def broken(:\n    pass",
    "drawn = torch.rand(3)",
)
NAMES = ["shift", "answer", "Scale", "fails", "broken", "missing"]
REQUESTS = [
    ("call", {"name": "shift", "args": (np.arange(3.0),), "kwargs": {"by": 2}}),
    ("call", {"name": "shift", "args": (torch.ones(2, 3),), "kwargs": {}}),
    ("call", {"name": "shift", "args": (), "kwargs": {}}),
    ("call", {"name": "fails", "args": (3,), "kwargs": {}}),
    ("call", {"name": "missing", "args": (), "kwargs": {}}),
    ("value", {"name": "answer"}),
    ("construct", {"name": "Scale", "kwargs": {"width": 3}}),
    ("parameters", {"module": 0}),
    ("load", {"module": 0, "parameters": {"w": np.array([1.0, 2, 3]), "unused": np.zeros(2)}}),
    ("forward", {"module": 0, "args": (torch.ones(3),)}),
    ("vjp", {"module": 0, "args": (torch.ones(3),), "cotangent": np.arange(3.0)}),
    ("forward", {"module": 7, "args": ()}),
    ("nonsense", {}),
]


def test_every_request_is_answered_as_at_home(warm):
    notebook = cells(*NOTEBOOK)
    home = answers_in(notebook, NAMES)
    local = LocalSubmission(home.values)
    with warm.open(notebook, NAMES) as submission:
        told = [(problem.names, problem.sentence) for problem in submission.problems]
        assert told == [(problem.names, problem.sentence) for problem in home.problems]
        for op, payload in REQUESTS:
            response, wanted = submission.request(op, payload), local.request(op, payload)
            assert set(response) == set(wanted)
            if "value" in wanted:
                assert same(response["value"], wanted["value"])
            else:
                assert response == wanted
        assert submission.verdict is None


def test_every_submission_begins_with_the_same_random_numbers(warm):
    source = """
        import random, numpy as np, torch
        def f():
            return [random.random(), np.random.rand(), torch.rand(1).item(), list({"a", "b", "c"})]
    """
    assert value_of(warm, source) == value_of(warm, source)


def test_a_submission_without_cells_is_answered_too(sandbox):
    with sandbox.open([], ["f"]) as submission:
        assert "f" in submission.problems[0].names
        assert call(submission) == {"missing": True}


def test_a_name_that_was_not_asked_for_is_missing_and_one_that_raises_is_not(sandbox):
    with open_with(sandbox, "def f(x):\n    raise KeyError('f')") as submission:
        assert call(submission, "g", 1) == {"missing": True}
        raised = call(submission, "f", 1)["raised"]
        assert (raised["type"], raised["message"]) == ("KeyError", "'f'")
        assert submission.verdict is None


# It answers as it likes from its first call on: whatever the grader asks of `names`.
LIAR = """
import sys
def row_weights(scores):
    frame = sys._getframe()
    while type(frame.f_locals.get("self")).__name__ != "LocalSubmission":
        frame = frame.f_back
    submission = type(frame.f_locals["self"])
    honest = submission.request
    def lie(self, op, payload):
        told = payload.get("name") in {names} or op in {ops}
        return {{"missing": True}} if told else honest(self, op, payload)
    submission.request = lie
    return scores / scores.sum(-1, keepdims=True)
"""


def graded_liar(warm, names=(), ops=()):
    changes = {"row_weights": LIAR.format(names=names, ops=ops)}
    record = grade_cells(warm, cells(*sources(**changes)), chapter, 7, "n.ipynb", seconds=60)
    return record, {one.id.partition(".")[2]: one for one in record.exercises}


def test_a_child_that_says_after_some_points_that_an_answer_is_missing_gains_nothing(warm):
    record, found = graded_liar(warm, names=("row_weights",))
    rows = found.pop("row_weights")
    assert (rows.points, rows.verdict) == (1, Verdict.MISSING)  # that of the case it answered
    assert [group.status for group in rows.groups] == [Verdict.PASSED, Verdict.MISSING]
    assert {one.verdict for one in found.values()} == {Verdict.PASSED}
    assert (record.status, record.points) == (Verdict.GRADED, 10)


def test_a_child_that_says_that_others_answers_are_missing_loses_their_points(warm):
    record, found = graded_liar(warm, names=tuple(chapter.exercises))
    assert {name: one.points for name, one in found.items() if one.points} == {"row_weights": 1}
    assert {one.verdict for one in found.values()} == {Verdict.MISSING}
    assert record.points == 1


@pytest.mark.parametrize("op", ["parameters", "load", "forward", "vjp"])
def test_missing_is_no_answer_where_no_name_was_asked_for(warm, op):
    record, found = graded_liar(warm, ops=(op,))
    assert (found["Scale"].points, found["Scale"].verdict) == (0, Verdict.BROKE_PROTOCOL)
    assert (record.status, record.points) == (Verdict.BROKE_PROTOCOL, 9)


def test_markdown_never_reaches_the_sandbox(sandbox):
    notebook = cells("not python at all", HARMLESS)
    notebook[0] = type(notebook[0])(1, "markdown", "not python at all")
    with sandbox.open(notebook, ["f"]) as submission:
        assert submission.problems == []
        assert call(submission, "f", 4) == {"value": 8}


FAULTS = {
    "crashed": {
        "segfault": "import ctypes\ndef f(x):\n    ctypes.string_at(0)",
        "abort": "import os\ndef f(x):\n    os.abort()",
        "exit": "import os\ndef f(x):\n    os._exit(0)",
    },
    "broke the protocol": {
        "garbage": "import os\ndef f(x):\n    os.write(CHANNEL, b'A' * 100)",
        "another id": "import os\ndef f(x):\n"
        "    os.write(CHANNEL, b'ACG1' + bytes(16) + (1).to_bytes(8, 'little') + b'\\x01')",
        "giant": "import os\ndef f(x):\n"
        "    os.write(CHANNEL, b'ACG1' + bytes(16) + (2**62).to_bytes(8, 'little'))",
        "hangs up": "import os, time\ndef f(x):\n    os.close(CHANNEL)\n    time.sleep(60)",
        "too long": "def f(x):\n    return 'x' * 2**21",
    },
}
FIND_CHANNEL = "CHANNEL = [d for d in range(3, 64) if IS_SOCKET(d)][0]\n"
IS_SOCKET = """
import os, stat
def IS_SOCKET(descriptor):
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False
"""


@pytest.mark.parametrize(
    ("verdict", "fault"),
    [(verdict, fault) for verdict, faults in FAULTS.items() for fault in faults],
)
def test_a_fault_is_a_verdict_and_the_next_submission_is_none_the_wiser(sandbox, verdict, fault):
    source = IS_SOCKET + FIND_CHANNEL + FAULTS[verdict][fault]
    with open_with(sandbox, source) as submission:
        first, second = call(submission, "f", 1), call(submission, "f", 1)
        assert submission.verdict is Verdict(verdict)
        assert first["raised"]["message"] == submission.last_words != ""
    assert first["raised"]["type"] == verdict
    assert second == first
    assert value_of(sandbox, HARMLESS, 4) == 8


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    while True:\n        pass",
        "import re\ndef f():\n    re.match('(a+)+$', 'a' * 60 + 'b')",
        "import time\ndef f():\n    time.sleep(1000)",
        "import signal\ndef f():\n    signal.pthread_sigmask(2, range(1, 60))\n    signal.pause()",
        "import time\ndef f():\n"
        "    try:\n        time.sleep(100)\n    finally:\n        time.sleep(1000)",
    ],
    ids=["python", "in C", "sleep", "deaf", "finally"],
)
def test_what_takes_too_long_is_ended(impatient, source, monkeypatch):
    with open_with(impatient, source) as submission:
        response = call(submission)
        with monkeypatch.context() as changed:
            changed.delattr(Channel, "ask")  # the second answer comes without asking
            assert call(submission) == response
        assert submission.verdict == "timed out"
    assert "0.5 seconds" in response["raised"]["message"]
    assert value_of(impatient, HARMLESS, 4) == 8


def test_a_cell_that_never_ends_is_a_verdict_too(impatient):
    with open_with(impatient, "while True:\n    f = 1") as submission:
        assert submission.verdict == "timed out"
        assert call(submission)["raised"]["type"] == "timed out"


def test_an_exercise_that_has_no_time_left_is_ended(sandbox):
    with open_with(sandbox, "def f():\n    while True:\n        pass") as submission:
        asked = {"name": "f", "args": (), "kwargs": {}}
        response = submission.request("call", asked, seconds=0.01)
        assert submission.verdict == "timed out"
    assert "for this exercise" in response["raised"]["message"]
    assert value_of(sandbox, HARMLESS, 4) == 8


SLOW = "def squares(x):\n    while True:\n        pass"


def test_a_slow_answer_costs_its_own_exercise_alone(rung):
    """With a real clock: the first of three shares the time with the others."""
    limits = Limits(call_seconds=60, submission_seconds=0.6)
    three = copy.copy(chapter)
    three.exercises = {name: chapter.exercises[name] for name in ("squares", "how_many")}
    with Sandbox(rung, limits, is_warm=False) as made:
        notebook = cells("import numpy as np", SLOW, "how_many = 35")
        record = grade_cells(made, notebook, three, 7, "n.ipynb", limits.submission_seconds)
    assert [one.verdict for one in record.exercises] == [Verdict.TIMED_OUT, Verdict.PASSED]


def test_what_is_printed_goes_nowhere(sandbox, capfd):
    source = """
        import os, sys
        def f():
            for _ in range(100):
                print("x" * 10**5)
                os.write(1, b"x" * 10**5)
                os.write(2, b"x" * 10**5)
            return 1
    """
    assert value_of(sandbox, source) == 1
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_that_the_submission_raises_itself_is_an_ordinary_answer(sandbox):
    response, verdict = ask(sandbox, "def f():\n    raise KeyboardInterrupt")
    assert verdict is None
    assert response["raised"]["type"] == "KeyboardInterrupt"


def test_a_bytes_bomb_in_a_text_is_no_danger_to_who_reads_it(sandbox):
    response, verdict = ask(sandbox, "def f():\n    raise ValueError('\\x1b[2J' + 'x' * 10**6)")
    assert verdict is None
    assert len(response["raised"]["message"]) <= 2000
    assert "\x1b" not in response["raised"]["message"]


def test_one_submission_is_open_at_a_time(sandbox):
    first = open_with(sandbox, HARMLESS)
    second = open_with(sandbox, HARMLESS)
    assert call(second, "f", 4) == {"value": 8}
    assert "closed" in call(first, "f", 4)["raised"]["message"]
    second.close()
    second.close()


def processes():
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def below(ancestor):
    """Return the processes that descend from `ancestor`."""
    parents = {}
    for pid in processes():
        try:
            with open(f"/proc/{pid}/stat") as file:
                parents[pid] = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    found, added = set(), {ancestor}
    while added:
        found |= added
        added = {pid for pid, parent in parents.items() if parent in added} - found
    return found - {ancestor}


def test_no_process_is_left(rung):
    before = below(os.getpid())
    with Sandbox(rung, LIMITS, is_warm=False) as sandbox:
        idle = below(os.getpid())
        assert idle > before
        for _ in range(3):
            value_of(sandbox, HARMLESS, 4)
        assert below(os.getpid()) == idle
    assert below(os.getpid()) == before


def test_a_worker_that_is_gone_is_a_fault_of_ours_and_the_next_one_serves(rung):
    others = below(os.getpid())
    with Sandbox(rung, LIMITS, is_warm=False) as sandbox:
        with open_with(sandbox, HARMLESS) as submission:
            for pid in below(os.getpid()) - others:
                if b"attn_course.inside.worker" in command_of(pid):
                    os.kill(pid, signal.SIGKILL)
            with pytest.raises(InfrastructureFault):
                call(submission, "f", 4)
        assert value_of(sandbox, HARMLESS, 4) == 8


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def test_a_sandbox_that_can_t_start_says_why(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InfrastructureFault, match="bwrap"):
        Sandbox(Rung("A"), LIMITS)


def test_a_head_start_is_for_the_fork_and_whoever_comes_later_gets_another():
    with HeadStart(isolation_trial.find_rung("auto"), LIMITS) as sandboxes:
        answers, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            with sandboxes.open() as first:
                os.write(theirs, str(value_of(first, HARMLESS, 3)).encode())
            os._exit(0)
        sandboxes.hand_over()
        os.waitpid(child, 0)
        assert os.read(answers, 10) == b"6"
        with sandboxes.open() as second:
            assert value_of(second, HARMLESS, 4) == 8
        os.close(answers)
        os.close(theirs)
