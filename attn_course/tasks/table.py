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

from attn_course._progress_bar import ProgressBar
from attn_course._sources import code_without_words, files_behind, fingerprint
from attn_course.evaluation.paired_comparison import spread
from attn_course.tasks import verdicts
from attn_course.tasks.task import Comparison, Task
from attn_course.translate import _

LIBRARIES = ("torch", "numpy", "scikit-learn", "babel")
_NO_FIGURES_FROM = (
    *("attn_course.figures", "attn_course.tasks.figures", "attn_course.tasks.alignment_figure"),
    *("attn_course._progress_bar", "attn_course._extras", "attn_course.translate"),
)
_ROUNDING = 0.05  # of a stated figure: another processor rounds otherwise …
_SPREADS = 3  # … and training may enlarge that to so many standard deviations …
_WILD = 0.25  # … but to so much of the figure at most
# What a figure is of, the figure in words, and what is stated instead.
_Apart = tuple[str, str, str]


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
    """One comparison: the mechanism, its ablation or rival, and how both did.

    `…_rate` is the learning rate that a model was trained with, and `…_tried` are those that it was
    chosen from. `ablation_attends` is False for a reader without attention.
    """

    task: str
    mechanism: str
    ablation: str
    metric: str
    higher_is_better: bool
    solved_at: float
    seeds: list[int]
    mechanism_scores: list[float]
    ablation_scores: list[float]
    mechanism_mean: float
    mechanism_sd: float | None  # of one seed there is none, nor where a score is NaN
    ablation_mean: float
    ablation_sd: float | None
    mechanism_parameters: int
    ablation_parameters: int
    mechanism_rate: float
    ablation_rate: float
    mechanism_tried: list[float]
    ablation_tried: list[float]
    ablation_attends: bool
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
        """Return the verdict, and below it what was reached by each."""
        width = max(len(self.mechanism), len(self.ablation))
        return "\n".join(
            [
                f"{self.task}: {self.mechanism} {self.verdict}",
                f"   {self.mechanism:{width}}  {self.mechanism_told}",
                f"   {self.ablation:{width}}  {self.ablation_told}",
            ]
        )

    @property
    def verdict(self) -> str:
        """What the scores over seeds say of the mechanism: see `verdicts`."""
        return verdicts.verdict(
            self.mechanism_scores, self.ablation_scores, self.solved_at, self.higher_is_better
        )

    @property
    def mechanism_told(self) -> str:
        """What the mechanism reached: mean and standard deviation, or how many seeds solved it."""
        return verdicts.told(self.mechanism_scores, self.solved_at, self.higher_is_better)

    @property
    def ablation_told(self) -> str:
        """The same of the ablation."""
        return verdicts.told(self.ablation_scores, self.solved_at, self.higher_is_better)

    @property
    def at_edge(self) -> dict[str, float]:
        """The models whose rate is the lowest or the highest of those tried, with that rate."""
        rates = {
            self.mechanism: (self.mechanism_rate, self.mechanism_tried),
            self.ablation: (self.ablation_rate, self.ablation_tried),
        }
        return {
            model: rate
            for model, (rate, tried) in rates.items()
            if len(tried) > 1 and rate in (min(tried), max(tried))
        }


def run(
    tasks: Iterable[Task],
    seeds: Sequence[int],
    jobs: int = 1,
    log: Path | None = None,
    progress: bool = False,
) -> list[Row]:
    """Train every arm of the tasks for every seed and return a row for each comparison.

    Seeds count from the task's `first_seed`. A training found in the file `log` is not repeated;
    each one finished is added to it at once.
    """
    tasks = list(tasks)
    code = {task.name: code_version(type(task).__module__) for task in tasks}
    wanted = [
        (task.name, arm, seed, code[task.name])
        for task in tasks
        for arm in compared(task)
        for seed in _seeds_of(task, seeds)
    ]
    kept = read_log(log) if log else {}
    runs = {key: kept[key] for key in wanted if key in kept}
    missing = [key for key in wanted if key not in runs]
    with ProgressBar(len(missing), _("training"), unit=_("models"), show=progress) as shown:
        for finished in _train_all(missing, jobs):
            runs[finished.key] = finished
            if log:
                _append(log, finished)
            shown.now(f"{finished.task}, {finished.arm}")
            shown.advance()
    return [
        _row(task, comparison, _seeds_of(task, seeds), runs, code[task.name])
        for task in tasks
        for comparison in task.comparisons
    ]


