"""Padded lookup: what comes after the end of a shorter example, and how a mask hides it.

Key lookup in batches: examples have 3 to 12 entries and are padded to 12. In `PaddedLookup` the
padding is what an earlier, longer state of the same table left in the buffer: its keys, under
values that are out of date. Nothing but the mask says where an example ends. In `ZeroPaddedLookup`
the padding is zeros, which a model can distinguish from entries by itself.
"""

from functools import partial

import numpy as np
from torch import Tensor, nn

from attn_course.alignment import padding_mask
from attn_course.attention import TaskModel
from attn_course.learned_scores import make_score
from attn_course.tasks.parts import SplitAttention
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor


class PaddedLookup(Task):
    """Which value belongs to this key? Padded with entries that are out of date."""

    name = "padded_lookup"
    question = "Which value belongs to this key, in an example shorter than its buffer?"
    claim = "The mask hides entries that nothing else could distinguish from real ones."
    no_readers = "the question is what a mask does for attention; `key_lookup` has the readers"
    steps = 300
    n, shortest, symbols, classes = 12, 3, 16, 8

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return entries under different keys, followed by padding; one of the keys is asked."""
        # An order of all symbols for each example: the first of them are n different keys.
        keys = rng.random((number, self.symbols)).argsort(axis=-1)[:, : self.n]
        lengths = rng.integers(self.shortest, self.n + 1, size=number)
        real = padding_mask(lengths, self.n)  # (number, 1, n)
        again = rng.integers(lengths[:, None], size=keys.shape)
        keys = np.where(real[:, 0], keys, np.take_along_axis(keys, again, axis=-1))
        values = rng.integers(self.classes, size=keys.shape)  # repeated: absence says nothing
        wanted = rng.integers(lengths)
        rows = np.arange(number)
        entries = np.concatenate([np.eye(self.symbols)[keys], np.eye(self.classes)[values]], -1)
        asked = np.eye(self.symbols)[keys[rows, wanted]]
        return Examples(
            inputs={
                "inputs": as_tensor(self.padded(entries, real[:, 0])),
                "query_inputs": as_tensor(asked[:, None, :]),
                "mask": as_tensor(real),
            },
            targets=as_tensor(values[rows, wanted][:, None]),
            right={"weights": as_tensor(np.arange(self.n) == wanted[:, None])[:, None, :]},
            allowed={"weights": as_tensor(real)},
        )

    def padded(self, entries: np.ndarray, real: np.ndarray) -> np.ndarray:
        """Return the entries as a model sees them; `real` is False at the padding."""
        return entries

    def model(self, masked: bool) -> TaskModel:
        """Return the model; without its mask it sees what the mask would have hidden."""
        score = make_score("general", self.symbols, self.symbols)
        return TaskModel(
            feature_model=nn.Identity(),
            query_model=nn.Identity(),
            attention=(SplitAttention if masked else Unmasked)(self.symbols, score),
            output_model=nn.Linear(self.classes, self.classes),
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """The same model with its mask and without."""
        return {
            "mask": Arm(partial(self.model, masked=True), 1e-2),
            "no mask": Arm(partial(self.model, masked=False), 3e-2),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """With the mask against without."""
        note = "Planted: the padding repeats the example's own keys under other values."
        return (Comparison("mask", "no mask", note),)

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return each entry as key and value, such as "d5"; padding is in brackets."""
        entries = examples.inputs["inputs"][place]
        keys = entries[:, : self.symbols].argmax(dim=-1).tolist()
        values = entries[:, self.symbols :].argmax(dim=-1).tolist()
        real = examples.inputs["mask"][place, 0].tolist()
        asked = int(examples.inputs["query_inputs"][place, 0].argmax())
        told = [f"{letter(key)}{value}" for key, value in zip(keys, values, strict=True)]
        shown = [word if there else f"({word})" for word, there in zip(told, real, strict=True)]
        return {"weights": ([f"{letter(asked)}?"], shown)}


class ZeroPaddedLookup(PaddedLookup):
    """The same, padded with zeros."""

    name = "zero_padded_lookup"
    question = "Which value belongs to this key, in an example padded with zeros?"

    claim = "Where padding is zeros, a model learns to pass it over without a mask."

    def padded(self, entries: np.ndarray, real: np.ndarray) -> np.ndarray:
        """Return zeros for padding."""
        return entries * real[..., None]

    @property
    def arms(self) -> dict[str, Arm]:
        """The same model with its mask and without."""
        return {
            "mask": Arm(partial(self.model, masked=True), 1e-2),
            "no mask": Arm(partial(self.model, masked=False), 1e-2),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """With the mask against without."""
        note = (
            "Ties: zeros have no key that could match and no value that could mislead, so the "
            "model learns by itself to pass them over."
        )
        return (Comparison("mask", "no mask", note),)


class Unmasked(SplitAttention):
    """The ablation: attention that does not look at its mask."""

    def forward(
        self, features: Tensor, queries: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts and weights over everything, padding included."""
        return super().forward(features, queries)


def letter(symbol: int) -> str:
    """Return a symbol as a reader sees it: 0 is "a"."""
    return chr(ord("a") + symbol)
