"""Whether a notebook runs from top to bottom: in a kernel of its own, in a sandbox of its own."""

import argparse
import csv
import json
import os
import platform
import socket
import sys
from pathlib import Path

import pytest

from attn_course.grading import command as grading_command
from attn_course.grading import fresh_kernel, isolation_trial, reports, run, sandbox
from attn_course.grading.fresh_kernel import NEEDED, FreshKernel, missing_packages
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.isolation import Rung
from attn_course.grading.run import Settings, grade_folder, open_gradebook
from attn_course.inside.limits import Barriers, Limits
from tests.grading import fixture_chapter
from tests.grading.available_rungs import run_as_nobody, rung_or_skip
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, notebook, notebook_bytes

LIMITS = Limits(submission_seconds=60)


def file(*cells):
    """Return a notebook; its first cell has text, so these are the cells from the second on."""
    return json.dumps(notebook(list(cells))).encode()


def with_output(source, shown):
    """Return a notebook of one cell that was run and, its file says, showed this."""
    made = notebook([source])
    (cell,) = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    cell["execution_count"] = 1
    cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": shown}]
    return json.dumps(made).encode()


def runs(*cells, limits=LIMITS):
    return FreshKernel(rung_or_skip("A"), limits).run(file(*cells))


def test_a_right_notebook_runs():
    assert FreshKernel(rung_or_skip("A"), LIMITS).run(notebook_bytes()) == "yes"


def test_cells_in_the_wrong_order_do_not_run_and_the_first_at_fault_is_named():
    after = runs("import math", "print(later)", "later = 5", "1 / 0")
    assert after == "no: cell 3: NameError: name 'later' is not defined"


@pytest.mark.parametrize(("shown", "answer"), [("35\n", "yes"), ("36\n", "no: cell 2: ")])
def test_a_falsified_number_is_found(shown, answer):
    """The canary: were nbval to run nothing, everything would look well."""
    kernel = FreshKernel(rung_or_skip("A"), LIMITS, compares=True)
    assert kernel.run(with_output("print(5 * 7)", shown)).startswith(answer)


def test_what_the_file_says_it_showed_is_not_compared_with_what_the_inert_check_shows():
    kernel = FreshKernel(rung_or_skip("A"), LIMITS)
    assert kernel.run(with_output("# NBVAL_CHECK_OUTPUT\nprint(5 * 7)", "36\n")) == "yes"


def test_a_kernel_that_ends_is_noticed_at_once():
    assert runs("import os\nos._exit(3)", "1 + 1") == "no: the kernel ended"


def test_a_cell_that_does_not_end_is_ended():
    limits = Limits(submission_seconds=1)
    answer = runs("while True:\n    pass", limits=limits)
    assert answer == "no: cell 2: it took longer than 1 seconds"


ATTEMPTS = """
import ctypes, importlib, os, socket, subprocess
def read(): return open({secret!r}).read()
def write(): return open({target!r}, "w").write("x")
def listed(): return [name for name in os.listdir("/proc") if name == "{grader}"]
def connect(): return socket.create_connection(("127.0.0.1", {port}), timeout=1)
def reference(): return importlib.import_module("attn_course.scoring")
def shell(): return subprocess.run(["/bin/true"]).returncode == 0
def unshare(): return ctypes.CDLL(None).unshare(0) == 0
def raw(): return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
harm = []
for attempt in (read, write, listed, connect, reference, shell, unshare, raw):
    try:
        if attempt():
            harm.append(attempt.__name__)
    except (OSError, ImportError):
        pass
if harm:
    raise AssertionError(", ".join(harm))
"""


