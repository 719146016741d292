"""Local alignment under your hand: move the window over the keys and see what the Gaussian takes.

In Jupyter the figure and Python share what moves:

    explorer = LocalAlignmentExplorer()
    explorer                # show it, move a slider, then ask
    explorer.total          # computed in Python, by the package
    explorer.position = 8   # and the figure follows
"""

from collections.abc import Iterable
from math import exp
from typing import Any

import numpy as np
import traitlets

from attn_course.alignment import local_monotonic, local_predictive
from attn_course.figures._numpy import as_numpy
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.translate import _

# Scores to choose from, twelve keys each.
ROWS = {
    "mixed": [0.1, 0.4, -0.2, 0.3, 1.2, 0.5, -0.1, 0.9, 0.2, -0.6, 0.7, 0.0],
    "equal": [0.0] * 12,
    "peak": [0.0, 0.2, -0.3, 0.1, 0.0, 0.3, -0.2, 0.1, 0.4, 3.0, 0.2, -0.1],
    "rising": [0.2 * i for i in range(-6, 6)],
}
BEYOND = 2.0  # how far the position may leave the keys
DEFINED = 0.5  # sigma = D/2 is part of the definition
SLIP = 1.0  # sigma = D, as it is often written


class LocalAlignmentExplorer(Explorer):
    r"""A window of half width $D$ around $p$, a Gaussian in it, and the weights of one query.

    `scores` `(k,)`, if given, stand in for the rows to choose from. What moves: `row`, `position`
    ($p$, keys counted from 1), `half_width` ($D$), `spread` ($\sigma/D$, 0.5 by definition),
    `renormalise`, which makes the weights add up to 1 again, and `slip`, which draws the weights
    of $\sigma = D$ beside them.

    >>> explorer = LocalAlignmentExplorer([0.0, 0.0, 0.0, 0.0, 0.0], position=3.0, half_width=1.0)
    >>> explorer.weights.round(3)
    array([0.   , 0.045, 0.333, 0.045, 0.   ])
    """

    name = "local_alignment"
    _esm = page.module_text(name)

    row = traitlets.Unicode().tag(sync=True)
    position = traitlets.Float().tag(sync=True)
    half_width = traitlets.Float(2.0, min=0.5).tag(sync=True)
    spread = traitlets.Float(DEFINED, min=0.1).tag(sync=True)
    renormalise = traitlets.Bool().tag(sync=True)
    slip = traitlets.Bool().tag(sync=True)

    # Fixed: the scores to choose from, and how far the position goes.
    rows = traitlets.Dict().tag(sync=True)
    span = traitlets.List(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        scores: Any = None,
        position: float = 5.4,
        half_width: float = 2.0,
        spread: float = DEFINED,
        renormalise: bool = False,
        slip: bool = False,
        row: str | None = None,
    ) -> None:
        rows = ROWS if scores is None else {"given": _checked(scores)}
        first, numbers = next(iter(rows.items()))
        super().__init__(
            words=_words(),
            rows=rows,
            span=[1 - BEYOND, len(numbers) + BEYOND],
            row=first if row is None else row,
            position=position,
            half_width=half_width,
            spread=spread,
            renormalise=renormalise,
            slip=slip,
        )

    _finite = traitlets.validate("position", "half_width", "spread")(
        lambda self, proposal: finite(proposal)
    )

    @traitlets.validate("row")
    def _known(self, proposal: Any) -> str:
        if proposal["value"] not in self.rows:
            raise traitlets.TraitError(
                f"row must be one of {', '.join(self.rows)}, but is {proposal['value']!r}."
            )
        return str(proposal["value"])

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("row", "position", "half_width", "spread", "renormalise", "slip")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def scores(self) -> np.ndarray:
        """The score of each key, `(k,)`."""
        return np.array(self.rows[self.row])

    @property
    def sigma(self) -> float:
        """The width of the Gaussian."""
        return self.spread * self.half_width

    @property
    def window(self) -> np.ndarray:
        """Softmax over the keys in the window and nothing else, local-m, `(k,)`."""
        return self._local_m(self.scores)

    @property
    def inside(self) -> np.ndarray:
        """Which keys are in the window, `(k,)` booleans."""
        return np.asarray(abs(self._offsets()) <= self.half_width)

    @property
    def factors(self) -> np.ndarray:
        """The Gaussian at each key of the window, 0 elsewhere, `(k,)`."""
        return np.where(self.inside, np.exp(self._fade(self.spread)), 0.0)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each key, local-p, `(k,)`."""
        return self._local_p(self.spread)

    @property
    def slip_weights(self) -> np.ndarray:
        r"""The weights with $\sigma = D$, `(k,)`."""
        return self._local_p(SLIP)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    @property
    def edge(self) -> float:
        """The Gaussian at the edge of the window."""
        return exp(-(self.half_width**2) / (2 * self.sigma**2))

    def _local_m(self, scores: np.ndarray) -> np.ndarray:
        return local_monotonic(scores[None, :], np.array([self.position]), self.half_width)[0]

    def _local_p(self, spread: float) -> np.ndarray:
        if spread == DEFINED:
            return local_predictive(
                self.scores[None, :],
                np.array([self.position]),
                self.half_width,
                renormalise=self.renormalise,
            )[0]
        # The package has no other sigma. In front of the softmax the Gaussian is renormalised
        # with the rest, behind it it is not.
        fade = self._fade(spread)
        if self.renormalise:
            return self._local_m(self.scores + fade)
        return np.asarray(self.window * np.exp(fade))

    def _fade(self, spread: float) -> np.ndarray:
        return np.asarray(-(self._offsets() ** 2) / (2 * (spread * self.half_width) ** 2))

    def _offsets(self) -> np.ndarray:
        return np.asarray(np.arange(1, len(self.scores) + 1) - self.position)


def _checked(scores: Any) -> list[float]:
    row = as_numpy(scores)
    if row.ndim != 1 or row.size == 0 or not np.isfinite(row).all():
        raise ValueError(
            f"scores must be (k,), one finite number per key and at least one key, but are "
            f"{row.shape}: {row.tolist()}."
        )
    return [float(score) for score in row]


def _words() -> dict[str, Any]:
    return {
        "title": _("Local alignment to play with"),
        "picture": _(
            "Three rows over the same keys: the scores, the Gaussian around the position, and "
            "the weights. A band marks the window, and keys outside it have weight 0."
        ),
        "question": _(
            "You set σ = D instead of σ = D/2. Is the sum of the weights larger or smaller?"
        ),
        "answer": _(
            "Larger. At the edge of the window the wider Gaussian multiplies a weight by "
            "exp(−1/2) ≈ 0.61 instead of exp(−2) ≈ 0.14, so less of it is lost. If you "
            "renormalise, both sums are 1."
        ),
        "scores": _("Scores"),
        "gaussian": _("Gaussian factor"),
        "weights": _("Weights"),
        "window": _("Softmax in the window (local-m)"),
        "weighed": _("Weights (local-p)"),
        "slipped": _("Weights with σ = D"),
        "void": _("No keys here"),
        "position": _("Window position"),
        "half_width": _("Half width"),
        "sigma": _("Gaussian width"),
        "row": _("Scores"),
        "mixed": _("Mixed"),
        "equal": _("All equal"),
        "peak": _("One peak, at key 10"),
        "rising": _("Rising"),
        "given": _("Yours"),
        "renormalise": _("Renormalise to a sum of 1"),
        "slip": _("Show the slip σ = D"),
        "quantity": _("Quantity"),
        "number": _("Number"),
        "count": _("Keys in the window"),
        "edge": _("Gaussian at the edge"),
        "total": _("Sum of the weights"),
        "slip_total": _("Sum of the weights with σ = D"),
        "key": _("Key"),
        "score": _("Score"),
        "softmax": _("Softmax"),
        "factor": _("Gaussian"),
        "weight": _("Weight"),
        "slip_weight": _("Weight with σ = D"),
        "nothing": _("No key is in the window: every weight is 0."),
    }
