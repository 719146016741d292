"""The affinity matrix: every word meets every word, and both inputs get their weights from it.

In Jupyter the figure and Python share what moves:

    explorer = AffinityExplorer()
    explorer                    # show it, choose other words, then ask
    explorer.affinities         # computed in Python, by the package
    explorer.reading = "max"    # and the figure reads the best match of each row and column
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.running_example import WORDS, features
from attn_course.translate import _

LEFT = WORDS[:3]
W = 0.25  # every entry of w_1 and w_2; all matrices are the identity


class AffinityExplorer(Explorer):
    """*the small cat* meets two words of your choice: the table, and the weights of both inputs.

    What moves: `strength`, the factor of the identity matrix $W_A$; `act`, the activation of table
    and scores; `right_1` and `right_2`, the words of input 2; and `reading`: `"projected"`, survey
    (14)–(15), or `"max"`, (16).

    >>> AffinityExplorer(strength=1.0).affinities
    array([[2., 0.],
           [4., 2.],
           [0., 4.]])
    """

    name = "affinity"
    _esm = page.module_text(name)

    strength = traitlets.Float(0.25, min=0, max=2).tag(sync=True)
    act = traitlets.Enum(["identity", "tanh"], "identity").tag(sync=True)
    right_1 = traitlets.Enum(list(WORDS), "warm").tag(sync=True)
    right_2 = traitlets.Enum(list(WORDS), "milk").tag(sync=True)
    reading = traitlets.Enum(["projected", "max"], "projected").tag(sync=True)

    # Fixed: the words, and what the scores have learned.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    left = traitlets.List(traitlets.Unicode()).tag(sync=True)
    values: Any = traitlets.List().tag(sync=True)
    w = traitlets.Float().tag(sync=True)

    def __init__(
        self,
        strength: float = 0.25,
        act: str = "identity",
        right_1: str = "warm",
        right_2: str = "milk",
        reading: str = "projected",
    ) -> None:
        super().__init__(
            words=_words(),
            names=list(WORDS),
            left=list(LEFT),
            values=features().tolist(),
            w=W,
            strength=strength,
            act=act,
            right_1=right_1,
            right_2=right_2,
            reading=reading,
        )

    _finite = traitlets.validate("strength")(lambda self, proposal: finite(proposal))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("strength", "act", "right_1", "right_2", "reading")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def affinities(self) -> np.ndarray:
        """The affinity matrix, `(3, 2)`."""
        layer, first, second = self._layer()
        return layer.affinity_matrix(first, second).detach().numpy()

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights of *the small cat* and those of the other two words."""
        layer, first, second = self._layer()
        _output, weights = layer(first, second)
        return weights["a_1"].detach().numpy(), weights["a_2"].detach().numpy()

    def _layer(self) -> tuple[Any, Any, Any]:
        import torch

        from attn_course.features import ParallelCoAttention

        words = torch.from_numpy(features())
        second = words[[WORDS.index(self.right_1), WORDS.index(self.right_2)]]
        layer = ParallelCoAttention((3, 3), reading=self.reading, act=self.act).double()
        one = torch.eye(3, dtype=torch.float64)
        fixed = {"W_A": self.strength * one, "W_1": one, "W_2": one}
        fixed |= {name: torch.full((3,), W) for name in ("w_1", "w_2")}
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                parameter.copy_(fixed[name])
        return layer, words[: len(LEFT)], second


def _words() -> dict[str, Any]:
    return {
        "title": _("The affinity matrix to play with"),
        "picture": _(
            "A table with a row for each word of input 1 and a column for each word of input 2. To "
            "the right are the weights of input 1, below are those of input 2."
        ),
        "question": _(
            "You set the strength to 0, so that no word knows the others. Are all weights equal?"
        ),
        "answer": _(
            "With the best match they are, because all affinities are 0. With projected scores "
            "they are not: each word still adds itself, so each side is attention without a query."
        ),
        "affinities": _("Affinities"),
        "weights": _("Weights"),
        "weight": _("Weight"),
        "word": _("Word"),
        "strength": _("Strength"),
        "act": _("Activation"),
        "identity": _("none"),
        "tanh": _("tanh"),
        "right_1": _("First word of input 2"),
        "right_2": _("Second word of input 2"),
        "reading": _("Scores"),
        "projected": _("projected"),
        "max": _("best match"),
        "most": _("Most weight:"),
        "by_projection": _("Each word collects the others, weighted by its affinities."),
        "by_max": _("Each word counts by its best match alone."),
    }