@pytest.mark.parametrize(
    ("letter", "answer"),
    [
        ("A", "yes"),
        # The control: without a sandbox all of it works, but for the reference, not copied.
        (
            "E",
            "no: cell 2: AssertionError: read, write, listed, connect, shell, unshare, raw",
        ),
    ],
)
def test_from_inside_nothing_can_be_reached(letter, answer, tmp_path):
    rung = rung_or_skip(letter) if letter == "A" else Rung("E")
    secret, target = tmp_path / "secret", tmp_path / "written"
    secret.write_text("a secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        attempts = ATTEMPTS.format(
            secret=str(secret),
            target=str(target),
            grader=os.getpid(),
            port=listener.getsockname()[1],
        )
        assert FreshKernel(rung, LIMITS).run(file(attempts)) == answer
    assert target.exists() == (letter == "E")


# Ten processes that hold 60 MB each, all at once: more than the memory that a notebook may have.
FORKS = """
import os
full, done = os.pipe(), os.pipe()
children = []
for _ in range(10):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        held = b"x" * (60 * 2**20)
        os.write(full[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    children.append(child)
count = sum(len(os.read(full[0], 1)) for child in children)
os.write(done[1], b"x" * count)
for child in children:
    os.waitpid(child, 0)
if count:
    raise AssertionError(f"{count} processes held {60 * count} MB")
"""


def test_many_processes_hold_no_more_memory_than_one():
    assert runs(FORKS, limits=Limits(submission_seconds=60, memory_mb=256)) == "yes"


def test_if_a_kernel_could_start_processes_they_would_hold_more_memory_than_one():
    """The control: with this one wall away each has as much as the kernel itself."""
    barriers = Barriers(one_process_kernel=False)
    limits = Limits(submission_seconds=60, memory_mb=256)
    answer = FreshKernel(rung_or_skip("A"), limits, barriers=barriers).run(file(FORKS))
    assert answer == "no: cell 2: AssertionError: 10 processes held 600 MB"


# Ways to a second process or another program that ask the kernel of the system, and not Python.
WAYS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
child, words = ctypes.c_int(), (ctypes.c_char_p * 2)(b"nothing", None)
def spawn():
    failed = libc.posix_spawn(ctypes.byref(child), b"/proc/self/exe", None, None, words, words)
    return -1 if failed else child.value
def execute():
    libc.execv(b"/nothing", words)
    return -1 if ctypes.get_errno() == errno.EPERM else 1
ways = {
    "fork": libc.fork,
    "clone": lambda: libc.syscall(CLONE, 17, 0, 0, 0, 0),
    "spawn": spawn,
    "execute": execute,
}
found = []
for name, way in ways.items():
    made = way()
    if made == 0:
        os._exit(0)
    if made > 0:
        found.append(name)
if found:
    raise AssertionError(", ".join(found))
"""


@pytest.mark.parametrize(
    ("is_forbidden", "answer"),
    [(True, "yes"), (False, "no: cell 2: AssertionError: fork, clone, spawn, execute")],
)
def test_no_way_leads_to_a_second_process_unless_that_wall_is_away(is_forbidden, answer):
    number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    barriers = Barriers(one_process_kernel=is_forbidden)
    kernel = FreshKernel(rung_or_skip("A"), LIMITS, barriers=barriers)
    assert kernel.run(file(WAYS.replace("CLONE", str(number)))) == answer


# The process that runs nbval is of the same user, and the kernel could write into its memory.
WATCHED = """
import os
parent, filters = os.getppid(), set()
for thread in os.listdir(f"/proc/{parent}/task"):
    with open(f"/proc/{parent}/task/{thread}/status") as lines:
        filters |= {line.split()[1] for line in lines if line.startswith("Seccomp_filters")}
