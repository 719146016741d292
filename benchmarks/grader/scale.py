"""What grading on several workers costs, measured here: `python -m benchmarks.grader.scale FILE`.

One class is graded by one and by two jobs, by one and by two workers of a Dask cluster (processes
of their own, TCP on loopback), and in two parts that are joined. All must give the same points.
The figures go into FILE together with what `simulate` makes of them for many machines.

Times on the wall depend on what else this machine does; seconds of processor time hardly do, and
these the simulation uses.
"""

import argparse
import json
import os
import platform
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.grader import learners, our_grader, simulate

FEW = 40  # notebooks, to tell the start of a run from the rest of it
_TASKS = 500
_SEED = ("--seed", "7")


def measured(count: int) -> dict[str, Any]:
    """Return the figures for a class of `count` learners."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="attn-course-scale-") as name:
        folder = Path(name)
        learners.for_ours(folder / "in", count)
        learners.for_ours(folder / "few", FEW)
        runs = {f"{jobs} jobs": _graded(folder, f"{jobs} jobs", count, jobs) for jobs in (1, 2)}
        few = _graded(folder, "few, 1 jobs", FEW, 1)
        for workers in (1, 2):
            before = _processor()
            with _cluster(workers) as address:
                name = f"{workers} workers"
                runs[name] = _graded(folder, name, count, 1, *_by_dask(address))
                client = _graded(folder, f"few, {name}", FEW, 1, *_by_dask(address))
                task = _seconds_of_a_task(address)
            # All that the cluster did, and the program with the gradebook too.
            runs[name]["with_workers"] = _processor() - before - client["processor"]
        points = [run.pop("points") for run in runs.values()]
        if any(one != points[0] for one in points):
            raise RuntimeError("the engines gave different points")
        more = count - FEW
        each = (runs["1 jobs"]["processor"] - few["processor"]) / more
        return {
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": load,
            "notebooks": count,
            "runs": runs,
            "seconds_of_a_notebook": each,
            "seconds_to_start": few["processor"] - FEW * each,
            "seconds_of_the_client": (runs["2 workers"]["processor"] - client["processor"]) / more,
            "seconds_of_a_task": task,
            "seconds_to_join_a_result": _joined(folder, count, points[0]) / count,
            "times": _times(folder / "out, 1 jobs"),
        }


def _graded(folder: Path, name: str, count: int, jobs: int, *options: str) -> dict[str, Any]:
    """Grade a class; return what it took: `processor` is of the program and what it started."""
    before = _processor()
    place = folder / ("few" if count == FEW else "in")
    run = our_grader.grade(place, folder / f"out, {name}", count, jobs, *_SEED, *options)
    return {
        "wall": run.seconds,
        "first_result": run.graded[0][1],
        "processor": _processor() - before,
        "points": run.points,
    }


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def _joined(folder: Path, count: int, points: dict[str, int]) -> float:
    """Grade in two parts and join them; return the seconds of processor time for joining."""
    parts = []
    for part in ("1/2", "2/2"):
        parts.append(folder / f"part {part[0]}")
        our_grader.grade(folder / "in", parts[-1], count, 1, *_SEED, "--shard", part)
    program = [sys.executable, "-m", "attn_course.cli", "merge", *map(str, parts)]
    before = _processor()
    out = folder / "joined"
    subprocess.run([*program, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    if our_grader.points_in(out) != points:
        raise RuntimeError("the joined parts gave different points")
    return _processor() - before


def as_markdown(figures: dict[str, Any]) -> str:
    """Return the table for the page of instructors."""
    names = {
        "1 jobs": "one job",
        "2 jobs": "two jobs",
        "1 workers": "one worker of Dask",
        "2 workers": "two workers of Dask",
    }
    lines = [
        f"| {figures['notebooks']} notebooks | first result | all | a second | processor time |",
        "|---|---|---|---|---|",
    ]
    for key, name in names.items():
        run = figures["runs"][key]
        rate = figures["notebooks"] / run["wall"]
        spent = run.get("with_workers", run["processor"])
        lines.append(
            f"| {name} | {run['first_result']:.0f} s | {run['wall']:.0f} s | {rate:.1f} "
            f"| {spent:.0f} s |"
        )
    return "\n".join(lines)


def _times(out: Path) -> list[float]:
    """Return the seconds that each notebook took, as the gradebook has them."""
    with sqlite3.connect(out / "gradebook.sqlite") as book:
        return sorted(round(row[0], 4) for row in book.execute("SELECT seconds FROM results"))


def main() -> int:
    """Measure, simulate, and write both down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grader.scale", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="where the figures go, JSON")
    parser.add_argument("--notebooks", type=int, default=400, help="notebooks (400)")
    choices = parser.parse_args()
    figures = measured(choices.notebooks)
    content = {"measured": figures, "simulated": simulate.table(figures)}
    choices.file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in figures.items() if k != "times"}, indent=1))
    print(simulate.as_text(content["simulated"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
