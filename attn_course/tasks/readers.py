r"""Readers without attention: what a network per token and a plain pooling reach on a task.

An ablation removes the weights and leaves everything else linear, so it has to fail. A hostile
reader of the table asks another question: is there a model **without** attention, as large or
larger, that does the same? `TokenReader` is the strongest simple one:

$$\hat y = \mathrm{out}\bigl(\mathrm{pool}_i\, \mathrm{hidden}([x_i; q])\bigr)$$

where pool is the mean or the maximum over the tokens, and the question $q$, if the task has one, is
concatenated to every token. A plain reader has one hidden layer per token and a linear output; a
deep one has two hidden layers per token and one in the output.

`reader_arms` builds four variants for a task: both poolings, with at least as many parameters as
the mechanism and with at least four times as many. `apart_readers` has the weaker kind, which pools
each input before it meets the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_course._arrays import require_choice
from attn_course.evaluation.ablation import seeded
from attn_course.tasks.task import Arm, Comparison, Depth

if TYPE_CHECKING:
    from attn_course.tasks.task import Task

Pool = Literal["mean", "max"]
RATES = (2e-3, 6e-3, 2e-2)  # as many as every other model has; the best on validation is used
SIZES = (1, 4)  # times the parameters of the mechanism
_PAIRS_AT_ONCE = 200_000  # of a question and a token in a test, so that memory stays small


@dataclass(frozen=True)
class Seen:
    """The inputs of a task as a reader sees them.

    `tokens` are `(batch, n, d)`, `questions` `(batch, q, d_q)`, and `mask` is `(batch, n)` or
    `(batch, q, n)`, True where there is a token.
    """

    tokens: Tensor
    questions: Tensor | None = None
    mask: Tensor | None = None


See = Callable[..., Seen]
Finish = Callable[[Tensor], Tensor]


class TokenReader(nn.Module):
    """Hidden layers for each token, one pooled vector, an output: no token is weighted."""

    def __init__(self, d_in: int, d_out: int, hidden: int, pool: Pool, depth: Depth) -> None:
        super().__init__()
        require_choice("pool", pool, ("mean", "max"))
        require_choice("depth", depth, ("plain", "deep"))
        self.pool = pool
        deep = depth == "deep"
        more = [nn.Linear(hidden, hidden), nn.ReLU()]
        self.of_token = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), *(more if deep else []))
        before = [nn.Linear(hidden, hidden), nn.ReLU()] if deep else []
        self.output = nn.Sequential(*before, nn.Linear(hidden, d_out))

    def forward(self, seen: Seen) -> Tensor:
        """Return outputs `(batch, q, d_out)`; without questions q is 1."""
        batch, n, _d = seen.tokens.shape
        tokens = seen.tokens[:, None]  # (batch, 1, n, d)
        if seen.questions is not None:
            q = seen.questions.shape[1]
            pair = (batch, q, n, -1)
            tokens = torch.cat([tokens.expand(pair), seen.questions[:, :, None].expand(pair)], -1)
        return self.output(pooled(self.of_token(tokens), seen.mask, self.pool))


def pooled(hidden: Tensor, mask: Tensor | None, pool: Pool) -> Tensor:
    """Return the mean or the maximum of hidden units `(batch, q, n, hidden)` over real tokens."""
    if mask is None:
        return hidden.mean(dim=2) if pool == "mean" else hidden.amax(dim=2)
    there = (mask if mask.ndim == 3 else mask[:, None])[..., None]  # (batch, q or 1, n, 1)
    # Hidden units are 0 or more, so 0 is neutral for the maximum as for the sum.
    kept = hidden * there
    return kept.amax(dim=2) if pool == "max" else kept.sum(dim=2) / there.sum(dim=2)


class MeanReader(TokenReader):
    """A reader that pools by the mean."""

    def __init__(self, d_in: int, d_out: int, hidden: int, depth: Depth = "deep") -> None:
        super().__init__(d_in, d_out, hidden, "mean", depth)


class MaxReader(TokenReader):
    """A reader that pools by the maximum: the strongest rival wherever one token decides."""

    def __init__(self, d_in: int, d_out: int, hidden: int, depth: Depth = "deep") -> None:
        super().__init__(d_in, d_out, hidden, "max", depth)


READERS: dict[Pool, type[MeanReader] | type[MaxReader]] = {"mean": MeanReader, "max": MaxReader}


class TaskReader(nn.Module):
    """A reader with the interface of a task model; it has no weights to return.

    `shape` is that of the mechanism's predictions behind the axes of batch and questions.
    """

    def __init__(self, reader: TokenReader, see: See, shape: tuple[int, ...], finish: Finish):
        super().__init__()
        self.reader = reader
        self.see = see
        self.shape = shape
        self.finish = finish

    def forward(self, **inputs: Tensor) -> tuple[Tensor, None]:
        """Return predictions in the shape that the mechanism's have."""
        batch = len(next(iter(inputs.values())))
        if self.training:
            return self.read(inputs), None
        seen = self.see(**inputs)
        pairs = seen.tokens.shape[1] * (1 if seen.questions is None else seen.questions.shape[1])
        size = max(1, _PAIRS_AT_ONCE // pairs)
        parts = [
            self.read({name: tensor[start : start + size] for name, tensor in inputs.items()})
            for start in range(0, batch, size)
        ]
        return torch.cat(parts), None

    def read(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return the predictions of one batch."""
        found = self.reader(self.see(**inputs))
        return self.finish(found.reshape(len(found), -1, *self.shape))


def reader_arms(
    task: "Task",
    like: Callable[[], nn.Module],
    see: See,
    finish: Finish = lambda found: found,
    sizes: tuple[int, ...] = SIZES,
) -> dict[str, Arm]:
    """Return the readers of a task by name.

    - `like` builds the mechanism whose parameters are matched.
    - `see` turns the inputs of the task's models into tokens, questions and mask.
    - `finish` turns what a reader returns into predictions, such as probabilities.

    The task's `reader_settings` have the depth for each pooling, and for each size the best of
    the rates tried, on the validation examples.
    """
    arms = {}
    for place, size in enumerate(sizes):
        for pool in READERS:
            depth, rates = task.reader_settings[pool]
            build = partial(_built, task, like, see, finish, pool, depth, size)
            tried = task.reader_tried or RATES
            arms[reader_name(pool, size)] = Arm(build, rates[place], tried=tried, attends=False)
    return arms


def reader_comparisons(
    mechanism: str, sizes: tuple[int, ...] = SIZES, note: str = ""
) -> tuple[Comparison, ...]:
    """Return the comparisons of a mechanism with every reader."""
    names = [reader_name(pool, size) for size in sizes for pool in READERS]
    return tuple(Comparison(mechanism, name, note) for name in names)


def all_pairs(one: Tensor, other: Tensor) -> Tensor:
    """Return every pair of vectors of `one` and `other`, in a row: `(batch, n * m, d + e)`."""
    n, m = one.shape[1], other.shape[1]
    pairs = one[:, :, None].expand(-1, -1, m, -1), other[:, None].expand(-1, n, -1, -1)
    return torch.cat(pairs, dim=-1).flatten(1, 2)


def one_hot(attributes: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return numbered attributes `(..., m)` as one-hot vectors in a row, `(..., sum(sizes))`."""
    columns = zip(attributes.unbind(-1), sizes, strict=True)
    return torch.cat([functional.one_hot(column, size) for column, size in columns], -1).float()


def reader_name(pool: Pool, size: int) -> str:
    """Return the name of a reader: "max pooling", or "max pooling, 4 × parameters"."""
    return f"{pool} pooling" if size == 1 else f"{pool} pooling, {size} × parameters"


def _built(
    task: "Task",
    like: Callable[[], nn.Module],
    see: See,
    finish: Finish,
    pool: Pool,
    depth: Depth,
    size: int,
) -> TaskReader:
    """Return a reader with at least `size` times the parameters of the model that `like` builds."""
    with seeded(0), torch.no_grad():
        mechanism = like()
        inputs = task.examples("train", 2, task.rng("train")).inputs
        predictions, _weights = mechanism(**inputs)
    seen = see(**inputs)
    asked = 0 if seen.questions is None else seen.questions.shape[-1]
    questions = 1 if seen.questions is None else seen.questions.shape[1]
    d_in, d_out = seen.tokens.shape[-1] + asked, prod(predictions.shape[1:]) // questions
    layers = partial(READERS[pool], d_in, d_out, depth=depth)
    hidden = width_for(lambda width: layers(width), size * parameters(mechanism))
    return TaskReader(layers(hidden), see, tuple(predictions.shape[2:]), finish)


def width_for(build: Callable[[int], nn.Module], wanted: int) -> int:
    """Return the smallest width at which `build(width)` has at least `wanted` parameters.

    >>> width_for(lambda width: nn.Linear(4, width), 12)  # 5 parameters per output
    3
    """
    with torch.device("meta"):  # counted without any memory, and without random numbers
        above = 1
        while parameters(build(above)) < wanted:
            above *= 2
        below = above // 2
        while above - below > 1:
            middle = (above + below) // 2
            enough = parameters(build(middle)) >= wanted
            above, below = (middle, below) if enough else (above, middle)
    return above


def parameters(model: nn.Module) -> int:
    """Return how many numbers of a model are trained."""
    return sum(parameter.numel() for parameter in model.parameters())
