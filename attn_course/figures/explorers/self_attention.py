"""Six words ask each other, and what happens to their weights when they are shuffled.

In Jupyter the figure and Python share what moves:

    explorer = SelfAttentionExplorer()
    explorer                              # show it, choose who asks, shuffle, then ask
    explorer.weights                      # six rows, computed in Python, in the order shown
    explorer.order = [5, 4, 3, 2, 1, 0]   # and the figure shows the sentence backwards
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course.attention import attend
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.running_example import WORDS, features, positions
from attn_course.scoring import scaled_dot
from attn_course.translate import _

IN_ORDER = tuple(range(len(WORDS)))


class SelfAttentionExplorer(Explorer):
    """Every word of *the small cat drinks warm milk* asks every word, in any order.

    What moves: `asks`, the word whose row is drawn; `order`, where each word of the sentence is
    now; `sharpness`, the factor of all scores; and `positions`, whether a vector for its position
    is added to each word. Words are queries, keys and values as they are: all matrices are the
    identity.

    >>> SelfAttentionExplorer().weights[2].round(2)
    array([0.04, 0.12, 0.38, 0.04, 0.04, 0.38])
    """

    name = "self_attention"
    _esm = page.module_text(name)

    asks = traitlets.Enum(list(WORDS), "cat").tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)
    sharpness = traitlets.Float(1.0, min=0, max=4).tag(sync=True)
    positions = traitlets.Bool(False).tag(sync=True)

    # Fixed: the words.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    values: Any = traitlets.List().tag(sync=True)

    def __init__(
        self,
        asks: str = "cat",
        order: Iterable[int] = IN_ORDER,
        sharpness: float = 1.0,
        positions: bool = False,
    ) -> None:
        super().__init__(
            words=_words(),
            names=list(WORDS),
            values=features().tolist(),
            asks=asks,
            order=list(order),
            sharpness=sharpness,
            positions=positions,
        )

    @traitlets.validate("order")
    def _permuted(self, proposal: Any) -> list[int]:
        order: list[int] = proposal["value"]
        if sorted(order) != list(IN_ORDER):
            raise traitlets.TraitError(
                f"order must have each number from 0 to {len(WORDS) - 1} once, but is {order}."
            )
        return order

    _finite = traitlets.validate("sharpness")(lambda self, proposal: finite(proposal))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("asks", "order", "sharpness", "positions")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """One row per word that asks, `(6, 6)`, in the order shown."""
        return self._attended()[1]

    @property
    def contexts(self) -> np.ndarray:
        """One context per word, `(6, 3)`, in the order shown."""
        return self._attended()[0]

    def _attended(self) -> tuple[np.ndarray, np.ndarray]:
        words = features()[self.order]
        if self.positions:
            place = positions()
            words = words + np.stack([np.sin(place), np.cos(place), 0 * place], axis=-1)
        # A sharper query asks with larger numbers; keys and values stay as they are.
        contexts, weights = attend(self.sharpness * words, words, words, scaled_dot)
        return contexts, weights


def _words() -> dict[str, Any]:
    return {
        "title": _("Self-attention to play with: six words, in any order"),
        "picture": _(
            "On the left, one bar per word: its weight for the word that asks. On the right, a "
            "table with one row per word that asks; darker cells have more weight."
        ),
        "question": _(
            "When cat asks, milk has the weight 0.38. Shuffle the words: will it be more, less or "
            "the same?"
        ),
        "answer": _(
            "The same, 0.38. The row moves with cat and the column with milk, but no number "
            "changes, because self-attention does not see the order of the words. Add positions, "
            "and it does."
        ),
        "asks_title": _("asks"),
        "table_title": _("all weights"),
        "asks": _("Who asks?"),
        "sharpness": _("Sharpness"),
        "positions": _("add positions"),
        "order": _("Order"),
        "shuffle": _("shuffle"),
        "reverse": _("reverse"),
        "as_written": _("as written"),
        "context": _("Context of"),
        "without": _("It is the same in every order."),
        "with_positions": _("With positions it depends on the order."),
        "weight": _("Weight"),
        "contexts": _("Contexts"),
    }
