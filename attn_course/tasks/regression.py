"""What tasks share whose answers are numbers: they are near enough, or they are not."""

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from attn_course.tasks.task import Examples, Task


class NumbersTask(Task):
    """A task that is solved where all numbers of an answer are less than `tolerance` off."""

    tolerance: ClassVar[float] = 0.1

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the mean squared error."""
        predictions, _weights = model(**examples.inputs)
        return functional.mse_loss(predictions, examples.targets)

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return how often all numbers of an answer are near enough."""
        near = (predictions - examples.targets).abs() < self.tolerance
        return near.flatten(1).all(dim=-1).double().mean().item()
