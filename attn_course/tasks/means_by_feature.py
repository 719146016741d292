"""Means by feature: each feature of the answer is a mean over the tokens of another kind.

A token has one of eight kinds and four real features. Feature g of the answer is the mean of
feature g over the tokens of kind g. One weight per token serves one kind of mean at a time; a
weight per feature serves all four.

Why attention, and not pooling? A softmax divides by what it has selected, pooling divides by all
there is. How many tokens have a kind differs from example to example, so a sum over tokens, however
well encoded, would have to learn a division. Every kind that counts has three tokens or more: the
mean of two is half of maximum plus minimum, which a maximum over tokens can find.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from attn_course.attention import TaskModel
from attn_course.learned_scores import make_score
from attn_course.tasks.feature_places import MultiAttention
from attn_course.tasks.parts import SplitAttention, UniformScore, filled
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.regression import NumbersTask
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Weights, as_tensor


class MeansByFeature(NumbersTask):
    """What is the mean of each feature over the tokens of its kind?"""

    name = "means_by_feature"
    question = "What is the mean of each of four features, each over the tokens of another kind?"
    claim = (
        "Needs a weight per feature: one weight per token serves one mean at a time, and a reader "
        "without attention would have to learn to divide by the number of tokens of a kind."
    )
    reader_settings: ClassVar = {"mean": ("plain", (6e-3, 6e-3)), "max": ("plain", (6e-3, 6e-3))}
    metric = "all four within 0.1"
    steps = 800
    first_seed = 10
    kinds, groups = 8, 4
    fewest, most, of_each = 16, 24, 3  # tokens, and tokens at least of each kind that counts

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return tokens in any order, padded."""
        size = number, self.most
        there = filled(rng, number, self.fewest, self.most)
        kinds = rng.integers(self.kinds, size=size)
        kinds[:, : self.of_each * self.groups] = np.repeat(np.arange(self.groups), self.of_each)
        # Without it a mean over all tokens would reveal what the kinds share in an example.
        shared = rng.normal(size=(number, 1, self.groups))
        of_kind = rng.normal(scale=2.0, size=(number, 1, self.groups))
        right = (kinds[:, None, :] == np.arange(self.groups)[:, None]) & there[:, None, :]
        features = rng.normal(size=(*size, self.groups)) + shared + of_kind * right.mT
        targets = (features.swapaxes(-1, -2) * right).sum(-1) / right.sum(-1)
        tokens = np.concatenate([np.eye(self.kinds)[kinds], features], axis=-1)
        return Examples(
            inputs={
                "inputs": as_tensor(tokens * there[..., None]),
                "query_inputs": as_tensor(np.ones((number, 1, 1))),  # always the same question
                "mask": as_tensor(there[:, None, :]),
            },
            targets=as_tensor(targets[:, None, :]),
            right={"weights": as_tensor(right)},
            allowed={"weights": as_tensor(np.broadcast_to(there[:, None, :], right.shape))},
        )

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return a row for each feature; one weight per token is the same in each."""
        assert isinstance(weights, Tensor)
        if weights.ndim == 3:
            return {"weights": weights.expand(-1, self.groups, -1)}
        return {"weights": weights[:, 0].mT}  # (batch, n, groups) -> (batch, groups, n)

    def model(self, attention: nn.Module) -> TaskModel:
        """Return the model with that attention and a linear output."""
        return TaskModel(
            nn.Identity(), nn.Identity(), attention, nn.Linear(self.groups, self.groups)
        )

    def multi(self) -> TaskModel:
        """Return the model with a weight for each feature of each token."""
        return self.model(MultiAttention(self.kinds, 16, self.groups))

    def single(self) -> TaskModel:
        """Return the model with one weight per token, and as many parameters."""
        return self.model(SplitAttention(self.kinds, make_score("additive", 1, self.kinds, 22)))

    def see(self, inputs: Tensor, query_inputs: Tensor, mask: Tensor) -> Seen:
        """Return the tokens: the question is always the same."""
        return Seen(inputs, mask=mask)

    @property
    def arms(self) -> dict[str, Arm]:
        """Weights by feature, weights by token, equal weights, and readers without attention."""
        uniform = partial(SplitAttention, self.kinds, UniformScore())
        return {
            "multi": Arm(self.multi, 3e-2),
            "single": Arm(self.single, 3e-2),
            "uniform": Arm(lambda: self.model(uniform()), 3e-2, attends=False),
            **reader_arms(self, self.multi, self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One weight per feature against one weight per token, and against readers."""
        return (
            Comparison("multi", "single"),
            Comparison("multi", "uniform"),
            *reader_comparisons("multi"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the features asked for, and the kind of each token."""
        kinds = examples.inputs["inputs"][place, :, : self.kinds].argmax(dim=-1).tolist()
        features = [f"feature {number}" for number in range(1, 1 + self.groups)]
        return {"weights": (features, [f"k{1 + kind}" for kind in kinds])}
