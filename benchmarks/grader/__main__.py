"""Measure the grader: `python -m benchmarks.grader`; the exit code is 1 when a bound is missed.

Ratios are of times on one machine, so another load on it matters less; the times themselves, and
what two jobs gain over one, are to be believed on an otherwise idle machine with two cores.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.grader import learners, our_grader, peers, self_check
from benchmarks.grader.environments import python_of

CACHE = Path(__file__).parents[2] / ".bench"
TIMES_FASTER = {"nbgrader": 60, "otter": 80}


@dataclass(frozen=True)
class Line:
    """One measured number, with the bound it should keep (none: for information)."""

    what: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether the number keeps its bound."""
        too_much = self.at_most is not None and self.value > self.at_most
        too_little = self.at_least is not None and self.value < self.at_least
        return not too_much and not too_little

    def __str__(self) -> str:
        least = [] if self.at_least is None else [f">= {self.at_least:g}"]
        bound = " ".join(least if self.at_most is None else [*least, f"<= {self.at_most:g}"])
        verdict = ("pass" if self.kept else "FAIL") if bound else ""
        number = f"{self.value:.3g} {self.unit}"
        return f"  {self.what:<58}{number:>10}  {bound:<15}{verdict:<6}{self.detail}"


def measured(count: int, with_peer: int, chosen: list[str], cache: Path) -> Iterator[Line]:
    """Yield what comes out, as soon as it does."""
    with tempfile.TemporaryDirectory(prefix="attn-course-bench-") as name:
        folder = Path(name)
        submissions = folder / "in"
        learners.for_ours(submissions, count)
        whole = our_grader.grade(submissions, folder / "two", count, jobs=2)
        print(f"  {whole.isolation}")
        each = whole.seconds / count
        spoken = f"{count} notebooks, 2 jobs, {whole.seconds:.1f} s in all"
        yield Line("a notebook, start included", 1000 * each, "ms", at_most=70, detail=spoken)
        yield Line("a notebook, once they run", 1000 / whole.rate, "ms", at_most=50)
        yield _flat_memory(whole)
        yield from _jobs(whole, submissions, folder, count)
        yield from _start(folder)
        for peer in chosen:
            yield from _against(peer, whole, folder, with_peer, cache)
    yield from _self_check()


def _flat_memory(run: our_grader.Run) -> Line:
    tenth = run.count // 10
    # Not the very first tenth: while it is graded the second job still loads its libraries.
    first = run.memory_in(tenth, 2 * tenth) / 2**20
    last = run.memory_in(run.count - tenth, run.count) / 2**20
    spoken = f"{first:.0f} MB, then {last:.0f} MB, shared pages counted for each process"
    what = "memory: last tenth / second tenth"
    if run.count < 500:  # the second job is not even there then
        return Line(what, last / first, detail=spoken)
    return Line(what, last / first, at_least=0.9, at_most=1.1, detail=spoken)


def _jobs(two: our_grader.Run, submissions: Path, folder: Path, count: int) -> Iterator[Line]:
    one = our_grader.grade(submissions, folder / "one", count, jobs=1)
    if one.points != two.points:
        raise RuntimeError("one job and two jobs gave different points")
    spoken = f"{two.rate:.1f} against {one.rate:.1f} a second, once they run"
    yield Line("two jobs / one job", two.rate / one.rate, at_least=1.7, detail=spoken)


def _start(folder: Path) -> Iterator[Line]:
    learners.for_ours(folder / "single", 1)
    times = [
        our_grader.grade(folder / "single", folder / f"single{turn}", 1, jobs=2).graded[0][1]
        for turn in range(3)
    ]
    spoken = f"of three: {', '.join(f'{seconds:.1f}' for seconds in times)}"
    yield Line("from the start to the first result", median(times), "s", at_most=6, detail=spoken)


def _against(
    peer: str, run: our_grader.Run, folder: Path, count: int, cache: Path
) -> Iterator[Line]:
    found = peers.PEERS[peer](python_of(peer, cache), folder / peer, count)
    differing = {name for name, points in found.points.items() if run.points[name] != points}
    if differing or len(found.points) != count:
        raise RuntimeError(f"{peer} and ours gave different points: {differing or found.points}")
    each = 1 / run.rate  # once it runs, as with the peers
    spoken = f"{found.seconds:.2f} s against {1000 * each:.0f} ms for a notebook, same points"
    bound = TIMES_FASTER[peer]
    yield Line(f"{peer}: time / ours", found.seconds / each, at_least=bound, detail=spoken)


def _self_check() -> Iterator[Line]:
    times = self_check.seconds()
    slowest = max(times, key=lambda name: times[name])
    spoken = f"the slowest of {len(times)}: {slowest}; median {median(times.values()):.3f} s"
    yield Line("a self-check in a notebook", times[slowest], "s", at_most=0.5, detail=spoken)


def main() -> int:
    """Measure what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grader", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 notebooks, 5 for the peers")
    parser.add_argument("--submissions", type=int, default=1000, help="notebooks for ours (1000)")
    parser.add_argument(
        "--peers",
        nargs="+",
        default=list(TIMES_FASTER),
        choices=[*TIMES_FASTER, "none"],
        help="whom to compare with (all)",
    )
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the peers are kept")
    choices = parser.parse_args()
    count = 100 if choices.quick else choices.submissions
    with_peer = learners.PERIOD * (1 if choices.quick else 4)
    if count < max(10, with_peer):
        parser.error(f"--submissions: at least {max(10, with_peer)} notebooks are needed")
    chosen = [peer for peer in choices.peers if peer != "none"]
    busy, processors = os.getloadavg()[0], os.cpu_count() or 1
    if busy > processors / 4:
        print(f"Other programs are busy (load {busy:.1f} on {processors} processors).")
    missed = 0
    print("grader", flush=True)
    for line in measured(count, with_peer, chosen, choices.cache.resolve()):
        print(line, flush=True)
        missed += not line.kept
    print(f"{missed} bound{'' if missed == 1 else 's'} missed" if missed else "every bound kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
