r"""Scaled lookup: wide keys, and a softmax that is saturated before training begins.

Key lookup again, with learned maps $W_Q$, $W_K$ to width `d_k`. The entries of queries and keys
have variance 1, so their dot product has variance `d_k`, and a softmax over such scores is nearly
one-hot from the start, on keys picked by chance: hardly any gradient is left to correct it.
Divided by $\sqrt{d_k}$ the scores have variance 1 at any width.

Adam enlarges small gradients, so at its own best learning rate the unscaled model gets there all
the same. `entropy_at_start` shows the saturation, and needs no training.
"""

from functools import partial
from math import sqrt

import torch
from torch import Tensor, nn

from attn_course.attention import TaskModel
from attn_course.learned_scores import make_score
from attn_course.tasks.key_lookup import KeyLookup
from attn_course.tasks.parts import SplitAttention
from attn_course.tasks.task import Arm, Comparison, Examples
from attn_course.tasks.training import seeded


class ScaledLookup(KeyLookup):
    """Which value stands under this key, if queries and keys are made wide by learned maps?"""

    name = "scaled_lookup"
    question = "Which of 16 keys is the noisy one asked for, after learned maps to 256 entries?"
    steps = 400
    batch_size = 64
    n, d_k = 16, 256

    def with_score(self, kind: str, d_k: int | None = None) -> TaskModel:
        """Return the model with the score of that name and keys of width `d_k`."""
        width = d_k or self.d_k
        return TaskModel(
            feature_model=WideKeys(self.d, width),
            query_model=wide_map(self.d, width),
            attention=SplitAttention(width, make_score(kind, width, width)),
            output_model=nn.Linear(self.classes, self.classes),
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """The dot product with its scale, and without."""
        return {
            "scaled_dot": Arm(partial(self.with_score, "scaled_dot"), 3e-3),
            "dot": Arm(partial(self.with_score, "dot"), 3e-3),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Scaled against unscaled."""
        note = (
            "Ties, each at its best learning rate: Adam makes up for small gradients, and a seed "
            "that finds no way out of the start fails with the scale as without. The chapter on "
            "scores tries two other rates from many starts: at 0.001 more of them fail without "
            "the scale, at 0.03 they end less accurate."
        )
        return (Comparison("scaled_dot", "dot", note),)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the value under each key; the one asked for is the target."""
        values = examples.inputs["inputs"][place, :, self.d :].argmax(dim=-1).tolist()
        target = int(examples.targets[place, 0])
        return {"weights": ([f"? → {target}"], [str(value) for value in values])}


class WideKeys(nn.Module):
    """Maps the key part of a feature, `d` numbers, to `d_k`; the value part stays as it is."""

    def __init__(self, d: int, d_k: int) -> None:
        super().__init__()
        self.d = d
        self.W_K = wide_map(d, d_k)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return features `(..., n, d_k + classes)`."""
        return torch.cat([self.W_K(inputs[..., : self.d]), inputs[..., self.d :]], dim=-1)


def wide_map(d: int, d_k: int) -> nn.Linear:
    """Return a linear map whose outputs have variance 1 if its inputs do, whatever `d_k`."""
    layer = nn.Linear(d, d_k, bias=False)
    nn.init.normal_(layer.weight, std=1 / sqrt(d))
    return layer


def entropy_at_start(kind: str, d_k: int, seed: int = 0, number: int = 500) -> float:
    r"""Return the mean entropy $-\sum_l a_l \ln a_l$ of the weights before any training, in nats.

    Uniform weights over the 16 keys would have $\ln 16 \approx 2.77$, one-hot weights 0.

    >>> entropy_at_start("dot", 256) < 0.5 < 2 < entropy_at_start("scaled_dot", 256)
    True
    """
    task = ScaledLookup()
    with seeded(seed), torch.no_grad():
        model = task.with_score(kind, d_k)
        _predictions, weights = model(
            **task.examples("validation", number, task.rng("validation")).inputs
        )
    return float(torch.special.entr(weights).sum(dim=-1).mean())
