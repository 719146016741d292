"""Last assignment: x = 3, y = 5, x = 7. What is x now?

A token assigns a value to a variable, and a question names a variable. Its name is easy to find,
but it occurs several times, and only the last assignment counts: without positions, attention
averages over all of them. Every variant here is the same attention with one head; only how it is
told where the tokens are differs.

Training texts have 9 to 16 assignments. The three tasks share these trainings and differ in the
length of their test texts: 16, as in training, 32 and 64.
"""

import zlib
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.attention import attend
from attn_course.positions import (
    LearnedPositions,
    alibi_slopes,
    distance_bias,
    rotate,
    sinusoidal_positions,
)
from attn_course.scoring import scaled_dot
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import SPLITS, Arm, Comparison, Examples, Split, Task, as_tensor

VARIABLES, VALUES = "wxyz", 8
BEYOND = {
    "sinusoids": "a position that training never showed misleads the model more than none at all",
    "learned": "the rows of these positions were never trained, and mislead more than none at all",
}


class PositionedLookup(nn.Module):
    """One attention from the question, which comes after the text, to the assignments in it.

    Maps and output are linear, so that only the attention can choose among assignments.
    """

    def __init__(self, told: str, d: int, longest: int) -> None:
        super().__init__()
        self.told = told
        self.token = nn.Linear(VALUES + len(VARIABLES), d)
        self.question = nn.Linear(len(VARIABLES), d)
        self.W_Q = nn.Linear(d, d, bias=False)
        self.W_K = nn.Linear(d, d, bias=False)
        self.output = nn.Linear(VALUES, VALUES)
        if told == "learned":
            self.table = LearnedPositions(longest + 1, d)

    def forward(self, tokens: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
        """Return predictions `(batch, 1, values)` and weights `(batch, 1, n)`."""
        n = tokens.shape[-2]
        there, here = range(n), range(n, n + 1)
        keys = self.W_K(self.with_positions(self.token(tokens), there))
        queries = self.W_Q(self.with_positions(self.question(question), here))
        bias = tokens.new_zeros(1, n)
        if self.told == "RoPE":
            queries, keys = rotate(queries, here), rotate(keys, there)
        if self.told == "ALiBi":
            # One head, with the steepest slope of the eight heads in the paper's small models.
            bias = distance_bias(alibi_slopes(8, like=tokens)[:1], here, there)[0]
        contexts, weights = attend(
            queries, keys, tokens[..., :VALUES], lambda q, k: scaled_dot(q, k) + bias
        )
        return self.output(contexts), weights

    def with_positions(self, features: Tensor, positions: range) -> Tensor:
        """Return the features with their positions added, where these are vectors."""
        if self.told == "sinusoids":
            return features + sinusoidal_positions(positions, features.shape[-1], like=features)
        if self.told == "learned":
            return features + self.table(positions)
        return features


class LastAssignmentInRange(Task):
    """Texts as long as those of the training."""

    name = "last_assignment_in_range"
    question = "Which value has this variable, in a text as long as those of the training?"
    claim = "Positions are needed, and if texts are no longer than in training, any will do."
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (2e-3, 2e-3))}
    learning_rates = (1e-3, 3e-3, 1e-2)
    first_seed = 10
    trained_lengths, tested_length, longest = (9, 16), 16, 64
    notes: ClassVar[dict[str, str]] = {}  # by mechanism: where it is no plain win
    d = 32

    def rng(self, split: Split, seed: int = 0) -> np.random.Generator:
        """Return random numbers that the three lengths share: they test the same trainings."""
        return np.random.default_rng([zlib.crc32(b"last_assignment"), SPLITS.index(split), seed])

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return texts of one length, and a variable that occurs in each of them.

        Models are chosen on texts as long as in training, whatever they are tested on.
        """
        fewest, most = self.trained_lengths
        n = int(rng.integers(fewest, most + 1)) if split == "train" else most
        n = self.tested_length if split == "test" else n
        rows = np.arange(number)
        variables = rng.integers(len(VARIABLES), size=(number, n))
        values = rng.integers(VALUES, size=(number, n))
        asked = variables[rows, rng.integers(n, size=number)]
        last = n - 1 - (variables == asked[:, None])[:, ::-1].argmax(axis=-1)
        tokens = np.concatenate([np.eye(VALUES)[values], np.eye(len(VARIABLES))[variables]], -1)
        return Examples(
            inputs={
                "tokens": as_tensor(tokens),
                "question": as_tensor(np.eye(len(VARIABLES))[asked][:, None]),
            },
            targets=as_tensor(values[rows, last][:, None]),
            right={"weights": as_tensor(np.arange(n) == last[:, None])[:, None]},
        )

    def model(self, told: str) -> PositionedLookup:
        """Return the model that is told positions in this way."""
        return PositionedLookup(told, self.d, self.longest)

    def see(self, tokens: Tensor, question: Tensor) -> Seen:
        """Return tokens and question as a reader sees them, each with its position."""
        n = tokens.shape[-2]
        waves = sinusoidal_positions(n + 1, self.d, like=tokens).expand(len(tokens), -1, -1)
        return Seen(
            torch.cat([tokens, waves[:, :n]], dim=-1), torch.cat([question, waves[:, n:]], dim=-1)
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """Four ways to tell positions, none, and readers without attention."""
        rates = {
            "RoPE": 3e-3,
            "ALiBi": 1e-2,
            "sinusoids": 3e-3,
            "learned": 1e-2,
            "no positions": 3e-3,
        }
        return {
            **{told: Arm(partial(self.model, told), rate) for told, rate in rates.items()},
            **reader_arms(self, partial(self.model, "RoPE"), self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Each kind of position against none, and the rotation against readers."""
        return (
            *(
                Comparison(told, "no positions", self.notes.get(told, ""))
                for told in ("RoPE", "ALiBi", "sinusoids", "learned")
            ),
            *reader_comparisons("RoPE", note=self.notes.get("readers", "")),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the assignments, such as "x=3", and the question, "x?"."""
        tokens = examples.inputs["tokens"][place]
        values = tokens[:, :VALUES].argmax(dim=-1).tolist()
        variables = tokens[:, VALUES:].argmax(dim=-1).tolist()
        asked = int(examples.inputs["question"][place, 0].argmax())
        assignments = [f"{VARIABLES[x]}={v}" for x, v in zip(variables, values, strict=True)]
        return {"weights": ([f"{VARIABLES[asked]}?"], assignments)}


class LastAssignment(LastAssignmentInRange):
    """Texts twice as long as the longest of the training."""

    name = "last_assignment"
    question = "Which value has this variable, in a text twice as long as any in training?"
    claim = (
        "Positions that are vectors fail beyond the training length. Rotations see distances, most "
        "of which are familiar in a longer text; a slope is the same at every length."
    )
    tested_length = 32
    notes: ClassVar = BEYOND


class LastAssignmentLong(LastAssignmentInRange):
    """Texts four times as long as the longest of the training."""

    name = "last_assignment_long"
    question = "Which value has this variable, in a text four times as long as any in training?"
    claim = (
        "The longer the text, the more distances are new to the rotation, which gets worse slowly. "
        "A slope does not; but it knows only that near is better, which is what this task asks for."
    )
    tested_length = 64
    notes: ClassVar = BEYOND
