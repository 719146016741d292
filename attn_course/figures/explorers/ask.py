"""Ask six words: three sliders are the query, and weights and context follow.

In Jupyter the figure and Python share what moves:

    explorer = AskExplorer()
    explorer                          # show it, move a slider, then ask
    explorer.weights                  # computed in Python, by the package
    explorer.query = [0.0, 2.0, 0.0]  # and the figure follows
"""

from collections.abc import Iterable, Sequence
from math import log
from typing import Any

import numpy as np
import traitlets

from attn_course.attention import attend
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.running_example import ASPECTS, WORDS, features
from attn_course.scoring import dot
from attn_course.translate import _

REACH = 3.0  # how strongly a slider can ask, and how strongly against


class AskExplorer(Explorer):
    """One query to the six words of the running example.

    What moves is `query`: how often a point as a thing, as an action or as a quality doubles the
    votes of a word. A negative number halves them instead.

    >>> (AskExplorer().weights * 13).round(6)
    array([1., 2., 4., 1., 1., 4.])
    """

    name = "ask"
    _esm = page.module_text(name)

    query = traitlets.List(traitlets.Float()).tag(sync=True)

    # Fixed: the words, their numbers, and what the numbers mean.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    aspects = traitlets.List(traitlets.Unicode()).tag(sync=True)
    questions = traitlets.List(traitlets.Unicode()).tag(sync=True)
    features = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    reach = traitlets.Float(REACH).tag(sync=True)

    def __init__(self, query: Sequence[float] = (1.0, 0.0, 0.0)) -> None:
        super().__init__(
            words=_words(),
            names=list(WORDS),
            aspects=[_(aspect) for aspect in ASPECTS],
            questions=[_("things?"), _("actions?"), _("qualities?")],
            features=features().tolist(),
            query=[float(q) for q in query],
        )

    @traitlets.validate("query")
    def _in_reach(self, proposal: Any) -> list[float]:
        query = list(proposal["value"])
        if len(query) != len(ASPECTS) or not all(abs(q) <= REACH for q in query):
            raise traitlets.TraitError(
                f"query must have {len(ASPECTS)} numbers from {-REACH:g} to {REACH:g}, one each "
                f"for {', '.join(ASPECTS)}, but is {query}."
            )
        return query

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("query",)

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weight of each word, `(6,)`."""
        return self._answer()[1][0]

    @property
    def context(self) -> np.ndarray:
        """The mixture of the words, `(3,)`."""
        return self._answer()[0][0]

    def _answer(self) -> tuple[np.ndarray, np.ndarray]:
        words = np.array(self.features)
        return attend(log(2) * np.array([self.query]), words, words, score=dot)


def _words() -> dict[str, Any]:
    return {
        "title": _("Ask six words"),
        "picture": _(
            "Six bars show the weight of each word. Below them, three bars show the mixture of the "
            "words: how much of a thing, an action and a quality it is. A line marks their mean."
        ),
        "question": _("You ask for things and for qualities equally. Which word gets the most?"),
        "answer": _(
            "The word small, because it is both: one point as a thing and two as a quality. No "
            "other word has three points in these two."
        ),
        "weights": _("Weights"),
        "context": _("Context, with the plain mean as a line"),
        "most": _("Most weight:"),
        "nothing": _("You ask for nothing, so every word has the same weight."),
        "word": _("Word"),
        "score": _("Score"),
        "weight": _("Weight"),
        "aspect": _("Aspect"),
        "asked": _("Query"),
        "mixed": _("Context"),
    }
