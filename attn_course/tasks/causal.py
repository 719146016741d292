"""Causal next-token prediction: the mask that keeps a model from reading the answer.

A few counters take turns, each counts on by one, and every query says how many there are:
three that begin with b, f and a say `b f a c g b d h c …`. The training text has slips: now and
then a symbol is another one. Trained to predict each next symbol, a model may learn to look back to
what this counter said last, and to count on from there; or, if nothing hides it, to look one
position ahead, where the answer itself is, and to copy it. In training the second way has the
lower loss, since it predicts the beginnings and the slips too.

In training mode the model predicts all positions at once. In evaluation mode it generates: after
the prompt it reads what it has written itself, and there is nothing beyond that, mask or no mask.
A model that learned to copy has not learned to count on.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.alignment import causal_mask
from attn_course.attention import TaskModel
from attn_course.learned_scores import make_score
from attn_course.tasks.parts import SplitAttention
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor


class NextToken(Task):
    """What does the counter say whose turn is next?"""

    name = "next_token"
    question = "Which symbol comes next, where p counters take turns and each counts on by one?"
    claim = "The causal mask keeps the model from copying what it will not have when it generates."
    no_readers = "the question is what a mask does for attention; `key_lookup` has the readers"
    metric = "accuracy of generated symbols"
    steps = 800
    n, symbols = 16, 8  # positions that predict; the last one's answer is nowhere in the input
    counters = (3, 4, 5, 6)
    # Of the symbols in training. Without any, counting on is as good as copying wherever a counter
    # has spoken before, and a model without the mask learns to count on as well.
    slips = 0.2

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return sequences, the number of counters at every position, and what follows it."""
        first = rng.integers(self.symbols, size=(number, max(self.counters)))
        p = rng.choice(self.counters, size=number)[:, None]
        places = np.arange(self.n + 1)
        begun = np.take_along_axis(first, places % p, axis=-1)  # (number, n + 1)
        tokens = (begun + places // p) % self.symbols
        if split == "train":  # a model is trained on text as it is, and tested on what was meant
            slipped = rng.random(tokens.shape) < self.slips
            tokens = np.where(slipped, rng.integers(self.symbols, size=tokens.shape), tokens)
        # A query for each pair of position and p: what is asked is known, where to look isn't.
        asked = places[:-1] + self.n * (p - min(self.counters))
        back = places[1:, None] - places[:-1]  # how far before the next symbol a key is
        right = back == p[..., None]
        # The prompt is not generated, so its rows are not scored.
        right[:, : self.prompt - 1] = False
        return Examples(
            inputs={
                "tokens": as_tensor(tokens[:, :-1]),
                "query_inputs": as_tensor(np.eye(self.n * len(self.counters))[asked]),
            },
            targets=as_tensor(tokens[:, 1:]),
            right={"weights": as_tensor(right)},
            allowed={"weights": as_tensor(np.broadcast_to(back > 0, right.shape))},
        )

    @property
    def prompt(self) -> int:
        """How many symbols a generating model is given: one of each counter at least."""
        return max(self.counters)

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of right symbols among those that were generated."""
        written = slice(self.prompt - 1, None)
        hits = predictions[:, written].argmax(dim=-1) == examples.targets[:, written]
        return hits.double().mean().item()

    def model(self, causal: bool) -> "NextTokenModel":
        """Return the model with the causal mask or without."""
        d_q = self.n * len(self.counters)
        return NextTokenModel(self.n, self.symbols, d_q, self.prompt, causal)

    @property
    def arms(self) -> dict[str, Arm]:
        """The same model with the mask and without."""
        return {
            "causal mask": Arm(partial(self.model, causal=True), 1e-2),
            "no mask": Arm(partial(self.model, causal=False), 1e-2),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """With the mask against without."""
        note = (
            "Without the mask the training loss is by far the lower one, since the model copies "
            "the next symbol from its place. Generating, it has only what is written, and there "
            "it goes on copying: it has not learned to count on."
        )
        return (Comparison("causal mask", "no mask", note),)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the symbols: those read above, and next to each row the one that should follow."""
        read = [_letter(token) for token in examples.inputs["tokens"][place].tolist()]
        follow = [_letter(token) for token in examples.targets[place].tolist()]
        return {"weights": ([f"→ {letter}" for letter in follow], read)}


class NextTokenModel(nn.Module):
    """A prediction at every position; keys are positions, values are symbols.

    The output is linear, so it can copy what attention finds or count on from it, but not both.
    """

    positions: Tensor

    def __init__(self, n: int, symbols: int, d_q: int, prompt: int, causal: bool) -> None:
        super().__init__()
        self.symbols, self.prompt, self.causal = symbols, prompt, causal
        self.register_buffer("positions", torch.eye(n))
        self.predict = TaskModel(
            feature_model=nn.Identity(),
            query_model=nn.Identity(),
            attention=SplitAttention(n, make_score("general", d_q, n)),
            output_model=nn.Linear(symbols, symbols),
        )

    def forward(self, tokens: Tensor, query_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return a prediction for what follows each position, and weights `(batch, n, n)`."""
        if self.training:
            return self.read(tokens, query_inputs)
        return self.generate(tokens, query_inputs)

    def read(self, tokens: Tensor, query_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Predict at all positions of `tokens` at once."""
        n = tokens.shape[-1]
        symbols = nn.functional.one_hot(tokens, self.symbols).to(self.positions.dtype)
        positions = self.positions[:n].expand(*tokens.shape, -1)
        features = torch.cat([positions, symbols], dim=-1)  # (batch, n, positions + symbols)
        mask = causal_mask(n, like=tokens) if self.causal else None
        return self.predict(features, query_inputs, mask)

    def generate(self, tokens: Tensor, query_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Write a symbol after the other; of `tokens` only the prompt is looked at.

        Each row of predictions and weights is from the moment when its symbol was written: what
        comes later was not there to be attended to.
        """
        batch, n = tokens.shape
        written = tokens.clone()
        predictions = self.positions.new_zeros(batch, n, self.symbols)
        weights = self.positions.new_zeros(batch, n, n)
        for now in range(n):
            so_far = slice(now + 1)
            found, looked_at = self.read(written[:, so_far], query_inputs[:, so_far])
            predictions[:, now], weights[:, now, so_far] = found[:, now], looked_at[:, now]
            if self.prompt <= now + 1 < n:
                written[:, now + 1] = found[:, now].argmax(dim=-1)
        return predictions, weights


def _letter(symbol: int) -> str:
    return chr(ord("a") + symbol)
