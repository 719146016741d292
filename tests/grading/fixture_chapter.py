"""A chapter of its own for the tests of the grader, with an exercise of every kind.

Functions on NumPy arrays, a number to predict, a training step and a torch module. It is loaded
by `--checks tests/grading/fixture_chapter.py`, as an instructor's own chapter would be.
"""

import json

import torch

from attn_course.practice.exercise import Case, Chapter

chapter = Chapter("88_fixture", title="A fixture", sections={"rows": "Rows", "steps": "Steps"})


def _facts(title: str, **others):
    hints = ("look", "look closer", "nearly the answer")
    common = {"difficulty": 1, "minutes": 5, "section": "rows", "hints": hints}
    return common | {"title": title, "goal": f"Learn about {title}."} | others


@chapter.exercise(**_facts("Weights in rows", without=("torch.nn.functional",)))
def row_weights(scores):
    return scores / scores.sum(-1, keepdims=True)


@row_weights.cases(points=1, label="one row")
def _one_row(rng):
    yield Case(rng.uniform(1, 2, size=(1, 3)))


@row_weights.cases(points=2, label="many rows")
def _many_rows(rng):
    yield Case(rng.uniform(1, 2, size=(5, 7)))


@row_weights.misconception("You took the sum of everything: each row has a sum of its own.")
def one_sum_for_all(scores):
    return scores / scores.sum()


@chapter.exercise(**_facts("Squares"))
def squares(x):
    return x * x


@squares.cases(points=2, label="a few numbers")
def _a_few_numbers(rng):
    yield Case(rng.normal(size=5))


@squares.misconception("You doubled.")
def doubles(x):
    return x + x


@chapter.exercise(**_facts("How many", kind="value", task="predict"))
def how_many():
    return 35


@how_many.cases(points=1, label="the number")
def _the_number(rng):
    yield Case()


@how_many.misconception("You added; they multiply.")
def adds():
    return 12


@chapter.exercise(**_facts("A step", section="steps", task="complete the training step"))
def train_step(weights, inputs, targets, rate):
    error = inputs @ weights - targets
    return weights - rate * inputs.T @ error / len(targets)


@train_step.cases(points=3, label="one step")
def _one_step(rng):
    yield Case(rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5), 0.1)


@train_step.misconception("You went uphill.")
def uphill(weights, inputs, targets, rate):
    error = inputs @ weights - targets
    return weights + rate * inputs.T @ error / len(targets)


@chapter.exercise(**_facts("A layer", kind="module", section="steps"))
class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * x


@Scale.cases(points=3, label="forward and backward")
def _forward_and_backward(rng):
    yield Case(torch.as_tensor(rng.normal(size=(2, 3)), dtype=torch.float32), width=3)


CHAPTERS = {"88": chapter}
SETUP = "import numpy as np\nimport torch\nfrom attn_course import practice"
ANSWERS = {
    "row_weights": "def row_weights(scores):\n    return scores / scores.sum(-1, keepdims=True)",
    "squares": "def squares(x):\n    return x**2",
    "how_many": "how_many = 5 * 7",
    "train_step": (
        "def train_step(weights, inputs, targets, rate):\n"
        "    gradient = np.mean((inputs @ weights - targets)[:, None] * inputs, axis=0)\n"
        "    return weights - rate * gradient"
    ),
    "Scale": (
        "class Scale(torch.nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.weight = torch.nn.Parameter(torch.zeros(width))\n\n"
        "    def forward(self, x):\n"
        "        return x * self.weight"
    ),
}
STUBS = {
    "row_weights": "def row_weights(scores):\n    raise NotImplementedError",
    "squares": "def squares(x):\n    raise NotImplementedError",
    "how_many": "how_many = None",
    "train_step": "def train_step(weights, inputs, targets, rate):\n    raise NotImplementedError",
    "Scale": (
        "class Scale(torch.nn.Module):\n"
        "    def __init__(self, width):\n"
        "        raise NotImplementedError"
    ),
}
WRONG_ROWS = "def row_weights(scores):\n    return scores / scores.sum()"


def sources(**changes: str) -> list[str]:
    """Return the code cells of a right notebook, with some answers replaced."""
    cells = [SETUP]
    for name, answer in (ANSWERS | changes).items():
        cells += [answer, f'practice.check("88.{name}", {name})']
    return cells


def notebook(cells: list[str]) -> dict:
    """Return a notebook as JSON has it."""
    return {
        "cells": [
            {"cell_type": "markdown", "id": "title", "metadata": {}, "source": "# A fixture"},
            *(
                {
                    "cell_type": "code",
                    "execution_count": None,
                    "id": f"c{place}",
                    "metadata": {},
                    "outputs": [],
                    "source": source,
                }
                for place, source in enumerate(cells)
            ),
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def notebook_bytes(**changes: str) -> bytes:
    """Return the file of a right notebook, with some answers replaced."""
    return json.dumps(notebook(sources(**changes)), indent=1).encode()
