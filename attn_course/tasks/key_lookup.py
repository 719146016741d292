"""Key lookup: find the value that belongs to the key in the query, among distractors.

The answer is the value of one key, so all weight belongs there. In `KeyLookup` the query is the
key itself, with noise. In `KeyLookupElsewhere` it has been shifted around cyclically by one entry:
queries and keys live in different spaces, and a score without parameters has no way to know.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from attn_course.attention import TaskModel
from attn_course.learned_scores import make_score
from attn_course.tasks.parts import SplitAttention, UniformScore
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor


class KeyLookup(Task):
    """Which value belongs to this key? Query and keys in one space."""

    name = "key_lookup"
    question = "Which value belongs to the key that the query repeats, with a little noise?"
    claim = (
        "The dot product finds the key with no parameter of its own. A reader that compares the "
        "question with every token learns the same from thousands of parameters: its hidden layers "
        "compute a score, and only the softmax is missing."
    )
    reader_settings: ClassVar = {
        "mean": ("deep", (6e-3, 6e-3, 6e-3)),
        "max": ("deep", (6e-3, 6e-3, 6e-3)),
    }
    reader_tried: ClassVar = (6e-3,)
    n, d, classes = 8, 16, 8
    reader_sizes: ClassVar[tuple[int, ...]] = (1, 4, 60)  # the dot product itself has none
    noise = 0.3

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return keys N(0, 1), values drawn with repetition, and the key that is asked for."""
        keys = rng.normal(size=(number, self.n, self.d))
        values = rng.integers(self.classes, size=(number, self.n))
        wanted = rng.integers(self.n, size=number)
        rows = np.arange(number)
        asked = keys[rows, wanted] + self.noise * rng.normal(size=(number, self.d))
        features = np.concatenate([keys, np.eye(self.classes)[values]], axis=-1)
        return Examples(
            inputs={
                "inputs": as_tensor(features),
                "query_inputs": as_tensor(self.seen(asked)[:, None, :]),
            },
            targets=as_tensor(values[rows, wanted][:, None]),
            right={"weights": as_tensor(np.arange(self.n) == wanted[:, None])[:, None, :]},
        )

    def seen(self, asked: np.ndarray) -> np.ndarray:
        """Return the query that a model sees, made from the key that is asked for."""
        return asked

    def model(self, score: nn.Module) -> TaskModel:
        """Return the model with a score: nothing else in it could select."""
        return TaskModel(
            feature_model=nn.Identity(),
            query_model=nn.Identity(),
            attention=SplitAttention(self.d, score),
            output_model=nn.Linear(self.classes, self.classes),
        )

    def with_score(self, kind: str) -> TaskModel:
        """Return the model with the score of that name."""
        return self.model(make_score(kind, self.d, self.d))

    def see(self, inputs: Tensor, query_inputs: Tensor) -> Seen:
        """Return the tokens, with the query for each."""
        return Seen(inputs, query_inputs)

    @property
    def arms(self) -> dict[str, Arm]:
        """A score each, and no score at all."""
        return {
            "dot": Arm(partial(self.with_score, "dot"), 1e-2),
            "uniform": Arm(lambda: self.model(UniformScore()), 1e-2, attends=False),
            **reader_arms(self, partial(self.with_score, "dot"), self.see, sizes=self.reader_sizes),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """A score against none, and against readers."""
        return (
            Comparison("dot", "uniform"),
            *reader_comparisons("dot", self.reader_sizes),
        )


class KeyLookupElsewhere(KeyLookup):
    """The same with the query in another space: its entries are shifted around by one."""

    name = "key_lookup_elsewhere"
    question = "Which value belongs to the key asked for, if queries have a space of their own?"

    claim = (
        "A learned score finds the shift, a fixed one can't. A bias has nothing to learn here, "
        "since no key deserves more weight whatever is asked, and a tanh caps the weight of the "
        "right key. A reader that compares the question with every token finds the shift too."
    )
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}

    def seen(self, asked: np.ndarray) -> np.ndarray:
        """Return the key, shifted cyclically.

        A random rotation might happen to turn keys against themselves, and dot would then do worse
        than uniform weights; after a shift it is no better and no worse.
        """
        return np.roll(asked, 1, axis=-1)

    @property
    def arms(self) -> dict[str, Arm]:
        """Scores that can learn the shift, one that can't, and none."""
        return {
            "general": Arm(partial(self.with_score, "general"), 1e-2),
            "biased general": Arm(partial(self.with_score, "biased_general"), 3e-3),
            "activated general": Arm(partial(self.with_score, "activated_general"), 3e-3),
            "additive": Arm(self.additive, 1e-2),
            "dot": Arm(partial(self.with_score, "dot"), 1e-2),
            **reader_arms(self, self.additive, self.see),
        }

    def additive(self) -> TaskModel:
        """Return the model with the additive score, wide enough to compare 16 entries."""
        return self.model(make_score("additive", self.d, self.d, d_w=128))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The learned scores against the dot product, and the largest one against readers."""
        return (
            Comparison("general", "dot"),
            Comparison("biased general", "dot"),
            Comparison("activated general", "dot"),
            Comparison(
                "activated general",
                "general",
                note="With tanh the right key of eight gets at most e²/(e² + 7) = 0.51 of the "
                "weight, and the seven others share the rest.",
            ),
            Comparison("additive", "dot"),
            *reader_comparisons("additive"),
        )
