"""A translator's alignment, letter by letter, compared with the gold links.

In Jupyter the figure and Python share what moves:

    explorer = TranslationExplorer([Translation(letters, digits, weights, possible)])
    explorer                # show it, go through the steps, then ask
    explorer.error_rate     # of the example that is shown, computed in Python
    explorer.step = 1       # and the figure shows how the first digit was written
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import traitlets

from attn_course._arrays import AnyArray
from attn_course.alignment import softmax
from attn_course.evaluation.correctness import (
    attention_correctness,
    correctness_by_row,
    uniform_correctness,
)
from attn_course.evaluation.links import Link, alignment_error_rate, links_from_weights
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.translate import _


class Translation(NamedTuple):
    """One translated text: its signs, the weights of a model, and the gold links.

    `weights` `(target, source)` are those with which each target sign was written. `possible` and
    `sure` are boolean and of the same shape; every sure link is possible too, and None means that
    no link is sure. A sign that is an empty text is padding, and is left out with its weights.
    """

    source: Sequence[str]
    target: Sequence[str]
    weights: AnyArray
    possible: AnyArray
    sure: AnyArray | None = None


class TranslationExplorer(Explorer):
    """The weights of each step of a translation, and the links that people would draw.

    What moves: `example`, which translation is shown, and `step`, which of its signs is being
    written; both count from 1. Without `translations` the figure shows three number words whose
    weights are made up, and says so. `origin` is a sentence that says where the weights come from.

    >>> explorer = TranslationExplorer(example=3)
    >>> explorer.error_rate, explorer.correctness.round(2)
    (0.25, array([0.95, 0.83, 0.11, 0.84]))
    """

    name = "translation"
    _esm = page.module_text(name)

    example = traitlets.Int(1).tag(sync=True)
    step = traitlets.Int(1).tag(sync=True)

    # Fixed: the translations.
    examples: Any = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(
        self,
        translations: Sequence[Translation] | None = None,
        example: int = 1,
        step: int | None = None,
        *,
        origin: str = "",
        question: str | None = None,
        answer: str | None = None,
    ) -> None:
        if (question is None) != (answer is None):
            raise ValueError("a question needs an answer and an answer a question: give both.")
        if translations is None:
            translations = _made_up()
            origin = origin or _("Made-up weights: no model computed them.")
        if not translations:
            raise ValueError("translations must have at least one translation, but it is empty.")
        examples = [_plain(translation) for translation in translations]
        _require_reach("example", example, len(examples))  # or there is no step to begin with
        own = {} if question is None else {"question": question, "answer": answer}
        super().__init__(
            words=_words() | {"origin": origin} | own,
            examples=examples,
            example=example,
            step=len(examples[example - 1]["target"]) if step is None else step,
        )

    @traitlets.validate("example")
    def _is_there(self, proposal: Any) -> int:
        return _require_reach("example", proposal["value"], len(self.examples))

    @traitlets.validate("step")
    def _is_written(self, proposal: Any) -> int:
        return _require_reach("step", proposal["value"], len(self._shown["target"]))

    @traitlets.observe("example")
    def _keep_the_step_in_reach(self, _change: Any) -> None:
        self.step = min(self.step, len(self._shown["target"]))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("example", "step")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weights of all steps of the example, `(target, source)`."""
        return np.array(self._shown["weights"])

    @property
    def links(self) -> set[Link]:
        """The link of largest weight of each sign that has a gold link at all."""
        counts = np.broadcast_to(self._possible.any(axis=-1, keepdims=True), self._possible.shape)
        return links_from_weights(self.weights, mask=counts)

    @property
    def error_rate(self) -> float:
        """The alignment error rate of the example."""
        sure = np.array(self._shown["sure"])
        return alignment_error_rate(self.links, _linked(sure), _linked(self._possible))

    @property
    def correctness(self) -> np.ndarray:
        """The share of each step's weight on gold letters; NaN where no letter is gold."""
        return correctness_by_row(self.weights, self._possible)

    @property
    def mean_correctness(self) -> float:
        """The mean of `correctness` over the steps that have gold letters."""
        return attention_correctness(self.weights, self._possible)

    @property
    def uniform_correctness(self) -> float:
        """What `mean_correctness` would be if all letters had equal weights."""
        return uniform_correctness(self._possible)

    @property
    def _shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.examples[self.example - 1]
        return shown

    @property
    def _possible(self) -> np.ndarray:
        return np.array(self._shown["possible"])


