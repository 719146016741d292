"""A model of many machines: how long does a large class take, by parts and by Dask?

    python -m benchmarks.grader.simulate book/_data/scale.json

It is a simulation from figures that `scale` measured on one machine, and no measurement. Assumed:

- Each learner hands in one notebook. The time of each is drawn from the measured ones, scaled so
  that their mean is the measured processor time; every processor is as fast as the one measured,
  and has nothing else to do.
- A share of the notebooks runs into the limit of a call (`STUCK`, `STUCK_SECONDS`).
- Each machine has `PROCESSORS` and works on as many notebooks at once. All start at the same
  moment, load their libraries, and read the notebooks at once from wherever they are.
- By parts: a machine grades the learners that the hash of their names gives it. The last machine
  decides, and then one processor joins the results and writes all reports.
- By Dask: one program reads, packs, and stores; the notebooks travel at no cost but its own and
  that of the scheduler. Batches grow as those of `dask_engine` do.
- A number of machines dies in the middle of its work (`DIE`). Its part is begun anew on a machine
  that has finished; its batches are done again by others.
"""

import heapq
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attn_course.grading.dask_engine import _FIRST, _MOST
from attn_course.grading.shards import part_of

LEARNERS = 100_000
MACHINES = (1, 10, 100)
PROCESSORS = 4
STUCK, STUCK_SECONDS = 0.005, 10.0
DIE = 0.02  # of the machines; of fewer than fifty, none
SEED = 7
_AHEAD = 2


class Run(NamedTuple):
    """One simulated run, in seconds."""

    machines: int
    parts: float  # until the last part is graded
    joined: float  # … and joined
    dask: float
    work: float  # of all processors, if they had not to wait for one another


def table(figures: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return a simulated run for each number of machines."""
    return [_run(figures, machines)._asdict() for machines in MACHINES]


def as_text(rows: Sequence[Mapping[str, float]]) -> str:
    """Return the rows as lines, in minutes."""
    head = "machines  parts graded  and joined  by Dask   (minutes)"
    lines = [
        f"{row['machines']:8}  {row['parts'] / 60:12.1f}  {row['joined'] / 60:10.1f}  "
        f"{row['dask'] / 60:7.1f}"
        for row in rows
    ]
    return "\n".join([head, *lines])


def as_markdown(rows: Sequence[Mapping[str, float]]) -> str:
    """Return the table for the page of instructors, in minutes."""
    lines = [
        "| machines | parts are graded after | and joined after | Dask is done after |",
        "|---|---|---|---|",
    ]
    for row in rows:
        times = (f"{row[name] / 60:.0f} min" for name in ("parts", "joined", "dask"))
        lines.append(f"| {row['machines']} | {' | '.join(times)} |")
    return "\n".join(lines)


def _run(figures: Mapping[str, Any], machines: int) -> Run:
    chance = random.Random(SEED)
    times = notebook_times(figures, LEARNERS, chance)
    dead = round(DIE * machines) if machines * DIE >= 1 else 0
    parts = by_parts(figures, times, machines, dead)
    joining = LEARNERS * figures["seconds_to_join_a_result"]
    dask = by_dask(figures, times, machines, dead)
    return Run(machines, parts, parts + joining, dask, sum(times) / (machines * PROCESSORS))


def notebook_times(figures: Mapping[str, Any], count: int, chance: random.Random) -> list[float]:
    """Return how long each notebook takes."""
    known = figures["times"]
    scale = figures["seconds_of_a_notebook"] * len(known) / sum(known)
    return [
        STUCK_SECONDS if chance.random() < STUCK else scale * chance.choice(known)
        for _learner in range(count)
    ]


def by_parts(
    figures: Mapping[str, Any], times: Sequence[float], machines: int, dead: int = 0
) -> float:
    """Return when the last part is graded; machines that die lose half of their work."""
    parts: list[list[float]] = [[] for _machine in range(machines)]
    for learner, seconds in enumerate(times):
        parts[part_of(f"learner{learner:06d}", machines) - 1].append(seconds)
    ends = [figures["seconds_to_start"] + _end(part) for part in parts]
    alive = ends[dead:] or ends
    # The half that a dead machine did is lost; another begins the part when it is done itself.
    begun = sorted(alive)[:dead]
    again = [max(free, end / 2) + end for free, end in zip(begun, ends[:dead], strict=True)]
    return max([*alive, *again])


def _end(part: Sequence[float]) -> float:
    """Return when a machine is done whose processors take one notebook after the other."""
    free = [0.0] * PROCESSORS
    for seconds in part:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def by_dask(
    figures: Mapping[str, Any], times: Sequence[float], machines: int, dead: int = 0
) -> float:
    """Return when the last batch is stored.

    The program that keeps the gradebook does one thing after the other: half of its time for a
    notebook goes into packing it, half into storing the result.
    """
    half, task = figures["seconds_of_the_client"] / 2, figures["seconds_of_a_task"]
    slots = machines * PROCESSORS
    # Each thread has a batch at work and one on its way: it is free to take the next at that time.
    free = [figures["seconds_to_start"]] * slots
    heapq.heapify(free)
    coming: list[tuple[float, int]] = []  # when a batch comes back, and how large it is
    now = 0.0
    batches = _batches(times, slots)
    half_way, lost = len(batches) // 2, dead * PROCESSORS
    for number, batch in enumerate(batches):
        is_lost = half_way <= number < half_way + lost  # with its worker, and done twice
        if is_lost:
            heapq.heappop(free)
        while len(coming) >= _AHEAD * slots:
            now = _stored(now, coming, half)
        now += len(batch) * half + task
        work = sum(batch) * (2 if is_lost else 1)
        end = max(heapq.heappop(free), now) + work
        heapq.heappush(free, end)
        heapq.heappush(coming, (end, len(batch)))
    while coming:
        now = _stored(now, coming, half)
    return now


def _stored(now: float, coming: list[tuple[float, int]], half: float) -> float:
    came, size = heapq.heappop(coming)
    return max(now, came) + size * half


def _batches(times: Sequence[float], slots: int) -> list[Sequence[float]]:
    """Return the notebooks in batches that grow as those of the engine."""
    batches: list[Sequence[float]] = []
    place = 0
    while place < len(times):
        size = min(_MOST, _FIRST << min(len(batches) // (_AHEAD * slots), 9))
        batches.append(times[place : place + size])
        place += size
    return batches


def main() -> int:
    """Simulate anew from the figures in a file, and write the result into it."""
    file = Path(sys.argv[1])
    content = json.loads(file.read_text(encoding="utf-8"))
    content["simulated"] = table(content["measured"])
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(as_text(content["simulated"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
