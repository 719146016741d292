"""Uneven embeddings: three sets of embeddings, each of them good for other words.

Every word has a class. One of the sets has its vector near the centre of that class. The others
have it near the centre of a wrong class, or do not know the word. Weight belongs to the good set.

What distinguishes a good vector from a bad one is planted: four entries of every vector, the
signature, are near +1 if it can be trusted and near -1 if not. Real embeddings contain nothing so
plain.
"""

from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.features import MetaEmbedding
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor

SIZES = (12, 16, 20)  # of the vectors in each set
SIGNATURE = 4  # entries at the end of each
CLASSES = 8


class MetaModel(nn.Module):
    """Weighted embeddings and a linear output, which can't choose between sets by itself."""

    def __init__(self, weighting: str, d_t: int = 16) -> None:
        super().__init__()
        self.attention = MetaEmbedding(SIZES, d_t, weighting)
        self.output = nn.Linear(d_t, CLASSES)

    def forward(
        self, set_1: Tensor, set_2: Tensor, set_3: Tensor, known: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the class of each word, and the weights of the sets `(..., 1, 3)`."""
        x, weights = self.attention([set_1, set_2, set_3], known)
        return self.output(x), weights[..., None, :]


class ConcatModel(nn.Module):
    """The same without weights: all vectors of a word in a row. It attends nowhere: weights 0."""

    def __init__(self, hidden: int | None = None) -> None:
        super().__init__()
        self.output: nn.Module = nn.Linear(sum(SIZES), CLASSES)
        if hidden is not None:
            first, last = nn.Linear(sum(SIZES), hidden), nn.Linear(hidden, CLASSES)
            self.output = nn.Sequential(first, nn.ReLU(), last)

    def forward(
        self, set_1: Tensor, set_2: Tensor, set_3: Tensor, known: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the class of each word, and weights 0."""
        vectors = zip((set_1, set_2, set_3), known.unbind(-1), strict=True)
        row = torch.cat([vector * there[..., None] for vector, there in vectors], dim=-1)
        return self.output(row), set_1.new_zeros(*known.shape[:-1], 1, len(SIZES))


class UnevenEmbeddings(Task):
    """Which class has this word, of which only one set of embeddings is right?"""

    name = "uneven_embeddings"
    question = "Which class has a word that only one of three sets of embeddings has right?"
    claim = (
        "Weights choose the set of embeddings that knows the word, and show which it was. Readers "
        "without weights come within a hundredth, and tie with four times the parameters."
    )
    reader_settings: ClassVar = {"mean": ("deep", (2e-2, 2e-2)), "max": ("deep", (2e-2, 2e-3))}
    steps = 500
    tested_on = 1000
    # No word is in two of them.
    vocabulary: ClassVar = {"train": 2000, "validation": 500, "test": 1000}
    noise, unknown = 0.5, 0.25  # of entries; how often a set without the class lacks the word

    @cached_property
    def centres(self) -> list[np.ndarray]:
        """The middle of each class in each set, `(8, d - 4)`."""
        rng = np.random.default_rng(8)
        return [rng.normal(size=(CLASSES, size - SIGNATURE)) for size in SIZES]

    @cached_property
    def dictionary(self) -> dict[str, dict[str, np.ndarray]]:
        """The words of each split: their class, their good set, and their vector in every set."""
        rng = np.random.default_rng(9)
        total, sets = sum(self.vocabulary.values()), len(SIZES)
        classes = rng.integers(CLASSES, size=total)
        good = np.arange(sets) == rng.integers(sets, size=total)[:, None]  # (words, sets)
        wrong = (classes[:, None] + rng.integers(1, CLASSES, size=good.shape)) % CLASSES
        held = np.where(good, classes[:, None], wrong)
        known = good | (rng.random(good.shape) >= self.unknown)
        columns = {"class": classes, "good": good, "known": known}
        for number, centres in enumerate(self.centres):
            signature = np.where(good[:, [number]], 1.0, -1.0).repeat(SIGNATURE, axis=1)
            vectors = np.concatenate([centres[held[:, number]], signature], axis=1)
            vectors += self.noise * rng.normal(size=vectors.shape)
            columns[f"set_{number + 1}"] = vectors * known[:, [number]]
        ends = np.cumsum(list(self.vocabulary.values()))
        return {
            split: {name: column[end - size : end] for name, column in columns.items()}
            for (split, size), end in zip(self.vocabulary.items(), ends, strict=True)
        }

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return words of the split: none twice, as long as there are enough."""
        size = self.vocabulary[split]
        drawn = rng.choice(size, size=number, replace=number > size)
        one = {name: as_tensor(part[drawn]) for name, part in self.dictionary[split].items()}
        return Examples(
            inputs={name: one[name] for name in ("set_1", "set_2", "set_3", "known")},
            targets=one["class"],
            right={"weights": one["good"][:, None]},
            allowed={"weights": one["known"][:, None]},
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """Weights by attention or by a gate, equal weights, and no weights at all."""
        return {
            "softmax": Arm(partial(MetaModel, "softmax"), 3e-3),
            "gate": Arm(partial(MetaModel, "gate"), 3e-3),
            "average": Arm(partial(MetaModel, "uniform"), 3e-3, attends=False),
            "concatenation": Arm(ConcatModel, 3e-3, attends=False),
            "concatenation, MLP": Arm(partial(ConcatModel, hidden=64), 3e-2, attends=False),
            **reader_arms(self, partial(MetaModel, "softmax"), self.see),
        }

    def see(self, set_1: Tensor, set_2: Tensor, set_3: Tensor, known: Tensor) -> Seen:
        """Return one token per set: its vector at entries of its own, and which set it is."""
        sets = torch.eye(len(SIZES)).expand(len(known), -1, -1)  # (batch, set, set)
        blocks = [
            vector[:, None] * sets[..., [number]]
            for number, vector in enumerate((set_1, set_2, set_3))
        ]
        return Seen(torch.cat([*blocks, sets], dim=-1), mask=known)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Both weightings against none, and the limit of what attention is needed for."""
        planted = "The entries that show whether a set can be trusted are planted."
        return (
            Comparison("softmax", "average", planted),
            Comparison("softmax", "concatenation", planted),
            Comparison("gate", "average", planted),
            Comparison(
                "softmax",
                "concatenation, MLP",
                "By a hundredth: a hidden layer over all sets at once, with four times the "
                "parameters, learns to choose nearly as well, but has no weights to show for it.",
            ),
            *reader_comparisons("softmax"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the class that is right, and the class that each set assigns to the word."""
        taken = []
        for number, centres in enumerate(self.centres):
            vector = examples.inputs[f"set_{number + 1}"][place, :-SIGNATURE].numpy()
            nearest = np.linalg.norm(centres - vector, axis=1).argmin()
            there = examples.inputs["known"][place, number]
            taken.append(f"says {nearest}" if there else "")
        return {"weights": ([f"is {examples.targets[place].item()}"], taken)}
