"""The table of all tasks: every mechanism against its ablation, over several seeds.

`run` trains what is missing in its log, several trainings at once in processes of one thread each,
so that neither the number of jobs nor an interruption changes a figure.
"""

import json
import multiprocessing
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isnan, sqrt
from pathlib import Path
from statistics import mean
from typing import Any

from attn_course._progress import Progress
from attn_course._sources import files_behind, fingerprint
from attn_course.evaluation.paired import spread
from attn_course.tasks.task import Comparison, Task
from attn_course.translate import _

LIBRARIES = ("torch", "numpy", "scikit-learn", "babel")
_NO_FIGURES_FROM = (
    *("attn_course.figures", "attn_course.tasks.figures"),
    *("attn_course._progress", "attn_course._extras", "attn_course.translate"),
)
_CLEAR = 3  # spreads between two means before one is said to win
_MATTERS = 0.01  # and so much of the larger one at least
_ROUNDING = 0.05  # of a stated figure: another processor rounds otherwise …
_WILD = 0.25  # … and training may enlarge that, but to so much of the figure at most
_APART = 0.5  # scores of two seeds: one training succeeded, the other failed
# What a figure is of, the figure, and those stated that it is not near, each with its room.
_Apart = tuple[str, float, list[tuple[float, float]]]


@dataclass(frozen=True)
class Run:
    """One training as the log keeps it."""

    task: str
    arm: str
    seed: int
    code: str  # what the figure depends on: a log line made by other code does not count
    score: float
    attention: dict[str, float]
    uniform: dict[str, float]
    parameters: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What makes two runs the same."""
        return self.task, self.arm, self.seed, self.code


@dataclass(frozen=True)
class Row:
    """One comparison: the mechanism, its ablation, and how both did."""

    task: str
    mechanism: str
    ablation: str
    metric: str
    higher_is_better: bool
    seeds: list[int]
    mechanism_scores: list[float]
    ablation_scores: list[float]
    mechanism_mean: float
    mechanism_sd: float | None  # of one seed there is none, nor where a score is NaN
    ablation_mean: float
    ablation_sd: float | None
    mechanism_parameters: int
    ablation_parameters: int
    attention_metric: str
    attention_score: float
    attention_sd: float | None
    attention_by_map: dict[str, float]
    uniform_score: float
    seconds: float
    note: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What was compared: task, mechanism, ablation."""
        return self.task, self.mechanism, self.ablation

    def __str__(self) -> str:
        """Return the verdict, and below it mean and spread of both."""
        width = max(len(self.mechanism), len(self.ablation))
        return "\n".join(
            [
                f"{self.task}: {self.mechanism} {self.verdict}",
                f"   {self.mechanism:{width}}  {_figure(self.mechanism_mean, self.mechanism_sd)}",
                f"   {self.ablation:{width}}  {_figure(self.ablation_mean, self.ablation_sd)}",
            ]
        )

    @property
    def verdict(self) -> str:
        r"""What the figures say of the mechanism, held against its ablation seed by seed.

        - "ties": the means differ by at most a hundredth of the larger one.
        - "wins" or "loses": they lie more than three spreads $\sqrt{s_1^2 + s_2^2}$ apart.
        - "wins each seed" or "loses each seed": less far, but every seed says the same.
        - "unclear": the seeds disagree.
        - "one seed": there is no spread, and nothing can be said.
        """
        if len(self.seeds) == 1:
            return "one seed"
        if self.mechanism_sd is None or self.ablation_sd is None:
            return "unclear"  # a training has ended in NaN
        margin = self.mechanism_mean - self.ablation_mean
        if abs(margin) <= _MATTERS * max(abs(self.mechanism_mean), abs(self.ablation_mean)):
            return "ties"
        outcome = "wins" if (margin > 0) == self.higher_is_better else "loses"
        if abs(margin) > _CLEAR * (self.mechanism_sd**2 + self.ablation_sd**2) ** 0.5:
            return outcome
        pairs = zip(self.mechanism_scores, self.ablation_scores, strict=True)
        agree = all((one - other) * margin > 0 for one, other in pairs)
        return f"{outcome} each seed" if agree else "unclear"


