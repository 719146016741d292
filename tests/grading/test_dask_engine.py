"""Many machines by Dask: the same gradebook as on one, whatever dies, and no open door."""

import http.client
import io
import json
import os
import signal
import sys
import zlib
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import msgpack
import psutil
import pytest

from attn_course import cli
from attn_course.grading import (
    dask_engine,
    dask_engine_process,
    dask_engine_worker,
    isolation_trial,
    jobs,
    run,
    sandbox,
)
from attn_course.grading.dask_engine import DaskEngine, Scheduler, _connected
from attn_course.grading.gradebook import Gradebook, content_of
from attn_course.grading.instructor import with_own_checks
from attn_course.grading.isolation import Rung
from attn_course.grading.isolation_trial import find_rung
from attn_course.grading.jobs import JobsFailed, ToGrade
from attn_course.grading.run import NotebookGrader, Settings, grade_folder, open_gradebook
from attn_course.grading.sandbox import HeadStart
from attn_course.inside.limits import Limits
from attn_course.practice.numbers import Misuse
from tests.grading import fixture_chapter
from tests.grading.fake_sandbox import FakeSandbox
from tests.grading.fixture_chapter import CHAPTERS, STUBS, WRONG_ROWS, notebook_bytes

FILE = "88_fixture.ipynb"
FIXTURE = Path(fixture_chapter.__file__)
CLASS = {
    "ann": notebook_bytes(),
    "bob": notebook_bytes(row_weights=WRONG_ROWS),
    "cem": notebook_bytes(**STUBS),
    "eve": b"no notebook at all",
    "fay": notebook_bytes(how_many="how_many = 12"),
}


# Only in a real sandbox: it ends the process in which it runs.
ENDS = notebook_bytes(squares="import os\ndef squares(x):\n    os._exit(1)")


@pytest.fixture
def submissions(tmp_path):
    for learner, content in CLASS.items():
        hand_in(tmp_path / "in", learner, content)
    return tmp_path / "in"


def hand_in(root, learner, content):
    path = root / learner / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def settings(submissions=Path("in"), **changes):
    made = Settings(
        submissions=submissions,
        out=submissions.parent / "out",
        chapters=CHAPTERS,
        open_sandbox=FakeSandbox,
        rung="",
        seed=7,
        show_progress=False,
    )
    return replace(made, **changes)


def graded(asked):
    with open_gradebook(asked) as book:
        grade_folder(asked, book)
        return content_of(book)


def with_fixture(submissions, **changes):
    """Settings as the command line makes them, so that workers can make the same."""
    chapters = with_own_checks({}, FIXTURE)
    return settings(submissions, chapters=chapters, own_checks=(FIXTURE,), **changes)


def tasks(number, content=b"{}"):
    return [ToGrade(n, 7, "88", f"learner {n}", content) for n in range(number)]


# A real cluster: TCP on 127.0.0.1, workers are processes, one is killed midway


def test_a_worker_that_is_killed_midway_costs_nothing(submissions, monkeypatch):
    from distributed import LocalCluster

    hand_in(submissions, "dia", ENDS)
    monkeypatch.setattr(dask_engine, "_MOST", 1)  # some batches, so that both have work
    limits, rung = Limits(), find_rung("auto")
    with HeadStart(rung, limits) as sandboxes:
        here = with_fixture(
            submissions, open_sandbox=sandboxes.open, after_fork=sandboxes.hand_over
        )
        expected = graded(here)
    killed = []
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        asked = with_fixture(submissions, out=submissions.parent / "by dask")
        scheduler = Scheduler(cluster.scheduler_address, is_insecure=True)
        engine = DaskEngine(asked, scheduler, "auto", is_trusted=True)

        def engine_with_a_murder(tasks):
            for done in engine(tasks):
                if not killed:
                    workers = cluster.scheduler.workers.values()
                    busy = next(worker for worker in workers if worker.processing)
                    killed.append(cluster.workers[busy.name].pid)
                    os.kill(killed[0], signal.SIGKILL)
                yield done

        assert graded(replace(asked, engine=engine_with_a_murder)) == expected
    assert len(killed) == 1
    with Gradebook(submissions.parent / "by dask") as book:
        entries = {entry.learner: entry for entry in book.latest()}
    assert {name: one.record.points for name, one in entries.items()} == {
        **{"ann": 12, "bob": 10, "cem": 0},
        **{"dia": 10, "eve": None, "fay": 11},
    }
    assert {one.rung for one in entries.values()} == {rung.letter}  # as the workers found


