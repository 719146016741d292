"""Brackets: every closing bracket of a line is hidden, and its type is to be predicted.

The material is real: statements of the course's own source, frozen in `lines.txt`. So the task is
not as clean as the others, and that is its point. The bracket that was opened last and is not yet
closed decides the type, and that bracket is the right attention. But the label asks for the type
only: a model that counts brackets, or knows how Python is written, need not look there.

A model sees kinds of token (`name`, `0`, keywords, operators) and only what came before.
"""

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn

from attn_course.evaluation.supervision import SupervisedAttention
from attn_course.tasks.brackets.lines import CLOSERS, HIDDEN, LONGEST, as_written, frozen_lines
from attn_course.tasks.brackets.models import (
    BracketModel,
    NearestOpener,
    RecurrentReader,
    WindowReader,
)
from attn_course.tasks.task import IGNORED, Arm, Comparison, Examples, Split, Task, as_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained

LAYERS: tuple[str, ...] = ("layer 1", "layer 2")
_SPLITS = {"test": (0, 5), "validation": (3,), "train": (1, 2, 4, 6, 7, 8, 9)}  # of ten lines
RATES = (2e-3, 5e-3, 1e-2)


class Brackets(Task):
    """Which type has each hidden closing bracket?"""

    name = "brackets"
    question = "Which type has a hidden closing bracket in a line of Python source?"
    claim = (
        "Self-attention predicts most types, but most of its weight is not on the matching "
        "bracket: the label does not ask for it, and equal weights do nearly as well. A loss on "
        "the weights puts them there, and more types are right. A GRU, whose state can keep what "
        "is open, is as good without attention."
    )
    no_readers = "its readers without attention see the order: a window of tokens, and a GRU"
    learning_rates = RATES
    steps = 600
    batch_size = 48
    one_cycle = True
    tested_on = 400
    layers = LAYERS  # whose weights are scored

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return lines of the split, none of them twice before all have come once."""
        lines = frozen_lines()
        of_split = np.flatnonzero(np.isin(np.arange(len(lines.tokens)) % 10, _SPLITS[split]))
        chosen = np.resize(rng.permutation(of_split), number)
        tokens, types = lines.tokens[chosen], lines.types[chosen]
        positions = np.arange(LONGEST)
        is_hidden = (types >= 0)[..., None]
        right = (lines.opener[chosen, :, None] == positions) & is_hidden
        before = np.tri(LONGEST, dtype=bool) & is_hidden
        return Examples(
            inputs={"tokens": as_tensor(tokens), "mask": as_tensor(tokens > 0)},
            targets=as_tensor(np.where(types >= 0, types, IGNORED)),
            right={layer: as_tensor(right) for layer in self.layers},
            allowed={layer: as_tensor(before) for layer in self.layers},
        )

    def supervised_loss(self, model: nn.Module, examples: Examples) -> Tensor:
        """Return the loss of the task, and that of weights of layer 2 off the matching opener."""
        predictions, weights = model(**examples.inputs)
        targets, gold = examples.targets.flatten(), examples.right["layer 2"]
        of_types = nn.functional.cross_entropy(predictions.flatten(0, 1), targets)
        return of_types + SupervisedAttention()(weights["layer 2"], gold)

    @property
    def arms(self) -> dict[str, Arm]:
        """Self-attention without and with supervision, its ablation, a rule, two readers."""
        kinds = frozen_lines().kinds
        n = len(kinds)
        return {
            "self-attention": Arm(partial(BracketModel, n), 5e-3),
            "supervised": Arm(
                partial(BracketModel, n), 1e-2, self.supervised_loss, (5e-3, 1e-2, 2e-2)
            ),
            "uniform": Arm(
                partial(BracketModel, n, is_uniform=True), 4e-2, tried=(2e-2, 4e-2, 8e-2)
            ),
            "nearest opener": Arm(partial(NearestOpener, kinds), 5e-3),
            "window": Arm(partial(WindowReader, n), 1e-2, tried=(5e-3, 1e-2, 2e-2), attends=False),
            "GRU": Arm(partial(RecurrentReader, n), 1e-2, tried=(5e-3, 1e-2, 2e-2), attends=False),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Self-attention against everything else, and with supervision against without."""
        return (
            Comparison(
                "self-attention",
                "uniform",
                "two layers of equal weights can count how many brackets are open, and with the "
                "small networks after them that tells most types",
            ),
            Comparison("self-attention", "nearest opener"),
            Comparison("self-attention", "window"),
            Comparison(
                "self-attention",
                "GRU",
                "the state of a GRU can keep what is still open, token after token; self-attention "
                "has to find that out from positions, and has few lines to learn it from",
            ),
            Comparison("supervised", "self-attention"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the line, its hidden brackets as names of rows, and as `?` below."""
        line = as_written(examples.inputs["tokens"][place].numpy())
        shown = [HIDDEN if token in CLOSERS else token for token in line]
        padding = [""] * (LONGEST - len(line))
        return dict.fromkeys(LAYERS, ([*line, *padding], [*shown, *padding]))

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw the weights of layer 2, which the output reads."""
        from attn_course.tasks.figures import attention_figure

        last = copy(self)
        last.layers = LAYERS[-1:]
        return attention_figure(last, trained, place)
