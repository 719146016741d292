"""The process that grades for a worker of Dask, which starts it as a program of its own.

A worker of Dask has threads, so it must not fork, and its heartbeat must go on while a notebook is
judged. So it starts this process, which reads frames from its standard input and answers each
on its standard output:

    how to grade (msgpack)  →  {"ready": rung} or {"refused": why}
    a notebook (msgpack)    →  its record (JSON), until there is no further notebook

Here everything is as in a run on one machine: a job with a sandbox of its own, a deadline, a second
try where a job is gone. The process ends when its standard input does, so it outlives no worker.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgpack

from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.grading.jobs import ToGrade
    from attn_course.grading.run import Settings
    from attn_course.practice.exercise import Chapter

_HEAD = 8  # bytes that say how long a frame is


class Refused(Exception):  # noqa: N818  (it says what is the matter)
    """This machine can't grade as it was asked to: the text says why."""


def write_frame(stream: IO[bytes], content: bytes) -> None:
    """Send one frame."""
    stream.write(len(content).to_bytes(_HEAD, "little") + content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Return the next frame; or raise `EOFError` where there is none, or only half of one."""
    size = int.from_bytes(_exactly(stream, _HEAD), "little")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def main() -> int:
    """Grade what comes, until nothing comes any more."""
    # Before NumPy or PyTorch: jobs are forked, and a fork takes no threads along.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    orders = sys.stdin.buffer
    # What our own checks print goes to the log of the worker and not between the frames.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):  # the worker is gone
        serve(msgpack.unpackb(read_frame(orders)), orders, answers)
    return 0


def serve(config: Mapping[str, Any], orders: IO[bytes], answers: IO[bytes]) -> None:
    """Grade as `config` says; where that can't be done here, answer why."""
    from attn_course.grading.instructor import ChecksProblem
    from attn_course.grading.isolation_trial import NoSandbox, find_rung
    from attn_course.grading.jobs import JobsFailed
    from attn_course.grading.launch import sweep
    from attn_course.grading.sandbox import HeadStart
    from attn_course.inside.limits import Limits
    from attn_course.practice.numbers import Misuse

    sweep()
    try:
        rung = find_rung(config["isolation"])
        if not rung.is_sandbox and not config["is_trusted"]:
            raise Refused(_("there is no sandbox here"))
        with HeadStart(rung, Limits(**config["limits"])) as sandboxes:
            settings = _settings(config, rung, sandboxes)
            _answer(answers, {"ready": rung.letter})
            _grade(settings, orders, answers)
    except (NoSandbox, ChecksProblem, JobsFailed, Misuse, Refused) as fault:
        _answer(answers, {"refused": str(fault)})


def _settings(config: Mapping[str, Any], rung: Any, sandboxes: Any) -> "Settings":
    from attn_course.grading.command import fresh_kernel
    from attn_course.grading.run import Settings
    from attn_course.inside.limits import Limits

    limits = Limits(**config["limits"])
    return Settings(
        submissions=Path(),
        out=Path(),
        chapters=_chapters(config, limits),
        open_sandbox=sandboxes.open,
        after_fork=sandboxes.hand_over,
        rung=rung.letter,
        limits=limits,
        fresh_kernel=fresh_kernel(rung, limits) if config["nbval"] else None,
    )


def _chapters(config: Mapping[str, Any], limits: Any) -> dict[str, "Chapter"]:
    """Return the chapters that are asked for, if they are judged here as they are elsewhere."""
    from attn_course.grading.instructor import files_in, version_of, with_own_checks
    from attn_course.grading.temporary_folders import make_folder
    from attn_course.practice.exercises import chapters

    known: Mapping[str, Chapter] = chapters()
    own_checks: list[Path] = []
    folder = make_folder("worker")  # private, and gone as soon as the checks are loaded
    try:
        if config["checks"]:
            for name, content in config["checks"].items():
                (folder / Path(name).name).write_bytes(content)
            own_checks = files_in(folder)
            known = with_own_checks(known, folder)
        wanted = {number: known[number] for number in config["versions"] if number in known}
        found = {number: version_of(one, limits, own_checks) for number, one in wanted.items()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if found != config["versions"]:
        raise Refused(_("another version of the course is installed here"))
    return wanted


def _grade(settings: "Settings", orders: IO[bytes], answers: IO[bytes]) -> None:
    """Grade one notebook after the other.

    There is one job: it is idle, and its record sent, before the next notebook is waited for.
    """
    from attn_course.grading.run import graded_here

    for done in graded_here(settings, _tasks(orders)):
        record = None if done.record is None else done.record.to_json()
        _answer(
            answers,
            {
                "number": done.task.number,
                "record": record,
                "seconds": done.seconds,
                "is_overdue": done.is_overdue,
                "rung": settings.rung,
            },
        )


def _tasks(orders: IO[bytes]) -> Iterator["ToGrade"]:
    from attn_course.grading.jobs import ToGrade

    while True:
        try:
            order = read_frame(orders)
        except EOFError:
            return
        yield ToGrade(**msgpack.unpackb(order))


def _answer(answers: IO[bytes], content: Mapping[str, Any]) -> None:
    write_frame(answers, json.dumps(content).encode())


if __name__ == "__main__":
    raise SystemExit(main())