# TLS


@pytest.fixture
def certificates(tmp_path):
    """Certificates of our own, as files, and how Dask is told of them."""
    from distributed import Security

    made = Security.temporary()
    files = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    told = {"distributed.comm.tls.ca-file": str(tmp_path / "ca")}
    for role in ("client", "scheduler", "worker"):
        told[f"distributed.comm.tls.{role}.cert"] = str(tmp_path / "cert")
        told[f"distributed.comm.tls.{role}.key"] = str(tmp_path / "key")
    return told


def graded_in_a_thread(batch):
    """Replaces `grade_batch`, where the worker is a thread of this process."""
    content = msgpack.unpackb(zlib.decompress(batch))
    return json.dumps({"results": [result(ToGrade(**one)) for one in content["tasks"]]}).encode()


def result(task):
    record = NotebookGrader(FakeSandbox, CHAPTERS, Limits()).grade(task)
    fields = {"seconds": 0.5, "is_overdue": False, "rung": "A"}
    return {"number": task.number, "record": record.to_json(), **fields}


def test_a_cluster_by_tls_is_used_and_lets_nobody_in_without_a_certificate(
    submissions, certificates, monkeypatch
):
    import dask
    from distributed import Client, LocalCluster, Security

    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    monkeypatch.setattr(dask_engine, "grade_batch", graded_in_a_thread)
    expected = graded(settings(submissions))
    with dask.config.set(certificates):
        security = Security(require_encryption=True)
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        host="127.0.0.1",
        security=security,
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        asked = settings(submissions, out=submissions.parent / "by dask")
        engine = DaskEngine(asked, Scheduler(address), "auto", is_trusted=False)
        with dask.config.set(certificates):
            assert graded(replace(asked, engine=engine)) == expected
        with pytest.raises(OSError, match="certificate does not match"):  # signed by others
            Client(address, security=Security.temporary(), timeout=1, set_as_default=False)


def test_tls_without_certificates_says_what_to_set():
    with (
        pytest.raises(Misuse, match="Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE"),
        _connected(Scheduler("tls://10.0.0.1:8786")),
    ):
        pass


@pytest.mark.parametrize("is_insecure", [False, True])
@pytest.mark.parametrize(
    "address",
    ["tcp://10.0.0.1:8786", "tcp://example.org:8786", "127.0.0.1:8786", "ws://127.0.0.1:1", "x"],
)
def test_an_open_scheduler_is_refused(address, is_insecure):
    with (
        pytest.raises(Misuse, match="is not encrypted"),
        _connected(Scheduler(address, is_insecure)),
    ):
        pass


def test_an_open_scheduler_on_this_machine_needs_a_word():
    with (
        pytest.raises(Misuse, match="--insecure-scheduler"),
        _connected(Scheduler("tcp://[::1]:9")),
    ):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_with_that_word_only_the_scheduler_must_be_there(host, monkeypatch):
    monkeypatch.setattr(dask_engine, "_SECONDS_TO_CONNECT", 0.5)
    address = f"tcp://{host}:9"
    with (
        pytest.raises(Misuse, match="There is no connection to the scheduler"),
        _connected(Scheduler(address, is_insecure=True)),
    ):
        pass


def test_without_an_address_nobody_can_reach_the_cluster():
    before = listening()
    with _connected(Scheduler(jobs=2)) as client:
        assert client.scheduler.address.startswith("inproc://")
        assert all(name.startswith("inproc://") for name in client.nthreads())
        assert sum(client.nthreads().values()) == 2
        servers = listening() - before
        assert {host for host, _port in servers} == {"127.0.0.1"}
        for _host, port in servers:  # of web pages, of which there are none
            for page in ("/", "/health", "/info/main/workers.html", "/json/counts.json"):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", page)
                assert connection.getresponse().status == 404
                connection.close()


def listening():
    """Return the addresses on which this process listens."""
    found = psutil.Process().net_connections(kind="inet")
    return {tuple(one.laddr) for one in found if one.status == psutil.CONN_LISTEN}


def test_dask_in_this_process_gives_the_same_gradebook(submissions, monkeypatch):
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    monkeypatch.setattr(dask_engine, "grade_batch", graded_in_a_thread)
    asked = settings(submissions, out=submissions.parent / "by dask")
    engine = DaskEngine(asked, Scheduler(jobs=2), "auto", is_trusted=False)
    assert graded(replace(asked, engine=engine)) == graded(settings(submissions))


