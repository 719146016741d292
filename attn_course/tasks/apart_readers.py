r"""Readers that pool each input on its own, before one input meets the other.

A reader of `readers` sees the question with every token, so its hidden layers can compare the
two as a score does. An encoder-decoder without attention has no such chance: it turns an input into
one fixed vector first, and the rest of the model sees nothing but that vector. `ApartReader` is
such a model for any number of inputs:

$$\hat y = \mathrm{out}\bigl([\mathrm{mean}_i\, h_i;\ \max_i h_i;\ \mathrm{mean}_j\, g_j;\ \max_j
g_j;\ q]\bigr)$$

where $h_i$ and $g_j$ are two hidden layers per token of the inputs, and out has one hidden layer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attn_course.evaluation.ablation import seeded
from attn_course.tasks.readers import (
    RATES,
    READERS,
    SIZES,
    Seen,
    parameters,
    pooled,
    width_for,
)
from attn_course.tasks.task import Arm, Comparison

if TYPE_CHECKING:
    from attn_course.tasks.task import Task

SeeApart = Callable[..., Sequence[Seen]]


class ApartReader(nn.Module):
    """One fixed vector per input, from hidden layers and both poolings; then a deep output."""

    def __init__(self, d_in: Sequence[int], d_asked: int, d_out: int, hidden: int) -> None:
        super().__init__()
        self.of_token = nn.ModuleList(
            nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
            for d in d_in
        )
        d_fixed = len(d_in) * len(READERS) * hidden
        self.output = nn.Sequential(
            nn.Linear(d_fixed + d_asked, hidden), nn.ReLU(), nn.Linear(hidden, d_out)
        )

    def forward(self, inputs: Sequence[Seen]) -> Tensor:
        """Return outputs `(batch, q, d_out)`; without questions q is 1."""
        fixed = torch.cat(
            [
                pooled(of_token(seen.tokens)[:, None], seen.mask, pool)
                for of_token, seen in zip(self.of_token, inputs, strict=True)
                for pool in READERS
            ],
            dim=-1,
        )  # (batch, 1, d_fixed)
        questions = _questions(inputs)
        if questions is None:
            return self.output(fixed)
        return self.output(torch.cat([fixed.expand(-1, questions.shape[1], -1), questions], -1))


class ApartTaskReader(nn.Module):
    """An `ApartReader` with the interface of a task model; it has no weights to return.

    `shape` is that of the mechanism's predictions behind the axes of batch and questions.
    """

    def __init__(self, reader: ApartReader, see: SeeApart, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.reader = reader
        self.see = see
        self.shape = shape

    def forward(self, **inputs: Tensor) -> tuple[Tensor, None]:
        """Return predictions in the shape that the mechanism's have."""
        found = self.reader(self.see(**inputs))
        return found.reshape(len(found), -1, *self.shape), None


def apart_arms(
    task: "Task",
    like: Callable[[], nn.Module],
    see: SeeApart,
    rates: Sequence[float],
    sizes: tuple[int, ...] = SIZES,
) -> dict[str, Arm]:
    """Return the readers of a task that pool each input on its own, by name.

    - `like` builds the mechanism whose parameters are matched.
    - `see` turns the inputs of the task's models into tokens and masks, one `Seen` per input; the
      questions, if there are any, belong to one of them.
    - `rates` has for each size the best of `RATES` on the validation examples.
    """
    return {
        apart_name(size): Arm(
            partial(_built, task, like, see, size), rate, tried=RATES, attends=False
        )
        for size, rate in zip(sizes, rates, strict=True)
    }


def apart_comparisons(
    mechanism: str, sizes: tuple[int, ...] = SIZES, note: str = ""
) -> tuple[Comparison, ...]:
    """Return the comparisons of a mechanism with every reader that pools inputs on their own."""
    return tuple(Comparison(mechanism, apart_name(size), note) for size in sizes)


def apart_name(size: int) -> str:
    """Return the name of a reader: "pooled apart", or "pooled apart, 4 × parameters"."""
    return "pooled apart" if size == 1 else f"pooled apart, {size} × parameters"


def _questions(inputs: Sequence[Seen]) -> Tensor | None:
    return next((seen.questions for seen in inputs if seen.questions is not None), None)


def _built(
    task: "Task", like: Callable[[], nn.Module], see: SeeApart, size: int
) -> ApartTaskReader:
    """Return a reader with at least `size` times the parameters of the model that `like` builds."""
    with seeded(0), torch.no_grad():
        mechanism = like()
        examples = task.examples("train", 2, task.rng("train")).inputs
        predictions, _weights = mechanism(**examples)
    inputs = see(**examples)
    questions = _questions(inputs)
    asked, number = (0, 1) if questions is None else (questions.shape[-1], questions.shape[1])
    d_in, d_out = [seen.tokens.shape[-1] for seen in inputs], prod(predictions.shape[1:]) // number
    layers = partial(ApartReader, d_in, asked, d_out)
    hidden = width_for(lambda width: layers(width), size * parameters(mechanism))
    return ApartTaskReader(layers(hidden), see, tuple(predictions.shape[2:]))
