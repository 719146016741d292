"""Causal next-token prediction: the mask that keeps a model from reading the answer.

A sequence of symbols repeats itself after a period that is told with every query. The training text
has slips: now and then a symbol is another one. Trained to predict each next symbol, a model may
learn to look back by whole periods; or, if nothing hides it, to look one position ahead, where the
answer itself stands. In training the second way has the lower loss, since it predicts the first
period and the slips too. When the model then has to generate, the position ahead is still blank.

In training mode the model predicts all positions at once. In evaluation mode it generates: after
the prompt it reads what it has written itself, and blanks where nothing is written yet.
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
    """Which symbol comes next in a sequence that repeats itself?"""

    name = "next_token"
    question = "Which symbol comes next, in a sequence that repeats itself after p symbols?"
    metric = "accuracy of generated symbols"
    steps = 800
    n, symbols = 16, 8  # positions that predict; the last one's answer stands nowhere
    periods = (3, 4, 5, 6)
    slips = 0.2  # of the symbols in training: without any, looking back would be as good as ahead

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return sequences, their periods beside every position, and the symbols that follow."""
        first = rng.integers(self.symbols, size=(number, max(self.periods)))
        period = rng.choice(self.periods, size=number)[:, None]
        places = np.arange(self.n + 1)
        tokens = np.take_along_axis(first, places % period, axis=-1)  # (number, n + 1)
        if split == "train":  # a model is trained on text as it is, and tested on what was meant
            slipped = rng.random(tokens.shape) < self.slips
            tokens = np.where(slipped, rng.integers(self.symbols, size=tokens.shape), tokens)
        # A query for each pair of position and period: what is asked is known, where to look isn't.
        asked = places[:-1] + self.n * (period - min(self.periods))
        back = places[1:, None] - places[:-1]  # how far before the next symbol a key stands
        seen = np.broadcast_to(back > 0, (number, self.n, self.n))
        right = seen & (back % period[..., None] == 0)  # one period before, or two, or three
        # What the prompt tells is not generated, so its rows are not scored.
        right[:, : self.prompt - 1] = False
        return Examples(
            inputs={
                "tokens": as_tensor(tokens[:, :-1]),
                "query_inputs": as_tensor(np.eye(self.n * len(self.periods))[asked]),
            },
            targets=as_tensor(tokens[:, 1:]),
            right={"weights": as_tensor(right)},
            allowed={"weights": as_tensor(seen)},
        )

    @property
    def prompt(self) -> int:
        """How many symbols a generating model is given: one period, whichever it is."""
        return max(self.periods)

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of right symbols among those that were generated."""
        written = slice(self.prompt - 1, None)
        hits = predictions[:, written].argmax(dim=-1) == examples.targets[:, written]
        return hits.double().mean().item()

    def model(self, causal: bool) -> "NextTokenModel":
        """Return the model with the causal mask or without."""
        d_q = self.n * len(self.periods)
        return NextTokenModel(self.n, self.symbols, d_q, self.prompt, causal)

    @property
    def arms(self) -> dict[str, Arm]:
        """The same model with the mask and without."""
        return {
            "causal mask": Arm(partial(self.model, causal=True), 3e-3),
            "no mask": Arm(partial(self.model, causal=False), 3e-3),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """With the mask against without."""
        note = (
            "Without the mask the training loss is by far the lower one, since the model reads the "
            "next symbol off its place. Generating, it reads a blank there, and how much it errs "
            "depends on what it happens to make of a blank: look at the single seeds."
        )
        return (Comparison("causal mask", "no mask", note),)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the symbols: those read above, and beside each row the one that should follow."""
        read = [_letter(token) for token in examples.inputs["tokens"][place].tolist()]
        follow = [_letter(token) for token in examples.targets[place].tolist()]
        return {"weights": ([f"→ {letter}" for letter in follow], read)}


class NextTokenModel(nn.Module):
    """A prediction at every position; keys are positions, values are symbols."""

    positions: Tensor

    def __init__(self, n: int, symbols: int, d_q: int, prompt: int, causal: bool) -> None:
        super().__init__()
        self.blank, self.prompt, self.causal = symbols, prompt, causal
        self.register_buffer("positions", torch.eye(n))
        self.predict = TaskModel(
            feature_model=nn.Identity(),
            query_model=nn.Identity(),
            attention=SplitAttention(n, make_score("general", d_q, n)),
            output_model=nn.Linear(symbols + 1, symbols),
        )

    def forward(self, tokens: Tensor, query_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return a prediction for what follows each position, and weights `(batch, n, n)`."""
        if self.training:
            return self.read(tokens, query_inputs)
        return self.generate(tokens, query_inputs)

    def read(self, tokens: Tensor, query_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Predict at all positions at once."""
        n = tokens.shape[-1]
        symbols = nn.functional.one_hot(tokens, self.blank + 1).to(self.positions.dtype)
        positions = self.positions.expand(*tokens.shape, -1)
        features = torch.cat([positions, symbols], dim=-1)  # (batch, n, n + symbols + 1)
        mask = causal_mask(n, like=tokens) if self.causal else None
        return self.predict(features, query_inputs, mask)

    def generate(self, tokens: Tensor, query_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Write a symbol after the other; of `tokens` only the prompt is looked at.

        Each row of predictions and weights is from the moment when its symbol was written.
        """
        written = tokens.clone()
        written[:, self.prompt :] = self.blank
        predictions, weights = self.read(written, query_inputs)
        for last in range(self.prompt, tokens.shape[-1]):
            written[:, last] = predictions[:, last - 1].argmax(dim=-1)
            now, looked_at = self.read(written, query_inputs)
            predictions[:, last], weights[:, last] = now[:, last], looked_at[:, last]
        return predictions, weights


def _letter(symbol: int) -> str:
    return chr(ord("a") + symbol)