def test_without_dask_the_way_to_install_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Misuse, match=r"pip install 'attn-course\[dask\]'"), _connected(Scheduler()):
        pass


# What workers do to batches


class FakeFuture:
    def __init__(self, work):
        self._work = work

    def add_done_callback(self, callback):
        callback(self)

    def result(self):
        return self._work()


class FakeCluster:
    """A cluster that answers at once, as `answer` (of the numbers in a batch) says."""

    def __init__(self, answer=None, threads=1):
        self.batches = []
        self._answer = answer or (lambda numbers: {"results": list(map(a_result, numbers))})
        self._threads = threads

    def submit(self, function, packed, pure):
        assert (function, pure) == (dask_engine.grade_batch, False)
        asked = msgpack.unpackb(zlib.decompress(packed))["tasks"]
        numbers = [one["number"] for one in asked]
        self.batches.append(numbers)
        return FakeFuture(lambda: json.dumps(self._answer(numbers)).encode())

    def nthreads(self):
        return {"a worker": self._threads}


RECORD = NotebookGrader(FakeSandbox, CHAPTERS, Limits()).grade(tasks(1, CLASS["bob"])[0])


def a_result(number, **changes):
    fields = {"seconds": 0.5, "is_overdue": False, "rung": "A"}
    return {"number": number, "record": RECORD.to_json(), **fields, **changes}


def dones(cluster, asked):
    engine = DaskEngine(settings(), Scheduler(), "auto", is_trusted=False)
    return list(engine._run(cluster, iter(asked)))


def test_batches_grow_from_a_few_notebooks_to_some_hundred():
    cluster = FakeCluster()
    found = dones(cluster, tasks(1500))
    assert sorted(one.task.number for one in found) == list(range(1500))
    sizes = [len(batch) for batch in cluster.batches]
    assert sizes[:3] == [8, 8, 16]
    assert max(sizes) == 200
    assert found[0].record == RECORD
    assert (found[0].seconds, found[0].rung) == (0.5, "A")


def test_more_workers_get_more_small_batches_first():
    cluster = FakeCluster(threads=16)
    dones(cluster, tasks(300))
    assert [len(batch) for batch in cluster.batches[:32]] == [8] * 32


def test_large_notebooks_come_in_small_batches(monkeypatch):
    monkeypatch.setattr(dask_engine, "_LARGEST", 100)
    cluster = FakeCluster()
    dones(cluster, tasks(7, b"x" * 40))
    assert [len(batch) for batch in cluster.batches] == [3, 3, 1]


def test_a_batch_that_fails_is_tried_again():
    failures = count()

    def fails_once(numbers):
        if next(failures) == 0:
            raise RuntimeError("a worker was killed")
        return {"results": list(map(a_result, numbers))}

    cluster = FakeCluster(fails_once)
    assert all(one.record == RECORD for one in dones(cluster, tasks(8)))
    assert cluster.batches == [list(range(8))] * 2


def test_a_batch_that_fails_twice_goes_one_by_one_and_costs_one_notebook():
    def fails_with_three(numbers):
        return {"failed": "no"} if 3 in numbers else {"results": list(map(a_result, numbers))}

    cluster = FakeCluster(fails_with_three)
    found = {one.task.number: one.record for one in dones(cluster, tasks(20))}
    assert found == dict.fromkeys(range(20), RECORD) | {3: None}
    assert cluster.batches.count(list(range(8))) == 2
    assert cluster.batches.count([3]) == 2
    assert [1] in cluster.batches


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"results": {}},
        {"results": []},
        {"results": [a_result(0), a_result(0)]},
        {"results": [7]},
        {"results": [{}]},
        {"results": [a_result(1)]},
        {"results": [a_result(0, rung="Z")]},
        {"results": [a_result(0, rung=["A"])]},
        {"results": [a_result(0, seconds=-1)]},
        {"results": [a_result(0, seconds=float("nan"))]},
        {"results": [a_result(0, seconds="long")]},
        {"results": [a_result(0, record="no JSON")]},
        {"results": [a_result(0, record="[]")]},
        {"results": [a_result(0, record=json.dumps(asdict(RECORD) | {"new": 1}))]},
        {"results": [a_result(0, record=replace(RECORD, max_points=99).to_json())]},
        {"results": [a_result(0, record=replace(RECORD, max_points=12, status="x").to_json())]},
    ],
    ids=str,
)
def test_what_is_no_answer_is_not_kept(answer):
    (done,) = dones(FakeCluster(lambda numbers: answer), tasks(1))
    assert done.record is None


