r"""Transliteration: at output step t, which letter of the source is written now?

Source and output are equally long. A letter has a shape, which is its value, and a tag, by which a
query asks for it. Tags come again every few letters, so a query has to know **where** to look, and,
as letters are a little out of order, **what** to look for there. `Transliteration` goes from left
to right: the letter of step t is near place t.

All arms have the same queries, keys and score, with tags and places in them. A place is told as a
share of the length: numbers counted from the start were never seen beyond the longest word of the
training, and no arm knows what to make of them. The arms differ in the alignment alone: over the
whole source, over a window around step t (local-m), or over a window around a place that is
predicted from the query (local-p).

Words in tests are four times as long as in training: a share of the length becomes a blur over more
and more letters, while a window stays as wide as it was. In `TransliterationInRange` they are as
long as in training.
"""

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.alignment import local_monotonic, softmax
from attn_course.attention import Align, attend
from attn_course.general_attention.aligners import PredictedWindow
from attn_course.learned_scores import GeneralScore
from attn_course.tasks.apart_readers import apart_arms
from attn_course.tasks.readers import Seen, reader_arms
from attn_course.tasks.task import IGNORED, Arm, Comparison, Examples, Split, Task, as_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained

SHAPES = 10
BLOCK = 4  # letters are out of order within blocks of so many
TAGS = 2 * BLOCK  # a block's letters have other tags than those of its neighbours
HARMONICS = 4
WIDTH = TAGS + 2 * HARMONICS  # of queries and keys


TOLD = (
    "how well local-p does hangs on what a step is told of its place, its middle here: told its "
    "start, local-p would do worse from left to right and better from right to left, told its end "
    "the other way round; what it learns is a share of the length, and what is less than a letter "
    "in short words is a few in long ones"
)


class Everywhere(nn.Module):
    """Softmax over the whole source: global alignment."""

    def bound_to(self, queries: Tensor, features: Tensor, mask: Tensor | None) -> Align:
        """Return the alignment, which is the same for all queries."""
        return softmax


class WindowAtStep(nn.Module):
    """Softmax over the window around each step: local-m, which has nothing to learn."""

    def __init__(self, half_width: float) -> None:
        super().__init__()
        self.half_width = half_width

    def bound_to(self, queries: Tensor, features: Tensor, mask: Tensor | None) -> Align:
        """Return the alignment for the queries in their order, as steps 1, 2, …"""
        steps = torch.arange(1, queries.shape[-2] + 1)
        return partial(local_monotonic, steps=steps, half_width=self.half_width)


