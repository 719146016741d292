"""Copy the patch: the digit among clutter of `digit_patch`, handed back pixel by pixel.

To name a digit, a hidden layer per patch and a maximum over patches do as well as attention: ten
classes pass through any bottleneck. To copy it, 64 pixels have to pass. Attention chooses a patch
and hands on the whole of it; a pooled code has to fit 64 numbers into its hidden units, in which
fifteen patches of clutter have left their traces as well.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.learned_scores import NoQueryScore
from attn_course.tasks.digit_patch import PIXELS, DigitPatch, DrawnPatch, PatchReader, reinforce
from attn_course.tasks.parts import UniformKeyScore
from attn_course.tasks.readers import reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split
from attn_course.translate import _

REWARD_SCALE = 20.0  # of the squared error, which is a few hundredths here


class CopyPatch(DigitPatch):
    """What does the digit on the canvas look like? Its 64 pixels, among fifteen shuffled ones."""

    name = "copy_patch"
    question = "What does the digit on the canvas look like, pixel by pixel?"
    claim = (
        "Needs a choice: it hands on the whole patch, while a pooled code must fit 64 pixels "
        "into its hidden units. Hard and soft tie."
    )
    metric = "R² of the pixels"
    solved_at = 0.99
    first_seed = 10
    reader_settings: ClassVar = {
        "mean": ("plain", (6e-3, 6e-3)),
        "max": ("plain", (6e-3, 6e-3)),
    }
    reader_tried: ClassVar = (6e-3,)

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return canvases; the target is the digit itself, `(number, 1, 64)`."""
        drawn = super().examples(split, number, rng)
        digit = drawn.inputs["patches"][drawn.right["weights"][:, 0]]
        return Examples(drawn.inputs, digit[:, None], drawn.right)

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the mean squared error of the pixels."""
        predictions, _weights = model(**examples.inputs)
        return functional.mse_loss(predictions, examples.targets)

    def reward(self, predictions: Tensor, examples: Examples) -> Tensor:
        """Return how good each copy is, `(batch,)`: its squared error, negative."""
        return -REWARD_SCALE * (predictions - examples.targets).square().mean(dim=(1, 2))

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of the pixels' variance over digits that the copies explain."""
        targets = examples.targets.double()
        missed = (predictions.double() - targets).square().sum()
        return (1 - missed / (targets - targets.mean(dim=0)).square().sum()).item()

    def model(self, score: nn.Module, align: Align) -> PatchReader:
        """Return the model: attention, and a linear map from pixels to pixels."""
        return PatchReader(score, align, nn.Linear(PIXELS, PIXELS))

    def soft(self) -> PatchReader:
        """Return the model with soft weights."""
        return self.model(NoQueryScore(PIXELS, 32), softmax)

    def hard(self) -> PatchReader:
        """Return the model that draws a patch."""
        return self.model(NoQueryScore(PIXELS, 32), DrawnPatch())

    @property
    def arms(self) -> dict[str, Arm]:
        """Soft and hard alignment, equal weights, and readers without attention."""
        uniform = partial(self.model, UniformKeyScore(), softmax)
        return {
            "soft": Arm(self.soft, 6e-3),
            "hard": Arm(self.hard, 6e-3, reinforce(True, self.reward)),
            "uniform": Arm(uniform, 6e-3, attends=False),
            **reader_arms(self, self.soft, self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Hard and soft against none, each other, and readers."""
        return (
            Comparison("hard", "uniform"),
            Comparison("soft", "uniform"),
            Comparison("hard", "soft", self.claim),
            *reader_comparisons("soft"),
        )

    def answer(self, example: Examples) -> str:
        """Return a word: the digit itself is to be seen on the canvas."""
        return _("correct")

    def told(self, predictions: Tensor) -> str:
        """Return nothing: a copy is no word."""
        return ""
