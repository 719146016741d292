r"""Tasks with two inputs that need each other: their models differ only in the attention layer.

Encoders sum embeddings and the output is linear. So neither of them selects anything: the sum of
several objects no longer says which attributes belong together (leak 1), and a linear output can't
separate what was mixed (leak 2). Both inputs vary in length, and their padding is masked.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.features import (
    AlternatingCoAttention,
    InteractiveCoAttention,
    MultiGrainedCoAttention,
    ParallelCoAttention,
)

Layer = Callable[[Sequence[int]], nn.Module]  # from the widths of two inputs


class SummedEmbeddings(nn.Module):
    """The sum of one embedding for each attribute: whole numbers `(..., m)` to `(..., d)`.

    `sizes` says how many values each of the `m` attributes has.
    """

    first: Tensor  # where the embeddings of each attribute begin

    def __init__(self, sizes: Sequence[int], d: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sum(sizes), d)
        self.register_buffer("first", torch.tensor([0, *accumulate(sizes[:-1])]))

    def forward(self, attributes: Tensor) -> Tensor:
        """Return the features."""
        return self.embedding(attributes + self.first).sum(dim=-2)


class TwoInputModel(nn.Module):
    """Encode two inputs, attend to them, and answer `(..., answers, classes)` with a linear map.

    `sizes` are those of the attributes of each input, `names` what the weights over it are called.
    """

    def __init__(
        self,
        names: Sequence[str],
        sizes: Sequence[Sequence[int]],
        layer: Layer,
        answers: int,
        classes: int,
        d: int = 32,
    ) -> None:
        super().__init__()
        self.names = tuple(names)
        self.encoder_1, self.encoder_2 = (SummedEmbeddings(each, d) for each in sizes)
        self.attention = layer((d, d))
        # A layer of two grains returns two contexts per input.
        contexts = 4 if hasattr(self.attention, "coarse") else 2
        self.output = nn.Linear(contexts * d, answers * classes)
        self.shape = (answers, classes)

    def forward(
        self, inputs_1: Tensor, inputs_2: Tensor, mask_1: Tensor, mask_2: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the answers, and the weights over each input as a single row `(..., 1, n)`."""
        features = self.encoder_1(inputs_1), self.encoder_2(inputs_2)
        output, weights = self.attention(*features, mask_1, mask_2)
        rows = (mean_of_grains(weights, a)[..., None, :] for a in ("a_1", "a_2"))
        answers = self.output(output).unflatten(-1, self.shape)
        return answers, dict(zip(self.names, rows, strict=True))


def mean_of_grains(weights: dict[str, Tensor], name: str) -> Tensor:
    """Return the weights of that name, or the mean of the coarse and the fine ones."""
    if name in weights:
        return weights[name]
    return (weights[f"{name}_coarse"] + weights[f"{name}_fine"]) / 2


class UnaskedScore(nn.Module):
    """A score that is handed 0 for every query, so that it judges keys by themselves."""

    def __init__(self, score: nn.Module) -> None:
        super().__init__()
        self.score = score

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        return self.score(torch.zeros_like(queries), keys)


def alternating(
    d_f: Sequence[int], d_w: int = 64, shared: bool = False, unasked: str | None = None
) -> AlternatingCoAttention:
    r"""Return alternating co-attention, one of whose scores may be left `unasked`.

    Without a query for `"score_1"` the first input asks the second and is not asked in return; it
    is still summed up once to be the query and once, with other weights, for the output. Without
    one for `"score_2"` the first input asks nothing. Parameters stay the same.
    """
    layer = AlternatingCoAttention(d_f, d_w, shared=shared)
    if unasked is not None:
        setattr(layer, unasked, UnaskedScore(getattr(layer, unasked)))
    return layer


one_sided = partial(alternating, unasked="score_1")
blind = partial(alternating, unasked="score_2")

_parallel = partial(ParallelCoAttention, d_w=64)
CO_ATTENTION: dict[str, Layer] = {
    "alternating": alternating,
    "alternating, shared": partial(alternating, shared=True),
    "interactive": InteractiveCoAttention,
    "interactive, general": partial(InteractiveCoAttention, score="general"),
    "parallel": _parallel,
    "parallel, concat": partial(_parallel, affinity="concat"),
    "parallel, max": partial(_parallel, reading="max"),
    "parallel, concat, max": partial(_parallel, affinity="concat", reading="max"),
    "multi-grained": MultiGrainedCoAttention,
}


def shuffled(
    rng: np.random.Generator, there: np.ndarray, *arrays: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return arrays `(number, most, ...)` with the filled places of each example in a new order."""
    order = np.where(there, rng.random(there.shape), 2.0).argsort(axis=1)  # padding stays last
    rows = np.arange(len(there))[:, None]
    return tuple(array[rows, order] for array in arrays)
