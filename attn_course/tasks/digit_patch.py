r"""One handwritten digit among clutter: which of sixteen patches is worth a look, and what is it?

A canvas of 4 × 4 patches has one real digit of scikit-learn's; the others are digits with their
pixels shuffled, so that the amount of ink reveals nothing. A scorer looks at each patch by itself,
the weights average the **raw pixels**, and a reader names the digit in the average. If patches were
encoded before, an encoder could silence the clutter and the weights would have nothing to do.

Soft attention averages all patches. Hard attention draws one: no gradient passes through the draw,
and the scorer learns by REINFORCE, from the reward $\log p(y)$. `DigitPatchEarly` stops
after few steps, where the baseline that is subtracted from the reward matters.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course._extras import missing
from attn_course.alignment import hard, score_function_gradient, softmax
from attn_course.attention import Align, attend_by_scores
from attn_course.learned_scores import NoQueryScore
from attn_course.tasks.parts import UniformKeyScore
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained

ROWS = COLUMNS = 4
SIDE = 8  # pixels of a patch's side
PIXELS = SIDE * SIDE
DIGITS = 10
_BORDERS = {"train": (0, 1197), "validation": (1197, 1497), "test": (1497, 1797)}


@cache
def digits(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the images `(n, 64)`, from 0 to 1, and names of a split's digits: none is in two."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as fault:
        raise missing("scikit-learn", "digits") from fault
    bundled = load_digits()
    order = np.random.default_rng(0).permutation(len(bundled.target))
    start, end = _BORDERS[split]
    mine = order[start:end]
    return bundled.data[mine] / bundled.data.max(), bundled.target[mine]


class DrawnPatch(nn.Module):
    """Hard alignment: one patch, drawn by its weight in training and the likeliest in a test."""

    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return one-hot weights `(..., q, k)`."""
        if self.training:
            return hard(scores, torch.default_generator, mask)
        return softmax(scores, mask, temperature=1e-6)  # so cold that only the best counts


class PatchReader(nn.Module):
    """Score the patches, average their pixels, name the digit."""

    baseline: Tensor

    def __init__(self, score: nn.Module, align: Align, read: nn.Module | None = None) -> None:
        super().__init__()
        self.score = score
        self.align = align
        self.read = read or nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, DIGITS))
        self.register_buffer("baseline", torch.zeros(()))  # the usual reward, for hard attention

    def scores(self, patches: Tensor) -> Tensor:
        """Return what each patch scores, `(batch, 1, 16)`; a query is not needed."""
        return self.score(patches)

    def forward(self, patches: Tensor) -> tuple[Tensor, Tensor]:
        """Return the digits' logits `(batch, 1, 10)` and the weights `(batch, 1, 16)`."""
        seen, weights = attend_by_scores(self.scores(patches), patches, self.align)
        return self.read(seen), weights


Reward = Callable[[Tensor, Examples], Tensor]


def log_probability(predictions: Tensor, examples: Examples) -> Tensor:
    r"""Return the reward of naming a digit, $\log p(y)$, for each canvas."""
    return -functional.cross_entropy(predictions[:, 0], examples.targets[:, 0], reduction="none")


def reinforce(
    with_baseline: bool, reward: Reward = log_probability
) -> Callable[[nn.Module, Examples], Tensor]:
    r"""Return a loss: the reader learns by the gradient of the reward, scores by REINFORCE.

    The baseline is the moving average $b \leftarrow 0.9\,b + 0.1\,R$ of
    Xu et al. (2015).
    """

    def loss(model: nn.Module, examples: Examples) -> Tensor:
        assert isinstance(model, PatchReader)
        predictions, choices = model(**examples.inputs)
        reached = reward(predictions, examples)
        rewards = reached.detach()[None, :, None]  # one draw for each canvas
        scores = model.scores(**examples.inputs)
        b = model.baseline if with_baseline else 0.0
        gradient = score_function_gradient(scores.detach(), choices[None], rewards, b)
        model.baseline.mul_(0.9).add_(0.1 * rewards.mean())
        return -reached.mean() - (gradient * scores).sum() / len(examples)

    return loss


