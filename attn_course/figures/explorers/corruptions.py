"""A sentence to corrupt, and five metrics that notice it or do not.

In Jupyter the figure and Python share what moves:

    explorer = CorruptionsExplorer()
    explorer                      # show it, corrupt the sentence, then ask
    explorer.scores               # computed in Python, by the package
    explorer.corruption = "drop"  # and the figure drops the word
"""

from collections.abc import Iterable
from typing import Any

import traitlets

from attn_course.evaluation.corruptions import (
    dropped,
    repeated,
    replaced,
    swapped,
    text_metrics,
    truncated,
)
from attn_course.figures.explorers import page
from attn_course.figures.explorers.explorer import Explorer
from attn_course.translate import _

REFERENCE = ("the", "small", "cat", "does", "not", "drink", "warm", "milk")
SIMILAR = ("this", "little", "kitty", "will", "never", "sip", "hot", "cream")
DIFFERENT = ("no", "big", "dog", "did", "now", "spill", "cold", "water")

CORRUPTIONS = ("none", "swap", "drop", "repeat", "similar", "different", "truncate")
METRICS = ("bleu", "meteor", "wer", "per", "exact")


class CorruptionsExplorer(Explorer):
    """A sentence that you corrupt word by word, scored by five metrics against the reference.

    What moves: `corruption`, one of `CORRUPTIONS`, and `position`, the word it concerns, from 1.
    A swap exchanges the word with the next one, and a truncated sentence ends with the word, so
    for these two `position` is at most 7.

    Larger is better in `scores`: the two error rates are subtracted from 1. METEOR is that of 2005
    with equal words only, without stems, so that the figure can compute it too.

    >>> explorer = CorruptionsExplorer("swap", 5)
    >>> " ".join(explorer.hypothesis)
    'the small cat does drink not warm milk'
    >>> explorer.scores["per"], explorer.scores["wer"]
    (1.0, 0.75)
    """

    name = "corruptions"
    _esm = page.module_text(name)

    corruption = traitlets.Enum(list(CORRUPTIONS), "swap").tag(sync=True)
    position = traitlets.Int(5).tag(sync=True)

    # Fixed: the sentence, and words that replace its words.
    reference = traitlets.List(traitlets.Unicode()).tag(sync=True)
    similar = traitlets.List(traitlets.Unicode()).tag(sync=True)
    different = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, corruption: str = "swap", position: int = 5) -> None:
        super().__init__(
            words=_words(),
            reference=list(REFERENCE),
            similar=list(SIMILAR),
            different=list(DIFFERENT),
            corruption=corruption,
            position=position,
        )

    @traitlets.validate("position")
    def _is_there(self, proposal: Any) -> int:
        position: int = proposal["value"]
        reach = _reach(self.corruption)
        if not 1 <= position <= reach:
            raise traitlets.TraitError(f"position must be from 1 to {reach}, but is {position}.")
        return position

    @traitlets.observe("corruption")
    def _keep_the_position_in_reach(self, _change: Any) -> None:
        self.position = min(self.position, _reach(self.corruption))

    def moving(self) -> Iterable[str]:
        """Return the names of the traits that a reader moves."""
        return ("corruption", "position")

    # --- what the figure shows, computed by the package --------------------------------------

    @property
    def hypothesis(self) -> list[str]:
        """The corrupted sentence."""
        at = self.position - 1
        if self.corruption == "none":
            return list(REFERENCE)
        if self.corruption == "truncate":
            return truncated(REFERENCE, self.position)
        if self.corruption in ("similar", "different"):
            others = SIMILAR if self.corruption == "similar" else DIFFERENT
            return replaced(REFERENCE, at, others[at])
        return {"swap": swapped, "drop": dropped, "repeat": repeated}[self.corruption](
            REFERENCE, at
        )

    @property
    def scores(self) -> dict[str, float]:
        """The score of each metric for the corrupted sentence; larger is better."""
        return scores_of(self.hypothesis)

    @property
    def changes(self) -> dict[str, float]:
        """The change of each score, relative to that of the reference itself."""
        sound = scores_of(list(REFERENCE))
        return {name: score / sound[name] - 1 for name, score in self.scores.items()}


def scores_of(hypothesis: list[str]) -> dict[str, float]:
    """Return the scores of a sentence against the reference, by the names of `METRICS`."""
    metrics = text_metrics(REFERENCE, stem=lambda word: word).values()
    return {name: metric(hypothesis) for name, metric in zip(METRICS, metrics, strict=True)}


def _reach(corruption: str) -> int:
    """Return the last word that a corruption can concern."""
    return len(REFERENCE) - (corruption in ("swap", "truncate"))


def _words() -> dict[str, Any]:
    return {
        "title": _("A sentence to corrupt, and five metrics"),
        "picture": _(
            "The reference sentence, and below it the corrupted sentence, word under word. Below "
            "both is one bar per metric, from 0 to 1; its outline ends at the score of the "
            "reference itself."
        ),
        "question": _(
            "Drop only “not”, and then drop only “does”. Which metrics can tell that one of them "
            "reverses the meaning and the other does not?"
        ),
        "answer": _(
            "None. Both words are in the middle of the sentence, so as many runs of words break, "
            "and no metric knows what a word means. (A word at the edge breaks fewer runs.)"
        ),
        "reference": _("Reference"),
        "corrupted": _("Corrupted"),
        "sound": _("score of the reference itself"),
        "corruption": _("Corruption"),
        "position": _("Word"),
        "none": _("leave it as it is"),
        "swap": _("swap with the next word"),
        "drop": _("drop the word"),
        "repeat": _("repeat the word"),
        "similar": _("replace it, similar meaning"),
        "different": _("replace it, other meaning"),
        "truncate": _("end after the word"),
        "said_none": _("Nothing is changed."),
        "said_swap": _("“{word}” and “{next}” have changed places."),
        "said_drop": _("“{word}” is missing."),
        "said_repeat": _("“{word}” appears twice."),
        "said_similar": _("“{new}” replaces “{word}” and means nearly the same."),
        "said_different": _("“{new}” replaces “{word}” and changes the meaning."),
        "said_truncate": _("The sentence ends after “{word}”."),
        "bleu": _("BLEU"),
        "meteor": _("METEOR"),
        "wer": _("1 − WER"),
        "per": _("1 − PER"),
        "exact": _("exact match"),
        "blind": _("blind"),
        "nobody": _("Every metric reacts."),
        "somebody": _("Blind to it:"),
        "most": _("Largest drop:"),
        "least": _("Smallest drop:"),
        "note": _(
            "WER is the word error rate, PER the position-independent one. METEOR (2005) counts "
            "equal words only."
        ),
        "metric": _("Metric"),
        "value": _("Score"),
        "of_reference": _("Reference itself"),
        "change": _("Relative change"),
    }
