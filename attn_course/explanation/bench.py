"""The bench of the explanation lab: one task, its trained models, and every test on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn

from attn_course.attention import TaskModel
from attn_course.evaluation.ablation import Ablation, ablate, seeded, uniform_weights
from attn_course.explanation import consistent_adversary, imposed_weights
from attn_course.explanation.adversary import find_adversaries
from attn_course.explanation.explainable_model import (
    Explainable,
    ExplainableTaskModel,
    uniform_over,
)
from attn_course.explanation.importance import (
    agreement,
    gradient_importance,
    leave_one_out,
)
from attn_course.explanation.permutation import permutation_tvd, uniform_tvd
from attn_course.explanation.seeds import seed_variance
from attn_course.translate import _

_KEPT = 0.05  # mean TVD up to which an adversarial model still predicts as its base does


@dataclass(frozen=True)
class LabSettings:
    """How much work the lab does. Less is quicker, and shows less."""

    seeds: tuple[int, ...] = (10, 11, 12, 13, 14)  # none of them was looked at before
    steps: int = 300  # of the training of a base
    later_steps: int = 150  # of the trainings that build on one: adversaries, imposed weights
    batch_size: int = 64
    learning_rate: float = 1e-2
    examples: int = 200  # on which the tests are made
    permutations: int = 100
    adversaries: int = 3  # k
    adversary_steps: int = 200
    adversary_rate: float = 0.05
    epsilon: float = 0.01
    penalties: tuple[float, ...] = (0.0, 1e-3, 1e-2, 3e-2, 1e-1)
    hidden: int = 16  # width of the token-wise model that weights are imposed on


class Bench:
    """One task with its trained models, by seed."""

    def __init__(self, task: Any, settings: LabSettings) -> None:
        self.task = task
        self.settings = settings
        self.examples = task.examples("test", settings.examples, task.rng("test"))
        self.inputs: dict[str, Tensor] = self.examples.inputs
        self.classes: Tensor = self.examples.targets[:, 0]
        self.trained: dict[int, ExplainableTaskModel] = {}

    def uniform_baseline(self) -> Ablation:
        """Train with learned and with equal weights, and keep the models that learned theirs."""

        def train_and_score(model: nn.Module, seed: int) -> float:
            assert isinstance(model, TaskModel)
            explained = ExplainableTaskModel(model)
            pairs = ((batch.inputs, batch.targets[:, 0]) for batch in self.batches(seed))
            imposed_weights.train_imposed(explained, None, pairs, self.settings.learning_rate)
            self.trained.setdefault(seed, explained)  # the first of each pair is the mechanism
            return imposed_weights.accuracy(explained, self.inputs, self.classes)

        return ablate(
            self.task.arms["soft"].build,
            {"attention.align": uniform_weights},
            train_and_score,
            self.settings.seeds,
            names=(_("learned weights"), _("equal weights")),
            metric=_("accuracy"),
        )

    def batches(self, seed: int) -> Iterator[Any]:
        """Return the training examples of a seed, the same at every call."""
        rng = self.task.rng("train", seed)
        for _step in range(self.settings.steps):
            yield self.task.examples("train", self.settings.batch_size, rng)

    def tests(self, seed: int) -> dict[str, float]:
        """Return the mean over examples of every test of one trained model."""
        return self.of_jain_and_wallace(seed) | self.of_wiegreffe_and_pinter(seed)

    def of_jain_and_wallace(self, seed: int) -> dict[str, float]:
        """Return agreement with importance, permutation, adversary."""
        chosen, model, inputs = self.settings, self.trained[seed], self.inputs
        generator = torch.Generator().manual_seed(seed)
        gradients = agreement(model, inputs, gradient_importance(model, inputs))
        omissions = agreement(model, inputs, leave_one_out(model, inputs))
        found = find_adversaries(
            *(model, inputs, generator),
            k=chosen.adversaries,
            steps=chosen.adversary_steps,
            learning_rate=chosen.adversary_rate,
            epsilon=chosen.epsilon,
        )
        with torch.no_grad():
            weights = model.predict(inputs)[1]
        permuted = permutation_tvd(model, inputs, generator, chosen.permutations)
        return {
            "tau_gradient": gradients.nanmean().item(),
            "tau_omission": omissions.nanmean().item(),
            "largest_weight": weights.max(dim=-1).values.mean().item(),
            "permutation_tvd": permuted.mean().item(),
            "uniform_tvd": uniform_tvd(model, inputs).mean().item(),
            "adversarial_jsd": found.largest.mean().item(),
            "jsd_ceiling": found.ceiling.mean().item(),
            "relative_jsd": found.relative.nanmean().item(),
            "found": found.feasible.any(dim=0).double().mean().item(),
        }

    def of_wiegreffe_and_pinter(self, seed: int) -> dict[str, float]:
        """Return the sweep of consistent adversaries, and accuracies under imposed weights."""
        chosen, base = self.settings, self.trained[seed]
        batches = list(islice(self.batches(seed), chosen.later_steps))
        points = consistent_adversary.sweep(
            base,
            lambda: ExplainableTaskModel(_fresh(self.task.arms["soft"].build, seed + 1)),
            lambda: [batch.inputs for batch in batches],
            self.inputs,
            chosen.penalties,
            chosen.learning_rate,
        )
        numbers: dict[str, float] = {}
        for point, _adversary in points:
            numbers[f"sweep_tvd {point.penalty:g}"] = point.tvd
            numbers[f"sweep_jsd {point.penalty:g}"] = point.relative_jsd
        # The one that attends most differently among those that still predict alike.
        best, adversary = max(points, key=lambda one: _rank(one[0]))
        numbers["consistent_tvd"], numbers["consistent_jsd"] = best.tvd, best.relative_jsd
        return numbers | self.imposed(seed, adversary, batches)

    def imposed(
        self, seed: int, adversary: Explainable, batches: Sequence[Any]
    ) -> dict[str, float]:
        """Return the accuracies of token-wise models under the weights of others."""
        base = self.trained[seed]
        sources: dict[str, imposed_weights.Imposed | None] = {
            "equal": lambda inputs: uniform_over(base.mask(inputs)),
            "own": None,
            "base": imposed_weights.weights_of(base),
            "adversary": imposed_weights.weights_of(adversary),
        }
        pairs = [(batch.inputs, batch.targets[:, 0]) for batch in batches]
        numbers = {}
        for kind, (source, weights) in product(("tanh", "linear"), sources.items()):
            model = self.token_mlp(seed, linear=kind == "linear")
            imposed_weights.train_imposed(model, weights, pairs, self.settings.learning_rate)
            reached = imposed_weights.accuracy(model, self.inputs, self.classes, weights)
            numbers[f"imposed_{kind} {source}"] = reached
        return numbers

    def token_mlp(self, seed: int, linear: bool) -> ExplainableTaskModel:
        """Return a fresh model to impose weights on."""
        sizes = self.inputs["inputs"].shape[-1], self.settings.hidden, self.task.classes
        return ExplainableTaskModel(_fresh(lambda: imposed_weights.token_mlp(*sizes, linear), seed))

    def seed_jsd(self) -> tuple[float, ...]:
        """Return the mean JSD of every two seeds; nothing for one seed."""
        models = list(self.trained.values())
        if len(models) < 2:
            return ()
        return tuple(seed_variance(models, self.inputs).mean(dim=-1).tolist())


def _rank(point: consistent_adversary.SweepPoint) -> tuple[bool, float]:
    kept = point.tvd <= _KEPT
    return kept, point.jsd if kept else -point.tvd


def _fresh(build: Any, seed: int) -> Any:
    with seeded(seed):
        return build()
