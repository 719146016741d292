"""Importance: two classifications of a few words, one that needs attention and one that doesn't.

Both are made for the question whether attention explains. In `TellingWord` one word, known by its
role, says the class, and the others say anything at all: a model that does not look there fails. In
`MajorityOfWords` the class is the one most words name: the plain mean knows it already.

The model is the same for both, and nothing in it but attention can select: words are encoded each
by itself and linearly, and so is the output. (One tanh per word would be enough to silence words of
other roles than the telling one, and the mean of what is left would do.)
"""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.alignment import softmax
from attn_course.attention import Align, AttentionModel, TaskModel
from attn_course.evaluation.ablation import uniform_weights
from attn_course.scoring import dot
from attn_course.tasks.parts import filled
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor


class LearnedQuery(nn.Module):
    """One query for all examples, survey (34)."""

    def __init__(self, d_q: int) -> None:
        super().__init__()
        self.q = nn.Parameter(torch.randn(1, d_q) / d_q**0.5)

    def forward(self, features: Tensor) -> Tensor:
        """Return the query `(1, d_q)`, whatever the features are."""
        return self.q


class TellingWord(Task):
    """Which class does the word of role 0 name, among words of other roles that name any class?"""

    name = "telling_word"
    question = "Which class does the one word of the telling role name?"
    claim = (
        "Learned weights are needed if everything else is linear. A reader with a hidden layer per "
        "word does as well: it silences the words of other roles before they are pooled."
    )
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    reader_tried: ClassVar = (6e-3,)
    steps = 400
    batch_size = 64
    shortest, longest = 8, 12
    roles, classes, d = 4, 3, 32

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return words as a role and a class each, one-hot, in sentences of 8 to 12."""
        there = filled(rng, number, self.shortest, self.longest)
        role = rng.integers(1, self.roles, size=there.shape)
        named = rng.integers(self.classes, size=there.shape)
        rows = np.arange(number)
        telling = rng.integers(there.sum(axis=-1))
        role[rows, telling] = 0
        right = np.arange(self.longest) == telling[:, None]
        return self.packed(role, named, there, right, named[rows, telling])

    def packed(
        self,
        role: np.ndarray,
        named: np.ndarray,
        there: np.ndarray,
        right: np.ndarray,
        answer: np.ndarray,
    ) -> Examples:
        """Return examples with a one-hot role, a one-hot class, and 0 after the end.

        A word that names class number `classes`, which there is none, names nothing.
        """
        of_class = np.eye(self.classes + 1)[named][..., : self.classes]
        words = np.concatenate([np.eye(self.roles)[role], of_class], axis=-1)
        mask = as_tensor(there)[:, None, :]  # (batch, 1, n): the one query sees every word
        return Examples(
            inputs={"inputs": as_tensor(words * there[..., None]), "mask": mask},
            targets=as_tensor(answer[:, None]),
            right={"weights": as_tensor(right)[:, None, :]},
            allowed={"weights": mask},
        )

    def model(self, align: Align) -> TaskModel:
        """Return the model with an alignment: all else is linear, and sees one word at a time."""
        return TaskModel(
            feature_model=nn.Linear(self.roles + self.classes, self.d),
            query_model=LearnedQuery(self.d),
            attention=AttentionModel(self.d, score=dot, align=align),
            output_model=nn.Linear(self.d, self.classes),
        )

    @property
    def arms(self) -> dict[str, Arm]:
        """Learned weights, and equal ones; both have the same parameters."""
        return {
            "soft": Arm(partial(self.model, softmax), 1e-2),
            "uniform": Arm(partial(self.model, uniform_weights), 1e-2, attends=False),
            **reader_arms(self, partial(self.model, softmax), self.see),
        }

    def see(self, inputs: Tensor, mask: Tensor) -> Seen:
        """Return the words as a reader without attention sees them."""
        return Seen(inputs, mask=mask)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Learned weights against equal ones."""
        return (Comparison("soft", "uniform"), *reader_comparisons("soft"))


class MajorityOfWords(TellingWord):
    """Which class do most words name? Every word counts equally, so equal weights are right."""

    name = "majority_of_words"
    question = "Which class do most of the words name?"
    claim = "No attention is needed: equal weights are the right ones."
    no_readers = "the variant `uniform` is one: a plain mean solves the task"
    share_of_fillers = 0.0
    filler = 1  # the role of words that name no class; those that do have role 0

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return words of one role; no two classes are named most often at once."""
        there = filled(rng, number, self.shortest, self.longest)
        named = np.zeros(there.shape, dtype=np.int64)
        votes = np.zeros((number, self.classes), dtype=np.int64)
        undecided = np.ones(number, dtype=bool)
        while undecided.any():
            drawn = (int(undecided.sum()), self.longest)
            fills = rng.random(drawn) < self.share_of_fillers
            named[undecided] = np.where(fills, self.classes, rng.integers(self.classes, size=drawn))
            votes = np.stack([(named == c) & there for c in range(self.classes)]).sum(axis=-1).T
            ordered = np.sort(votes, axis=-1)
            undecided = ordered[:, -1] == ordered[:, -2]
        counts = there & (named < self.classes)
        role = np.where(counts, 0, self.filler)
        return self.packed(role, named, there, counts, votes.argmax(axis=-1))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Learned weights against equal ones: a tie, and that is what the task is for."""
        note = "A tie by design: every word counts equally, so equal weights are the right ones."
        return (Comparison("soft", "uniform", note),)


class MajorityAmongFillers(MajorityOfWords):
    """The same with a third of the words naming no class: attention may leave them out."""

    name = "majority_among_fillers"
    question = "Which class do most of the words name, if some name none?"
    claim = "No attention is needed, and a map can look right all the same."
    share_of_fillers = 1 / 3

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """A tie in accuracy, whatever the maps look like."""
        note = (
            "A tie by design: words that name no class add nothing to the mean. Learned weights "
            "leave them out all the same, so a map can be right where it is not needed."
        )
        return (Comparison("soft", "uniform", note),)
