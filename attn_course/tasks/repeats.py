r"""Repeats: `q f t a q f t a q f …`. Which token comes next?

Tokens of a period are distinct, and the period is repeated to the end of the text. From the second
round on, the next token is the one that followed the last copy of the present token. Two layers of
attention can find it: a head of the first layer looks at the previous token and writes it down, so
that a head of the second can look for a position whose *previous* token is the present one. Such a
second head is called an induction head (Elhage et al., 2021; Olsson et al., 2022).

One layer can't do that, because a key there knows its own token and position only. It can guess
among tokens that occurred and are due again.

- `AttentionOnly` is the model: layers of one head each, and nothing in between.
- `induction_score` and `previous_token_score` say what a head looks at.
- `without_head` removes one head of a trained model, so that it can be tested without it.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from attn_course._arrays import require_choice
from attn_course.evaluation.ablation import uniform_weights
from attn_course.evaluation.correctness import attention_correctness
from attn_course.positions import LearnedPositions
from attn_course.queries import MultiHeadAttention
from attn_course.tasks.readers import parameters, width_for
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor

How = Literal["zero", "uniform"]


class AttentionLayer(nn.Module):
    """A residual stream and one head that reads from it and adds to it, without any bias."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.head = MultiHeadAttention(d, 1, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the new stream `(batch, n, d)` and the weights `(batch, n, n)`."""
        seen = self.norm(x)
        context, weights = self.head(seen, seen, seen, causal=True)
        return x + context, weights[..., 0, :, :]


