"""What grading on several workers costs, measured here: `python -m benchmarks.grader.scale FILE`.

One class is graded by one and by two jobs, by one and by two workers of a Dask cluster (processes
of their own, TCP on loopback), and all must give the same points. Then these results, under the
names of many learners, are joined from two parts. The figures go into FILE together with what
`simulate` makes of them for many machines.

Times on the wall depend on what else this machine does; seconds of processor time hardly do, and
these the simulation uses.
"""

import argparse
import json
import os
import platform
import resource
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from attn_course.grading import outputs, shards
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.report_options import ReportOptions
from benchmarks.grader import learners, our_grader, simulate

FEW = 40  # notebooks, to tell the start of a run from the rest of it
_TASKS = 500
_TO_JOIN = 2000
_SEED = ("--seed", "7")


def measured(count: int) -> dict[str, Any]:
    """Return the figures for a class of `count` learners."""
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="attn-course-scale-") as name:
        folder = Path(name)
        learners.for_ours(folder / "in", count)
        learners.for_ours(folder / "few", FEW)
        runs = {f"{jobs} jobs": _graded(folder, f"{jobs} jobs", count, jobs) for jobs in (1, 2)}
        few = _graded(folder, "few, 1 jobs", FEW, 1)
        for workers in (1, 2):
            with _cluster(workers) as address:
                name = f"{workers} workers"
                runs[name] = _graded(folder, name, count, 1, *_by_dask(address))
                if workers == 2:
                    client = _graded(folder, f"few, {name}", FEW, 1, *_by_dask(address))
                    task = _seconds_of_a_task(address)
        points = [run.pop("points") for run in runs.values()]
        if any(one != points[0] for one in points):
            raise RuntimeError("the engines gave different points")
        more = count - FEW
        each = (runs["1 jobs"]["processor"] - few["processor"]) / more
        loads.append(os.getloadavg()[0])
        return {
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "load": [round(load, 1) for load in loads],
            "notebooks": count,
            "runs": runs,
            "seconds_of_a_notebook": each,
            "seconds_to_start": few["processor"] - FEW * each,
            "seconds_of_the_client": (runs["2 workers"]["program"] - client["program"]) / more,
            "seconds_of_a_task": task,
            "seconds_to_join_a_result": _seconds_to_join(folder, folder / "out, 1 jobs"),
            "times": _times(folder / "out, 1 jobs"),
        }


def _graded(folder: Path, name: str, count: int, jobs: int, *options: str) -> dict[str, Any]:
    """Grade a class; return what it took, in seconds.

    `processor` is of all that we started, workers too; `program` is of the grader's program alone,
    with those of its processes that it waited for.
    """
    place = folder / ("few" if count == FEW else "in")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with _ProcessorTime() as spent:
        run = our_grader.grade(place, folder / f"out, {name}", count, jobs, *_SEED, *options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": run.seconds,
        "first_result": run.graded[0][1],
        "processor": spent.seconds,
        "program": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "points": run.points,
    }


class _ProcessorTime:
    """Watches how much processor time this process and all below it have used.

    The system tells it of those that ended only where a parent waited for them, which is not so in
    a sandbox that is ended as a whole. So we look each second, and the most that we saw counts.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        first = _processor_time_of_tree(os.getpid())
        while not self._ended.wait(1.0):
            self.seconds = max(self.seconds, _processor_time_of_tree(os.getpid()) - first)

    def __enter__(self) -> "_ProcessorTime":
        self._thread.start()
        return self

    def __exit__(self, *_fault: object) -> None:
        self._ended.set()
        self._thread.join()


def _processor_time_of_tree(root: int) -> float:
    """Return what all living processes below `root` used, with those that they waited for."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended just now
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15]))
    total = 0
    for pid, ticks in used.items():
        above = pid
        while above in parents and above != root:
            above = parents[above]
        total += ticks if above == root else 0
    return total / os.sysconf("SC_CLK_TCK")


