"""Many machines by Dask: notebooks travel in batches to workers, and records come back.

    this process ── batch: how to grade, notebooks (bytes) ──▶ scheduler ──▶ worker ──▶ sandbox
    gradebook    ◀── records (JSON), seen through before they are kept ──────────────────┘

A batch grows from a few notebooks to some hundred, since a task costs the scheduler about a
millisecond. A worker that dies costs its batch a retry, and then this batch goes one by one, so
that a notebook that ends every worker costs itself alone. Whoever can talk to a scheduler of Dask
can run any code on its workers, so the connection must be encrypted and both ends must prove who
they are (TLS). Without an address the cluster is inside this process, and no other can reach it.
"""

import json
import logging
import math
import queue
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attn_course._extras import missing
from attn_course.grading.dask_engine_worker import grade_batch, pack, put_away
from attn_course.grading.jobs import Done, JobsFailed, ToGrade
from attn_course.grading.records import Record, UnknownRecord, from_json
from attn_course.practice.exercise import Chapter
from attn_course.practice.numbers import Misuse
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.grading.run import Settings

_FIRST, _MOST = 8, 200  # notebooks in the first batches, and in the later ones
_LARGEST = 8 * 2**20  # bytes of notebooks in a batch, or one notebook
_AHEAD = 2  # batches for each thread of a worker: one at work, one on its way
_SECONDS_TO_CONNECT = 30
_LOOK_AGAIN = 5.0  # seconds without news, after which we look for workers
_PATIENCE = 120.0  # seconds without any worker
_RUNGS = tuple("ABCDE")


@dataclass(frozen=True)
class Scheduler:
    """Where the cluster is: at an address; or nowhere, and so many threads of ours do the work."""

    address: str = ""
    is_insecure: bool = False
    jobs: int = 1


@dataclass(frozen=True)
class _Batch:
    tasks: tuple[ToGrade, ...]
    has_failed: bool = False


class BadAnswer(ValueError):  # noqa: N818  (it says what is the matter)
    """What came back is not what was asked for."""


