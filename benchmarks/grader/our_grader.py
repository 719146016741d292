"""Our grader as a program of its own, and how long it runs and how much memory it uses."""

import csv
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from benchmarks.grader import assignment

PROGRAM = [sys.executable, "-m", "attn_course.cli", "grade"]
_COUNTED = re.compile(r"grading: (\d+) of \d+ ")
_PAUSE = 0.1  # seconds between two looks at the scales
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Run:
    """What one run of the grader took."""

    count: int
    seconds: float = 0.0
    isolation: str = ""
    points: dict[str, int] = field(default_factory=dict)
    # When so many were graded, in seconds from the start; it says so ten times in a run.
    graded: list[tuple[int, float]] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)  # at a time, so many bytes

    @property
    def rate(self) -> float:
        """Notebooks a second once it runs: without the start, which the first tenth holds."""
        (few, then), (all_of_them, now) = self.graded[0], self.graded[-1]
        return (all_of_them - few) / (now - then)

    def memory_in(self, first: int, last: int) -> float:
        """Return the bytes held (the most but for peaks) while these were graded."""
        times = {0: 0.0, **dict(self.graded)}
        begin = max(time for count, time in times.items() if count <= first)
        end = min(time for count, time in times.items() if count >= last)
        held = [size for when, size in self.memory if begin <= when <= end]
        return quantiles(held, n=10)[-1]


def grade(submissions: Path, out: Path, count: int, jobs: int, *options: str) -> Run:
    """Grade the notebooks in a folder and measure it."""
    run = Run(count)
    checks = ["--checks", assignment.__file__, "--chapters", assignment.chapter.number]
    command = [
        *PROGRAM,
        str(submissions),
        "--out",
        str(out),
        "--jobs",
        str(jobs),
        *checks,
        *options,
    ]
    english = os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": "en"}
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=english
    )
    ended = threading.Event()
    scales = threading.Thread(target=_weigh, args=(process.pid, run, start, ended))
    scales.start()
    said = []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        found = _COUNTED.match(line)
        if found:
            run.graded.append((int(found[1]), time.monotonic() - start))
    code = process.wait()
    run.seconds = time.monotonic() - start
    ended.set()
    scales.join()
    if code != 0 or not run.graded:
        raise RuntimeError(f"the grader ended with {code}: {''.join(said)}")
    run.isolation = said[0].strip()
    run.points = points_in(out)
    return run


def points_in(out: Path) -> dict[str, int]:
    """Return the points that a folder of results has for each learner."""
    with open(out / "grades.csv", newline="") as lines:
        return {row["learner"]: int(row["points"]) for row in csv.DictReader(lines)}


def _weigh(pid: int, run: Run, start: float, ended: threading.Event) -> None:
    while not ended.wait(_PAUSE):
        run.memory.append((time.monotonic() - start, _memory_of_tree(pid)))


def _memory_of_tree(root: int) -> int:
    """Return the bytes that a process and all below it hold, shared ones counted for each."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended just now
                continue
            parents[int(entry.name)] = int(fields[1])
            sizes[int(entry.name)] = int(fields[21]) * _PAGE
    total = 0
    for pid, size in sizes.items():
        above = pid
        while above in parents and above != root:
            above = parents[above]
        total += size if above == root else 0
    return total