def run(
    tasks: Iterable[Task],
    seeds: Sequence[int],
    jobs: int = 1,
    log: Path | None = None,
    progress: bool = False,
) -> list[Row]:
    """Train every arm of the tasks for every seed and return a row for each comparison.

    A training found in the file `log` is not repeated; each one finished is added to it at once.
    """
    tasks = list(tasks)
    code = {task.name: code_version(type(task).__module__) for task in tasks}
    wanted = [
        (task.name, arm, seed, code[task.name])
        for task in tasks
        for arm in compared(task)
        for seed in seeds
    ]
    kept = read_log(log) if log else {}
    runs = {key: kept[key] for key in wanted if key in kept}
    missing = [key for key in wanted if key not in runs]
    with Progress(len(missing), _("training"), unit=_("models"), show=progress) as shown:
        for finished in _train_all(missing, jobs):
            runs[finished.key] = finished
            if log:
                _append(log, finished)
            shown.now(f"{finished.task}, {finished.arm}")
            shown.advance()
    return [
        _row(task, comparison, seeds, runs, code[task.name])
        for task in tasks
        for comparison in task.comparisons
    ]


def compared(task: Task) -> list[str]:
    """Return the arms that some comparison needs, each once."""
    names = [name for one in task.comparisons for name in (one.mechanism, one.ablation)]
    return list(dict.fromkeys(names))


def _train_all(missing: list[tuple[str, str, int, str]], jobs: int) -> Iterable[Run]:
    if not missing:
        return
    # Fresh processes: a fork of one that has used several threads may hang in PyTorch.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_one_thread) as pool:
        waiting: list[Future[Run]] = [pool.submit(_train_one, *key) for key in missing]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:  # one that failed, or Ctrl-C: those not begun are not begun
            pool.shutdown(wait=False, cancel_futures=True)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _train_one(name: str, arm: str, seed: int, code: str) -> Run:
    from attn_course.tasks import find_task
    from attn_course.tasks.training import train

    trained = train(find_task(name), arm, seed)
    test = trained.test
    return Run(
        *(name, arm, seed, code),
        *(test.score, test.attention, test.uniform),
        *(trained.parameters, trained.seconds),
    )


def _row(
    task: Task,
    comparison: Comparison,
    seeds: Sequence[int],
    runs: dict[tuple[str, str, int, str], Run],
    code: str,
) -> Row:
    with_it = [runs[task.name, comparison.mechanism, seed, code] for seed in seeds]
    without = [runs[task.name, comparison.ablation, seed, code] for seed in seeds]
    maps = with_it[0].attention
    by_map = {name: mean(one.attention[name] for one in with_it) for name in maps}
    attention = [mean(one.attention.values()) for one in with_it]
    return Row(
        task=task.name,
        mechanism=comparison.mechanism,
        ablation=comparison.ablation,
        metric=task.metric,
        higher_is_better=task.higher_is_better,
        seeds=list(seeds),
        mechanism_scores=[one.score for one in with_it],
        ablation_scores=[one.score for one in without],
        mechanism_mean=mean(one.score for one in with_it),
        mechanism_sd=_spread([one.score for one in with_it]),
        ablation_mean=mean(one.score for one in without),
        ablation_sd=_spread([one.score for one in without]),
        mechanism_parameters=with_it[0].parameters,
        ablation_parameters=without[0].parameters,
        attention_metric=task.attention_metric,
        attention_score=mean(attention),
        attention_sd=_spread(attention),
        attention_by_map=by_map,
        uniform_score=mean(with_it[0].uniform.values()),
        seconds=mean(a.seconds + b.seconds for a, b in zip(with_it, without, strict=True)),
        note=comparison.note,
    )


def _spread(scores: list[float]) -> float | None:
    """Return the standard deviation, or None where it is NaN, which JSON does not know."""
    found = spread(scores)
    return None if isnan(found) else found


@cache
def code_version(module: str) -> str:
    """Return a fingerprint of the code and the libraries that the figures of a task depend on.

    That is its module, the training, and everything of the course that they import. Drawings, bars
    and the language of messages change no figure.
    """
    files = files_behind([module, "attn_course.tasks.training"], without=_NO_FIGURES_FROM)
    # Without "+cpu": builds of one version agree within what `differences` allows.
    versions = (f"{name} {number.partition('+')[0]}" for name, number in versions_here().items())
    return fingerprint(files, *versions)


def versions_here() -> dict[str, str]:
    """Return the versions of the libraries that figures depend on; some may not be installed."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # then no task that needs it runs
            versions[name] = ""
    return versions


def read_log(path: Path) -> dict[tuple[str, str, int, str], Run]:
    """Return the runs in a log; a last line that was cut off is passed over."""
    runs: dict[tuple[str, str, int, str], Run] = {}
    if not path.exists():
        return runs
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            one = Run(**json.loads(line))
        except (ValueError, TypeError):
            continue
        runs[one.key] = one
    return runs


def _append(path: Path, one: Run) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(one)) + "\n")


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows as plain values, each with its verdict."""
    return [asdict(row) | {"verdict": row.verdict} for row in rows]


