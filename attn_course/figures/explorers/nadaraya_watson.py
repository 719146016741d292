"""Nadaraya–Watson regression under your hand: move `w` and the query, see curve and weights move.

In Jupyter the figure and Python share what moves:

    explorer = NadarayaWatsonExplorer(inputs, targets, truth=true_curve)
    explorer                # show it, move a slider, then ask
    explorer.prediction     # computed in Python, by the package
    explorer.w = 4.9        # and the figure follows
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course import nadaraya_watson
from attn_course._arrays import AnyArray
from attn_course.figures._numpy import as_numpy
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.translate import _

W_MOST = 20.0
GRID = 321  # places at which the curves are drawn: enough for the steps of a boxcar


class NadarayaWatsonExplorer(Explorer):
    """Points, the curve through them, and the weights of one query.

    `inputs` and `targets` `(n,)` are the points seen; `truth`, if given, is the curve they come
    from. What moves: `w`, `query`, `kernel` and `leave_one_out`, under which no point may look
    at itself: the loss shows it, and so does the query when it is on a point.

    >>> explorer = NadarayaWatsonExplorer([1.0, 2.0, 3.0], [0.0, 1.0, 5.0], w=1.0, query=2.0)
    >>> round(explorer.prediction, 3)
    1.822
    """

    name = "nadaraya_watson"
    _esm = page.module_text(name)

    w = traitlets.Float(1.0, min=0).tag(sync=True)
    query = traitlets.Float().tag(sync=True)
    kernel = traitlets.Enum(list(nadaraya_watson.KERNELS), "gaussian").tag(sync=True)
    leave_one_out = traitlets.Bool(False).tag(sync=True)

    # Fixed: the points, and the picture's frame.
    inputs = traitlets.List(traitlets.Float()).tag(sync=True)
    targets = traitlets.List(traitlets.Float()).tag(sync=True)
    grid = traitlets.List(traitlets.Float()).tag(sync=True)
    truth = traitlets.List(traitlets.Float()).tag(sync=True)
    span = traitlets.List(traitlets.Float()).tag(sync=True)
    height = traitlets.List(traitlets.Float()).tag(sync=True)
    w_most = traitlets.Float().tag(sync=True)  # where the slider of w ends

    def __init__(
        self,
        inputs: AnyArray,
        targets: AnyArray,
        truth: Callable[[np.ndarray], np.ndarray] | None = None,
        w: float = 1.0,
        query: float | None = None,
        kernel: str = "gaussian",
        leave_one_out: bool = False,
    ) -> None:
        x, y = _checked(inputs, targets)
        low, high = _frame(x)
        grid = np.linspace(low, high, GRID)
        curve = np.array([]) if truth is None else as_numpy(truth(grid))
        super().__init__(
            words=_words(),
            inputs=x.tolist(),
            targets=y.tolist(),
            grid=grid.tolist(),
            truth=curve.round(4).tolist(),  # drawn only, so four digits will do
            span=[low, high],
            height=list(_padded(np.concatenate([y, curve]))),
            w_most=max(W_MOST, float(w)),
            w=w,
            query=(low + high) / 2 if query is None else query,
            kernel=kernel,
            leave_one_out=leave_one_out,
        )

    _finite = traitlets.validate("w", "query")(lambda self, proposal: finite(proposal))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("w", "query", "kernel", "leave_one_out")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weight of each point for the query, `(n,)`."""
        keys = np.array(self.inputs)
        return nadaraya_watson.weights(
            np.array([self.query]), keys, self.w, self._mask(), self.kernel
        )[0]

    @property
    def prediction(self) -> float:
        """The weighted average of the targets at the query."""
        return float(self._regress([self.query], self._mask())[0])

    @property
    def loss(self) -> float:
        """Half the sum of squared errors over the points seen."""
        n = len(self.inputs)
        mask = nadaraya_watson.leave_one_out_mask(n) if self.leave_one_out else None
        error = self._regress(self.inputs, mask) - np.array(self.targets)
        return float(0.5 * np.sum(error**2))

    @property
    def curve(self) -> list[float | None]:
        """The prediction at each place of the grid; None where no point is in reach."""
        keys = np.array(self.inputs)
        weights = nadaraya_watson.weights(np.array(self.grid), keys, self.w, kernel=self.kernel)
        reached = weights.sum(axis=-1) > 0
        predictions = self._regress(self.grid)
        return [float(f) if seen else None for f, seen in zip(predictions, reached, strict=True)]

    def _mask(self) -> np.ndarray | None:
        """Return the mask `(1, n)` of the query, which hides the point it is on."""
        if not self.leave_one_out or self.query not in self.inputs:
            return None
        return np.arange(len(self.inputs))[None, :] != self.inputs.index(self.query)

    def _regress(self, queries: list[float], mask: np.ndarray | None = None) -> np.ndarray:
        return nadaraya_watson.regress(
            np.array(queries),
            np.array(self.inputs),
            np.array(self.targets),
            self.w,
            mask,
            self.kernel,
        )


def _checked(inputs: AnyArray, targets: AnyArray) -> tuple[np.ndarray, np.ndarray]:
    x, y = as_numpy(inputs), as_numpy(targets)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise ValueError(
            "inputs and targets must be (n,), one number per point and at least one point, but "
            f"inputs are {x.shape} and targets {y.shape}."
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("inputs and targets must be finite numbers: remove NaN and infinity.")
    return x, y


def _frame(x: np.ndarray) -> tuple[float, float]:
    """Return whole numbers around the inputs, which are not one and the same."""
    low, high = float(np.floor(x.min())), float(np.ceil(x.max()))
    return (low, high) if low < high else (low - 1, high + 1)


def _padded(y: np.ndarray) -> tuple[float, float]:
    """Return the range of `y` with a little air above and below."""
    low, high = float(y.min()), float(y.max())
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _words() -> dict[str, Any]:
    return {
        "title": _("Nadaraya–Watson regression to play with"),
        "picture": _(
            "Points and two curves through them, the true one and the predicted one. "
            "Below, the weight that each point gets from the chosen query."
        ),
        "question": _("You move w to 0. What is the prediction, whatever the query?"),
        "answer": _(
            "The mean of all values, because every key has the same weight. In contrast, a large w "
            "leaves all the weight to the nearest key."
        ),
        "seen": _("Points seen"),
        "truth": _("True curve"),
        "fitted": _("Prediction"),
        "refit": _("Prediction for each point from the others"),
        "weights": _("Weights of the query"),
        "w": _("Inverse bandwidth"),
        "query": _("Query"),
        "kernel": _("Kernel"),
        "gaussian": _("Gaussian"),
        "boxcar": _("Boxcar"),
        "triangular": _("Triangular"),
        "epanechnikov": _("Epanechnikov"),
        "leave_one_out": _("Leave one out: no point looks at itself"),
        "quantity": _("Quantity"),
        "number": _("Number"),
        "prediction": _("Prediction at the query"),
        "total": _("Sum of the weights"),
        "loss": _("Loss over the points seen"),
        "rank": _("Rank"),
        "key": _("Key"),
        "value": _("Value"),
        "weight": _("Weight"),
        "nothing": _("No key is in reach of this query: every weight is 0."),
    }
