"""Small exercises for the tests alone: one of each kind."""

from copy import copy

import numpy as np
import torch

from attn_course.practice.exercise import Case, Chapter

chapter = Chapter(
    "01_sample",
    title="A sample",
    sections={"row-weights": "Weights in rows", "rows-and-columns": "Rows and columns"},
    pages={"row-weights": "01b_rows"},
)


def changed(exercise, **changes):
    """Return a copy of an exercise with its cases and mistakes, and with these fields."""
    made = copy(exercise)
    vars(made).update(changes, drawn=None)
    return made


@chapter.exercise(
    title="Row weights",
    goal="Make every row sum to 1.",
    difficulty=1,
    minutes=5,
    section="row-weights",
    hints=("Look at the rows.", "Divide by a sum.", "scores / scores.sum(-1, keepdims=True)"),
)
def row_weights(scores, scale=1.0):
    weights = scores * scale
    return weights / weights.sum(-1, keepdims=True)


@row_weights.cases(points=1, label="one row")
def one_row(rng):
    yield Case(rng.uniform(1, 2, size=(1, 2)))
    yield Case(rng.uniform(1, 2, size=(1, 3)))


@row_weights.cases(points=2, label="many rows")
def many_rows(rng):
    yield Case(rng.uniform(1, 2, size=(3, 5)), scale=2.0)
    yield Case(rng.uniform(1, 2, size=(2, 3, 5)))


@row_weights.misconception("Your columns sum to 1; the rows should.", section="rows-and-columns")
def sums_over_the_columns(scores, scale=1.0):
    return scores / scores.sum(-2, keepdims=True)


@row_weights.misconception("You divided by the largest number, not by the sum.")
def divides_by_the_largest(scores, scale=1.0):
    return scores / scores.max(-1, keepdims=True)


@row_weights.misconception("You took the sum of everything: each row has a sum of its own.")
def one_sum_for_all(scores, scale=1.0):
    return scores / scores.sum()


@row_weights.variant
def with_a_loop(scores, scale=1.0):
    flat = [
        [float(x) / sum(map(float, row)) for x in row]
        for row in scores.reshape(-1, scores.shape[-1])
    ]
    return np.array(flat, dtype=np.float32).reshape(scores.shape)


@chapter.exercise(
    title="How many weights",
    goal="Predict a number.",
    difficulty=2,
    minutes=1,
    section="row-weights",
    hints=("Count.", "Count rows.", "Multiply."),
    task="predict",
    kind="value",
)
def weight_count():
    return 35


@weight_count.cases(points=1, label="the number")
def the_number(rng):
    yield Case()


@weight_count.misconception("You added the axes; they multiply.")
def adds_the_axes():
    return 12


@chapter.exercise(
    title="A linear layer",
    goal="Multiply by a matrix and add a bias.",
    difficulty=3,
    minutes=10,
    section="row-weights",
    hints=("A matrix.", "A bias.", "x @ W.T + b"),
    kind="module",
)
class Linear(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3, width))
        self.bias = torch.nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return torch.as_tensor(x, dtype=torch.float32) @ self.weight.T + self.bias


@Linear.cases(points=2, label="forward and backward")
def forward_and_backward(rng):
    yield Case(rng.normal(size=(5, 2)), width=2)


@Linear.misconception("You left the bias out.")
class WithoutBias(Linear.reference):
    def forward(self, x):
        return torch.as_tensor(x, dtype=torch.float32) @ self.weight.T
