"""Training an arm of a task, and measuring what came out of it.

The same task, arm, seed, machine and number of threads lead to the same numbers. All arms see the
same batches in the same order, for the same number of steps, under the same optimiser.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import torch
from torch import Tensor, nn

from attn_course._arrays import require_choice
from attn_course._progress_bar import ProgressBar
from attn_course.evaluation.ablation import seeded
from attn_course.tasks.task import Examples, Task

_TESTED_AT_ONCE = 500  # examples, so that memory stays small
TUNING_SEED = 1000  # far from the seeds that figures are reported for


@dataclass(frozen=True)
class Evaluation:
    """How good a model is at its task, and how near its attention is to the right one.

    A reader without attention has no maps.
    """

    score: float
    attention: dict[str, float]
    uniform: dict[str, float]

    @property
    def attention_score(self) -> float:
        """The mean over the attention maps of the task, NaN if there are none."""
        return sum(self.attention.values()) / len(self.attention) if self.attention else nan

    @property
    def uniform_score(self) -> float:
        """The mean over the maps of what uniform weights score."""
        return sum(self.uniform.values()) / len(self.uniform)


@dataclass(frozen=True)
class Trained:
    """A trained model with its record."""

    arm: str
    seed: int
    learning_rate: float
    model: nn.Module
    losses: tuple[float, ...]
    test: Evaluation
    seconds: float  # of the processor, so that a busy machine does not make a task slow

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(parameter.numel() for parameter in self.model.parameters())


def train(
    task: Task,
    arm: str,
    seed: int = 0,
    learning_rate: float | None = None,
    steps: int | None = None,
    progress: bool = False,
    split: str = "test",
) -> Trained:
    """Train one arm of a task from a seed and test it; `progress` shows how far it is.

    >>> from attn_course.tasks import find_task
    >>> trained = train(find_task("key_lookup"), "dot", steps=20)
    >>> len(trained.losses)
    20
    """
    require_choice("arm", arm, tuple(task.arms))
    chosen = task.arms[arm]
    rate = chosen.learning_rate if learning_rate is None else learning_rate
    total = task.steps if steps is None else steps
    start = time.process_time()
    with seeded(seed):
        model = chosen.build()
        losses = _fit(task, arm, model, seed, rate, total, progress)
        model.eval()
        scores = evaluate(task, model, task.held_out("test" if split == "test" else "validation"))
    seconds = time.process_time() - start
    return Trained(arm, seed, rate, model, losses, scores, seconds)


def _fit(
    task: Task, arm: str, model: nn.Module, seed: int, rate: float, steps: int, progress: bool
) -> tuple[float, ...]:
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return ()  # a fit in closed form
    loss_of = task.arms[arm].loss or task.loss
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = (
        torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=rate, total_steps=steps)
        if task.one_cycle
        else None
    )
    rng = task.rng("train", seed)
    losses: list[float] = []
    with ProgressBar(steps, f"{task.name}, {arm}", unit="steps", show=progress) as shown:
        for _step in range(steps):
            loss = loss_of(model, task.examples("train", task.batch_size, rng))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if schedule is not None:
                schedule.step()
            losses.append(loss.item())
            shown.advance()
    return tuple(losses)


def evaluate(task: Task, model: nn.Module, examples: Examples) -> Evaluation:
    """Return how a model does on examples, in batches, each counting by its size."""
    with torch.no_grad():
        parts = [model(**batch.inputs) for batch in examples.batches(_TESTED_AT_ONCE)]
    predictions = torch.cat([part for part, _weights in parts])
    weights = joined([part for _predictions, part in parts])
    return Evaluation(
        task.score(predictions, examples),
        {} if weights is None else task.attention_scores(weights, examples),
        task.uniform_scores(examples),
    )


def joined(parts: Sequence[Any]) -> Any:
    """Return the weights of several batches as one: tensors, or dicts or lists of such, or None."""
    first = parts[0]
    if first is None:
        return None
    if isinstance(first, Tensor):
        return torch.cat(list(parts))
    if isinstance(first, Mapping):
        return {name: joined([part[name] for part in parts]) for name in first}
    return [joined(hops) for hops in zip(*parts, strict=True)]


def tune(task: Task, arm: str, progress: bool = False) -> dict[float, float]:
    """Return the validation score of an arm for each of the learning rates tried."""
    return {
        rate: train(task, arm, TUNING_SEED, rate, progress=progress, split="validation").test.score
        for rate in task.rates_tried(arm)
    }


def best_rate(task: Task, scores: Mapping[float, float]) -> float:
    """Return the learning rate with the best score; of equal ones the first."""
    choose = max if task.higher_is_better else min
    return choose(scores, key=lambda rate: scores[rate])
