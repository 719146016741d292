"""`attn-course tasks`: run every task, print the table, keep it, or compare with the kept one."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attn_course.tasks import all_tasks
from attn_course.tasks.table import (
    LIBRARIES,
    Row,
    as_json,
    as_text,
    compared,
    differences,
    read_table,
    run,
)
from attn_course.tasks.task import Task
from attn_course.tasks.training import TUNING_SEED, best_rate, tune
from attn_course.translate import _

# Beside the progress of the exercises, where a run that was interrupted finds what it has done.
LOG = Path(".attn-course") / "tasks.jsonl"


class UnknownTask(Exception):  # noqa: N818  (the text says what exists)
    """The user named a task that there is not."""


def carry_out(arguments: argparse.Namespace) -> int:
    """Do what the command line asks for and return the exit code."""
    tasks = chosen_tasks(arguments.task)
    if arguments.list:
        for task in tasks:
            print(f"{task.name:24} {task.question}")
        return 0
    if arguments.tune:
        return _tune(tasks)
    seeds = list(range(arguments.seeds))
    jobs = arguments.jobs or os.cpu_count() or 1
    log = None if arguments.fresh else LOG
    # Lines about progress go to the standard error, the table alone to the standard output.
    rows = run(tasks, seeds, jobs, log, progress=True)
    print(json.dumps(as_json(rows), indent=1) if arguments.json else as_text(rows))
    if arguments.save:
        save(arguments.save, rows)
        print(_("Saved to {path}.").format(path=arguments.save), file=sys.stderr)
    return _compare(rows, arguments.compare) if arguments.compare else 0


def chosen_tasks(names: Sequence[str] | None) -> list[Task]:
    """Return the tasks of those names, or all of them."""
    known = all_tasks()
    unknown = [name for name in names or () if name not in known]
    if unknown:
        sentence = _("There is no task {name!r}; there are: {known}.")
        raise UnknownTask(sentence.format(name=unknown[0], known=", ".join(known)))
    return [known[name] for name in names] if names else list(known.values())


def save(path: Path, rows: Sequence[Row]) -> None:
    """Write the table with the versions and the date; rows of other tasks in the file stay."""
    kept = load(path)["rows"] if path.exists() else []
    new = as_json(rows)
    renewed = {row["task"] for row in new}
    place = {name: number for number, name in enumerate(all_tasks())}
    both = [row for row in kept if row["task"] not in renewed and row["task"] in place] + new
    record = {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": 1,
        "versions": {name: version(name) for name in LIBRARIES},
        "rows": sorted(both, key=lambda row: place[row["task"]]),  # stable: comparisons in order
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Return what `save` wrote."""
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def _compare(rows: Sequence[Row], path: Path) -> int:
    found = differences(rows, read_table(path))
    for sentence in found:
        print(sentence, file=sys.stderr)
    if not found:
        print(_("Every figure lies within the spread stated in {path}.").format(path=path))
    return 1 if found else 0


def _tune(tasks: Sequence[Task]) -> int:
    """Print the validation score at each learning rate; fail where an arm has not its best one."""
    import torch

    torch.set_num_threads(1)
    print(_("validation scores by learning rate, seed {seed}").format(seed=TUNING_SEED))
    stale = 0
    for task in tasks:
        for arm in compared(task):
            scores = tune(task, arm)
            best = best_rate(task, scores)
            used = task.arms[arm].learning_rate
            stale += scores[best] != scores[used]
            shown = "  ".join(f"{rate:g}: {score:.4f}" for rate, score in scores.items())
            print(f"{task.name:24} {arm:28} {shown}  " + _("used: {rate:g}").format(rate=used))
    return 1 if stale else 0
