r"""Bids: the mean of what the members bid, in a crowd far larger than any of the training.

As in `votes`, but the answer is a number, and models that were trained on meetings of 8 to 16 are
tested on meetings of 1000 to 2000. Whatever little weight softmax leaves to one stranger, a
thousand times that is much: it can't stay sharp as the keys become more (Veličković et al., 2024).
A stranger who is not selected has weight 0, and a thousand times 0 is 0.

How much is left to a stranger is a matter of luck, as nothing in training asks for less: at its
best learning rate soft attention becomes sharp enough for these crowds from some seeds, from others
not. Reinforced alignment does not depend on that. Nor does sparsemax, which has exact zeros without
any sampling.
"""

from copy import copy
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import Tensor

from attn_course.alignment import softmax, sparsemax
from attn_course.tasks.readers import RATES, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples
from attn_course.tasks.votes import KINDS, Votes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained


class Bids(Votes):
    """What is the mean bid of the members? Tested in crowds larger than any of the training."""

    name = "bids"
    question = "What is the mean bid of the members, in a crowd larger than any seen in training?"
    claim = (
        "Needs exact zeros: they solve crowds of a thousand from every seed, softmax from some, "
        "and readers without attention, which divide by all there are, from none. Sparsemax has "
        "zeros too and ties, so the claim is about zeros, not about REINFORCE."
    )
    reader_settings: ClassVar = {
        "mean": ("plain", (2e-2, 2e-2)),
        "max": ("deep", (2e-3, 2e-3)),
    }
    reader_tried: ClassVar = RATES
    metric = "answers within 0.05"
    learning_rates = (6e-3, 2e-2, 6e-2)
    tested_sizes = (1000, 2000)
    tested_on = 400
    width, answers = KINDS + 1, 1

    def votes(
        self, rank: np.ndarray, members: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return everybody's bid, `(number, n, 1)`, and the mean of the members', `(number, 1)`.

        A crowd leans to one side: strangers' bids would otherwise cancel out, however many.
        """
        agreed, elsewhere = rng.normal(scale=2.0, size=(2, *members.shape))
        bids = rng.normal(size=rank.shape) + np.where(rank < members, agreed, elsewhere)
        of_members = np.where(rank < members, bids, 0.0)
        return bids[..., None], of_members.sum(-1, keepdims=True) / members

    def cost(self, predictions: Tensor, examples: Examples) -> Tensor:
        """Return the squared error of each example, `(batch,)`."""
        return (predictions[:, 0, 0] - examples.targets[:, 0]) ** 2

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of answers that are less than 0.05 off."""
        return (self.cost(predictions, examples) < 0.05**2).double().mean().item()

    @property
    def arms(self) -> dict[str, Arm]:
        """A learned subset, two alignments of learned scores, and nothing."""
        return {
            "reinforced": Arm(self.reinforced, 6e-3, self.policy_gradient),
            "soft": Arm(lambda: self.scored(softmax), 6e-2),
            "sparsemax": Arm(lambda: self.scored(sparsemax), 6e-3),
            "uniform": Arm(self.uniform, 6e-2, attends=False),
            **reader_arms(self, self.reinforced, self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The learned subset against none, soft weights, and sparse weights."""
        return (
            Comparison("reinforced", "uniform"),
            Comparison(
                "reinforced",
                "soft",
                "right from every seed, soft from some: what softmax leaves to each of a thousand "
                "strangers is small enough by luck alone, hence its wide spread",
            ),
            Comparison(
                "reinforced",
                "sparsemax",
                "ties with sparsemax, which has exact zeros too, and a gradient without sampling",
            ),
            *reader_comparisons("reinforced"),
        )

    def vote_of(self, token: Tensor) -> str:
        """Return the bid."""
        return f"{token[KINDS].item():.1f}"

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw a meeting that fits on a page."""
        from attn_course.tasks.figures import attention_figure

        smaller = copy(self)
        smaller.tested_sizes = (24, 24)
        return attention_figure(smaller, trained, place)
