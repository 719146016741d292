r"""Adversarial attention: quite other weights, the same prediction (Jain & Wallace, 2019).

The model stays as it is, and for each example $k$ sets of weights are sought,

$$\max_{a^{(1)}, \dots, a^{(k)}} \sum_i \mathrm{JSD}(a^{(i)}, \hat a)
+ \frac1{k(k-1)} \sum_{i<j} \mathrm{JSD}(a^{(i)}, a^{(j)})
\quad\text{s.t.}\quad \mathrm{TVD}(\hat y(x, a^{(i)}), \hat y(x, \hat a)) \le \epsilon,$$

with $-\frac\lambda k \sum_i \max(0, \mathrm{TVD}_i - \epsilon)$ in place of the bound.

Mind the ceiling: from nearly uniform weights nothing is far away, from peaked weights nearly
everything. Only the JSD relative to `jsd_ceiling` can be compared between models.
"""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from attn_course.alignment import softmax
from attn_course.evaluation.divergences import jsd, jsd_ceiling, tvd
from attn_course.explanation.explainable_model import (
    Explainable,
    Inputs,
    require_explainable,
)


@dataclass(frozen=True)
class Adversaries:
    """The weights that were found for each example, and how far they are from the learned ones."""

    weights: Tensor  # (k, batch, n)
    jsd: Tensor  # (k, batch), from the learned weights
    tvd: Tensor  # (k, batch), from the prediction
    ceiling: Tensor  # (batch,): the largest JSD there could be
    epsilon: float

    @property
    def feasible(self) -> Tensor:
        """Which of them keep the prediction, `(k, batch)`."""
        return self.tvd <= self.epsilon

    @property
    def largest(self) -> Tensor:
        r"""The $\epsilon$-max JSD, `(batch,)`: the largest among the feasible.

        It is 0 where none is: the learned weights themselves always keep the prediction.
        """
        return torch.where(self.feasible, self.jsd, 0.0).max(dim=0).values

    @property
    def relative(self) -> Tensor:
        """The largest in parts of its ceiling, `(batch,)`; NaN where one token leaves no choice."""
        possible = self.ceiling > 1e-6
        return torch.where(possible, self.largest / self.ceiling, torch.nan)

    @property
    def best(self) -> Tensor:
        """The feasible weights furthest from the learned ones, `(batch, n)`.

        Where none is feasible: those that change the prediction least.
        """
        wanted = torch.where(self.feasible, self.jsd, -self.tvd)
        chosen = wanted.argmax(dim=0)
        return self.weights[chosen, torch.arange(len(chosen))]


def find_adversaries(
    model: Explainable,
    inputs: Inputs,
    generator: torch.Generator,
    k: int = 5,
    steps: int = 500,
    learning_rate: float = 0.01,
    penalty: float = 500.0,
    epsilon: float = 0.01,
    noise: float = 3.0,
) -> Adversaries:
    r"""Search `k` adversaries for every example at once, by Adam on their logits.

    The settings are those of the paper's code; `penalty` is $\lambda$. Logits begin at those of
    uniform weights plus normal noise. Examples do not touch each other: each has its own logits.
    Of each path the feasible weights furthest away are kept, since its end may lie a hair outside
    the bound; a path that never was feasible keeps its end.
    """
    require_explainable(model, inputs)
    with torch.no_grad():
        prediction, learned = model.predict(inputs)
    mask = model.mask(inputs)
    start = noise * torch.randn((k, *learned.shape), generator=generator)
    logits = start.to(learned.dtype).requires_grad_()
    optimiser = torch.optim.Adam([logits], lr=learning_rate)

    def measured(weights: Tensor) -> tuple[Tensor, Tensor]:
        outputs = torch.stack([model.predict(inputs, each)[0] for each in weights])
        return jsd(weights, learned), tvd(outputs, prediction)  # (k, batch) each

    kept = softmax(logits.detach(), mask=mask)  # (k, batch, n)
    kept_at = torch.full(kept.shape[:-1], -torch.inf, dtype=kept.dtype)  # its JSD, if feasible
    for _ in range(steps):
        weights = softmax(logits, mask=mask)
        far, changed = measured(weights)
        better = (changed <= epsilon) & (far > kept_at) | kept_at.isinf()
        kept = torch.where(better[..., None], weights.detach(), kept)
        kept_at = torch.where(better & (changed <= epsilon), far.detach(), kept_at)
        gain = far.sum(dim=0) + _diversity(weights)
        cost = penalty / k * (changed - epsilon).clamp(min=0).sum(dim=0)
        (logits.grad,) = torch.autograd.grad((cost - gain).sum(), logits)
        optimiser.step()
    with torch.no_grad():
        far, changed = measured(kept)
    return Adversaries(kept, far, changed, jsd_ceiling(learned, mask), epsilon)


def _diversity(weights: Tensor) -> Tensor:
    """Return how far the adversaries `(k, batch, n)` are from each other, `(batch,)`."""
    k = len(weights)
    if k == 1:
        return torch.zeros_like(weights[0, :, 0])
    apart = [jsd(one, other) for one, other in combinations(weights, 2)]
    return torch.stack(apart).sum(dim=0) / (k * (k - 1))
