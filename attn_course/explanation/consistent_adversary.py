r"""A model-consistent adversary: one model that attends elsewhere (Wiegreffe & Pinter, 2019).

Weights sought for each example alone belong to no model. So a whole model $M_a$ is trained to
predict as the base $M_b$ does and to attend as differently as it can, by

$$L(M_a, M_b) = \mathrm{TVD}(\hat y_a, \hat y_b) - \lambda\, \mathrm{KL}(a_a \Vert a_b).$$

`sweep` trains one for each $\lambda$: plot TVD against JSD. Where a curve rises at once, other
attention costs predictions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from attn_course.evaluation.divergences import jsd, jsd_ceiling, kl, tvd
from attn_course.explanation.explainable_model import Explainable, Inputs

# KL is infinite where the base gives no weight at all; in float32 peaked weights do underflow.
_SMALLEST = 1e-9


@dataclass(frozen=True)
class SweepPoint:
    """What one adversary reached, in the mean over examples."""

    penalty: float
    tvd: float  # between the predictions
    jsd: float  # between the weights
    relative_jsd: float  # in parts of the ceiling over the base's weights


def train_adversary(
    base: Explainable,
    adversary: Explainable,
    batches: Iterable[Inputs],
    penalty: float,
    learning_rate: float = 1e-2,
) -> None:
    r"""Train `adversary` in place against `base`, a step for each batch; `penalty` is $\lambda$."""
    optimiser = torch.optim.Adam(list(adversary.parameters()), lr=learning_rate)
    for inputs in batches:
        with torch.no_grad():
            wanted, base_weights = base.predict(inputs)
        probabilities, weights = adversary.predict(inputs)
        apart = kl(weights, base_weights.clamp(min=_SMALLEST))
        loss = (tvd(probabilities, wanted) - penalty * apart).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@torch.no_grad()
def compare(
    base: Explainable, adversary: Explainable, inputs: Inputs, penalty: float
) -> SweepPoint:
    """Return how far two models are apart, in predictions and in weights."""
    wanted, base_weights = base.predict(inputs)
    probabilities, weights = adversary.predict(inputs)
    far = jsd(weights, base_weights)
    ceiling = jsd_ceiling(base_weights, base.mask(inputs))
    return SweepPoint(
        penalty,
        tvd(probabilities, wanted).mean().item(),
        far.mean().item(),
        (far / ceiling.clamp(min=1e-6)).mean().item(),
    )


def sweep(
    base: Explainable,
    make_model: Callable[[], Explainable],
    make_batches: Callable[[], Iterable[Inputs]],
    inputs: Inputs,
    penalties: Sequence[float] = (0.0, 1e-3, 1e-2, 1e-1, 1.0),
    learning_rate: float = 1e-2,
) -> list[tuple[SweepPoint, Explainable]]:
    r"""Train an adversary for each $\lambda$, and compare it with the base on `inputs`.

    Each begins with a fresh model of `make_model` and sees the batches of `make_batches`.
    """
    points = []
    for penalty in penalties:
        adversary = make_model()
        train_adversary(base, adversary, make_batches(), penalty, learning_rate)
        points.append((compare(base, adversary, inputs, penalty), adversary))
    return points