class Speller(nn.Module):
    """Attend from every step to the source and name the letter found, by its shape."""

    def __init__(self, align: nn.Module) -> None:
        super().__init__()
        self.score = GeneralScore(WIDTH, WIDTH)
        self.align = align
        self.output = nn.Linear(SHAPES, SHAPES)

    def forward(
        self, queries: Tensor, keys: Tensor, shapes: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the shapes' logits `(batch, steps, 10)` and the weights `(batch, steps, n)`."""
        seen = mask[:, None]
        align = self.align.bound_to(queries, keys, seen)  # type: ignore[operator]
        letters, weights = attend(queries, keys, shapes, self.score, align, seen)
        return self.output(letters), weights


def described(tags: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return tags `(..., n)` and places, as shares of the length, as vectors `(..., n, WIDTH)`."""
    angle = np.pi * share[..., None] * np.arange(1, 1 + HARMONICS)
    return np.concatenate([np.eye(TAGS)[tags], np.sin(angle), np.cos(angle)], axis=-1)


class Transliteration(Task):
    """From left to right: the letter of step t is near place t."""

    name = "transliteration"
    question = "Which letter is written at step t, in a word longer than any seen in training?"
    claim = (
        "A window pays on words longer than any of the training; on words of the same length a "
        "softmax over the whole source ties."
    )
    no_readers = "they are built, but the stated table has not trained them yet"
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    apart_rates = (6e-3, 6e-3)
    learning_rates = (2e-2, 6e-2, 2e-1)  # at 0.6, beyond its best, global is worse again
    steps = 600
    batch_size = 64
    one_cycle = True
    tested_on = 500
    trained_lengths, tested_lengths = (8, 20), (64, 96)
    half_width = 5.0
    backwards = False
    rates: ClassVar[dict[str, float]] = {"local-m": 6e-2, "local-p": 6e-2, "global": 2e-1}

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return words of varied length, padded, with letters out of order within blocks."""
        fewest, most = self.trained_lengths if split == "train" else self.tested_lengths
        S = rng.integers(fewest, most + 1, size=(number, 1))
        places = np.broadcast_to(np.arange(most), (number, most))
        there = places < S
        block = places // BLOCK
        within = (block + rng.random((number, most))).argsort(-1).argsort(-1) % BLOCK
        # Even or odd blocks come first, at random: otherwise a tag would reveal something about its
        # place that is true for the short words of the training and misleading in longer ones.
        tags = within + BLOCK * ((block + rng.integers(2, size=(number, 1))) % 2)
        shapes = rng.integers(SHAPES, size=(number, most))
        # Padding is sorted to the end of its block, so that no step asks for it.
        gold = (block + 0.5 * rng.random((number, most)) + 0.5 * ~there).argsort(-1)
        if self.backwards:
            gold = np.take_along_axis(gold, np.where(there, S - 1 - places, places), -1)
        asked = np.take_along_axis(tags, gold, -1)
        written = np.take_along_axis(shapes, gold, -1)
        # A letter's place counts from 1, as p does. A step is told its middle, half a letter from
        # the right place in either direction of reading: its start or its end would be exact in one
        # of them and a whole letter off in the other.
        step, place = (places + 0.5) / S, (places + 1) / S
        real = there[..., None]
        return Examples(
            inputs={
                "queries": as_tensor(described(asked, step) * real),
                "keys": as_tensor(described(tags, place) * real),
                "shapes": as_tensor(np.eye(SHAPES)[shapes] * real),
                "mask": as_tensor(there),
            },
            targets=as_tensor(np.where(there, written, IGNORED)),
            right={"weights": as_tensor((gold[..., None] == places[:, None, :]) & real)},
            allowed={"weights": as_tensor(there[:, None, :] & real)},
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """Three alignments, and readers that compare every step with every letter."""
        builds = {
            "local-m": lambda: Speller(WindowAtStep(self.half_width)),
            "local-p": lambda: Speller(PredictedWindow(WIDTH, 32, self.half_width)),
            "global": lambda: Speller(Everywhere()),
        }
        arms = {name: Arm(build, self.rates[name]) for name, build in builds.items()}
        readers = reader_arms(self, builds["global"], self.see)
        return arms | readers | apart_arms(self, builds["global"], self.see_apart, self.apart_rates)

    def see(self, queries: Tensor, keys: Tensor, shapes: Tensor, mask: Tensor) -> Seen:
        """Return the letters, with the question of every step for each."""
        return Seen(torch.cat([keys, shapes], dim=-1), queries, mask)

    def see_apart(self, **inputs: Tensor) -> tuple[Seen]:
        """Return the letters, which become one fixed vector before a step asks for anything."""
        return (self.see(**inputs),)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Windows against the whole source."""
        return (
            Comparison("local-m", "global"),
            Comparison("local-p", "global", TOLD),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the tag that each step asks for, and the tags of the letters."""
        asked, tags = (
            examples.inputs[name][place, :, :TAGS].argmax(-1).tolist()
            for name in ("queries", "keys")
        )
        return {"weights": ([f"{tag}?" for tag in asked], [str(tag) for tag in tags])}

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw a word that fits on a page, as long as the longest of the training."""
        from attn_course.tasks.figures import attention_figure

        shorter = copy(self)
        shorter.tested_lengths = (20, 20)
        return attention_figure(shorter, trained, place)


IN_RANGE = (
    "ties with global, which learns both the place and the tag as long as words are no longer than "
    "those of the training: a window pays beyond them"
)


class TransliterationInRange(Transliteration):
    """From left to right, tested on words as long as those of the training."""

    name = "transliteration_in_range"
    question = "Which letter is written at step t, in a word as long as those of the training?"
    claim = IN_RANGE
    no_readers = "the question is where a window pays; `transliteration` has the readers"
    tested_lengths = Transliteration.trained_lengths

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Windows against the whole source."""
        return (Comparison("local-m", "global", IN_RANGE),)
