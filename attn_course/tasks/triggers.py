"""Triggers: several classes at once, each decided by a token of its own.

Sixteen tokens, each with a role and a hand that points to one of eight hours. Class c is true if
the hand of the token with role c points into the half of the dial that begins at hour c; the other
eight roles mean nothing. A capsule for each class asks its own query. The ablation has the same
capsules with one query for all, so that every class reads the same mean of the tokens.

Eight hours, and another half of them for each class, are no decoration: with a hand that points up
or down, one query for all would do. It would weigh a token by its hand, and from how much of which
role has arrived every class could be read. Weights are information too.
"""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.evaluation.ablation import uniform_weights
from attn_course.queries import CapsuleAttention
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor


class Triggers(Task):
    """Which classes are true, if each has its own trigger?"""

    name = "triggers"
    question = "Which of eight classes are true, if the hand of one token on a dial decides each?"
    claim = (
        "The weights are readable: a capsule shows which token decided. No accuracy is gained over "
        "a reader with a hidden layer per token, since a sum over tokens decides yes or no as well "
        "as a weighted mean. `ratings` asks for a number instead, and needs the capsules."
    )
    reader_settings: ClassVar = {
        "mean": ("plain", (6e-3, 6e-3)),
        "max": ("plain", (6e-3, 6e-3)),
    }
    reader_tried: ClassVar = (6e-3,)
    metric = "all classes right"
    n, classes, hours, d = 16, 8, 8, 24

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return a token for each role, in any order, with a hand that points anywhere."""
        roles = rng.random((number, self.n)).argsort(axis=-1)
        hands = rng.integers(self.hours, size=(number, self.n))
        right = roles[:, None, :] == np.arange(self.classes)[:, None]  # (number, classes, n)
        decisive = (right * hands[:, None, :]).sum(axis=-1)  # the hand of each class's token
        is_true = (decisive - np.arange(self.classes)) % self.hours < self.hours // 2
        tokens = np.concatenate([np.eye(self.n)[roles], np.eye(self.hours)[hands]], axis=-1)
        return Examples(
            inputs={"tokens": as_tensor(tokens)},
            targets=as_tensor(is_true),
            right={"weights": as_tensor(right)},
        )

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the binary cross-entropy: the capsules' own loss is for one true class only."""
        probabilities, _weights = model(**examples.inputs)
        return functional.binary_cross_entropy(probabilities, examples.targets.float())

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return how often all classes are right at once."""
        hits = (predictions > 0.5) == examples.targets
        return hits.all(dim=-1).double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return a row for each class; one that all classes share is repeated for each."""
        assert isinstance(weights, Tensor)
        return {"weights": weights.expand(-1, self.classes, -1)}

    def model(
        self, queries: int | None = None, align: Align = softmax, d: int | None = None
    ) -> "TriggerModel":
        """Return the model with so many queries: one a class, or one for all."""
        d_in = self.n + self.hours
        return TriggerModel(d_in, d or self.d, self.classes, queries or self.classes, align)

    def see(self, tokens: Tensor) -> Seen:
        """Return the tokens as a reader without attention sees them."""
        return Seen(tokens)

    @property
    def arms(self) -> dict[str, Arm]:
        """A query for each class, one for all (also with wider tokens), and equal weights."""
        return {
            "capsules": Arm(self.model, 1e-2),
            "one query": Arm(partial(self.model, 1), 3e-2),
            "one query, as many parameters": Arm(partial(self.model, 1, d=30), 3e-2),
            "uniform": Arm(partial(self.model, align=uniform_weights), 3e-2, attends=False),
            **reader_arms(self, self.model, self.see, torch.sigmoid),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Capsules against one query, and against equal weights."""
        return (
            Comparison("capsules", "one query"),
            Comparison("capsules", "one query, as many parameters"),
            Comparison("capsules", "uniform"),
            *reader_comparisons("capsules"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the classes, marked where they are true, and role and hour of tokens: "3@7"."""
        tokens = examples.inputs["tokens"][place]
        roles = tokens[:, : self.n].argmax(dim=-1).tolist()
        hands = tokens[:, self.n :].argmax(dim=-1).tolist()
        is_true = examples.targets[place].tolist()
        classes = [f"class {one}{' ✓' if yes else ''}" for one, yes in enumerate(is_true)]
        keys = [f"{role}@{hour}" for role, hour in zip(roles, hands, strict=True)]
        return {"weights": (classes, keys)}


class TriggerModel(nn.Module):
    """Capsules over tokens that are embedded linearly, role plus hand.

    A role and its hand are added up, so a mean of tokens has lost which hand was whose.
    """

    def __init__(self, d_in: int, d: int, classes: int, queries: int, align: Align) -> None:
        super().__init__()
        self.embed = nn.Linear(d_in, d, bias=False)
        nn.init.normal_(self.embed.weight, std=0.5)
        self.capsules = CapsuleAttention(d, classes, align)
        # One row of queries serves all classes: the only place where the arms differ.
        self.capsules.q = nn.Parameter(self.capsules.q.detach()[:queries].clone())

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the probability of each class and weights `(batch, queries, n)`."""
        capsules, weights = self.capsules(self.embed(tokens), mask)
        return capsules.probabilities, weights
