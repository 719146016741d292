"""One weight a position, or one for every feature: pull the columns apart and see.

In Jupyter the figure and Python share what moves:

    explorer = MultiDimensionalExplorer()
    explorer                # show it, move the slider, then ask
    explorer.context        # computed in Python, by the package
    explorer.spread = 0.0   # and the figure shows single-dimensional attention
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import traitlets

from attn_course import alignment, dimensionality
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.running_example import ASPECTS, WORDS, features
from attn_course.translate import _

# Small and fixed, so that each score can be followed with a pencil; a model would learn them.
# Column i of W_d looks for feature i; the mean of the columns looks for all of them alike.
PARAMETERS = {
    "W_d": [[4.0, 0.0, -1.0], [0.0, 4.0, 0.0], [-1.0, -1.0, 4.0]],
    "W_q": [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]],
    "W_k": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "b": [-1.0, -1.0, -1.0],
}


class MultiDimensionalExplorer(Explorer):
    """The running example, its words as keys and values, with a weight for each of its features.

    What moves: `spread`, how far the columns of `W_d` differ, from 0 (all columns are their mean:
    single-dimensional attention) to 1; `query`, one of the words; and `normalise`: over
    `"positions"`, which is right, or over `"features"`, a common slip.

    >>> explorer = MultiDimensionalExplorer(spread=0.0)
    >>> np.ptp(explorer.weights, axis=1).max() < 1e-15  # every feature has the same weights
    np.True_
    """

    name = "multi_dimensional"
    _esm = page.module_text(name)

    spread = traitlets.Float(1.0, min=0, max=1).tag(sync=True)
    query = traitlets.Enum(list(WORDS), "drinks").tag(sync=True)
    normalise = traitlets.Enum(["positions", "features"], "positions").tag(sync=True)

    # Fixed: the example, and what the score has learned.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    aspects = traitlets.List(traitlets.Unicode()).tag(sync=True)
    values: Any = traitlets.List().tag(sync=True)
    parameters = traitlets.Dict().tag(sync=True)

    def __init__(
        self, spread: float = 1.0, query: str = "drinks", normalise: str = "positions"
    ) -> None:
        super().__init__(
            words=_words(),
            names=list(WORDS),
            aspects=list(ASPECTS),
            values=features().tolist(),
            parameters=PARAMETERS,
            spread=spread,
            query=query,
            normalise=normalise,
        )

    _finite = traitlets.validate("spread")(lambda self, proposal: finite(proposal))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("spread", "query", "normalise")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """A weight for every feature of every position, `(k, d_v)`."""
        return self._attend()[1][0]

    @property
    def context(self) -> np.ndarray:
        """The context of the query, `(d_v,)`."""
        return self._attend()[0][0]

    def _attend(self) -> tuple[np.ndarray, np.ndarray]:
        W_d, W_q, W_k, b = (np.array(matrix) for matrix in PARAMETERS.values())
        mean = W_d.mean(axis=1, keepdims=True)
        W_d = mean + self.spread * (W_d - mean)
        score = partial(dimensionality.multi_scores, W_d=W_d, W_q=W_q, W_k=W_k, b=b)
        words = features()
        query = words[[WORDS.index(self.query)]]  # (1, d_q)
        if self.normalise == "positions":
            return dimensionality.attend_multi(query, words, words, score)
        weights = alignment.softmax(score(query, words), axis=-1)
        return dimensionality.multi(weights, words), weights


def _words() -> dict[str, Any]:
    return {
        "title": _("Multi-dimensional attention to play with"),
        "picture": _(
            "Two tables with a row for each word and a column for each feature: the weights and "
            "the values. The context is below the values."
        ),
        "question": _("You move the slider to 0. What do the columns of weights have in common?"),
        "answer": _(
            "They are equal. Every entry of the context then uses the same weight per word, which "
            "is single-dimensional attention."
        ),
        "weights": _("Weights"),
        "values": _("Values"),
        "sum": _("Sum"),
        "context": _("Context"),
        "spread": _("Columns differ by"),
        "query": _("Query"),
        "normalise": _("Weights add up to 1"),
        "positions": _("over the positions"),
        "features": _("over the features"),
        "same": _(
            "All columns of weights are equal: one weight per position, as in single-dimensional "
            "attention."
        ),
        "right": _(
            "Each column adds up to 1: every entry of the context is an average of its column of "
            "values."
        ),
        "wrong": _(
            "Each row adds up to 1 and no column does: no entry of the context is an average, and "
            "the positions no longer compete."
        ),
        "position": _("Position"),
        "parameter": _("Parameter"),
        "number": _("Number"),
    }
