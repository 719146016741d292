r"""Seven scores under your hand: drag a query and a key, see every score of chapter 2 follow.

In Jupyter the figure and Python share what moves:

    explorer = ScoresExplorer()
    explorer                # show it, drag a vector, then ask
    explorer.scores         # computed in Python, by the package
    explorer.d_k = 128      # and the figure follows
"""

from collections.abc import Iterable, Sequence
from math import isqrt, sqrt
from typing import Any

import numpy as np
import traitlets

from attn_course import scoring
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.translate import _

# Twice the squares: the picture's two entries come in n copies, and sqrt(n) is a whole number.
WIDTHS = (2, 8, 18, 32, 50, 72, 98, 128)
REACH = 3.0  # how far from the middle an entry of a vector may go

# Small and fixed, so that each score can be followed with a pencil; a model would learn them.
PARAMETERS: dict[str, Any] = {
    "W": [[0.5, -1.0], [1.0, 0.5]],  # of the three general scores
    "b": [0.5, -0.5],  # of the biased general score, a vector
    "b_activated": -0.5,  # of the activated general score, a number
    "w": [1.0, -1.0],  # of the additive score, as are the three below
    "W_q": [[0.5, 0.5], [-0.5, 0.5]],
    "W_k": [[0.5, -0.5], [0.5, 0.5]],
    "b_additive": [0.5, 0.0],
}


class ScoresExplorer(Explorer):
    """A query and a key in the plane, and what each scoring function makes of them.

    What moves: `query` and `key`, two entries each, the width `d_k` (one of `WIDTHS`), and the
    kind of `similarity`. Above `d_k` = 2 the two entries are repeated, n = d_k / 2 times; copies
    in the key change sign, so that sqrt(n) more of them agree than disagree: as many as for
    independent signs, root mean square. That is why `dot` grows and `scaled_dot` does not.

    >>> explorer = ScoresExplorer(query=(2.0, 1.0), key=(1.0, 2.0))
    >>> round(explorer.scores["dot"], 3), round(explorer.scores["scaled_dot"], 3)
    (4.0, 2.828)
    >>> explorer.d_k = 128
    >>> round(explorer.scores["dot"], 3), round(explorer.scores["scaled_dot"], 3)
    (32.0, 2.828)
    """

    name = "scores"
    _esm = page.module_text(name)

    query = traitlets.List(traitlets.Float()).tag(sync=True)
    key = traitlets.List(traitlets.Float()).tag(sync=True)
    d_k = traitlets.Enum(WIDTHS, 2).tag(sync=True)
    similarity = traitlets.Enum(list(scoring.SIMILARITIES), "cosine").tag(sync=True)

    # Fixed: what the learned scores have learned, and the picture's frame.
    parameters = traitlets.Dict().tag(sync=True)
    formulas = traitlets.Dict().tag(sync=True)
    widths = traitlets.List(traitlets.Int()).tag(sync=True)
    reach = traitlets.Float().tag(sync=True)

    def __init__(
        self,
        query: Sequence[float] = (2.0, 1.0),
        key: Sequence[float] = (0.5, 2.0),
        d_k: int = 2,
        similarity: str = "cosine",
    ) -> None:
        super().__init__(
            words=_words(),
            parameters=PARAMETERS,
            formulas=FORMULAS,
            widths=list(WIDTHS),
            reach=REACH,
            query=[float(entry) for entry in query],
            key=[float(entry) for entry in key],
            d_k=d_k,
            similarity=similarity,
        )

    @traitlets.validate("query", "key")
    def _in_the_picture(self, proposal: Any) -> list[float]:
        name, vector = proposal["trait"].name, proposal["value"]
        if len(vector) != 2 or not all(abs(entry) <= REACH for entry in vector):
            raise traitlets.TraitError(
                f"{name} must be two numbers from {-REACH:g} to {REACH:g}, but is {vector}."
            )
        return list(vector)

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("query", "key", "d_k", "similarity")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def scores(self) -> dict[str, float]:
        """The score of the pair under each of the seven functions, by name."""
        p = {name: np.array(value) for name, value in PARAMETERS.items()}
        n = self.d_k // 2
        signs, root = _signs(n), sqrt(n)
        q = np.tile(self.query, n)[None, :]  # (1, d_k)
        k = np.kron(signs, self.key)[None, :]  # (1, d_k)
        W, b = np.kron(np.eye(n), p["W"]), np.tile(p["b"], n)
        # Divided as at initialisation, where a sum over d_k entries is kept at the same size.
        W_q, W_k = np.kron(signs, p["W_q"]) / root, np.tile(p["W_k"], n) / root
        found = {
            "additive": scoring.additive(q, k, p["w"], W_q, W_k, p["b_additive"]),
            "dot": scoring.dot(q, k),
            "scaled_dot": scoring.scaled_dot(q, k),
            "general": scoring.general(q, k, W),
            "biased_general": scoring.biased_general(q, k, W, b),
            "activated_general": scoring.activated_general(q, k, W, PARAMETERS["b_activated"]),
            "similarity": scoring.similarity(q, k, self.similarity),
        }
        return {name: float(score[0, 0]) for name, score in found.items()}