def _seeds_of(task: Task, seeds: Sequence[int]) -> list[int]:
    return [task.first_seed + seed for seed in seeds]


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
    arms = [task.arms[name] for name in (comparison.mechanism, comparison.ablation)]
    tried = [task.rates_tried(name) for name in (comparison.mechanism, comparison.ablation)]
    return Row(
        task=task.name,
        mechanism=comparison.mechanism,
        ablation=comparison.ablation,
        metric=task.metric,
        higher_is_better=task.higher_is_better,
        solved_at=task.solved_at,
        seeds=list(seeds),
        mechanism_scores=[one.score for one in with_it],
        ablation_scores=[one.score for one in without],
        mechanism_mean=mean(one.score for one in with_it),
        mechanism_sd=_spread([one.score for one in with_it]),
        ablation_mean=mean(one.score for one in without),
        ablation_sd=_spread([one.score for one in without]),
        mechanism_parameters=with_it[0].parameters,
        ablation_parameters=without[0].parameters,
        mechanism_rate=arms[0].learning_rate,
        ablation_rate=arms[1].learning_rate,
        mechanism_tried=list(tried[0]),
        ablation_tried=list(tried[1]),
        ablation_attends=arms[1].attends,
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

    That is its module, the training, and everything of the course that they import. Drawings, bars,
    comments, docstrings and the language of messages change no figure.
    """
    files = files_behind([module, "attn_course.tasks.training"], without=_NO_FIGURES_FROM)
    # Without "+cpu": builds of one version agree within what `differences` allows.
    versions = (f"{name} {number.partition('+')[0]}" for name, number in versions_here().items())
    return fingerprint(files, *versions, content_of=code_without_words)


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
    """Return a sentence for each figure that is not the stated one.

    Scores are compared seed by seed. A twentieth is left for another processor, which rounds
    otherwise: on two of them, the same seed of a steady training ended 0.04 apart. Where seeds
    differ by more, the room is three standard deviations, but a quarter of the figure at most.

    Where some of the stated seeds solve the task and others do not, which of them do depends on the
    processor. There the number of solved seeds is compared, by Fisher's exact test, and no score
    may be outside the stated range. From five seeds on, the verdicts are compared as well. Of the
    attention only mean and standard deviation are kept.
    """
    sentences = []
    for row in measured:
        kept = stated.get(row.key)
        if kept is None:
            sentences.append(
                _("{row}: the table has no figure for it; run with --save.").format(row=_title(row))
            )
            continue
        found = [
            *_scores_apart(row, kept, "mechanism"),
            *_scores_apart(row, kept, "ablation"),
            *_attention_apart(row, kept),
            *_verdict_apart(row, kept),
        ]
        sentence = _("{row}: {what} {found}, but the table states {stated}")
        sentences += [
            sentence.format(row=_title(row), what=what, found=figure, stated=near)
            for what, figure, near in found
        ]
    return sentences


def _scores_apart(row: Row, kept: Row, arm: str) -> list[_Apart]:
    found, scores = (getattr(one, f"{arm}_scores") for one in (row, kept))
    if verdicts.is_mixed(scores, kept.solved_at, kept.higher_is_better):
        return _outside(row, arm, found, scores) + _solved_apart(kept, arm, found, scores)
    return _seeds_apart(row, kept, arm, found, scores)


def _seeds_apart(
    row: Row, kept: Row, arm: str, found: Sequence[float], scores: list[float]
) -> list[_Apart]:
    """Return the scores that are not near the one stated for their seed, or near any one."""
    wild = _SPREADS * (_spread(scores) or 0.0)
    rooms = {
        seed: (score, max(_rounding(score), min(wild, _WILD * abs(score))))
        for seed, score in zip(kept.seeds, scores, strict=True)
    }
    pairs = [
        (seed, score, [rooms[seed]] if seed in rooms else list(rooms.values()))
        for seed, score in zip(row.seeds, found, strict=True)
    ]
    return [
        (_seed(arm, seed), f"{score:.3f}", _(" or ").join(f"{f:.3f} ± {r:.3f}" for f, r in near))
        for seed, score, near in pairs
        if all(abs(score - figure) > room for figure, room in near)
    ]


def _outside(row: Row, arm: str, found: Sequence[float], scores: Sequence[float]) -> list[_Apart]:
    """Return the scores outside the range of the stated ones."""
    low, high = min(scores), max(scores)
    stated = _("{low:.3f} to {high:.3f}").format(low=low, high=high)
    return [
        (_seed(arm, seed), f"{score:.3f}", stated)
        for seed, score in zip(row.seeds, found, strict=True)
        if not low - _rounding(low) <= score <= high + _rounding(high)
    ]


def _solved_apart(
    kept: Row, arm: str, found: Sequence[float], scores: Sequence[float]
) -> list[_Apart]:
    """Return the numbers of solved seeds, if Fisher's exact test finds that they differ."""
    now, then = (
        (verdicts.number_solved(some, kept.solved_at, kept.higher_is_better), len(some))
        for some in (found, scores)
    )
    if not verdicts.differ_in_solved(*now, *then):
        return []
    sentence = _("{solved} of {seeds} seeds")
    said = [sentence.format(solved=solved, seeds=seeds) for solved, seeds in (now, then)]
    return [(_("{arm}, solved by").format(arm=arm), said[0], said[1])]


def _attention_apart(row: Row, kept: Row) -> list[_Apart]:
    """Return the attention, if no seed of those stated can have had it.

    None of n numbers is further than (n - 1)/√n standard deviations from their mean.
    """
    n, mean_of_all = len(kept.seeds), kept.attention_score
    furthest = (kept.attention_sd or 0.0) * (n - 1) / sqrt(n)
    room = furthest + _rounding(mean_of_all)
    if abs(row.attention_score - mean_of_all) <= room:
        return []
    return [(_("attention"), f"{row.attention_score:.3f}", f"{mean_of_all:.3f} ± {room:.3f}")]


def _verdict_apart(row: Row, kept: Row) -> list[_Apart]:
    """Return the verdict, if both tables have the seeds for one and they differ."""
    fewest = min(len(row.seeds), len(kept.seeds))
    if fewest < verdicts.FEWEST_SEEDS or row.verdict == kept.verdict:
        return []
    return [(_("verdict:"), row.verdict, kept.verdict)]


def _seed(arm: str, seed: int) -> str:
    return _("{arm}, seed {seed}:").format(arm=arm, seed=seed)


def _rounding(figure: float) -> float:
    return _ROUNDING * max(abs(figure), 0.1)


def _title(row: Row) -> str:
    return f"{row.task}, {row.mechanism} / {row.ablation}"


def as_text(rows: Sequence[Row], tasks: Iterable[Task] = ()) -> str:
    """Return the table for a terminal, and below it what should be known of rows and tasks."""
    head = [
        *(_("task"), _("mechanism"), "", "", _("ablation"), "", "", _("metric")),
        *(_("attention"), _("uniform"), _("verdict"), _("s")),
    ]
    lines = [head] + [_cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    below = [f"{_title(row)}: {row.note}" for row in rows if row.note]
    below += _edges(rows)
    for task in tasks:
        below.append(f"{task.name}: {task.claim}")
        if task.no_readers:
            sentence = _("{task}: no readers without attention: {reason}.")
            below.append(sentence.format(task=task.name, reason=task.no_readers))
    return "\n".join([*text, *([""] if below else []), *below])


def _edges(rows: Sequence[Row]) -> list[str]:
    """Return a line for each model whose rate is at an edge of those tried, or the only one."""
    sentence = _("{task}, {model}: rate {rate:g} is at the edge of those tried.")
    found = {(row.task, model): rate for row in rows for model, rate in row.at_edge.items()}
    return _only_rates(rows) + [
        sentence.format(task=task, model=model, rate=rate) for (task, model), rate in found.items()
    ]


def _only_rates(rows: Sequence[Row]) -> list[str]:
    sentence = _("{task}, {model}: rate {rate:g} is the only one tried.")
    found = {
        (row.task, model): tried[0]
        for row in rows
        for model, tried in (
            (row.mechanism, row.mechanism_tried),
            (row.ablation, row.ablation_tried),
        )
        if len(tried) == 1
    }
    return [sentence.format(task=t, model=m, rate=rate) for (t, m), rate in found.items()]


def _cells(row: Row) -> list[str]:
    return [
        row.task,
        row.mechanism,
        str(row.mechanism_parameters),
        row.mechanism_told,
        row.ablation,
        str(row.ablation_parameters),
        row.ablation_told,
        row.metric,
        f"{row.attention_score:.3f}",
        f"{row.uniform_score:.3f}",
        row.verdict,
        f"{row.seconds:.0f}",
    ]
