"""Feature places: the features of the answer are at different places.

Eight tokens, each with a role and four features (a colour, a size and so on, by number). The
answer's first feature is that of the token with the first role, its second feature that of the
token with the second role: four places for one answer. With one weight per token, a place that
counts for one feature counts for all.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from attn_course.attention import TaskModel
from attn_course.dimensionality import attend_multi
from attn_course.general_attention.singular import FeatureScore
from attn_course.learned_scores import make_score
from attn_course.tasks.parts import SplitAttention, UniformScore
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor


class FeaturePlaces(Task):
    """Which features has the answer, if each is at another token?"""

    name = "feature_places"
    question = "Which four features has the answer, if each is told by the token of another role?"
    claim = (
        "One weight per token can't serve four places: a statement about two forms of attention, "
        "not about the need for attention. Readers with four times the parameters do as well. "
        "`means_by_feature` asks for numbers, and needs the weights."
    )
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    reader_tried: ClassVar = (6e-3,)
    n, roles, groups, options = 8, 12, 4, 4

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return tokens in any order: the telling roles are all there, the others by chance."""
        telling = np.broadcast_to(np.arange(self.groups), (number, self.groups))
        silent = rng.random((number, self.roles - self.groups)).argsort(axis=-1) + self.groups
        roles = np.concatenate([telling, silent[:, : self.n - self.groups]], axis=-1)
        roles = rng.permuted(roles, axis=-1)
        features = rng.integers(self.options, size=(number, self.n, self.groups))
        right = roles[:, None, :] == np.arange(self.groups)[:, None]  # (number, groups, n)
        targets = (features.swapaxes(-1, -2) * right).sum(axis=-1)
        # One-hot features, pooled as they are: no encoder could mark their token (a leak).
        told = np.eye(self.options)[features].reshape(number, self.n, -1)
        return Examples(
            inputs={
                "inputs": as_tensor(np.concatenate([np.eye(self.roles)[roles], told], axis=-1)),
                "query_inputs": as_tensor(np.ones((number, 1, 1))),  # always the same question
            },
            targets=as_tensor(targets),
            right={"weights": as_tensor(right)},
        )

    def model(self, attention: nn.Module) -> TaskModel:
        """Return the model with that attention; its output is linear, and so untangles nothing."""
        width = self.groups * self.options
        output = nn.Sequential(
            nn.Linear(width, width),
            nn.Unflatten(-1, (self.groups, self.options)),
            nn.Flatten(1, 2),  # the one query goes: (batch, 1, groups, …) to (batch, groups, …)
        )
        return TaskModel(nn.Identity(), nn.Identity(), attention, output)

    def multi(self, d_w: int = 16) -> TaskModel:
        """Return the model with a weight for each feature of each token."""
        return self.model(MultiAttention(self.roles, d_w, self.groups * self.options))

    def single(self, d_w: int = 16) -> TaskModel:
        """Return the model with one weight a token."""
        return self.model(SplitAttention(self.roles, make_score("additive", 1, self.roles, d_w)))

    def uniform(self) -> TaskModel:
        """Return the model with equal weights."""
        return self.model(SplitAttention(self.roles, UniformScore()))

    def see(self, inputs: Tensor, query_inputs: Tensor) -> Seen:
        """Return the tokens as a reader without attention sees them: the question never varies."""
        return Seen(inputs)

    @property
    def arms(self) -> dict[str, Arm]:
        """Weights by feature, weights by token (narrow, and with as many parameters), equal."""
        return {
            "multi": Arm(self.multi, 3e-3),
            "single": Arm(self.single, 3e-3),
            "single, as many parameters": Arm(partial(self.single, 32), 3e-3),
            "uniform": Arm(self.uniform, 3e-3, attends=False),
            **reader_arms(self, self.multi, self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One weight a feature against one weight a token."""
        return (
            Comparison("multi", "single"),
            Comparison("multi", "single, as many parameters"),
            Comparison("multi", "uniform"),
            *reader_comparisons("multi"),
        )

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return a row for each feature of the answer: its options' mean weight on each token."""
        assert isinstance(weights, Tensor)
        if weights.ndim == 3:  # one weight a token, the same for all features
            return {"weights": weights.expand(-1, self.groups, -1)}
        by_group = weights[:, 0].unflatten(-1, (self.groups, self.options)).mean(dim=-1)
        return {"weights": by_group.mT}  # (batch, n, groups) -> (batch, groups, n)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the features asked for, and for each token its role and features: "r2 0131"."""
        tokens = examples.inputs["inputs"][place]
        roles = tokens[:, : self.roles].argmax(dim=-1).tolist()
        told = tokens[:, self.roles :].unflatten(-1, (self.groups, self.options)).argmax(dim=-1)
        keys = [
            f"r{role} " + "".join(str(option) for option in options)
            for role, options in zip(roles, told.tolist(), strict=True)
        ]
        answer = examples.targets[place].tolist()
        features = [f"feature {number}: {option}" for number, option in enumerate(answer, start=1)]
        return {"weights": (features, keys)}


class MultiAttention(nn.Module):
    """Attention with a weight for each feature; the first `d_k` numbers of a token are its key."""

    def __init__(self, d_k: int, d_w: int, d_v: int) -> None:
        super().__init__()
        self.d_k = d_k
        self.score = FeatureScore(1, d_k, d_w, d_v, "tanh")

    def forward(
        self, features: Tensor, queries: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts `(..., q, d_v)` and weights `(..., q, n, d_v)`."""
        keys, values = features[..., : self.d_k], features[..., self.d_k :]
        return attend_multi(queries, keys, values, self.score, mask=mask)