assert filters == {"3"}, filters
"""


def test_the_process_around_the_kernel_can_start_no_other_either():
    assert runs(WATCHED) == "yes"


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess; subprocess.run(['ls'])",
        "import os; os.system('ls')",
        "import os; os.fork()",
        "import multiprocessing as m; m.get_context('fork').Process(target=print).start()",
        "!ls",
        "files = !ls",
    ],
)
def test_a_notebook_that_starts_another_program_is_told_so(line):
    answer = runs("1 + 1", line)
    assert answer == "no: cell 3: PermissionError: a notebook can start no other program here"


def test_threads_may_be_had():
    source = "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()"
    assert runs(source, "import torch\ntorch.ones(300, 300) @ torch.ones(300, 300)") == "yes"


@pytest.mark.parametrize("letter", "CD")
def test_without_a_private_network_it_is_not_run(letter):
    kernel = FreshKernel(Rung(letter), LIMITS)
    assert kernel.run(b"") == f"not run: {kernel.why_not}"
    assert "bubblewrap" in kernel.why_not


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        ("", "not run: it did not start"),
        ("raise OSError('no room')", "not run: OSError: no room"),
        ("print('started')", "no: the kernel ended"),
        ("print('started\\nyes', end='')", "yes"),
        ("print('started\\nunable why')", "not run: why"),
        ("print('started\\nno x y')", "no: the kernel ended"),
        ("print('started\\nno 5 ')", "no: cell 5:"),
        ("print('started\\nno 5 E: \\x1b[2J at 0x7fAB1\\nmore')", "no: cell 5: E: �[2J at 0x…"),
        ("print('started\\nno 0 ' + 'long ' * 10**6)", "no: " + "long " * 39 + "long…"),
        ("print('started\\n' + '[' * 10**6)", "no: the kernel ended"),
        ("import os; os.write(1, b'started\\nno 5 \\xff')", "no: cell 5: �"),
    ],
)
def test_whatever_comes_out_becomes_one_short_line(program, answer, monkeypatch):
    command = [sys.executable, "-S", "-c", program]
    monkeypatch.setattr(FreshKernel, "_prepared", lambda *_arguments: (command, "/nowhere"))
    assert FreshKernel(Rung("E"), LIMITS).run(b"") == answer


def test_what_does_not_answer_is_ended(monkeypatch):
    waits = "import os; os.write(1, b'started\\n'); os.read(os.pipe()[0], 1)"
    command = [sys.executable, "-S", "-c", waits]
    monkeypatch.setattr(FreshKernel, "_prepared", lambda *_arguments: (command, "/nowhere"))
    monkeypatch.setattr(fresh_kernel, "_SECONDS_TO_START", 0.0)
    answer = FreshKernel(Rung("E"), Limits(submission_seconds=0.25)).run(b"")
    assert answer == "no: it took longer than 0.25 seconds"


def test_what_it_needs_is_named_where_it_is_missing(monkeypatch):
    assert missing_packages() == []
    monkeypatch.setattr(fresh_kernel, "NEEDED", (*NEEDED, "no-such-package"))
    assert missing_packages() == ["no-such-package"]


class Counting:
    """A fake that answers at once, and counts how often it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.count = 0

    def run(self, content):
        self.count += 1
        return self.answer

    is_answered = FreshKernel(Rung("A"), LIMITS).is_answered


@pytest.fixture
def grade(tmp_path, monkeypatch):
    """Grade a class of two into the same folder, again and again."""
    monkeypatch.setattr(run, "version_of", lambda chapter, limits, own_checks: "v")
    monkeypatch.setattr(run.jobs, "can_fork", lambda: False)
    for learner, content in {"ann": notebook_bytes(), "eve": b"no notebook"}.items():
        path = tmp_path / "in" / learner / "88_fixture.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)

    def graded(kernel):
        folders = {"submissions": tmp_path / "in", "out": tmp_path / "out"}
        common = {"chapters": CHAPTERS, "open_sandbox": FakeSandbox, "rung": "A", "seed": 7}
        settings = Settings(**folders, **common, fresh_kernel=kernel, show_progress=False)
        with open_gradebook(settings) as gradebook:
            found = grade_folder(settings, gradebook)
            entries = list(gradebook.latest())
        reports.write_all(settings.out, entries, 7, found.notices)
        return settings.out

    return graded


