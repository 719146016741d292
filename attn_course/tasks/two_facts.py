"""Two facts at once: one question that two places answer.

Eight facts, each a role and a value. A question names two roles, in order; the answer is both
values, in order. One head has one set of weights: it can mix the two values, but the mixture
does not say which was the first. Two heads of half the width have as many parameters, and each has
a look of its own.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.evaluation.correctness import attention_correctness
from attn_course.queries import MultiHeadAttention
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, Weights, as_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained


class TwoFacts(Task):
    """Which values have these two roles?"""

    name = "two_facts"
    question = "Which value has the first role asked for, and which the second?"
    claim = (
        "Two heads do with a linear output what one head does with a hidden layer behind it, and "
        "what a reader with four times the parameters does that compares the question with every "
        "fact. `two_means` asks for numbers, and needs the second head."
    )
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    reader_tried: ClassVar = (6e-3,)
    metric = "both right"
    learning_rates = (1.5e-3, 5e-3, 1.5e-2)
    n, roles, values, d = 8, 12, 8, 32

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return facts of different roles with values drawn freely, and two of the roles."""
        roles = rng.random((number, self.roles)).argsort(axis=-1)[:, : self.n]
        values = rng.integers(self.values, size=(number, self.n))  # repeated: absence says nothing
        wanted = rng.random((number, self.n)).argsort(axis=-1)[:, :2]  # two places
        asked = np.eye(self.roles)[np.take_along_axis(roles, wanted, axis=-1)]
        facts = np.concatenate([np.eye(self.roles)[roles], np.eye(self.values)[values]], axis=-1)
        return Examples(
            inputs={
                "facts": as_tensor(facts),
                "question": as_tensor(asked.reshape(number, 1, -1)),
            },
            targets=as_tensor(np.take_along_axis(values, wanted, axis=-1)),
            right={
                name: as_tensor(np.arange(self.n) == wanted[:, [place]])[:, None, :]
                for place, name in enumerate(("first fact", "second fact"))
            },
        )

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return how often both values are right."""
        hits = predictions.argmax(dim=-1) == examples.targets
        return hits.all(dim=-1).double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the map of a head for each fact, in the order of the heads; one head has both."""
        assert isinstance(weights, Tensor)
        return {"first fact": weights[:, 0], "second fact": weights[:, -1]}

    def attention_scores(self, weights: Weights, examples: Examples) -> dict[str, float]:
        """Return for each fact how well the head that knows it best agrees with it.

        Training decides which head finds which fact, and it is the same for all examples.
        """
        heads = self.named_weights(weights).values()
        return {
            name: max(attention_correctness(head, right) for head in heads)
            for name, right in examples.right.items()
        }

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw each head next to the fact that it has learned to find."""
        from attn_course.tasks.figures import attention_figure

        some = self.held_out()[:200]
        in_order = [replace(one, model=HeadsInOrder(one.model, some)) for one in trained]
        return attention_figure(self, in_order, place)

    def model(self, heads: int, hidden: bool = False) -> "TwoFactsModel":
        """Return the model with so many heads, which share the same width."""
        return TwoFactsModel(self.roles, self.values, self.d, heads, hidden)

    def see(self, facts: Tensor, question: Tensor) -> Seen:
        """Return the tokens as a reader without attention sees them."""
        return Seen(facts, question)

    @property
    def arms(self) -> dict[str, Arm]:
        """Two heads and one, with as many parameters; one with more, and readers."""
        return {
            "2 heads": Arm(partial(self.model, 2), 5e-3),
            "1 head": Arm(partial(self.model, 1), 5e-3),
            "1 head, hidden layer": Arm(partial(self.model, 1, hidden=True), 5e-3),
            **reader_arms(self, partial(self.model, 2), self.see),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Two heads against one, and against readers."""
        return (
            Comparison("2 heads", "1 head"),
            Comparison("2 heads", "1 head, hidden layer", self.claim),
            *reader_comparisons("2 heads"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return each fact as role and value, such as "r3=5", and the two roles asked for."""
        facts = examples.inputs["facts"][place]
        roles = facts[:, : self.roles].argmax(dim=-1).tolist()
        values = facts[:, self.roles :].argmax(dim=-1).tolist()
        asked = examples.inputs["question"][place].unflatten(-1, (2, -1)).argmax(dim=-1)[0]
        keys = [f"r{role}={value}" for role, value in zip(roles, values, strict=True)]
        return {
            name: ([f"r{role}?"], keys)
            for name, role in zip(examples.right, asked.tolist(), strict=True)
        }


class TwoFactsModel(nn.Module):
    """Heads, then an output: linear, or with a hidden layer that sorts out what one head mixed."""

    def __init__(self, roles: int, values: int, d: int, heads: int, hidden: bool) -> None:
        super().__init__()
        self.ask = nn.Linear(2 * roles, d)
        self.attention = MultiHeadAttention(d, heads, d_k=roles + values, d_v=roles + values)
        before = (nn.Linear(d, d), nn.ReLU()) if hidden else ()
        self.output = nn.Sequential(
            *before, nn.Linear(d, 2 * values), nn.Unflatten(-1, (2, values))
        )

    def forward(self, facts: Tensor, question: Tensor) -> tuple[Tensor, Tensor]:
        """Return predictions `(batch, 2, values)` and weights `(batch, heads, 1, n)`."""
        contexts, weights = self.attention(self.ask(question), facts, facts)
        return self.output(contexts)[:, 0], weights


class HeadsInOrder(nn.Module):
    """A trained model whose heads come in the order of the facts that they have taken on."""

    def __init__(self, model: nn.Module, examples: Examples) -> None:
        super().__init__()
        self.model = model
        with torch.no_grad():
            _predictions, weights = model(**examples.inputs)
        first = next(iter(examples.right.values()))
        by_head = [attention_correctness(head, first) for head in weights.unbind(dim=1)]
        self.swapped = by_head[-1] > by_head[0]

    def forward(self, **inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the model returns, its heads in order."""
        predictions, weights = self.model(**inputs)
        return predictions, weights.flip(dims=(1,)) if self.swapped else weights