class DigitPatch(Task):
    """Which digit is on the canvas? Sixteen patches, one of them real."""

    name = "digit_patch"
    question = "Which digit is on the canvas, among fifteen patches of shuffled pixels?"
    claim = (
        "Attention shows where it looked, and hard attention reads one patch instead of sixteen. "
        "No accuracy is gained over a hidden layer per patch and a maximum over patches, which has "
        "no map to show. `copy_patch` asks for the pixels, and needs the choice."
    )
    reader_settings: ClassVar = {
        "mean": ("plain", (6e-3, 6e-3)),
        "max": ("plain", (6e-3, 6e-3)),
    }
    reader_tried: ClassVar = (6e-3,)
    learning_rates = (6e-4, 2e-3, 6e-3)
    steps = 1000
    batch_size = 64

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return canvases: a digit of the split at a random patch, its other digits shuffled."""
        images, names = digits(split)
        n = ROWS * COLUMNS
        chosen = rng.integers(len(images), size=(number, n))
        patches = rng.permuted(images[chosen], axis=-1)  # every patch by a shuffle of its own
        place = rng.integers(n, size=number)
        rows = np.arange(number)
        patches[rows, place] = images[chosen[rows, place]]
        return Examples(
            inputs={"patches": as_tensor(patches)},
            targets=as_tensor(names[chosen[rows, place]][:, None]),
            right={"weights": as_tensor(np.arange(n) == place[:, None])[:, None, :]},
        )

    def see(self, patches: Tensor) -> Seen:
        """Return the patches as a reader without attention sees them."""
        return Seen(patches)

    @property
    def arms(self) -> dict[str, Arm]:
        """Soft and hard alignment, hard without its baseline, and no scores at all."""
        return {
            "soft": Arm(lambda: PatchReader(NoQueryScore(PIXELS, 32), softmax), 6e-3),
            "hard": Arm(
                lambda: PatchReader(NoQueryScore(PIXELS, 32), DrawnPatch()), 2e-3, reinforce(True)
            ),
            "hard, no baseline": Arm(
                lambda: PatchReader(NoQueryScore(PIXELS, 32), DrawnPatch()), 6e-3, reinforce(False)
            ),
            "uniform": Arm(lambda: PatchReader(UniformKeyScore(), softmax), 2e-3, attends=False),
            **reader_arms(self, lambda: PatchReader(NoQueryScore(PIXELS, 32), softmax), self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Hard and soft against none, and against each other."""
        return (
            Comparison("hard", "uniform"),
            Comparison("soft", "uniform"),
            Comparison(
                "hard",
                "soft",
                "ties with soft, which gets a gradient from every patch and learns in fewer steps; "
                "what hard attention saves is reading fifteen of sixteen patches at test time",
            ),
            *reader_comparisons("soft"),
        )

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw the canvas of one test example under the weights of each arm."""
        import matplotlib.pyplot as plt

        from attn_course.figures import over_image

        example = self.held_out()[place : place + 1]
        canvas = self.canvas(example.inputs["patches"][0])
        right = example.right["weights"].reshape(ROWS, COLUMNS)
        figure, axes = plt.subplots(
            1, 1 + len(trained), figsize=(3.2 * (1 + len(trained)), 3.5), squeeze=False
        )
        over_image(canvas, torch.zeros(ROWS, COLUMNS), right, ax=axes[0, 0])
        axes[0, 0].set_title(self.answer(example))
        for ax, one in zip(axes[0, 1:], trained, strict=True):
            with torch.no_grad():
                predictions, weights = one.model(**example.inputs)
            found = torch.zeros(ROWS, COLUMNS) if weights is None else weights
            over_image(canvas, found.reshape(ROWS, COLUMNS), right, ax=ax)
            ax.set_title(f"{one.arm}: {self.told(predictions)}".removesuffix(": "))
        return figure

    def answer(self, example: Examples) -> str:
        """Return what should be said of a canvas."""
        return _("right: {digit}").format(digit=example.targets.item())

    def told(self, predictions: Tensor) -> str:
        """Return what a model says of a canvas."""
        return str(predictions.argmax().item())

    def canvas(self, patches: Tensor) -> Tensor:
        """Return the patches `(16, 64)` side by side: the image `(32, 32)`."""
        grid = patches.reshape(ROWS, COLUMNS, SIDE, SIDE)
        return grid.transpose(1, 2).reshape(ROWS * SIDE, COLUMNS * SIDE)


class DigitPatchEarly(DigitPatch):
    """The same after few steps: how soon does the scorer find the digit?"""

    name = "digit_patch_early"
    question = "Which digit is on the canvas, according to a model after a short training?"
    claim = (
        "Soft attention learns sooner than hard, and hard sooner with a baseline than without: "
        "statements about training, at a fixed number of steps."
    )
    no_readers = "the question is how fast attention learns; `digit_patch` has the readers"
    solved_at = 0.5  # the patch is found by now: without it, the average of all reaches 0.3
    steps = 100

    @property
    def arms(self) -> dict[str, Arm]:
        """The same models; in so few steps all do best at the highest rate."""
        names = ("soft", "hard", "hard, no baseline", "uniform")
        usual = super().arms
        return {name: replace(usual[name], learning_rate=6e-3) for name in names}

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What the baseline of REINFORCE is worth, and what a true gradient is worth."""
        return (
            Comparison(
                "hard",
                "hard, no baseline",
                "a matter of how many seeds are there by now: with the baseline all of them look "
                "at the digit, without it most still look anywhere, and so the spread is wide",
            ),
            Comparison(
                "soft",
                "hard",
                "soft learns sooner, since every patch gets a gradient; hard has found the patch "
                "by now, but its reader has seen few digits yet, in some seeds fewer than others",
            ),
        )
