"""`attn-course tasks`: run every task, print the table, keep it, or compare with the kept one."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from attn_course._progress_bar import ProgressBar
from attn_course.tasks import all_tasks
from attn_course.tasks.table import (
    Row,
    as_json,
    as_text,
    code_version,
    compared,
    differences,
    read_table,
    run,
    versions_here,
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
    stated = None
    if arguments.compare:  # read before an hour of training that nothing could be compared with
        try:
            stated = read_table(arguments.compare)
        except (OSError, ValueError, TypeError, KeyError):
            sentence = _("There is no table to compare with in {path}; --save writes one.")
            print(sentence.format(path=arguments.compare), file=sys.stderr)
            return 2
    elif arguments.changed or arguments.confirm:
        print(_("--changed and --confirm need --compare FILE, a kept table."), file=sys.stderr)
        return 2
    if arguments.changed:
        tasks = changed_tasks(tasks, load(arguments.compare).get("code", {}), arguments.pick)
    seeds = list(range(arguments.seeds))
    jobs = arguments.jobs or os.cpu_count() or 1
    log = None if arguments.fresh else LOG
    # Lines about progress go to the standard error, the table alone to the standard output.
    rows = run(tasks, seeds, jobs, log, progress=True)
    print(json.dumps(as_json(rows), indent=1) if arguments.json else as_text(rows, tasks))
    if arguments.save:
        save(arguments.save, rows)
        print(_("Saved to {path}.").format(path=arguments.save), file=sys.stderr)
    if stated is None:
        return 0
    code = _compare(rows, stated, arguments.compare)
    if code == 0 and arguments.confirm:
        confirm(arguments.compare, tasks)
    return code


def chosen_tasks(names: Sequence[str] | None) -> list[Task]:
    """Return the tasks of those names, each once, or all of them."""
    known = all_tasks()
    unknown = [name for name in names or () if name not in known]
    if unknown:
        sentence = _("There is no task {name!r}; there are: {known}.")
        raise UnknownTask(sentence.format(name=unknown[0], known=", ".join(known)))
    return [known[name] for name in dict.fromkeys(names or known)]


def changed_tasks(tasks: Sequence[Task], code: Mapping[str, str], pick: str) -> list[Task]:
    """Return the tasks whose code is not that of `code`, and one more, which the word `pick` picks.

    The one more would show that an unchanged task has changed after all, by way of something that
    no fingerprint knows, such as the operating system.
    """
    changed = [task for task in tasks if _code_of(task) != code.get(task.name)]
    same = [task for task in tasks if task not in changed]
    if same and pick:
        changed.append(same[int.from_bytes(pick.encode()) % len(same)])
    return [task for task in tasks if task in changed]


def confirm(path: Path, tasks: Iterable[Task]) -> None:
    """Note in a kept table that today's code of these tasks reproduces its figures."""
    record = load(path)
    rows = record.pop("rows")
    _write(path, record | {"code": _code(record.get("code", {}), tasks), "rows": rows})


def _code(known: Mapping[str, str], tasks: Iterable[Task]) -> dict[str, str]:
    """Return the fingerprints of `known` tasks, with those of `tasks` as they are today."""
    renewed = {**known, **{task.name: _code_of(task) for task in tasks}}
    return {name: renewed[name] for name in all_tasks() if name in renewed}


def _code_of(task: Task) -> str:
    return code_version(type(task).__module__)


def save(path: Path, rows: Sequence[Row]) -> None:
    """Write the table with the versions and the date; rows of other tasks in the file stay."""
    before = load(path) if path.exists() else {"rows": []}
    kept = before["rows"]
    new = as_json(rows)
    renewed = {row["task"] for row in new}
    place = {name: number for number, name in enumerate(all_tasks())}
    both = [row for row in kept if row["task"] not in renewed and row["task"] in place] + new
    record = {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": 1,
        "versions": versions_here(),
        "code": _code(before.get("code", {}), [all_tasks()[name] for name in renewed]),
        "tasks": {name: about(task) for name, task in all_tasks().items()},
        "rows": sorted(both, key=lambda row: place[row["task"]]),  # stable: comparisons in order
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, record)


def _write(path: Path, record: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def about(task: Task) -> dict[str, Any]:
    """Return what the table says of a task as a whole."""
    return {
        "question": task.question,
        "claim": task.claim,
        "solved_at": task.solved_at,
        "no_readers": task.no_readers,
    }


def load(path: Path) -> dict[str, Any]:
    """Return what `save` wrote."""
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def _compare(rows: Sequence[Row], stated: Mapping[tuple[str, str, str], Row], path: Path) -> int:
    found = differences(rows, stated)
    for sentence in found:
        print(sentence, file=sys.stderr)
    if not found:
        print(_("Every figure is what {path} states for its seed.").format(path=path))
    return 1 if found else 0


def _tune(tasks: Sequence[Task]) -> int:
    """Print the validation score at each learning rate; fail where an arm has not its best one."""
    import torch

    torch.set_num_threads(1)
    print(_("validation scores by learning rate, seed {seed}").format(seed=TUNING_SEED))
    arms = [(task, arm) for task in tasks for arm in compared(task)]
    stale = 0
    with ProgressBar(len(arms), _("tuning"), unit=_("models")) as shown:
        for task, arm in arms:
            shown.now(f"{task.name}, {arm}")
            scores = tune(task, arm)
            used = task.arms[arm].learning_rate
            stale += scores[best_rate(task, scores)] != scores[used]
            # At once, and in whole lines: a model needs minutes, and a file may be watched.
            print(_tuned(task, arm, scores, used), flush=True)
            shown.advance()
    return 1 if stale else 0


def _tuned(task: Task, arm: str, scores: Mapping[float, float], used: float) -> str:
    shown = "  ".join(f"{rate:g}: {score:.4f}" for rate, score in scores.items())
    line = f"{task.name:24} {arm:28} {shown}  " + _("used: {rate:g}").format(rate=used)
    inner = [scores[rate] for rate in sorted(scores)[1:-1]]
    at_edge = len(scores) > 1 and scores[best_rate(task, scores)] not in inner
    return line + (_("  at an edge: a rate beyond may be better") if at_edge else "")
