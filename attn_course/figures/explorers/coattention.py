"""Co-attention step by step: a summary asks, and its answer asks back.

In Jupyter the figure and Python share what moves:

    explorer = CoattentionExplorer()
    explorer                       # show it, go through the steps, then ask
    explorer.weights               # of the three steps, computed in Python
    explorer.third = "summary"     # the slip: the third step asks with the first summary
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets

from attn_course.attention import attend, attend_by_scores
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer, finite
from attn_course.running_example import WORDS, features
from attn_course.scoring import dot
from attn_course.translate import _

LEFT, RIGHT = WORDS[1:3], WORDS[3:]


class CoattentionExplorer(Explorer):
    """*small cat* and *drinks warm milk* ask each other, in three steps.

    What moves: `step`, how far it is played; `sharpness`, the factor of all scores; `form`, the
    alternating one or the interactive one; and `third`, who asks in the third step of the
    alternating form: the `"answer"`, which is right, or the `"summary"`, a common slip.

    >>> CoattentionExplorer(sharpness=0.0).weights[1]
    array([0.33333333, 0.33333333, 0.33333333])
    """

    name = "coattention"
    _esm = page.module_text(name)

    step = traitlets.Int(1, min=1, max=3).tag(sync=True)
    sharpness = traitlets.Float(1.0, min=0, max=4).tag(sync=True)
    form = traitlets.Enum(["alternating", "interactive"], "alternating").tag(sync=True)
    third = traitlets.Enum(["answer", "summary"], "answer").tag(sync=True)

    # Fixed: the words.
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    left = traitlets.List(traitlets.Unicode()).tag(sync=True)
    right = traitlets.List(traitlets.Unicode()).tag(sync=True)
    values: Any = traitlets.List().tag(sync=True)

    def __init__(
        self,
        step: int = 1,
        sharpness: float = 1.0,
        form: str = "alternating",
        third: str = "answer",
    ) -> None:
        super().__init__(
            words=_words(),
            names=list(WORDS),
            left=list(LEFT),
            right=list(RIGHT),
            values=features().tolist(),
            step=step,
            sharpness=sharpness,
            form=form,
            third=third,
        )

    _finite = traitlets.validate("sharpness")(lambda self, proposal: finite(proposal))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("step", "sharpness", "form", "third")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> list[np.ndarray]:
        """The weights of the three steps."""
        return [weights for _vector, weights in self._steps()]

    @property
    def vectors(self) -> list[np.ndarray]:
        """What comes out of the three steps."""
        return [vector for vector, _weights in self._steps()]

    def _steps(self) -> list[tuple[np.ndarray, np.ndarray]]:
        first, second = features()[1:3], features()[3:]
        if self.form == "interactive":
            mean = first.mean(axis=0), np.full(len(first), 1 / len(first))
            return [mean, self._ask(mean[0], second), self._ask(second.mean(axis=0), first)]
        things = self.sharpness * first[None, :, 0]  # (1, 2): scores without a query
        summary, weights = (part[0] for part in attend_by_scores(things, first))
        answer = self._ask(summary, second)
        asker = answer[0] if self.third == "answer" else summary
        return [(summary, weights), answer, self._ask(asker, first)]

    def _ask(self, query: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        def score(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
            return self.sharpness * dot(queries, keys)

        context, weights = attend(query[None], words, words, score)
        return context[0], weights[0]


def _words() -> dict[str, Any]:
    return {
        "title": _("Co-attention to play with, step by step"),
        "picture": _(
            "Three panels, one per step: the weights of small and cat, those of drinks, warm and "
            "milk, and those of small and cat again. Below each is the vector that comes out."
        ),
        "question": _(
            "In step 1, cat has 0.73 of the weight. Will it have more or less after step 3?"
        ),
        "answer": _(
            "More: 0.81. The answer of input 2 is mostly milk, which is a thing like the cat. With "
            "the slip, where input 2 has no say, cat has less, 0.66."
        ),
        "alternating_steps": [_("1 summarise"), _("2 ask"), _("3 ask back")],
        "interactive_steps": [_("mean of input 1"), _("it asks input 2"), _("mean 2 asks input 1")],
        "vectors": ["c⁽⁰⁾", "c⁽²⁾", "c⁽¹⁾"],
        "alternating_after": [
            _("Input 1 is summarised without any question. Nothing of input 2 is known yet."),
            _("The summary asks input 2. Its answer is the question of the next step."),
            _("The answer asks input 1. The two answers are the output."),
        ],
        "interactive_after": [
            _("The mean of input 1 is a question; all its words count the same."),
            _("The mean of input 1 asks input 2."),
            _("At the same time, the mean of input 2 asks input 1: no step waits for another."),
        ],
        "slip": _(
            "A slip: the first summary asks input 1 itself, so input 2 has no say in its weights."
        ),
        "most": _("Most weight:"),
        "step": _("Step"),
        "sharpness": _("Sharpness"),
        "form": _("Form"),
        "alternating": _("alternating"),
        "interactive": _("interactive"),
        "third": _("Step 3 asks with"),
        "answer_label": _("the answer"),
        "summary": _("the summary (a slip)"),
        "weight": _("Weight"),
    }