def _signs(n: int) -> np.ndarray:
    """Return n signs, of which sqrt(n) more are plus than minus."""
    minus = (n - isqrt(n)) // 2
    return np.concatenate([np.ones(n - minus), -np.ones(minus)])


# Maths is the same in every language.
FORMULAS = {
    "additive": "wᵀ tanh(W₁q + W₂k + b)",
    "dot": "qᵀk",
    "scaled_dot": "qᵀk / √dₖ",
    "general": "kᵀWq",
    "biased_general": "kᵀ(Wq + b)",
    "activated_general": "tanh(kᵀWq + b)",
    "cosine": "qᵀk / (‖q‖ ‖k‖)",
    "euclidean": "−‖q − k‖",
    "squared_euclidean": "−½ ‖q − k‖²",
    "W": "W",
    "b": "b",
    "b_activated": "b",
    "w": "w",
    "W_q": "W₁",
    "W_k": "W₂",
    "b_additive": "b",
}


def _words() -> dict[str, Any]:
    return {
        "title": _("Seven scores to play with"),
        "picture": _("Two arrows from the middle of the plane: the query and the key."),
        "question": _(
            "Query and key become 64 times as wide. Which scores grow, and by which factor?"
        ),
        "answer": _(
            "The dot product grows by the square root of 64, which is 8, and so do the general and "
            "the biased general score. The scaled dot product divides by the square root of the "
            "width, so it stays the same, and tanh keeps the activated score between −1 and 1."
        ),
        "additive": _("Additive"),
        "dot": _("Dot product"),
        "scaled_dot": _("Scaled dot product"),
        "general": _("General"),
        "biased_general": _("Biased general"),
        "activated_general": _("Activated general"),
        "similarity": _("Similarity"),
        "cosine": _("Cosine"),
        "euclidean": _("Euclidean distance"),
        "squared_euclidean": _("Squared distance"),
        "score_name": _("Score"),
        "number": _("Number"),
        "query": _("Query"),
        "key": _("Key"),
        "d_k": _("Width"),
        "note": _(
            "A wider query and key repeat the two entries you see. In the key some copies change "
            "sign, so that agreement outweighs disagreement only as far as it does by chance: "
            "by the square root of the number of copies. So above width 2 the key is no longer the "
            "arrow you see: two arrows that coincide have a cosine of 1 at width 2, and of 1/8 at "
            "width 128."
        ),
        "numbers": _("The parameters behind the learned scores"),
        "parameter": _("Parameter"),
        "belongs": _("Score"),
        "values": _("Numbers"),
        "generals": _("the three general scores"),
        "spread": _(
            "At larger widths W and b repeat along the copies; W₁ and W₂ too, divided by the "
            "square root of their number, as at the start of training."
        ),
        "quantity": _("Quantity"),
    }
