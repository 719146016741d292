"""Two means at once: one question about two kinds, and a number for each.

A token has one of seven kinds and a real value. A question names two kinds, in order; the answer is
the mean value of each, in order. One head returns one average, and two unknown numbers can't be
read off one, whatever comes after it: in `two_facts` a hidden layer after one head separates
the mixture of two one-hot values, here there is nothing to separate.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import Tensor, nn

from attn_course.evaluation.correctness import attention_correctness
from attn_course.queries import MultiHeadAttention
from attn_course.tasks.parts import filled
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.regression import NumbersTask
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Weights, as_tensor
from attn_course.tasks.two_facts import HeadsInOrder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained


class TwoMeans(NumbersTask):
    """What is the mean value of each of two kinds?"""

    name = "two_means"
    question = "What is the mean value of the first kind asked for, and what that of the second?"
    claim = (
        "Needs two heads: one head returns one average, and no output can read two numbers off it; "
        "a reader without attention would have to learn to divide by the number of tokens."
    )
    reader_settings: ClassVar = {"mean": ("deep", (2e-2, 2e-2)), "max": ("deep", (2e-3, 2e-3))}
    metric = "both within 0.1"
    learning_rates = (1.5e-3, 5e-3, 1.5e-2)
    steps = 800
    first_seed = 10
    fewest, most, kinds, asked, d = 12, 20, 7, 6, 32  # the last kind is never asked for

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return tokens in any order, padded, and two kinds; each has a token at least."""
        there = filled(rng, number, self.fewest, self.most)
        kinds = rng.integers(self.kinds, size=there.shape)
        wanted = rng.random((number, self.asked)).argsort(axis=-1)[:, :2]
        kinds[:, :2] = wanted
        level = np.take_along_axis(2 * rng.normal(size=(number, self.kinds)), kinds, axis=-1)
        values = level + rng.normal(size=there.shape)
        right = (kinds[:, None, :] == wanted[..., None]) & there[:, None, :]  # (number, 2, n)
        means = (values[:, None, :] * right).sum(-1) / right.sum(-1)
        tokens = np.concatenate([np.eye(self.kinds)[kinds], values[..., None]], axis=-1)
        names = ("first kind", "second kind")
        return Examples(
            inputs={
                "tokens": as_tensor(tokens * there[..., None]),
                "question": as_tensor(np.eye(self.asked)[wanted].reshape(number, 1, -1)),
                "mask": as_tensor(there[:, None, :]),
            },
            targets=as_tensor(means[:, None, :]),
            right={name: as_tensor(right[:, [at]]) for at, name in enumerate(names)},
            allowed={name: as_tensor(there[:, None, :]) for name in names},
        )

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the map of a head for each kind, in the order of the heads; one head has both."""
        assert isinstance(weights, Tensor)
        return {"first kind": weights[:, 0], "second kind": weights[:, -1]}

    def attention_scores(self, weights: Weights, examples: Examples) -> dict[str, float]:
        """Return for each kind how well the head that knows it best agrees with it."""
        heads = self.named_weights(weights).values()
        return {
            name: max(attention_correctness(head, right) for head in heads)
            for name, right in examples.right.items()
        }

    def model(self, heads: int, hidden: bool = False) -> "TwoMeansModel":
        """Return the model with so many heads, which share the same width."""
        return TwoMeansModel(self.kinds + 1, 2 * self.asked, self.d, heads, hidden)

    def see(self, tokens: Tensor, question: Tensor, mask: Tensor) -> Seen:
        """Return the tokens, with the question for each."""
        return Seen(tokens, question, mask)

    @property
    def arms(self) -> dict[str, Arm]:
        """Two heads and one, one with a hidden layer behind it, and readers without attention."""
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
            Comparison("2 heads", "1 head, hidden layer"),
            *reader_comparisons("2 heads"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return each token as kind and value, such as "k3: 0.5", and the two kinds asked for."""
        tokens = examples.inputs["tokens"][place]
        kinds = tokens[:, : self.kinds].argmax(dim=-1).tolist()
        keys = [
            f"k{k}: {v:.1f}" for k, v in zip(kinds, tokens[:, self.kinds].tolist(), strict=True)
        ]
        asked = examples.inputs["question"][place].unflatten(-1, (2, -1)).argmax(dim=-1)[0]
        return {
            name: ([f"k{kind}?"], keys)
            for name, kind in zip(examples.right, asked.tolist(), strict=True)
        }

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw each head next to the kind that it has learned to find."""
        from attn_course.tasks.figures import attention_figure

        some = self.held_out()[:200]
        in_order = [replace(one, model=HeadsInOrder(one.model, some)) for one in trained]
        return attention_figure(self, in_order, place)


class TwoMeansModel(nn.Module):
    """Heads, then an output: linear, or with a hidden layer."""

    def __init__(self, d_token: int, d_question: int, d: int, heads: int, hidden: bool) -> None:
        super().__init__()
        self.ask = nn.Linear(d_question, d)
        self.attention = MultiHeadAttention(d, heads, d_k=d_token, d_v=d_token)
        before = (nn.Linear(d, d), nn.ReLU()) if hidden else ()
        self.output = nn.Sequential(*before, nn.Linear(d, 2))

    def forward(self, tokens: Tensor, question: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return predictions `(batch, 1, 2)` and weights `(batch, heads, 1, n)`."""
        contexts, weights = self.attention(self.ask(question), tokens, tokens, mask)
        return self.output(contexts), weights
