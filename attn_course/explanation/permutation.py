r"""Other weights, same model: does the prediction notice?  (Jain & Wallace, 2019)

- `permutation_tvd` shuffles the learned weights over the tokens.
- `uniform_tvd` makes them equal.

A prediction that stays says that these weights were not needed for it. One that moves says that the
model uses them, not that they are a good explanation.
"""

import torch
from torch import Tensor

from attn_course.evaluation.divergences import tvd
from attn_course.explanation.explainable_model import (
    Explainable,
    Inputs,
    require_explainable,
    uniform_over,
)


@torch.no_grad()
def permutation_tvd(
    model: Explainable, inputs: Inputs, generator: torch.Generator, number: int = 100
) -> Tensor:
    r"""$\mathrm{median}_\pi \mathrm{TVD}(\hat y(x, a^\pi), \hat y(x, \hat a))$: `(batch,)`.

    Over `number` random permutations of the weights among the tokens there are. Plot it against
    the largest weight: peaked weights that can be shuffled freely are the finding of the paper.
    """
    require_explainable(model, inputs)
    probabilities, weights = model.predict(inputs)
    mask = model.mask(inputs)
    changes = [
        tvd(model.predict(inputs, permuted(weights, mask, generator))[0], probabilities)
        for _ in range(number)
    ]
    return torch.stack(changes).median(dim=0).values


def permuted(weights: Tensor, mask: Tensor, generator: torch.Generator) -> Tensor:
    """Return the weights `(batch, n)` shuffled among the tokens of each example."""
    noise = torch.rand(weights.shape, generator=generator).masked_fill(~mask, 2.0)
    shuffled = weights.gather(-1, noise.argsort(dim=-1))  # the tokens first, in random order
    places = (~mask).long().argsort(dim=-1, stable=True)  # the tokens first, in their order
    return torch.zeros_like(weights).scatter(-1, places, shuffled) * mask


@torch.no_grad()
def uniform_tvd(model: Explainable, inputs: Inputs) -> Tensor:
    r"""$\mathrm{TVD}(\hat y(x, 1/n), \hat y(x, \hat a))$: `(batch,)`, under equal weights."""
    require_explainable(model, inputs)
    probabilities, _weights = model.predict(inputs)
    forced = uniform_over(model.mask(inputs)).to(probabilities.dtype)
    return tvd(model.predict(inputs, forced)[0], probabilities)
