"""Seed variance: how different is different?  (Wiegreffe & Pinter, 2019)

Two trainings of one model from two seeds also attend differently. Their JSD is the measure for any
other: weights no further apart than two seeds are not remarkable.
"""

from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from attn_course.evaluation.divergences import jsd
from attn_course.explanation.explainable_model import Explainable, Inputs


@torch.no_grad()
def seed_variance(models: Sequence[Explainable], inputs: Inputs) -> Tensor:
    """Return the JSD between the weights of every two models, `(pairs, batch)`."""
    if len(models) < 2:
        raise ValueError(
            f"two seeds at least can differ, but there is {len(models)} model. Train another one."
        )
    weights = [model.predict(inputs)[1] for model in models]
    return torch.stack([jsd(one, other) for one, other in combinations(weights, 2)])
