"""Heads on one sentence: which numbers does a head get, and which if the transpose is forgotten?

In Jupyter the figure and Python share what moves:

    explorer = HeadsExplorer()
    explorer                       # show it, forget the transpose, then ask
    explorer.cells                 # the numbers of the cells that each head got
    explorer.split = "reshaped"    # and the figure shows a reshape without a transpose
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course.alignment import softmax
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.running_example import WORDS, features
from attn_course.scoring import scaled_dot
from attn_course.translate import _

COLUMNS = (0, 1, 2, 0)  # of the words' three numbers: four can be shared by one, two or four heads


class HeadsExplorer(Explorer):
    """Six words of four numbers, split into heads: cells numbered by their place in memory.

    What moves: `heads`, how many there are; `split`: `"transposed"`, cut the columns and exchange
    the axes, or `"reshaped"`, a reshape alone; and `word`, the query whose weights are shown.

    >>> HeadsExplorer(split="transposed").cells[0].tolist()
    [[1, 2], [5, 6], [9, 10], [13, 14], [17, 18], [21, 22]]
    >>> HeadsExplorer(split="reshaped").cells[0].tolist()
    [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
    """

    name = "heads"
    _esm = page.module_text(name)

    heads = traitlets.Enum([1, 2, 4], 2).tag(sync=True)
    split = traitlets.Enum(["transposed", "reshaped"], "transposed").tag(sync=True)
    word = traitlets.Enum(list(WORDS), "small").tag(sync=True)

    # Fixed: the words and their numbers.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    values: Any = traitlets.List().tag(sync=True)

    def __init__(self, heads: int = 2, split: str = "transposed", word: str = "small") -> None:
        super().__init__(
            words=_words(),
            names=list(WORDS),
            values=features()[:, COLUMNS].tolist(),
            heads=heads,
            split=split,
            word=word,
        )

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("heads", "split", "word")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def cells(self) -> np.ndarray:
        """The places in memory, from 1, of the numbers of each head, `(heads, 6, 4 / heads)`."""
        n, d = np.shape(self.values)
        return self._parts(np.arange(1, n * d + 1).reshape(n, d))

    @property
    def weights(self) -> np.ndarray:
        """The weights of the query in each head, `(heads, 6)`; each row is its own key."""
        parts = self._parts(np.array(self.values))
        row = self.names.index(self.word)
        return softmax(scaled_dot(parts[:, row : row + 1], parts))[:, 0]

    def _parts(self, x: np.ndarray) -> np.ndarray:
        import torch

        from attn_course.queries import MultiHeadAttention

        if self.split == "reshaped":  # the bug
            return x.reshape(self.heads, len(x), -1)
        return MultiHeadAttention(x.shape[-1], self.heads).split(torch.from_numpy(x)).numpy()


def _words() -> dict[str, Any]:
    return {
        "title": _("Heads to play with"),
        "picture": _(
            "A table with a row for each of six words and four numbered cells in it, shaded by the "
            "head that gets them. To the right is a table for each head with the numbers of its "
            "cells, and next to it the weights of the query."
        ),
        "question": _(
            "Six words of four numbers are split into two heads by a reshape alone. Which words "
            "does the first head see?"
        ),
        "answer": _(
            "Only the first three: the, small and cat, each cut into two rows. A reshape never "
            "moves a number, so the first head gets the cells 1 to 12, and the other words are in "
            "the second head."
        ),
        "memory": _("Cells in memory"),
        "head": _("Head"),
        "weights": _("Weights"),
        "cells": _("Cells"),
        "row": _("Row"),
        "heads": _("Number of heads"),
        "split": _("Split by"),
        "transposed": _("reshape, transpose"),
        "reshaped": _("reshape alone"),
        "query": _("Query"),
        "most": _("Most weight:"),
        "equal": _("all equal"),
        "right": _("Every head sees all six words, each in its own columns."),
        "wrong": _("The first head sees only:"),
        "rows": _("Most rows of a head contain a piece of another word."),
        "single": _("With one head both ways agree, so a test with one head can't see the bug."),
    }