def _require_reach(name: str, number: int, most: int) -> int:
    if not 1 <= number <= most:
        raise traitlets.TraitError(f"{name} must be from 1 to {most}, but is {number}.")
    return number


def _linked(there: np.ndarray) -> set[Link]:
    return {(target, source) for target, source in np.argwhere(there).tolist()}


# --- translations as JSON --------------------------------------------------------------------


def _plain(translation: Translation) -> dict[str, Any]:
    """Return the translation without padding, or say what is wrong with it."""
    source, target, *_others = translation
    shape = (len(target), len(source))
    weights = _matrix("weights", translation.weights, shape)
    possible = _matrix("possible", translation.possible, shape)
    sure = np.zeros(shape, dtype=bool)
    if translation.sure is not None:
        sure = _matrix("sure", translation.sure, shape)
    here = np.ix_(np.array([s != "" for s in target]), np.array([s != "" for s in source]))
    weights, possible, sure = weights[here].astype(float), possible[here], sure[here]
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any(axis=-1).all()):
        raise ValueError("every row of weights must have numbers of at least 0, and one above 0.")
    if possible.dtype != bool or sure.dtype != bool or (sure & ~possible).any():
        raise ValueError("possible and sure must be boolean, and every sure link possible too.")
    if not possible.any():
        raise ValueError("no link is possible, so there is nothing to compare the weights with.")
    return {
        "source": [sign for sign in source if sign],
        "target": [sign for sign in target if sign],
        "weights": weights.tolist(),
        "possible": possible.tolist(),
        "sure": sure.tolist(),
    }


def _matrix(name: str, values: AnyArray, shape: tuple[int, int]) -> np.ndarray:
    matrix = np.array(values.tolist())  # of any array library
    if matrix.shape != shape:
        raise ValueError(
            f"{name} must have a row for each target sign and a column for each source sign, "
            f"{shape}, but is {matrix.shape}."
        )
    return matrix


# --- an example of its own -------------------------------------------------------------------


def _made_up() -> list[Translation]:
    """Return number words with weights that fall off around a letter chosen by hand."""
    return [
        _around("siebenundvierzig", "47", ["vierzig", "sieben"], [10, 2]),
        # No letter says the 0, so the weight goes where it is of no use.
        _around("fünfhundertsieben", "507", ["fünf", "", "sieben"], [1, 7, 13]),
        # For the 1 of sechzehn these weights are at sech, as those of a bad model might be.
        _around(
            "dreitausendvierhundertsechzehn",
            "3416",
            ["drei", "vier", "zehn", "sech"],
            [1, 12, 24, 23],
        ),
    ]


def _around(word: str, digits: str, morphemes: list[str], peaks: list[int]) -> Translation:
    letters = np.arange(len(word))
    weights = softmax(-0.9 * np.abs(letters - np.array(peaks)[:, None]))
    first = np.array([word.index(morpheme) for morpheme in morphemes])[:, None]
    lengths = np.array([len(morpheme) for morpheme in morphemes])[:, None]
    return Translation(word, digits, weights, (first <= letters) & (letters < first + lengths))


def _words() -> dict[str, Any]:
    return {
        "title": _("An alignment to play with, letter by letter"),
        "picture": _(
            "The letters of a word in a row. Above each letter is a bar, its weight in this step. "
            "Below is a table with one row per sign written so far; darker cells have more weight, "
            "a dot marks the largest, and gold outlines mark the letters that say the sign."
        ),
        "question": _(
            "The gold links of 47 cross, because siebenundvierzig says the 7 first. Choose 3416: "
            "which of its links will cross?"
        ),
        "answer": _(
            "Only those of its last two digits: sechzehn says the 6 before the 1. Thousands and "
            "hundreds come first in words and in digits alike."
        ),
        "example": _("Word"),
        "step": _("Step"),
        "of": _("of"),
        "written": _("Written so far:"),
        "weights": _("weight in this step"),
        "link": _("largest weight"),
        "gold": _("gold link"),
        "sure": _("sure link"),
        "largest": _("Largest weight:"),
        "letter": _("letter"),
        "right": _("a gold link"),
        "wrong": _("no gold link"),
        "on_gold": _("Weight on gold letters:"),
        "none": _(
            "No letter says this sign, so no link is right or wrong. The weights have to go "
            "somewhere all the same."
        ),
        "equal": _("equal weights:"),
        "whole": _("All steps:"),
        "mean": _("weight on gold letters"),
        "aer": _("alignment error rate (AER)"),
        "weight": _("Weight"),
        "value": _("Value"),
        "sign": _("Sign"),
    }
