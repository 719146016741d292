"""Online softmax block by block: what is kept, and what goes wrong without rescaling.

In Jupyter the figure and Python share what moves:

    explorer = OnlineSoftmaxExplorer()
    explorer                       # show it, step through the blocks, then ask
    explorer.kept                  # maximum, denominator and numerator after every block
    explorer.rescale = False       # and the figure shows the mistake
"""

from collections.abc import Iterable, Sequence
from math import ceil, exp, inf
from typing import Any, NamedTuple

import numpy as np
import traitlets

from attn_course.alignment import softmax
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.running_example import WORDS, features
from attn_course.translate import _

QUERY = (0.0, 1.0, 0.0)  # asks for an action
SIZES = [1, 2, 3]  # of a block
ORDERS = ["sentence", "rising", "falling"]


class Kept(NamedTuple):
    """What is remembered after a block, and the factor that the earlier sums were multiplied by."""

    m: float
    factor: float
    total: float
    o: float


class OnlineSoftmaxExplorer(Explorer):
    """Six words arrive in blocks; the average of their values is known after every block.

    What moves: `step`, how many blocks have arrived; `order`: the words as in the `"sentence"`, or
    by `"rising"` or `"falling"` scores; `block`, the words of a block; and `rescale`, whether the
    sums shrink when the largest score rises. `scores` are fixed, one for each word.

    >>> OnlineSoftmaxExplorer(step=3).is_right
    True
    >>> OnlineSoftmaxExplorer(step=3, rescale=False).is_right
    False
    """

    name = "online_softmax"
    _esm = page.module_text(name)

    step = traitlets.Int(2).tag(sync=True)
    order = traitlets.Enum(ORDERS, "sentence").tag(sync=True)
    block = traitlets.Enum(SIZES, 2).tag(sync=True)
    rescale = traitlets.Bool(True).tag(sync=True)

    # Fixed: the words, their scores and values, and the picture's frame.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    values: Any = traitlets.List(traitlets.Float()).tag(sync=True)
    frame = traitlets.List(traitlets.Float()).tag(sync=True)

    def __init__(
        self,
        step: int = 2,
        order: str = "sentence",
        block: int = 2,
        rescale: bool = True,
        scores: Sequence[float] | None = None,
    ) -> None:
        found = features() @ QUERY if scores is None else np.asarray(scores, dtype=float)
        if found.shape != (len(WORDS),) or not np.isfinite(found).all():
            raise ValueError(
                f"scores must be {len(WORDS)} finite numbers, one for each word, but are {scores}."
            )
        super().__init__(
            words=_words(),
            names=list(WORDS),
            scores=found.tolist(),
            values=[float(len(word)) for word in WORDS],
            frame=[min(0.0, *found.tolist()), max(0.0, *found.tolist())],
            order=order,
            block=block,
            step=step,
            rescale=rescale,
        )

    @traitlets.validate("step")
    def _one_block_at_least(self, proposal: Any) -> int:
        step = int(proposal["value"])
        if not 1 <= step <= len(WORDS):
            raise traitlets.TraitError(f"step must be 1 to {len(WORDS)}, but is {step}.")
        return step

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("step", "order", "block", "rescale")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def places(self) -> list[int]:
        """The words that have arrived, in order, as places in the sentence."""
        rise = {"sentence": 0, "rising": 1, "falling": -1}[self.order]
        order = sorted(range(len(WORDS)), key=lambda l: rise * self.scores[l])
        return order[: self.step * self.block]

    @property
    def kept(self) -> list[Kept]:
        """What is remembered after each block that has arrived."""
        m, total, o, kept = -inf, 0.0, 0.0, []
        for start in range(0, len(self.places), self.block):
            e, v = self._arrived(start)
            before, m = m, max(m, *e)
            factor = exp(before - m) if self.rescale else 1.0
            powers = np.exp(e - m)
            total, o = total * factor + powers.sum(), o * factor + powers @ v
            kept.append(Kept(m, factor, float(total), float(o)))
        return kept

    @property
    def contexts(self) -> np.ndarray:
        """The average after each block that has arrived."""
        return np.array([kept.o / kept.total for kept in self.kept])

    @property
    def weights(self) -> np.ndarray:
        """The share of each word that has arrived in the average, `(k,)`."""
        if self.rescale:
            return self.correct
        references = np.repeat([kept.m for kept in self.kept], self.block)[: len(self.places)]
        shares = np.exp(np.array(self.scores)[self.places] - references)
        return shares / shares.sum()

    @property
    def correct(self) -> np.ndarray:
        """The softmax of the words that have arrived, `(k,)`."""
        return softmax(np.array(self.scores)[self.places])

    @property
    def is_right(self) -> bool:
        """Whether the weights are those of the softmax."""
        return bool(np.allclose(self.weights, self.correct, rtol=0, atol=1e-9))

    @property
    def blocks(self) -> int:
        """The number of blocks of the sentence."""
        return ceil(len(WORDS) / self.block)

    def _arrived(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        here = self.places[start : start + self.block]
        return np.array(self.scores)[here], np.array(self.values)[here]


def _words() -> dict[str, Any]:
    return {
        "title": _("Online softmax to play with"),
        "picture": _(
            "Two rows of bars, one bar per word, in blocks: above, the scores, with a dashed line "
            "at the largest one so far; below, the weights of the words that have arrived, and the "
            "value of each word."
        ),
        "question": _(
            "You let the scores rise from block to block and switch the rescaling off. Which words "
            "get too much weight?"
        ),
        "answer": _(
            "Those of the early blocks. Their exponentials were measured from a lower maximum, so "
            "they are too large beside the later ones. If the scores fall, the maximum never "
            "rises, and the mistake does not show."
        ),
        "scores": _("Scores; dashed: the largest so far"),
        "weights": _("Weights so far"),
        "block": _("Block"),
        "step": _("Blocks seen"),
        "order": _("Order of arrival"),
        "sentence": _("as in the sentence"),
        "rising": _("scores rise"),
        "falling": _("scores fall"),
        "size": _("Words in a block"),
        "rescale": _("Rescale the sums"),
        "context": _("Context"),
        "right": _("Correct context"),
        "factor": _("Factor"),
        "key": _("Word"),
        "score": _("Score"),
        "weight": _("Weight"),
        "correct": _("Correct weights"),
        "first": _("This is the first block, so there is nothing to rescale."),
        "stays": _("The largest score stays, so the factor for the earlier sums is 1."),
        "rises": _(
            "The largest score rises from {old} to {new}, so both sums were multiplied by {factor}."
        ),
        "lucky": _("Not rescaled, and still right, because the largest score has not risen."),
        "wrong": _("Not rescaled: the words of the blocks before the rise count too much."),
    }