@pytest.mark.parametrize("change", [{"points": 99}, {"points": -1}, {"id": "88.other"}])
def test_points_that_can_not_be_had_are_not_kept(change):
    first, *others = RECORD.exercises
    lying = replace(RECORD, exercises=(replace(first, **change), *others)).to_json()
    answer = {"results": [a_result(0, record=lying)]}
    (done,) = dones(FakeCluster(lambda numbers: answer), tasks(1))
    assert done.record is None


def test_only_bytes_are_taken():
    class Sends(FakeCluster):
        def submit(self, function, packed, pure):
            return FakeFuture(lambda: {"results": [a_result(0)]})

    (done,) = dones(Sends(), tasks(1))
    assert done.record is None


def test_an_overdue_notebook_is_known_as_one():
    late = a_result(0, record=None, is_overdue=True, seconds=600)
    (done,) = dones(FakeCluster(lambda numbers: {"results": [late]}), tasks(1))
    assert (done.record, done.is_overdue, done.seconds) == (None, True, 600)


def test_a_worker_that_can_not_grade_ends_the_run_with_its_reason():
    cluster = FakeCluster(lambda numbers: {"refused": "there is no sandbox here."})
    with pytest.raises(JobsFailed, match=r"can't grade: there is no sandbox here\.$"):
        dones(cluster, tasks(1))


class SilentFuture(FakeFuture):
    def add_done_callback(self, callback):
        pass


class SilentCluster(FakeCluster):
    """Nothing ever comes back."""

    def submit(self, function, packed, pure):
        return SilentFuture(None)