class AttentionOnly(nn.Module):
    """A Transformer without feed-forward parts: what it computes, its heads compute."""

    def __init__(self, tokens: int, longest: int, d: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, d)
        self.positions = LearnedPositions(longest, d)
        self.layers = nn.ModuleList(AttentionLayer(d) for _layer in range(layers))
        self.norm = nn.LayerNorm(d)
        self.output = nn.Linear(d, tokens)

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return logits `(batch, n, tokens)` and for each layer weights `(batch, n, n)`."""
        x = self.embedding(tokens) + self.positions(tokens.shape[-1])
        maps = []
        for layer in self.layers:
            x, weights = layer(x)
            maps.append(weights)
        return self.output(self.norm(x)), maps


class RecurrentReader(nn.Module):
    """A GRU reads the text in order: all that it knows of earlier tokens is in its state."""

    def __init__(self, tokens: int, d: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.output = nn.Linear(d, tokens)

    def forward(self, tokens: Tensor) -> tuple[Tensor, None]:
        """Return logits `(batch, n, tokens)`; there are no weights."""
        states, _last = self.gru(self.embedding(tokens))
        return self.output(states), None


class Repeats(Task):
    """Which token comes next in a text that repeats itself?"""

    name = "repeats"
    question = "Which token comes next, where a period of 8 to 16 tokens repeats itself?"
    claim = (
        "Two layers of attention find what followed the earlier copies, and one layer does not, "
        "even with as many parameters. A GRU has to keep all tokens in its state. After as many "
        "steps it has learned that in part, and it would go on learning."
    )
    no_readers = "its readers without attention see the order: a GRU of two sizes"
    metric = "accuracy on repeated tokens"
    attention_metric = "induction score"
    steps = 600
    batch_size = 64
    tested_on = 1000
    tokens, n = 40, 32
    periods = (8, 16)
    d = 64

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return texts, what follows each of their tokens, and where that can be seen.

        Where the first round ends nothing announces it, so nobody can know the token that comes
        after it. Neither score nor right attention counts a position before the second round.
        """
        fewest, most = self.periods
        period = rng.integers(fewest, most + 1, size=number)[:, None]
        shuffled = rng.permuted(np.tile(np.arange(self.tokens), (number, 1)), axis=-1)
        text = np.take_along_axis(shuffled, np.arange(self.n + 1) % period, axis=-1)
        right = after_copies(as_tensor(text[:, :-1]))
        return Examples(
            inputs={"tokens": as_tensor(text[:, :-1])},
            targets=as_tensor(text[:, 1:]),
            right={"induction": right},
            allowed={"induction": torch.ones_like(right).tril()},
        )

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of right tokens from the second token of the second round on."""
        repeated = examples.right["induction"].any(dim=-1)
        hits = predictions.argmax(dim=-1) == examples.targets
        return hits[repeated].double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the weights of the last layer: if there is an induction head, it is there."""
        return {"induction": cast(Sequence[Tensor], weights)[-1]}

    def model(self, layers: int, d: int | None = None) -> AttentionOnly:
        """Return a model of so many layers, of the usual width or of width `d`."""
        return AttentionOnly(self.tokens, self.n, d or self.d, layers)

    def wide_layer(self) -> AttentionOnly:
        """Return the model of one layer that has as many parameters as two layers."""
        build = partial(self.model, 1)
        return build(width_for(build, parameters(self.model(layers=2))))

    def recurrent(self, times: int) -> RecurrentReader:
        """Return a GRU with so many times the parameters of two layers."""
        build = partial(RecurrentReader, self.tokens)
        return build(width_for(build, times * parameters(self.model(layers=2))))

    @property
    def arms(self) -> dict[str, Arm]:
        """Two layers, one layer, and readers that keep the text in a state."""
        return {
            "two layers": Arm(partial(self.model, layers=2), 3e-3, tried=(1e-3, 3e-3, 1e-2)),
            "one layer": Arm(partial(self.model, layers=1), 1e-2),
            "one wide layer": Arm(self.wide_layer, 1e-2),
            "GRU": Arm(
                partial(self.recurrent, times=1), 3e-2, tried=(1e-2, 3e-2, 1e-1), attends=False
            ),
            "GRU, 4 × parameters": Arm(partial(self.recurrent, times=4), 1e-2, attends=False),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Two layers against one, and against a state."""
        rivals = [name for name in self.arms if name != "two layers"]
        return tuple(Comparison("two layers", rival) for rival in rivals)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the tokens that were read, and next to each row the one that should follow."""
        read = [_sign(token) for token in examples.inputs["tokens"][place].tolist()]
        follow = [_sign(token) for token in examples.targets[place].tolist()]
        return {"induction": ([f"{a} → {b}" for a, b in zip(read, follow, strict=True)], read)}


def after_copies(tokens: Tensor) -> Tensor:
    r"""Return where an induction head looks: $j \le i$ with $x_{j-1} = x_i$ and $j - 1 < i$.

    Tokens `(..., n)` to `(..., n, n)`, True right **after** each earlier copy of the present token.

    >>> after_copies(torch.tensor([5, 7, 5, 7])).nonzero().tolist()
    [[2, 1], [3, 2]]
    """
    n = tokens.shape[-1]
    there = torch.zeros(*tokens.shape, n, dtype=torch.bool, device=tokens.device)
    there[..., 1:] = tokens[..., :, None] == tokens[..., None, :-1]
    return there.tril()  # a key is at most here, so the copy before it is earlier


def induction_score(weights: Tensor, tokens: Tensor) -> float:
    """Return the mean weight `(..., n, n)` after earlier copies, over tokens that have any.

    Every copy counts: a head may divide its weight among all of them, and each says the same.

    >>> weights = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 1, 0]])
    >>> induction_score(weights, torch.tensor([5, 7, 5, 7]))
    0.75
    """
    return attention_correctness(weights, after_copies(tokens))


def previous_token_score(weights: Tensor, within: int | None = None) -> float:
    """Return the mean weight `(..., n, n)` on the token just before, over all but the first.

    `within` counts the first so many positions only. A trained head looks back in the first round,
    where each token meets its successor for the first time, and has no need to do so again later.

    >>> weights = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0, 1, 0]])
    >>> previous_token_score(weights), previous_token_score(weights, within=2)
    (0.75, 0.5)
    """
    back = weights[..., :within, :within].diagonal(-1, dim1=-2, dim2=-1)
    return back.mean().item()


def without_head(model: AttentionOnly, layer: int, how: How = "zero") -> AttentionOnly:
    """Return a copy of a trained model without the head of a layer, counted from 0.

    "zero" lets the head add nothing; "uniform" lets it add the mean of all tokens so far, and so
    removes only the choice where to look. The rest of the model is left as it was trained.
    """
    require_choice("how", how, ("zero", "uniform"))
    if not 0 <= layer < len(model.layers):
        raise ValueError(
            f"layer must be from 0 to {len(model.layers) - 1}, but is {layer}: "
            "layers are counted from 0."
        )
    changed = deepcopy(model)
    head = cast(AttentionLayer, changed.layers[layer]).head
    if how == "zero":
        nn.init.zeros_(head.W_O.weight)
    else:
        head.align = uniform_weights
    return changed


def _sign(token: int) -> str:
    """Return a letter or digit for each of the 40 tokens."""
    return "abcdefghijklmnopqrstuvwxyz0123456789#&+%"[token]
