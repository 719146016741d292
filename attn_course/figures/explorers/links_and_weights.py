"""Links and weights: move weight between words, and see two measures of attention disagree.

In Jupyter the figure and Python share what moves:

    explorer = LinksAndWeightsExplorer()
    explorer                          # show it, move weight, then ask
    explorer.error_rate               # computed in Python, by the package
    explorer.right = [0.26] * 5       # and the figure follows
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import traitlets

from attn_course.evaluation.correctness import (
    attention_correctness,
    correctness_by_row,
    uniform_correctness,
)
from attn_course.evaluation.links import Link, LinkCounts, link_counts, links_from_weights
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.translate import _

SOURCE = ("Milch", "trinkt", "die", "Katze")
TARGET = ("the", "cat", "is", "drinking", "milk")
GOLD = (2, 3, 1, 1, 0)  # the column of each row's gold word
SURE = (True, True, False, True, True)  # is the gold link sure, or only possible?
RIVALS = (3, 2, 2, 0, 1)  # the wrong word that receives the rest of a row, if one word does

DEFAULT_RIGHT = (0.9, 0.7, 0.3, 0.45, 0.6)
DEFAULT_GATHERED = (False, False, False, True, False)


class LinksAndWeightsExplorer(Explorer):
    """*The cat is drinking milk* attends to *Milch trinkt die Katze*, judged by two measures.

    What moves: `right`, the weight of each row on its gold word; `gathered`, True where one wrong
    word receives the rest of a row, and False where the other three words share it equally; and
    `row`, which row the controls change: 1 to 5, or 0 for all rows.

    >>> explorer = LinksAndWeightsExplorer([0.26] * 5, [False] * 5)
    >>> explorer.error_rate, round(explorer.correctness, 2), explorer.uniform_correctness
    (0.0, 0.26, 0.25)
    """

    name = "links_and_weights"
    _esm = page.module_text(name)

    row = traitlets.Int(2, min=0, max=len(TARGET)).tag(sync=True)
    right = traitlets.List(traitlets.Float()).tag(sync=True)
    gathered = traitlets.List(traitlets.Bool()).tag(sync=True)

    # Fixed: the words, their gold links, and the wrong word of each row.
    source = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target = traitlets.List(traitlets.Unicode()).tag(sync=True)
    gold = traitlets.List(traitlets.Int()).tag(sync=True)
    sure = traitlets.List(traitlets.Bool()).tag(sync=True)
    rivals = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(
        self,
        right: Sequence[float] = DEFAULT_RIGHT,
        gathered: Sequence[bool] = DEFAULT_GATHERED,
        row: int = 2,
    ) -> None:
        super().__init__(
            words=_words(),
            source=list(SOURCE),
            target=list(TARGET),
            gold=list(GOLD),
            sure=list(SURE),
            rivals=list(RIVALS),
            right=[float(weight) for weight in right],
            gathered=[bool(is_gathered) for is_gathered in gathered],
            row=row,
        )

    @traitlets.validate("right")
    def _is_a_share(self, proposal: Any) -> list[float]:
        given = proposal["value"]
        if len(given) != len(TARGET) or not all(0 <= weight <= 1 for weight in given):
            raise traitlets.TraitError(
                f"right must have one number from 0 to 1 for each of the {len(TARGET)} target "
                f"words, but is {given}."
            )
        return list(given)

    @traitlets.validate("gathered")
    def _one_for_each_row(self, proposal: Any) -> list[bool]:
        given = proposal["value"]
        if len(given) != len(TARGET):
            raise traitlets.TraitError(
                f"gathered must have True or False for each of the {len(TARGET)} target words, "
                f"but is {given}."
            )
        return list(given)

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("row", "right", "gathered")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weights, `(5, 4)`: one row per target word, one column per source word."""
        weights = np.zeros((len(TARGET), len(SOURCE)))
        for i, (right, is_gathered) in enumerate(zip(self.right, self.gathered, strict=True)):
            weights[i] = 0.0 if is_gathered else (1 - right) / (len(SOURCE) - 1)
            weights[i, RIVALS[i]] = 1 - right if is_gathered else weights[i, RIVALS[i]]
            weights[i, GOLD[i]] = right
        return weights

    @property
    def links(self) -> set[Link]:
        """The link of largest weight of each row; of equal weights the first is the link."""
        return links_from_weights(self.weights)

    @property
    def counts(self) -> LinkCounts:
        """How many links were drawn, how many are sure, and how many of them met."""
        possible = set(enumerate(GOLD))
        return link_counts(self.links, {link for link in possible if SURE[link[0]]}, possible)

    @property
    def error_rate(self) -> float:
        """The alignment error rate."""
        return self.counts.error_rate

    @property
    def correctness_by_row(self) -> np.ndarray:
        """The weight of each row on its gold word, `(5,)`."""
        return correctness_by_row(self.weights, _possible())

    @property
    def correctness(self) -> float:
        """The attention correctness: the mean over the rows."""
        return attention_correctness(self.weights, _possible())

    @property
    def uniform_correctness(self) -> float:
        """The attention correctness of equal weights."""
        return uniform_correctness(_possible())


def _possible() -> np.ndarray:
    return np.arange(len(SOURCE)) == np.array(GOLD)[:, None]


def _words() -> dict[str, Any]:
    return {
        "title": _("Links and weights to play with"),
        "picture": _(
            "A table of weights with one row per target word and one column per source word; "
            "darker cells have more weight. Gold outlines mark the gold links, dashed where a link "
            "is only possible. A dot marks the largest weight of each row. Two bars show the "
            "alignment error rate and the attention correctness."
        ),
        "question": _(
            "Every row puts 0.26 on its gold word and shares the rest equally. How good are the "
            "alignment error rate and the attention correctness?"
        ),
        "answer": _(
            "AER is 0, the best possible value: 0.26 is the largest of the four weights, so every "
            "link is right. Correctness is 0.26, hardly more than the 0.25 of equal weights."
        ),
        "weight": _("weight"),
        "link": _("predicted link"),
        "tied": _("link from a tie"),
        "sure": _("sure link"),
        "possible": _("possible link"),
        "aer": _("AER"),
        "correctness": _("Correctness"),
        "lower": _("lower is better"),
        "higher": _("higher is better"),
        "equal": _("equal weights"),
        "row": _("Row"),
        "all": _("all rows"),
        "right": _("Weight on the gold word"),
        "gathered": _("One wrong word receives the rest"),
        "presets": _("Examples:"),
        "barely": _("barely right"),
        "barely_wrong": _("barely wrong"),
        "uniform": _("uniform"),
        "lost": _("one row wrong"),
        "row_right": _("{target} puts {weight} on {source}: its link is right."),
        "row_wrong": _("{target} puts {weight} on {source}: its link is wrong."),
        "row_tied": _("{target} puts {weight} on {source}, and as much on another word."),
        "all_right": _("Right links: {hits} of {rows}."),
        "tie": _("A tie: the first of the equal weights becomes the link, so word order decides."),
        "target_word": _("Target word"),
        "on_gold": _("On the gold word"),
        "quantity": _("Quantity"),
        "number": _("Number"),
        "drawn": _("Predicted links, |A|"),
        "sure_links": _("Sure links, |S|"),
        "drawn_and_sure": _("Predicted and sure, |A ∩ S|"),
        "drawn_and_possible": _("Predicted and possible, |A ∩ P|"),
    }