def from_json(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], Row]:
    """Return what `as_json` wrote by what was compared; the verdict is judged anew."""
    read = [Row(**{k: v for k, v in row.items() if k != "verdict"}) for row in rows]
    return {row.key: row for row in read}


def read_table(path: Path | str) -> dict[tuple[str, str, str], Row]:
    """Return a stored table: `read_table(path)["digit_patch", "soft", "uniform"].verdict`."""
    return from_json(json.loads(Path(path).read_text(encoding="utf-8"))["rows"])


def differences(measured: Iterable[Row], stated: Mapping[tuple[str, str, str], Row]) -> list[str]:
    """Return a sentence for each figure that is not the stated one: scores seed by seed.

    A twentieth is left for another processor, which rounds otherwise: on two of them, the same
    seed of a steady training ended 0.04 apart. Where seeds differ by more, a training may end
    elsewhere after a rounding: there the room is three spreads, but a quarter of the figure at
    most, so that there is always something to find. Where some seeds succeed and others fail, which
    of them do is up to the processor: there a figure must lie between the stated ones. A seed that
    is not stated should end near one that is. Of the attention only mean and spread are kept.
    """
    sentences = []
    for row in measured:
        told = stated.get(row.key)
        if told is None:
            sentences.append(
                _("{row}: no figure is stated for it; run with --save.").format(row=_title(row))
            )
            continue
        found = [*_scores_apart(row, told, "mechanism"), *_scores_apart(row, told, "ablation")]
        for what, figure, near in [*found, *_attention_apart(row, told)]:
            sentence = _("{row}: {what} {found:.3f}, but stated is {stated}")
            numbers = _(" or ").join(f"{score:.3f} ± {room:.3f}" for score, room in near)
            sentences.append(
                sentence.format(row=_title(row), what=what, found=figure, stated=numbers)
            )
    return sentences


def _scores_apart(row: Row, told: Row, arm: str) -> list[_Apart]:
    """Return the scores that are not near the one stated for their seed."""
    found, scores = (getattr(one, f"{arm}_scores") for one in (row, told))
    wild = _CLEAR * (_spread(scores) or 0.0)
    rooms = {
        seed: (score, max(_rounding(score), min(wild, _WILD * abs(score))))
        for seed, score in zip(told.seeds, scores, strict=True)
    }
    pairs = [
        (seed, score, [rooms[seed]] if seed in rooms else list(rooms.values()))
        for seed, score in zip(row.seeds, found, strict=True)
    ]
    return [
        (_("{arm}, seed {seed}:").format(arm=arm, seed=seed), score, near)
        for seed, score, near in pairs
        if all(abs(score - figure) > room for figure, room in near)
        and not (_is_bimodal(scores) and min(scores) <= score <= max(scores))
    ]


def _is_bimodal(scores: Sequence[float]) -> bool:
    """Return whether some seeds succeed where others fail: they are half of the scale apart."""
    return max(scores) - min(scores) > _APART


def _attention_apart(row: Row, told: Row) -> list[_Apart]:
    """Return the attention, if no seed of those stated can have had it.

    None of n numbers lies further than (n - 1)/√n standard deviations from their mean.
    """
    n, mean_of_all = len(told.seeds), told.attention_score
    furthest = (told.attention_sd or 0.0) * (n - 1) / sqrt(n)
    room = furthest + _rounding(mean_of_all)
    if abs(row.attention_score - mean_of_all) <= room:
        return []
    return [(_("attention"), row.attention_score, [(mean_of_all, room)])]


def _rounding(figure: float) -> float:
    return _ROUNDING * max(abs(figure), 0.1)


def _title(row: Row) -> str:
    return f"{row.task}, {row.mechanism} / {row.ablation}"


def as_text(rows: Sequence[Row]) -> str:
    """Return the table for a terminal, with the notes below it."""
    head = [
        *(_("task"), _("mechanism"), "", _("ablation"), "", _("metric")),
        *(_("attention"), _("uniform"), _("verdict"), _("s")),
    ]
    lines = [head] + [_cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    notes = [f"{_title(row)}: {row.note}" for row in rows if row.note]
    return "\n".join([*text, *([""] if notes else []), *notes])


def _cells(row: Row) -> list[str]:
    return [
        row.task,
        row.mechanism,
        _figure(row.mechanism_mean, row.mechanism_sd),
        row.ablation,
        _figure(row.ablation_mean, row.ablation_sd),
        row.metric,
        f"{row.attention_score:.3f}",
        f"{row.uniform_score:.3f}",
        row.verdict,
        f"{row.seconds:.0f}",
    ]


def _figure(center: float, sd: float | None) -> str:
    return f"{center:.3f} ± " + ("–" if sd is None else f"{sd:.3f}")
