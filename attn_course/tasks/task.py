"""What a task is: examples whose right attention is known, and the models that are compared on it.

A task says before any model exists where attention belongs. So a map that a model finds can be
scored, not only admired, and a mechanism has to earn its place against the same model without it.

- `Examples` are inputs, targets and the right attention.
- `Arm` is one model of a comparison, with the learning rate that suits it.
- `Comparison` names the arm with the mechanism and the arm without it.
- `Task` is the base of all tasks. `key_lookup` is the smallest one to read.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course.evaluation.correctness import attention_correctness, uniform_correctness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
IGNORED = -100  # a target that neither loss nor score counts, such as padding: PyTorch's own number
Weights = Tensor | Mapping[str, Tensor] | Sequence[Tensor]
Depth = Literal["plain", "deep"]
Loss = Callable[[nn.Module, "Examples"], Tensor]


@dataclass(frozen=True)
class Examples:
    """Some examples of a task, the first axis of every tensor counting them.

    `inputs` are the arguments of the model by name. `right` says by the name of each attention
    map, and in its shape `(batch, q, k)`, where weight belongs: True where it does; a row without
    True is not scored. `allowed` has the masks of those maps (True = may attend), where there are
    any: uniform attention is uniform over these.
    """

    inputs: dict[str, Tensor]
    targets: Tensor
    right: dict[str, Tensor]
    allowed: dict[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, place: slice | Tensor) -> "Examples":
        """Return some of the examples: `examples[:10]`."""
        return Examples(
            {name: tensor[place] for name, tensor in self.inputs.items()},
            self.targets[place],
            {name: tensor[place] for name, tensor in self.right.items()},
            {name: tensor[place] for name, tensor in self.allowed.items()},
        )

    def batches(self, size: int) -> "list[Examples]":
        """Return the examples in batches of at most `size`, in order."""
        return [self[start : start + size] for start in range(0, len(self), size)]


@dataclass(frozen=True)
class Arm:
    """One model that is trained on a task.

    `learning_rate` is the best of those tried, judged on the validation examples after one
    training with a seed that no reported figure uses; `attn-course tasks --tune` repeats the
    choice. `tried` are these rates where they are not the task's own. `loss` replaces the task's
    own loss, where the mechanism brings its own. `attends` is False for a model that can't weigh
    one token more than another.
    """

    build: Callable[[], nn.Module]
    learning_rate: float
    loss: Loss | None = None
    tried: tuple[float, ...] = ()
    attends: bool = True


@dataclass(frozen=True)
class Comparison:
    """The arm with the mechanism against the arm without it, or with the simpler one.

    `note` explains in a sentence what a reader should know of the outcome: whatever is not a
    plain win must have one.
    """

    mechanism: str
    ablation: str
    note: str = ""


class Task(ABC):
    """Examples with a known right attention, and the arms that are compared on them.

    A task defines `examples`; everything else here suits a classification and may be replaced.
    Models are called with the inputs of `Examples` by name and return `(predictions, weights)`.
    """

    name: ClassVar[str]
    question: ClassVar[str]  # what an example asks, in a sentence
    claim: ClassVar[str]  # what the figures show of the mechanism, and what they do not
    solved_at: ClassVar[float] = 0.9  # the score from which on a training has solved the task
    # Why the task has no readers without attention, where such a model would answer no question.
    no_readers: ClassVar[str] = ""
    # Depth of the readers without attention and the learning rate of each size, by their pooling.
    reader_settings: ClassVar[Mapping[str, tuple[Depth, tuple[float, ...]]]] = {}
    reader_tried: ClassVar[tuple[float, ...]] = ()  # where it is not `readers.RATES`
    first_seed: ClassVar[int] = 0  # a design that seeds 0 to 2 have chosen is confirmed on others
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True
    attention_metric: ClassVar[str] = "attention correctness"
    learning_rates: ClassVar[tuple[float, float, float]] = (3e-3, 1e-2, 3e-2)
    steps: ClassVar[int] = 600
    batch_size: ClassVar[int] = 128
    one_cycle: ClassVar[bool] = False  # the learning rate rises and falls once over the training
    tested_on: ClassVar[int] = 2000  # examples

    @property
    @abstractmethod
    def arms(self) -> dict[str, Arm]:
        """The models by name."""

    @property
    @abstractmethod
    def comparisons(self) -> tuple[Comparison, ...]:
        """Which arm is compared with which: a row of the table each."""

    @abstractmethod
    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return `number` fresh examples; `split` matters where the material is finite."""

    def rng(self, split: Split, seed: int = 0) -> np.random.Generator:
        """Return the random numbers of one split: no two splits, tasks or seeds share any."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), SPLITS.index(split), seed])

    def rates_tried(self, arm: str) -> tuple[float, ...]:
        """Return the learning rates that were tried for an arm."""
        return self.arms[arm].tried or self.learning_rates

    def held_out(self, split: Split = "test") -> Examples:
        """Return the examples that every model is tested (or chosen) on: always the same."""
        return self.examples(split, self.tested_on, self.rng(split))

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return what a training step makes smaller: here the cross-entropy."""
        predictions, _weights = model(**examples.inputs)
        classes = predictions.shape[-1]
        return functional.cross_entropy(
            predictions.reshape(-1, classes), examples.targets.reshape(-1)
        )

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return how good predictions are: here the share of right classes."""
        targets = examples.targets.reshape(-1)
        hits = predictions.argmax(dim=-1).reshape(-1) == targets
        return hits[targets != IGNORED].double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the maps to be scored under the names that they have in `Examples.right`."""
        if isinstance(weights, Tensor):
            return {"weights": weights}
        if isinstance(weights, Mapping):
            return dict(weights)
        return {f"hop {hop}": part for hop, part in enumerate(weights, start=1)}

    def attention_scores(self, weights: Weights, examples: Examples) -> dict[str, float]:
        """Return for each map how well it agrees with the right one.

        Weight behind a mask is weight in the wrong place, so the mask is not handed on. An arm
        may lack a map that others have.
        """
        found = self.named_weights(weights)
        return {
            name: attention_correctness(found[name], right)
            for name, right in examples.right.items()
            if name in found
        }

    def uniform_scores(self, examples: Examples) -> dict[str, float]:
        """Return for each map what uniform weights would score."""
        return {
            name: uniform_correctness(right, examples.allowed.get(name))
            for name, right in examples.right.items()
        }

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the labels of the rows and columns of each map of one example, if any."""
        return {}

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw for one test example the right attention next to the attention that was found."""
        from attn_course.tasks.figures import attention_figure

        return attention_figure(self, trained, place)


def as_tensor(numbers: np.ndarray) -> Tensor:
    """Return NumPy's random numbers as PyTorch expects them: float32, int64 or bool."""
    tensor = torch.from_numpy(np.ascontiguousarray(numbers))
    return tensor.float() if tensor.is_floating_point() else tensor