def _by_dask(address: str) -> list[str]:
    return ["--engine", "dask", "--scheduler", address, "--insecure-scheduler"]


@contextmanager
def _cluster(workers: int) -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


def _seconds_of_a_task(address: str) -> float:
    """Return the seconds between two tasks that do nothing with ten kilobytes."""
    from distributed import Client, wait

    with Client(address) as client:
        start = time.monotonic()
        wait([client.submit(len, os.urandom(10_000), pure=False) for _ in range(_TASKS)])
        return (time.monotonic() - start) / _TASKS


def _seconds_to_join(folder: Path, graded: Path) -> float:
    """Return the processor time per result of joining two parts and writing all reports.

    The results are those that were just graded, under the names of many learners.
    """
    with Gradebook(graded) as book:
        known = list(book.latest())
        seed = book.seed
    entries = [
        replace(known[number % len(known)], learner=f"learner{number:06d}")
        for number in range(_TO_JOIN)
    ]
    parts = [folder / f"part {number}" for number in (1, 2)]
    for number, part in enumerate(parts, start=1):
        part.mkdir()
        with Gradebook(part, seed) as book:
            shards.begin(book, shards.Shard(number, 2), {})
            book.take_over(e for e in entries if shards.part_of(e.learner, 2) == number)
            shards.end(book, ())
    start = time.process_time()
    joined = shards.join(parts, folder / "joined")
    with joined.gradebook as book:
        outputs.write(folder / "joined", book, (), ReportOptions())
    return (time.process_time() - start) / _TO_JOIN


def as_markdown(figures: dict[str, Any]) -> str:
    """Return the table for the page of instructors."""
    names = {
        "1 jobs": "one job",
        "2 jobs": "two jobs",
        "1 workers": "one worker of Dask",
        "2 workers": "two workers of Dask",
    }
    lines = [
        f"| {figures['notebooks']} notebooks | first result | all | per second | processor time |",
        "|---|---|---|---|---|",
    ]
    for key, name in names.items():
        run = figures["runs"][key]
        rate = figures["notebooks"] / run["wall"]
        lines.append(
            f"| {name} | {run['first_result']:.0f} s | {run['wall']:.0f} s | {rate:.1f} "
            f"| {run['processor']:.0f} s |"
        )
    return "\n".join(lines)


def in_words(figures: dict[str, Any]) -> str:
    """Return the sentences for the page of instructors."""
    from_, to = sorted(figures["load"])
    return "\n".join(
        [
            f"The machine had {figures['processors']} processors and much other work to do "
            f"(a load of {from_:.0f} to {to:.0f}), so these times say little about an idle one.",
            "Processor time hardly depends on other work: "
            f"a notebook costs {1000 * figures['seconds_of_a_notebook']:.0f} ms of it and the "
            f"start of a run {figures['seconds_to_start']:.0f} s.",
            "When Dask workers or other machines do the grading, the program that keeps the "
            "gradebook still needs "
            f"{1000 * figures['seconds_of_the_client']:.1f} ms per notebook, and `merge` needs "
            f"{1000 * figures['seconds_to_join_a_result']:.1f} ms per result.",
        ]
    )


def _times(out: Path) -> list[float]:
    """Return the seconds that each notebook took, as the gradebook has them."""
    with sqlite3.connect(out / "gradebook.sqlite") as book:
        return sorted(round(row[0], 4) for row in book.execute("SELECT seconds FROM results"))


def main() -> int:
    """Measure, simulate, and write both down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grader.scale", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="where the figures go, JSON")
    parser.add_argument("--notebooks", type=int, default=200, help="notebooks (200)")
    choices = parser.parse_args()
    figures = measured(choices.notebooks)
    content = {"measured": figures, "simulated": simulate.table(figures)}
    choices.file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in figures.items() if k != "times"}, indent=1))
    print(simulate.as_text(content["simulated"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
