"""Softmax under your hand: move scores and temperature, hide keys, see the weights follow.

In Jupyter the figure and Python share what moves:

    explorer = SoftmaxExplorer()
    explorer                                # show it, move a slider, then ask
    explorer.weights                        # computed in Python, by the package
    explorer.mask = [True] * 3 + [False] * 3  # and the figure follows
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import traitlets

from attn_course import alignment
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.running_example import WORDS
from attn_course.translate import _

DEFAULT_SCORES = (0.0, 1.0, 2.5, -1.5, 0.5, 2.0)
FRAME = (-4.0, 4.0)  # scores that the picture has room for


class SoftmaxExplorer(Explorer):
    """The scores of one query, and the weights that a softmax makes of them.

    `names` are the keys', one for each score. What moves: `scores`, `temperature`,
    `mask` (True where the query may attend), and `masking`: `"before"` the softmax, as the package
    does it, or `"after"`, where weights are multiplied by 0 and no longer add up to 1.

    >>> SoftmaxExplorer([0.0, 0.0, 5.0], mask=[True, True, False]).weights
    array([0.5, 0.5, 0. ])
    """

    name = "softmax"
    _esm = page.module_text(name)

    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    mask = traitlets.List(traitlets.Bool()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    masking = traitlets.Enum(["before", "after"], "before").tag(sync=True)

    # Fixed: the names of the keys, and the picture's frame.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # `keys` is a widget's own
    frame = traitlets.List(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        scores: Sequence[float] = DEFAULT_SCORES,
        names: Sequence[str] | None = None,
        mask: Sequence[bool] | None = None,
        temperature: float = 1.0,
        masking: str = "before",
    ) -> None:
        if names is None:
            words = WORDS if len(scores) == len(WORDS) else range(1, len(scores) + 1)
            names = [str(word) for word in words]
        super().__init__(
            words=_words(),
            names=list(names),
            frame=[min(*FRAME, *map(float, scores)), max(*FRAME, *map(float, scores))],
            scores=[float(score) for score in scores],
            mask=[True] * len(names) if mask is None else [bool(may) for may in mask],
            temperature=temperature,
            masking=masking,
        )

    @traitlets.validate("scores", "mask")
    def _one_for_each_key(self, proposal: Any) -> list[Any]:
        name, given = proposal["trait"].name, proposal["value"]
        if len(given) != len(self.names) or not np.isfinite(given).all():
            raise traitlets.TraitError(
                f"{name} must have one finite number for each of the {len(self.names)} keys, "
                f"but is {given}."
            )
        return list(given)

    @traitlets.validate("temperature")
    def _above_zero(self, proposal: Any) -> float:
        temperature = finite(proposal)
        if temperature <= 0:
            raise traitlets.TraitError(f"temperature must be above 0, but is {temperature}.")
        return temperature

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("scores", "mask", "temperature", "masking")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weight of each key, `(k,)`."""
        scores, mask = np.array([self.scores]), np.array([self.mask])
        if self.masking == "before":
            return alignment.softmax(scores, mask, self.temperature)[0]
        return (alignment.softmax(scores, temperature=self.temperature) * mask)[0]

    @property
    def lost(self) -> np.ndarray:
        """What hiding a key after the softmax takes from its weight, `(k,)`."""
        if self.masking == "before":
            return np.zeros(len(self.scores))
        whole = alignment.softmax(np.array([self.scores]), temperature=self.temperature)[0]
        return whole - self.weights

    @property
    def total(self) -> float:
        """The sum of the weights: 1, unless every key is hidden or they are hidden too late."""
        return float(self.weights.sum())

    @property
    def entropy(self) -> float | None:
        """The entropy of the weights in nats; None where they do not add up to 1."""
        if not any(self.mask) or (self.masking == "after" and not all(self.mask)):
            return None
        attended = self.weights[self.weights > 0]
        return float(-np.sum(attended * np.log(attended))) + 0.0  # never -0


def _words() -> dict[str, Any]:
    return {
        "title": _("Softmax to play with"),
        "picture": _(
            "Two rows of bars, one bar per key: above, the scores; below, the weights that the "
            "softmax makes of them."
        ),
        "question": _("You lower the temperature to 0.1. Which keys keep a visible weight?"),
        "answer": _(
            "Only those whose score is nearly the largest. Dividing by 0.1 makes every gap between "
            "two scores ten times as large, and the weights depend on these gaps alone."
        ),
        "scores": _("Scores"),
        "weights": _("Weights"),
        "temperature": _("Temperature"),
        "score_of": _("Score of {key}"),
        "attend": _("Attend to {key}"),
        "masking": _("Hide a key"),
        "before": _("before the softmax"),
        "after": _("after the softmax"),
        "most": _("Most weight:"),
        "total": _("Sum of the weights"),
        "entropy": _("Entropy in nats"),
        "equal": _("Effective number of keys"),
        "nothing": _("Every key is hidden: every weight is 0, and so is the context."),
        "short": _("The weights no longer add up to 1: the share of the hidden keys is lost."),
        "lost": _("Lost weight"),
        "correct": _("Correct weights"),
        "quantity": _("Quantity"),
        "number": _("Number"),
        "key": _("Key"),
        "seen": _("May attend"),
        "yes": _("yes"),
        "no": _("no"),
        "score": _("Score"),
        "weight": _("Weight"),
        "none": _("not defined"),
    }