def test_the_answer_is_in_every_report_and_costs_no_points(grade):
    out = grade(Counting("no: cell 3: =SUM(<b>)"))
    with open(out / "grades.csv", newline="") as lines:
        ann, eve = csv.DictReader(lines)
    assert (ann["runs"], ann["points"]) == ("no: cell 3: =SUM(<b>)", "12")
    assert eve["runs"] == ""  # there is no notebook to run
    results = json.loads(Path(out, "results.json").read_text())["results"]
    assert [one["runs"] for one in results] == ["no: cell 3: =SUM(<b>)", ""]
    page = Path(out, "feedback", "ann", "88_fixture.html").read_text()
    assert "no: cell 3: =SUM(&lt;b&gt;)" in page
    with Gradebook(out) as gradebook:
        assert "in a fresh kernel: 0 of 1" in reports.summary(list(gradebook.latest()))


def test_without_it_there_is_no_such_column(grade):
    out = grade(None)
    assert "runs" not in (out / "grades.csv").read_text().splitlines()[0]
    assert "fresh kernel" not in Path(out, "feedback", "ann", "88_fixture.html").read_text()


def test_an_answer_is_kept_and_one_that_is_missing_is_asked_for(grade):
    grade(None)
    first, second, third = Counting("not run: no room"), Counting("yes"), Counting("no: never")
    for kernel in (first, second, third, None):
        out = grade(kernel)
    assert (first.count, second.count, third.count) == (1, 1, 0)
    with Gradebook(out) as gradebook:
        answers = [one.record.runs for one in gradebook.history() if one.learner == "ann"]
    assert answers == ["", "not run: no room", "yes"]


def test_where_it_can_not_be_run_that_answer_is_kept_too():
    kernel = FreshKernel(Rung("D"), LIMITS)
    assert kernel.is_answered(kernel.run(b""))
    assert not kernel.is_answered("")


@pytest.fixture
def command(grade, monkeypatch, tmp_path):
    """`attn-course grade` with fakes on rung `letter`, as it would be typed."""

    def typed(letter, *words):
        monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: FakeSandbox())
        monkeypatch.setattr(
            isolation_trial, "find_rung", lambda wanted: Rung(letter, "Isolation: fake.")
        )
        top = argparse.ArgumentParser()
        grading_command.add_parser(top.add_subparsers())
        folders = [str(tmp_path / "in"), "--out", str(tmp_path / "out")]
        checks = ["--checks", fixture_chapter.__file__, "--chapters", "88"]
        arguments = top.parse_args(["grade", *folders, *checks, *words])
        return arguments.run(arguments)

    return typed


def test_the_command_says_once_where_there_is_no_kernel_and_grades_all_the_same(
    command, capsys, tmp_path
):
    command("D", "--nbval")
    assert capsys.readouterr().err.count("No notebook is run in a fresh kernel") == 1
    with open(tmp_path / "out" / "grades.csv", newline="") as lines:
        ann, _eve = csv.DictReader(lines)
    assert ann["points"] == "12"
    assert ann["runs"].startswith("not run: ")


def test_the_command_names_a_package_that_is_missing(command, capsys, monkeypatch):
    monkeypatch.setattr(fresh_kernel, "NEEDED", ("no-such-package",))
    assert command("A", "--nbval") == 2
    assert "no-such-package" in capsys.readouterr().err


def test_it_runs_for_a_user_without_privileges_too():
    rung_or_skip("A")
    content = file("import os", "assert os.getuid() != 0", "1 / 0")
    done = run_as_nobody(
        "from attn_course.grading.fresh_kernel import FreshKernel\n"
        "from attn_course.grading.isolation import Rung\n"
        "from attn_course.inside.limits import Limits\n"
        f"print(FreshKernel(Rung('A'), Limits()).run({content!r}))\n"
    )
    assert done.stdout == "no: cell 4: ZeroDivisionError: division by zero\n", done.stderr