class DaskEngine:
    """Grades what it is given on the workers of a cluster: an `Engine` of `run`."""

    def __init__(
        self, settings: "Settings", scheduler: Scheduler, isolation: str, is_trusted: bool
    ) -> None:
        self._chapters = settings.chapters
        self._scheduler = scheduler
        self._config = {
            "isolation": isolation,
            "is_trusted": is_trusted,
            "limits": asdict(settings.limits),
            "versions": settings.versions(),
            "checks": {path.name: path.read_bytes() for path in settings.own_checks},
            "nbval": settings.fresh_kernel is not None,
        }
        self._count = 0  # batches so far
        self._again: deque[_Batch] = deque()

    def __call__(self, tasks: Iterator[ToGrade]) -> Iterator[Done]:
        """Yield what was graded, in the order in which batches come back."""
        with _connected(self._scheduler) as client:
            yield from self._run(client, tasks)

    def _run(self, client: Any, tasks: Iterator[ToGrade]) -> Iterator[Done]:
        running: dict[Any, _Batch] = {}
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        watch = _Workers(client)
        while True:
            most = _AHEAD * watch.threads()
            while len(running) < most and (batch := self._next_batch(tasks, watch)) is not None:
                # Not "pure", or a batch that failed would be remembered and not tried again.
                future = client.submit(grade_batch, pack(self._config, batch.tasks), pure=False)
                running[future] = batch
                future.add_done_callback(finished.put)
            if not running:
                return
            try:
                future = finished.get(timeout=_LOOK_AGAIN)
            except queue.Empty:
                watch.see()
                continue
            yield from self._collected(running.pop(future), future, watch)

    def _next_batch(self, tasks: Iterator[ToGrade], watch: "_Workers") -> _Batch | None:
        if self._again:
            return self._again.popleft()
        # Small first, so that all workers begin at once and a small class is shared among them.
        size = min(_MOST, _FIRST << min(self._count // (_AHEAD * watch.threads()), 9))
        self._count += 1
        taken: list[ToGrade] = []
        length = 0
        for task in islice(tasks, size):
            taken.append(task)
            length += len(task.content)
            if length >= _LARGEST:
                break
        return _Batch(tuple(taken)) if taken else None

    def _collected(self, batch: _Batch, future: Any, watch: "_Workers") -> Iterator[Done]:
        """Yield what came of a batch; where nothing did, have it tried again."""
        try:
            answer = _answer_of(future)
            if "refused" in answer:
                raise JobsFailed(
                    _("A worker of the cluster can't grade: {why}.").format(
                        why=str(answer["refused"]).rstrip(".")
                    )
                )
            yield from _dones(batch.tasks, answer, self._chapters)
        except BadAnswer:
            watch.see()
            if not batch.has_failed:
                self._again.append(replace(batch, has_failed=True))
            elif len(batch.tasks) > 1:
                self._again.extend(_Batch((task,)) for task in batch.tasks)
            else:
                yield Done(batch.tasks[0], None, 0.0)


class _Workers:
    """Knows how many there are, and when it is no use to wait any longer."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._last_seen = time.monotonic()

    def threads(self) -> int:
        """Return how many threads there are to work, or one that may still come."""
        return max(1, self.see())

    def see(self) -> int:
        """Return how many threads there are; raise `JobsFailed` where there are none for long."""
        try:
            found = sum(self._client.nthreads().values())
        except Exception as fault:  # whatever Dask raises: the scheduler does not answer
            raise JobsFailed(
                _(
                    "The connection to the scheduler is lost. What was graded is kept; run the "
                    "same command again to go on."
                )
            ) from fault
        now = time.monotonic()
        if found:
            self._last_seen = now
        elif now - self._last_seen > _PATIENCE:
            raise JobsFailed(
                _(
                    "The scheduler has had no worker for {seconds:g} seconds. What was graded is "
                    "kept; start workers and run the same command again."
                ).format(seconds=_PATIENCE)
            )
        return found


def _answer_of(future: Any) -> dict[str, Any]:
    """Return what a worker sent; or raise `BadAnswer`, also where a worker died."""
    try:
        content = future.result()
    except Exception as fault:  # KilledWorker, cancelled, lost: whatever Dask raises
        raise BadAnswer(type(fault).__name__) from fault
    if not isinstance(content, bytes):
        raise BadAnswer("no bytes")
    try:
        answer = json.loads(content)
    except ValueError as fault:
        raise BadAnswer("no JSON") from fault
    if not isinstance(answer, dict):
        raise BadAnswer("no object")
    return answer


def _dones(
    tasks: tuple[ToGrade, ...], answer: Mapping[str, Any], chapters: Mapping[str, Chapter]
) -> list[Done]:
    """Return the results of a batch: all of them, or `BadAnswer` is raised."""
    results = answer.get("results")
    if not isinstance(results, list) or len(results) != len(tasks):
        raise BadAnswer("other results than were asked for")
    try:
        return [_done(task, one, chapters) for task, one in zip(tasks, results, strict=True)]
    except (AttributeError, KeyError, TypeError, UnknownRecord) as fault:
        raise BadAnswer(str(fault)) from fault


def _done(task: ToGrade, found: Mapping[str, Any], chapters: Mapping[str, Chapter]) -> Done:
    seconds, rung = found["seconds"], found["rung"]
    if found["number"] != task.number or rung not in _RUNGS:
        raise BadAnswer("another notebook, or another rung, than there is")
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise BadAnswer("no time")
    record = None if found["record"] is None else from_json(found["record"])
    if record is not None and not _fits(record, chapters[task.chapter]):
        raise BadAnswer("a record that does not fit its chapter")
    return Done(task, record, float(seconds), found["is_overdue"] is True, rung)


def _fits(record: Record, chapter: Chapter) -> bool:
    """Return whether a record is one that this chapter can have."""
    worth = {one.id: one.points for one in chapter.exercises.values()}
    return record.max_points == chapter.points and all(
        worth.get(one.id) == one.max_points
        and (one.points is None or one.points in range(one.max_points + 1))
        for one in record.exercises
    )


# The connection


@contextmanager
def _connected(scheduler: Scheduler) -> Iterator[Any]:
    """Yield a client of the cluster; at the end, nothing of ours goes on there."""
    try:
        import distributed
    except ImportError as fault:
        raise Misuse(str(missing("distributed", "dask"))) from fault
    security = _security(distributed, scheduler) if scheduler.address else None
    cluster = None if scheduler.address else _own_cluster(distributed, scheduler.jobs)
    try:
        client = distributed.Client(
            cluster or scheduler.address,
            security=security,
            timeout=_SECONDS_TO_CONNECT,
            set_as_default=False,
        )
    except (OSError, ValueError) as fault:
        raise Misuse(
            _("There is no connection to the scheduler {address}: {why}.").format(
                address=scheduler.address, why=str(fault).rstrip(".")
            )
        ) from fault
    try:
        yield client
    finally:
        with suppress(Exception):  # workers may be gone, and the scheduler too
            client.run(put_away)
        client.close()
        if cluster is not None:
            cluster.close()


def _own_cluster(distributed: Any, jobs: int) -> Any:
    """Return a cluster of threads in this process; each of them has a process that grades."""
    import dask

    # Dask insists on a web server for each of them: on loopback, without a single page.
    pages: dict[str, list[str]] = {
        f"distributed.{one}.http.routes": [] for one in ("scheduler", "worker")
    }
    with dask.config.set(pages):
        return distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=False,
            protocol="inproc://",  # no port on which others could give it work
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.ERROR,  # Ctrl-C makes it warn of what it cancels
        )


def _security(distributed: Any, scheduler: Scheduler) -> Any:
    """Return how to talk to a scheduler; or raise `Misuse` where that would be open to others."""
    parts = urlsplit(scheduler.address)
    if parts.scheme == "tls":
        security = distributed.Security(require_encryption=True)
        if not (security.tls_ca_file and security.tls_client_cert):
            raise Misuse(
                _(
                    "A connection by TLS needs certificates. Set DASK_DISTRIBUTED__COMM__TLS__"
                    "CA_FILE, …__TLS__CLIENT__CERT and …__TLS__CLIENT__KEY to their files."
                )
            )
        return security
    if parts.scheme == "tcp" and scheduler.is_insecure and _is_loopback(parts.hostname or ""):
        return None
    raise Misuse(
        _(
            "{address} is not encrypted: whoever reaches it can run code on the workers. Use TLS "
            "(tls://host:port); on this machine alone, tcp://127.0.0.1:port together with "
            "--insecure-scheduler will do."
        ).format(address=scheduler.address)
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
