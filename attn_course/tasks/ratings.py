r"""Ratings: every class is as probable as the mean rating of its own tokens says.

A token has one of twelve kinds and a rating. Eight classes own a kind each. Class c is true with
probability $\sigma(2 \bar r_c)$, where $\bar r_c$ is the mean rating of its tokens, and a model has
to predict these probabilities: $p_c = \sigma(w_c^\top c_c + b_c)$ is what a capsule computes.

`triggers` asks for yes or no, and there a sum over tokens decides as well as a weighted mean. Here
it does not: a class has one token in one example and four in another, so a model must divide by how
many it has selected. A softmax does; pooling divides by all tokens there are.
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
from attn_course.tasks.parts import filled
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor
from attn_course.tasks.triggers import TriggerModel


class Ratings(Task):
    """How probable is each class, to judge by the mean rating of its tokens?"""

    name = "ratings"
    question = "How probable is each of eight classes, by the mean rating of its own tokens?"
    claim = (
        "Needs a query per class: one weighted mean can't report eight ratings, and a reader "
        "without attention would have to learn to divide by the number of tokens of a class. Where "
        "a class has one or two tokens there is little to divide, and with four times the "
        "parameters max pooling gets up to half of the answers from some seeds."
    )
    reader_settings: ClassVar = {"mean": ("deep", (2e-2, 2e-2)), "max": ("deep", (2e-2, 2e-2))}
    metric = "all eight within 0.1"
    steps = 800
    first_seed = 10
    fewest, most, kinds, classes, d = 16, 24, 12, 8, 16

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return tokens in any order, padded; every class has a token at least."""
        there = filled(rng, number, self.fewest, self.most)
        kinds = rng.integers(self.kinds, size=there.shape)
        kinds[:, : self.classes] = np.arange(self.classes)
        level = np.take_along_axis(rng.normal(size=(number, self.kinds)), kinds, axis=-1)
        ratings = level + 0.5 * rng.normal(size=there.shape)
        right = (kinds[:, None, :] == np.arange(self.classes)[:, None]) & there[:, None, :]
        mean = (ratings[:, None, :] * right).sum(-1) / right.sum(-1)  # (number, classes)
        tokens = np.concatenate([np.eye(self.kinds)[kinds], ratings[..., None]], axis=-1)
        return Examples(
            inputs={"tokens": as_tensor(tokens * there[..., None]), "mask": as_tensor(there)},
            targets=as_tensor(1 / (1 + np.exp(-2 * mean))),
            right={"weights": as_tensor(right)},
            allowed={"weights": as_tensor(np.broadcast_to(there[:, None, :], right.shape))},
        )

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the binary cross-entropy towards the right probabilities."""
        probabilities, _weights = model(**examples.inputs)
        return functional.binary_cross_entropy(probabilities, examples.targets)

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return how often all eight probabilities are less than 0.1 off."""
        near = (predictions - examples.targets).abs() < 0.1
        return near.all(dim=-1).double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return a row for each class; one query serves all classes with the same row."""
        assert isinstance(weights, Tensor)
        return {"weights": weights.expand(-1, self.classes, -1)}

    def model(
        self, queries: int | None = None, align: Align = softmax, d: int | None = None
    ) -> TriggerModel:
        """Return the model with so many queries: one per class, or one for all."""
        queries = self.classes if queries is None else queries
        return TriggerModel(self.kinds + 1, d or self.d, self.classes, queries, align)

    def see(self, tokens: Tensor, mask: Tensor) -> Seen:
        """Return the tokens."""
        return Seen(tokens, mask=mask)

    @property
    def arms(self) -> dict[str, Arm]:
        """A query per class, one for all with as many parameters, equal weights, and readers."""
        return {
            "capsules": Arm(self.model, 3e-2),
            "one query": Arm(partial(self.model, 1, d=21), 3e-2),
            "uniform": Arm(partial(self.model, align=uniform_weights), 3e-2, attends=False),
            **reader_arms(self, self.model, self.see, torch.sigmoid),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Capsules against one query, equal weights, and readers."""
        return (
            Comparison("capsules", "one query"),
            Comparison("capsules", "uniform"),
            *reader_comparisons("capsules"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the classes with their probabilities, and kind and rating of tokens: "3: 0.7"."""
        tokens = examples.inputs["tokens"][place]
        kinds = tokens[:, : self.kinds].argmax(dim=-1).tolist()
        ratings = tokens[:, self.kinds].tolist()
        classes = [f"class {n}, {p:.2f}" for n, p in enumerate(examples.targets[place].tolist())]
        keys = [f"{kind}: {rating:.1f}" for kind, rating in zip(kinds, ratings, strict=True)]
        return {"weights": (classes, keys)}