def test_without_any_worker_it_does_not_wait_for_ever(monkeypatch):
    clock = count(0, 50)
    monkeypatch.setattr(dask_engine, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(dask_engine, "_LOOK_AGAIN", 0.0)
    with pytest.raises(JobsFailed, match="no worker for 120 seconds"):
        dones(SilentCluster(threads=0), tasks(1))


def test_a_lost_scheduler_ends_the_run():
    class Lost(FakeCluster):
        def nthreads(self):
            raise OSError("closed")

    with pytest.raises(JobsFailed, match="connection to the scheduler is lost"):
        dones(Lost(), tasks(1))


# The process that grades for a worker


@pytest.fixture
def fakes(monkeypatch):
    monkeypatch.setattr(jobs, "can_fork", lambda: False)
    monkeypatch.setattr(sandbox, "Sandbox", lambda rung, limits, waits=True: FakeSandbox())
    monkeypatch.setattr(isolation_trial, "find_rung", lambda wanted: Rung("A"))


def config(**changes):
    engine = DaskEngine(with_fixture(Path("in")), Scheduler(), "auto", is_trusted=False)
    return engine._config | changes


def served(config, *asked):
    """Return what the process answers."""
    orders, answers = io.BytesIO(), io.BytesIO()
    for task in asked:
        dask_engine_process.write_frame(orders, msgpack.packb(asdict(task)))
    orders.seek(0)
    dask_engine_process.serve(msgpack.unpackb(msgpack.packb(config)), orders, answers)
    answers.seek(0)
    found = []
    while answers.tell() < len(answers.getvalue()):
        found.append(json.loads(dask_engine_process.read_frame(answers)))
    return found


@pytest.mark.usefixtures("fakes")
def test_the_process_answers_each_notebook_with_its_record():
    asked = [replace(task, content=CLASS["bob"]) for task in tasks(3)]
    ready, *answers = served(config(), *asked)
    assert ready == {"ready": "A"}
    assert [one["number"] for one in answers] == [0, 1, 2]
    assert json.loads(answers[0]["record"])["max_points"] == 12
    assert {one["rung"] for one in answers} == {"A"}


@pytest.mark.usefixtures("fakes")
def test_the_process_refuses_where_the_course_is_another():
    (answer,) = served(config(versions={"88": "another"}), *tasks(1))
    assert answer == {"refused": "another version of the course is installed here"}
    (answer,) = served(config(checks={}), *tasks(1))
    assert "another version" in answer["refused"]


@pytest.mark.usefixtures("fakes")
def test_the_process_refuses_where_there_is_no_sandbox(monkeypatch):
    monkeypatch.setattr(isolation_trial, "find_rung", lambda wanted: Rung("E"))
    (answer,) = served(config(), *tasks(1))
    assert answer == {"refused": "there is no sandbox here"}
    assert served(config(is_trusted=True))[0] == {"ready": "E"}


def test_half_a_frame_is_the_end():
    whole = io.BytesIO()
    dask_engine_process.write_frame(whole, b"12345")
    for size in (0, 3, 8, 12):
        with pytest.raises(EOFError):
            dask_engine_process.read_frame(io.BytesIO(whole.getvalue()[:size]))
    assert dask_engine_process.read_frame(io.BytesIO(whole.getvalue())) == b"12345"


# A worker keeps its processes warm


class FakeProcess:
    made: ClassVar = []

    def __init__(self, config, age):
        self.kind, self.age = dask_engine_worker._kind(config), age
        self.refusal = "no" if b"refuse" in config else ""
        self.is_ended = False
        FakeProcess.made.append(self)

    def grade(self, order):
        if b"dies" in order:
            raise EOFError
        return {"number": msgpack.unpackb(order)["number"]}

    def end(self):
        self.is_ended = True


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(FakeProcess, "made", [])
    monkeypatch.setattr(dask_engine_worker, "_Process", FakeProcess)
    monkeypatch.setattr(dask_engine_worker, "_POOL", dask_engine_worker._Pool())
    return FakeProcess.made


def batch(config, *asked):
    return json.loads(dask_engine_worker.grade_batch(dask_engine_worker.pack(config, asked)))


def test_a_process_serves_batch_after_batch(pool):
    for _turn in range(3):
        answer = batch({"a": 1}, *tasks(2))
        assert answer == {"results": [{"number": 0}, {"number": 1}]}
    (process,) = pool
    assert not process.is_ended
    dask_engine_worker.put_away()
    assert process.is_ended


def test_another_run_gets_another_process(pool):
    batch({"a": 1}, *tasks(1))
    batch({"a": 2}, *tasks(1))
    assert [one.is_ended for one in pool] == [True, False]


def test_a_process_that_is_busy_when_all_are_put_away_ends_after_its_batch(pool):
    process = dask_engine_worker._POOL.take(b"x")
    dask_engine_worker.put_away()
    dask_engine_worker._POOL.give_back(process)
    assert process.is_ended


def test_a_process_that_dies_fails_its_batch_in_words(pool):
    assert batch({"a": 1}, replace(tasks(1)[0], name="dies")) == {"failed": "EOFError: "}
    assert [one.is_ended for one in pool] == [True]


def test_a_refusal_reaches_the_client(pool):
    assert batch({"refuse": 1}, *tasks(1)) == {"refused": "no"}


def test_what_is_no_batch_is_answered_in_words():
    assert json.loads(dask_engine_worker.grade_batch(b"junk"))["failed"].startswith("error: ")


# From the command line


def test_the_options_are_for_dask_alone(capsys):
    assert cli.main(["grade", "in", "--out", "out", "--scheduler", "tls://a:1"]) == 2
    assert "--scheduler is for --engine dask." in capsys.readouterr().err


def test_an_open_scheduler_is_refused_before_anything_is_graded(submissions, capsys):
    out = submissions.parent / "out"
    words = ["grade", str(submissions), "--out", str(out), "--engine", "dask", "--chapters", "88"]
    checks = ["--checks", str(FIXTURE), "--scheduler", "tcp://10.0.0.1:8786"]
    assert cli.main([*words, *checks]) == 2
    assert "is not encrypted" in capsys.readouterr().err
    assert not (out / "grades.csv").exists()


def test_the_class_is_graded_by_dask_from_the_command_line(submissions, monkeypatch, capsys):
    monkeypatch.setattr(dask_engine, "grade_batch", graded_in_a_thread)
    monkeypatch.setattr(run, "version_of", lambda chapter, limits, own_checks: "v")
    out = submissions.parent / "out"
    words = ["grade", str(submissions), "--out", str(out), "--engine", "dask", "--jobs", "2"]
    assert cli.main([*words, "--checks", str(FIXTURE), "--chapters", "88"]) == 1
    said = capsys.readouterr()
    assert "grading: 5 of 5 notebooks" in said.err
    assert "88_fixture: notebooks 4," in said.out
