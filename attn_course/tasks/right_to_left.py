r"""From right to left: the source is read from its end, so step t is near place S + 1 - t.

The rest is as in `transliteration`. A window that moves with the step is at the wrong end; local-p
predicts its place, $p = S\,\sigma(w_p^\top \tanh(W_p q))$. What it learns is a share of the length,
about $1 - (t - 1/2)/S$ where a step is told $(t - 1/2)/S$. That is half a letter from the right
place, and what is missing is learned as a share too, so the windows are further off the longer a
word is. At both ends the sigmoid would have to saturate, and there they are further off still.
"""

from typing import ClassVar

from attn_course.tasks.task import Comparison
from attn_course.tasks.transliteration import IN_RANGE, TOLD, Transliteration


class RightToLeft(Transliteration):
    """From right to left: the letter of step t is near place S + 1 - t."""

    name = "right_to_left"
    question = "Which letter is written at step t, if the source is read from its end?"
    claim = (
        "A predicted window can be at the other end of the word, one that moves with the step "
        "can't; it pays on words longer than any of the training."
    )
    no_readers = "the question is which window fits; `transliteration` has the readers"
    backwards = True
    rates: ClassVar[dict[str, float]] = {"local-m": 2e-1, "local-p": 6e-2, "global": 2e-1}

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """A window that can be anywhere against the whole source, and against one that can't."""
        return (
            Comparison("local-p", "global", TOLD),
            Comparison(
                "local-p",
                "local-m",
                "the window of local-m moves with the step and meets the right letter only where "
                "both cross, in the middle of the word",
            ),
        )


class RightToLeftInRange(RightToLeft):
    """From right to left, tested on words as long as those of the training."""

    name = "right_to_left_in_range"
    question = "Which letter is written at step t, from the end of a word as long as in training?"
    claim = IN_RANGE
    tested_lengths = RightToLeft.trained_lengths

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """A predicted window against the whole source."""
        return (Comparison("local-p", "global", IN_RANGE),)
