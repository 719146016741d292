"""What a worker of Dask does: one batch of notebooks in, their records out.

Both are bytes. The notebooks come with the batch, so a worker needs no disk in common with others;
the records go back as JSON, and no exception does: Dask would pickle it. The sandbox is here, in a
process of its own for each thread of the worker, which stays warm from batch to batch.
"""

import hashlib
import json
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgpack

from attn_course.grading.dask_engine_process import read_frame, write_frame
from attn_course.grading.jobs import ToGrade

_PATIENCE = 5.0  # seconds for a process to put its sandbox away


def pack(config: Mapping[str, Any], tasks: Iterable[ToGrade]) -> bytes:
    """Return a batch as bytes; notebooks shrink to a fraction, and a scheduler keeps them all."""
    content = {"config": config, "tasks": [asdict(task) for task in tasks]}
    return zlib.compress(msgpack.packb(content), level=1)


def grade_batch(batch: bytes) -> bytes:
    """Return the records of a batch, as JSON: `{"results": […]}`, or why there are none."""
    try:
        content = msgpack.unpackb(zlib.decompress(batch))
        return json.dumps(_graded(content["config"], content["tasks"])).encode()
    except Exception as fault:  # the client tries the batch again
        return json.dumps({"failed": f"{type(fault).__name__}: {fault}"}).encode()


def put_away() -> None:
    """End the processes that are idle, and the others as soon as they are."""
    _POOL.put_away()


def _graded(config: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    packed = msgpack.packb(config)
    process = _POOL.take(packed)
    if process.refusal:
        return {"refused": process.refusal}
    results = []
    try:
        for task in tasks:
            answer = process.grade(msgpack.packb(task))
            if "refused" in answer:  # no job can be started any more
                process.end()
                return answer
            results.append(answer)
    except BaseException:
        process.end()
        raise
    _POOL.give_back(process)
    return {"results": results}


class _Process:
    """A process that grades as it was told at its start."""

    def __init__(self, config: bytes, age: int) -> None:
        self.kind = _kind(config)
        self.age = age
        command = [sys.executable, "-P", "-m", "attn_course.grading.dask_engine_process"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.refusal = ""
        try:
            self.refusal = self.grade(config).get("refused", "")
        except BaseException:
            self.end()
            raise
        if self.refusal:
            self.end()

    def grade(self, order: bytes) -> dict[str, Any]:
        """Send one frame and return the answer; or raise `EOFError` or `OSError`: it is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        write_frame(self._process.stdin, order)
        answer: dict[str, Any] = json.loads(read_frame(self._process.stdout))
        return answer

    def end(self) -> None:
        """Let it end; or end it."""
        assert self._process.stdout is not None
        try:
            self._process.communicate(timeout=_PATIENCE)  # closes its standard input
        except (OSError, ValueError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


class _Pool:
    """The idle processes of this worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._age = 0  # a process from an age before is not kept

    def take(self, config: bytes) -> _Process:
        """Return a process that grades as `config` says; those that grade otherwise are ended."""
        with self._lock:
            fitting = [one for one in self._idle if one.kind == _kind(config)]
            others = [one for one in self._idle if one.kind != _kind(config)]
            self._idle = fitting
            found = self._idle.pop() if self._idle else None
            age = self._age
        for one in others:
            one.end()
        return found or _Process(config, age)

    def give_back(self, process: _Process) -> None:
        with self._lock:
            is_kept = process.age == self._age
            if is_kept:
                self._idle.append(process)
        if not is_kept:
            process.end()

    def put_away(self) -> None:
        with self._lock:
            self._age += 1
            ended, self._idle = self._idle, []
        for one in ended:
            one.end()


def _kind(config: bytes) -> str:
    return hashlib.sha256(config).hexdigest()


_POOL = _Pool()
