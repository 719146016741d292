r"""Scaled lookup: what the scale of the dot product changes, and what it does not.

Key lookup again, with learned maps $W_Q$, $W_K$ to width `d_k`. The entries of queries and keys
have variance 1, so their dot product has variance `d_k`, and a softmax over such scores is nearly
one-hot from the start, on keys picked by chance. Divided by $\sqrt{d_k}$ the scores have variance 1
at any width. `at_start` shows both before any training.

Saturation does not mean that the gradient vanishes. The slope of the softmax does become small, but
without the scale the factor $1/\sqrt{d_k}$ is missing in the chain rule as well, and the gradient
that reaches $W_Q$ is **larger**, the more so the wider the keys. What the scale does is to make one
learning rate fit all widths. At 256 entries and the best rate of each, both variants tie
(`ScaledLookup`); at 1024 entries and a rate that is good for narrow keys, the scaled product is
trained in 400 steps and the other is not (`ScaledLookupWide`). `accuracies` trains many seeds at
once, to try other widths and rates.
"""

from dataclasses import dataclass
from functools import partial
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course.attention import TaskModel
from attn_course.learned_scores import make_score
from attn_course.tasks.key_lookup import KeyLookup
from attn_course.tasks.parts import SplitAttention
from attn_course.tasks.task import Arm, Comparison, Examples
from attn_course.tasks.training import seeded


class ScaledLookup(KeyLookup):
    """Which value belongs to this key, if queries and keys are made wide by learned maps?"""

    name = "scaled_lookup"
    question = "Which of 16 keys is the noisy one asked for, after learned maps to 256 entries?"
    claim = (
        "At the best learning rate of each the two tie: the scale changes which rates work, as "
        "`scaled_lookup_wide` shows."
    )
    no_readers = "the question is about two scores; `key_lookup` has the readers"
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
            "Each at its best learning rate. A seed that finds no way out of the start fails with "
            "the scale as without; what the scale changes is which rates work, and for which "
            "widths of keys."
        )
        return (Comparison("scaled_dot", "dot", note),)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the value under each key; the one asked for is the target."""
        values = examples.inputs["inputs"][place, :, self.d :].argmax(dim=-1).tolist()
        target = int(examples.targets[place, 0])
        return {"weights": ([f"? → {target}"], [str(value) for value in values])}


class ScaledLookupWide(ScaledLookup):
    """The same with very wide keys, at a learning rate that suits narrow ones."""

    name = "scaled_lookup_wide"
    question = "Which of 16 keys is asked for, after maps to 1024 entries, at one learning rate?"
    claim = (
        "One learning rate fits all widths: 0.03 trains the scaled product at 64, 256 and 1024 "
        "entries, and the other at 64 only. With a tenth of the rate and three times the steps "
        "the other gets there too."
    )
    d_k = 1024
    first_seed = 10

    @property
    def arms(self) -> dict[str, Arm]:
        """The dot product with its scale, and without, at the same rate: that is the question."""
        return {
            kind: Arm(partial(self.with_score, kind), 3e-2, tried=(3e-2,))
            for kind in ("scaled_dot", "dot")
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Scaled against unscaled."""
        return (Comparison("scaled_dot", "dot", self.claim),)


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


@dataclass(frozen=True)
class Start:
    r"""What a model is like before any training, on average over examples.

    - `entropy` of the weights, $-\sum_l a_l \ln a_l$ in nats: $\ln 16 \approx 2.77$ for uniform
      weights over 16 keys, 0 for one-hot ones.
    - `slope` of the softmax, $\sum_l a_l (1 - a_l)$: how much the weights react to the scores.
    - `gradient`: the norm of the loss's gradient with respect to $W_Q$.
    """

    entropy: float
    slope: float
    gradient: float


def at_start(kind: str, d_k: int, seed: int = 0, number: int = 500) -> Start:
    """Return what a model with that score and that width is like before any training.

    >>> narrow, wide = at_start("dot", 16), at_start("dot", 1024)
    >>> wide.slope < narrow.slope and wide.gradient > narrow.gradient
    True
    """
    task = ScaledLookup()
    examples = task.examples("validation", number, task.rng("validation"))
    with seeded(seed):
        model = task.with_score(kind, d_k)
    predictions, weights = model(**examples.inputs)
    functional.cross_entropy(predictions[:, 0], examples.targets[:, 0]).backward()
    a = weights.detach()
    return Start(
        float(torch.special.entr(a).sum(dim=-1).mean()),
        float((a * (1 - a)).sum(dim=-1).mean()),
        float(model.query_model.weight.grad.norm()),  # type: ignore[union-attr, operator]
    )


def entropy_at_start(kind: str, d_k: int, seed: int = 0, number: int = 500) -> float:
    """Return the mean entropy of the weights before any training, in nats.

    >>> entropy_at_start("dot", 256) < 0.5 < 2 < entropy_at_start("scaled_dot", 256)
    True
    """
    return at_start(kind, d_k, seed, number).entropy


def accuracies(
    kind: str,
    d_k: int,
    rate: float,
    seeds: int = 20,
    steps: int = 400,
    output: Tensor | None = None,
) -> Tensor:
    """Return the test accuracy that training reaches from each of many seeds, `(seeds,)`.

    All seeds are trained at once, which is much faster: they share the batches and nothing else.
    `output` is where the output layer begins, such as the identity; without it, at random.
    """
    task = ScaledLookup()
    scale = {"scaled_dot": 1 / sqrt(d_k), "dot": 1.0}[kind]
    generator = torch.Generator().manual_seed(0)
    maps = torch.randn((2, seeds, d_k, task.d), generator=generator) / sqrt(task.d)  # W_Q, W_K
    maps.requires_grad_()
    if output is None:
        output = torch.rand(seeds, task.classes, task.classes, generator=generator) - 0.5
    output = output.expand(seeds, -1, -1).clone().requires_grad_()
    optimiser = torch.optim.Adam([maps, output], lr=rate)

    def predictions(examples: Examples) -> Tensor:
        keys, values = examples.inputs["inputs"].split([task.d, task.classes], -1)
        W = scale * maps[0].mT @ maps[1]  # the score is q' W k
        scores = torch.einsum("bi,sij,bkj->sbk", examples.inputs["query_inputs"][:, 0], W, keys)
        return torch.einsum("sbk,bkv->sbv", scores.softmax(-1), values) @ output

    rng = task.rng("train")
    for _step in range(steps):
        batch = task.examples("train", task.batch_size, rng)
        logits, targets = predictions(batch).flatten(0, 1), batch.targets[:, 0].repeat(seeds)
        # The sum over seeds: the gradient of each is what it would be alone.
        loss = seeds * functional.cross_entropy(logits, targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    test = task.held_out()
    with torch.no_grad():
        return (predictions(test).argmax(-1) == test.targets[:, 0]).double().mean(-1)
