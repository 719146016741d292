"""The stopwatch, the scales, and the line that a benchmark prints."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

MIB = 2**20
Run = Callable[[], object]


@dataclass(frozen=True)
class Line:
    """One measured number, with the bound it should keep (None: for information).

    `why` is printed when the bound is missed, for a bound that this code can't be expected to keep.
    """

    what: str
    value: float
    bound: float | None = None
    detail: str = ""
    why: str = ""

    @property
    def kept(self) -> bool:
        """Whether the number keeps its bound."""
        return self.bound is None or self.value <= self.bound

    def __str__(self) -> str:
        bound = "" if self.bound is None else f"<= {self.bound:<5.4g}"
        verdict = "" if self.bound is None else ("pass" if self.kept else "FAIL")
        why = f"\n    why: {self.why}" if self.why and not self.kept else ""
        return f"  {self.what:<62}{self.value:>8.3f}  {bound:<9}{verdict:<6}{self.detail}{why}"


def compare_times(what: str, ours: Run, peer: Run, bound: float | None, repeats: int = 15) -> Line:
    """Return the time of `ours` over that of `peer`, the median over interleaved pairs.

    The two runs of a pair follow each other at once, and in turn one or the other comes first, so
    that a load on the machine that comes and goes hits both alike. A ratio is taken within each
    pair. Short runs are repeated until a sample takes a fiftieth of a second. With one thread it is
    the processor's time that counts, which other programs hardly touch; with more, the clock's.
    """
    loops = {run: _calibrate(run) for run in (ours, peer)}
    ratios, samples = [], []
    for pair in range(repeats):
        order = (ours, peer) if pair % 2 else (peer, ours)
        taken = {run: seconds(run, loops[run]) for run in order}
        ratios.append(taken[ours] / taken[peer])
        samples.append((taken[ours], taken[peer]))
    mine, theirs = (1000 * median(column) for column in zip(*samples, strict=True))
    low, *_, high = sorted(ratios)
    detail = f"{mine:.3g} ms against {theirs:.3g} ms, ratios {low:.2f} to {high:.2f}"
    return Line(what, median(ratios), bound, detail)


def _calibrate(run: Run) -> int:
    run()  # the first call pays for memory and threads
    return max(1, round(0.02 / max(seconds(run, 1), 1e-6)))


def seconds(run: Run, loops: int) -> float:
    """Return the seconds of one run, the mean over `loops`; see `compare_times` for the clock."""
    clock = process_time if torch.get_num_threads() == 1 else perf_counter
    start = clock()
    for _ in range(loops):
        run()
    return (clock() - start) / loops


class Memory(NamedTuple):
    """Bytes that a run asked PyTorch for: the most held at one time, and the largest piece."""

    peak: int
    largest: int


def memory(run: Run) -> Memory:
    """Return the extra memory of `run`, its result included, as PyTorch's allocator reports it.

    PyTorch's profiler is told of every piece that the CPU allocator gives and takes back, also of
    the temporary ones inside an operation. So the numbers are exact to the byte, the same on every
    machine and under any load. `tracemalloc` sees nothing of it, because tensors are not Python's
    memory. The high-water mark of the process (`ru_maxrss`) can't go down between two runs, moves
    in pages and pools, and in a new process starts at its parent's mark. What the allocator does
    not see are the packing buffers of the matrix product, a few MiB whatever n is.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        result = run()
    with TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        watched.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    del result
    pieces = [event for event in events if event.get("name") == "[memory]"]
    pieces.sort(key=lambda event: event["ts"])
    held = peak = largest = 0
    for piece in pieces:
        size = piece["args"]["Bytes"]
        held += size
        peak, largest = max(peak, held), max(largest, size)
    return Memory(peak, largest)


def straight_line(what: str, sizes: Sequence[int], measured: Sequence[int]) -> Line:
    """Return how far the measured bytes are from a straight line in `sizes`, at the worst size.

    The line is the best fit, and the distance is relative. Over sizes that double three times,
    bytes that grow with the square are off by half and more.
    """
    x_0, y_0 = mean(sizes), mean(measured)
    above = sum((x - x_0) * (y - y_0) for x, y in zip(sizes, measured, strict=True))
    slope = above / sum((x - x_0) ** 2 for x in sizes)
    start = y_0 - slope * x_0
    off = max(abs(start + slope * x - y) / y for x, y in zip(sizes, measured, strict=True))
    points = ", ".join(f"{x:,}: {y / MIB:.1f}" for x, y in zip(sizes, measured, strict=True))
    detail = f"{start / MIB:.1f} MiB + {slope:.0f} bytes each (MiB at {points})"
    return Line(what, off, 0.05, detail)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    """Return the same random numbers in every run."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
