"""Two steps: the answer belongs to a key that has to be looked up first.

There are facts such as "a leads to b" and "b leads to 3", and the question is what a leads to in
the end. The question names a alone, so no single look can find the second fact: only the first fact
says which one it is.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from attn_course.queries import MultiHopAttention
from attn_course.tasks.readers import Seen, all_pairs, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor


class TwoSteps(Task):
    """Where does a lead to, if a leads to b?"""

    name = "two_steps"
    question = "If a leads to b, and b to a number: to which number does a lead in the end?"
    claim = (
        "The second look depends on what the first has found, so one hop fails. So do readers "
        "without attention, though they see every pair of facts; only max pooling with four times "
        "the parameters solves the task, and from one seed of five."
    )
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    reader_tried: ClassVar = (6e-3,)
    steps = 800
    chains, symbols, answers = 4, 12, 12

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return four facts of each kind in any order, and where one way begins."""
        order = rng.random((number, self.symbols)).argsort(axis=-1)
        begin, middle = order[:, : self.chains], order[:, self.chains : 2 * self.chains]
        # Several may lead to the same, and some are led to by none: were it one each, all facts but
        # the right one would reveal by elimination where it leads. The same is true of the answers.
        led_to = np.take_along_axis(middle, rng.integers(self.chains, size=begin.shape), axis=-1)
        end = rng.integers(self.answers, size=begin.shape) + self.symbols
        keys = np.concatenate([begin, middle], axis=-1)
        values = np.concatenate([led_to, end], axis=-1)  # a symbol, or an answer behind them
        shuffled = rng.random(keys.shape).argsort(axis=-1)
        keys = np.take_along_axis(keys, shuffled, axis=-1)
        values = np.take_along_axis(values, shuffled, axis=-1)
        wanted = rng.integers(self.chains, size=(number, 1))
        first = np.take_along_axis(begin, wanted, axis=-1)
        second = np.take_along_axis(led_to, wanted, axis=-1)
        answer = np.where(middle == second, end, 0).sum(axis=-1, keepdims=True)
        facts = [np.eye(self.symbols)[keys], np.eye(self.symbols + self.answers)[values]]
        return Examples(
            inputs={
                "facts": as_tensor(np.concatenate(facts, axis=-1)),
                "question": as_tensor(np.eye(self.symbols)[first]),
            },
            targets=as_tensor(answer - self.symbols),
            right={
                "hop 1": as_tensor(keys == first)[:, None, :],
                "hop 2": as_tensor(keys == second)[:, None, :],
            },
        )

    def model(self, hops: int) -> "TwoStepsModel":
        """Return the model with so many hops; they share their parameters."""
        return TwoStepsModel(self.symbols, self.answers, hops)

    @property
    def arms(self) -> dict[str, Arm]:
        """Two hops and one, with as many parameters."""
        return {
            "2 hops": Arm(partial(self.model, 2), 1e-2),
            "1 hop": Arm(partial(self.model, 1), 1e-2),
            **reader_arms(self, partial(self.model, 2), self.see),
        }

    def see(self, facts: Tensor, question: Tensor) -> Seen:
        """Return every pair of facts, with the question for each pair."""
        return Seen(all_pairs(facts, facts), question)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Two hops against one, and against readers."""
        return (Comparison("2 hops", "1 hop"), *reader_comparisons("2 hops"))

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return facts such as "c→f" or "f→7", and the question "c?"."""
        facts = examples.inputs["facts"][place]
        keys = facts[:, : self.symbols].argmax(dim=-1).tolist()
        values = facts[:, self.symbols :].argmax(dim=-1).tolist()
        told = [
            f"{self.named(key)}→{self.named(value)}"
            for key, value in zip(keys, values, strict=True)
        ]
        asked = [f"{self.named(int(examples.inputs['question'][place, 0].argmax()))}?"]
        return {name: (asked, told) for name in examples.right}

    def named(self, symbol: int) -> str:
        """Return a symbol as a letter and an answer as a number."""
        return chr(ord("a") + symbol) if symbol < self.symbols else str(symbol - self.symbols)


class TwoStepsModel(nn.Module):
    """Hops over facts as they come; the linear output reads the last context."""

    def __init__(self, symbols: int, answers: int, hops: int) -> None:
        super().__init__()
        d_f = 2 * symbols + answers
        # The next query sees the last context and the question: survey (41)–(42).
        self.attention = MultiHopAttention(symbols, d_f, hops, "identity", "general")
        self.output = nn.Linear(d_f, answers)

    def forward(self, facts: Tensor, question: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return predictions `(batch, 1, answers)` and the weights of each hop."""
        contexts, weights = self.attention(question, facts)
        return self.output(contexts), weights
