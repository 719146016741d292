r"""The noisy curve: attention as regression, with one number to learn.

An example is a cloud of noisy points and some places on the axis. The prediction at a place is the
weighted mean of the points (Nadaraya, 1964; Watson, 1964), nearer ones counting more; how much
more, the trained bandwidth $1/w$ says. The ablation starts at $w = 0$, where all points count the
same and the gradient is 0: it is average pooling, and stays so.

The curve is smooth, so a polynomial fitted to the same points by least squares comes nearer to it.
It is the rival that has no attention: it does not ask which points are near.
"""

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course import nadaraya_watson
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained


class NoisyCurve(Task):
    """How high is the curve here, to judge by noisy points of it?"""

    name = "noisy_curve"
    question = "How high is the curve at this place, to judge by 50 noisy points of it?"
    claim = (
        "Weights by distance beat the plain average. A polynomial fitted by least squares beats "
        "both, because this curve is smooth; the weights need no such assumption, and have one "
        "number to learn."
    )
    solved_at = 0.1
    no_readers = "a regression has no classes to pool for; the rival is the polynomial"
    metric = "mean squared error"
    higher_is_better = False
    attention_metric = "weight on points within one noise of the true height"
    learning_rates = (1e-2, 3e-2, 1e-1)
    steps = 200
    batch_size = 32
    tested_on = 500
    n, places, noise = 50, 20, 0.5

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return noisy points, and the height at other places: noisy too in training, else true.

        The right points are those whose true height differs from that of the place by at most
        the noise: a point that would mislead more than its own noise does has no place in the
        mean. Some of them are far away, where the curve comes back to the same height.
        """
        points = rng.uniform(0, 5, size=(number, self.n))
        asked = rng.uniform(0, 5, size=(number, self.places))
        heights = nadaraya_watson.true_curve(points)
        true = nadaraya_watson.true_curve(asked)
        seen = heights + rng.normal(0, self.noise, size=heights.shape)
        targets = true + rng.normal(0, self.noise, size=true.shape) if split == "train" else true
        near = np.abs(heights[:, None, :] - true[:, :, None]) <= self.noise
        return Examples(
            inputs={
                "queries": as_tensor(asked),
                "keys": as_tensor(points),
                "values": as_tensor(seen),
            },
            targets=as_tensor(targets),
            right={"weights": as_tensor(near)},
        )

    def loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the mean squared error."""
        predictions, _weights = model(**examples.inputs)
        return functional.mse_loss(predictions, examples.targets)

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the mean squared error, against the true curve unless in training."""
        return (predictions - examples.targets).double().square().mean().item()

    @property
    def arms(self) -> dict[str, Arm]:
        """The same regression, started at the bandwidth 1 and at none, and a polynomial."""
        return {
            "Nadaraya–Watson": Arm(partial(KernelRegression, 1.0), 1e-1),
            "average": Arm(partial(KernelRegression, 0.0), 1e-2, attends=False),
            # A fit in closed form: there is no learning rate, and every seed is the same.
            "polynomial": Arm(lambda: PolynomialFit(best_degree()), 1e-2, attends=False),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Weights by distance against equal weights, and against none."""
        return (
            Comparison("Nadaraya–Watson", "average"),
            Comparison("Nadaraya–Watson", "polynomial", self.claim),
        )

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw the points of one test example, the true curve, and what each arm makes of it."""
        import matplotlib.pyplot as plt

        from attn_course.translate import _

        inputs = self.held_out()[place : place + 1].inputs
        line = torch.linspace(0, 5, 101)
        figure, ax = plt.subplots(figsize=(6, 3.5))
        ax.plot(inputs["keys"][0], inputs["values"][0], "o", alpha=0.5, label=_("noisy points"))
        ax.plot(line, nadaraya_watson.true_curve(line), "k--", label=_("true curve"))
        for one in trained:
            with torch.no_grad():
                heights, _weights = one.model(line[None], inputs["keys"], inputs["values"])
            ax.plot(line, heights[0], label=one.arm)
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.legend()
        return figure


class KernelRegression(nn.Module):
    """`nadaraya_watson.NadarayaWatson` that returns its weights too, as task models do."""

    def __init__(self, w: float) -> None:
        super().__init__()
        self.regression = nadaraya_watson.NadarayaWatson(w)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return predictions `(batch, q)` and weights `(batch, q, k)`."""
        weights = nadaraya_watson.weights(queries, keys, self.regression.w)
        return self.regression(queries, keys, values), weights


class PolynomialFit(nn.Module):
    """The polynomial of a degree that fits each example's points best: no attention at all."""

    def __init__(self, degree: int) -> None:
        super().__init__()
        self.degree = degree

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, None]:
        """Return predictions `(batch, q)`; there are no weights."""
        fit = torch.linalg.lstsq(self.powers(keys), values.double()[..., None]).solution
        return (self.powers(queries) @ fit)[..., 0].to(values.dtype), None

    def powers(self, places: Tensor) -> Tensor:
        """Return the powers of places `(batch, n, degree + 1)`, from -1 to 1 for good numerics."""
        centred = places.double() / 2.5 - 1
        return centred[..., None] ** torch.arange(self.degree + 1)


@cache
def best_degree(most: int = 9) -> int:
    """Return the degree with the smallest error on the validation examples."""
    task = NoisyCurve()
    examples = task.held_out("validation")
    errors = [
        task.score(PolynomialFit(degree)(**examples.inputs)[0], examples)
        for degree in range(most + 1)
    ]
    return int(np.argmin(errors))
