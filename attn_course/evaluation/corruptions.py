r"""Unit tests for metrics: corrupt an answer, and see which metric reacts.  (chapter 8)

The idea is MUTT's (Boag et al., 2016). A corruption is *harmless* where a good metric should not
react, such as a paraphrase; to every other one it should.

- `swapped`, `dropped`, `repeated`, `replaced`, `truncated` corrupt a sentence; positions count
  from 0.
- `text_metrics`, `bigram_fluency`, `picture_metrics`, `label_metrics` and `weight_metrics` return
  metrics as functions of one answer, larger for a better one.
- `reactions` scores what was corrupted with every metric, and returns a table.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

import numpy as np

from attn_course._arrays import Array
from attn_course.evaluation._tokens import Tokens, require_tokens
from attn_course.evaluation.bleu import sentence_bleu
from attn_course.evaluation.classification import Labels, accuracy, precision_recall_f1
from attn_course.evaluation.correctness import attention_correctness
from attn_course.evaluation.error_rates import position_independent_error_rate, word_error_rate
from attn_course.evaluation.images import psnr, ssim
from attn_course.evaluation.links import alignment_error_rate, links_from_weights
from attn_course.evaluation.meteor import meteor
from attn_course.evaluation.perplexity import perplexity
from attn_course.evaluation.rank_correlation import spearman
from attn_course.translate import _

Metric: TypeAlias = Callable[[Any], float]  # of an answer, larger for a better one

BLIND = 1e-9  # a smaller change of the score is none
# Grey that is never so strong that dark or light text on it can't be read.
STRONGEST = 0.5
GREY = "128,134,142"
NARROW = "padding:0.25rem 0.35rem"  # eight columns fit on a page


# --- a sentence ------------------------------------------------------------------------------


def swapped(words: Tokens, position: int, other: int | None = None) -> list[str]:
    """Return the sentence with two words exchanged: neighbours unless `other` is given.

    >>> swapped("the small cat".split(), 1)
    ['the', 'cat', 'small']
    """
    other = position + 1 if other is None else other
    changed = _checked(words, position, other)
    changed[position], changed[other] = changed[other], changed[position]
    return changed


def dropped(words: Tokens, position: int) -> list[str]:
    """Return the sentence without one of its words."""
    changed = _checked(words, position)
    del changed[position]
    return changed


def repeated(words: Tokens, position: int) -> list[str]:
    """Return the sentence with one of its words twice.

    >>> repeated("the small cat".split(), 1)
    ['the', 'small', 'small', 'cat']
    """
    changed = _checked(words, position)
    changed.insert(position, changed[position])
    return changed


def replaced(words: Tokens, position: int, word: str) -> list[str]:
    """Return the sentence with another word at this position."""
    changed = _checked(words, position)
    changed[position] = word
    return changed


def truncated(words: Tokens, length: int) -> list[str]:
    """Return the first `length` words of the sentence."""
    require_tokens("words", words)
    if not 0 <= length <= len(words):
        raise ValueError(f"length must be from 0 to {len(words)}, but is {length}.")
    return list(words[:length])


def _checked(words: Tokens, *positions: int) -> list[str]:
    require_tokens("words", words)
    for position in positions:
        if not 0 <= position < len(words):
            raise ValueError(
                f"the sentence has words 0 to {len(words) - 1}, but none at position {position}."
            )
    return list(words)


# --- metrics of one answer -------------------------------------------------------------------


def text_metrics(
    reference: Tokens, *, stem: Callable[[str], str] | None = None
) -> dict[str, Metric]:
    """Return five metrics of a sentence; `stem` is METEOR's, Porter's unless you give another.

    >>> said = "do not stop the old car".split()
    >>> for name, metric in text_metrics(said).items():
    ...     print(f"{name}: {metric(swapped(said, 4)):.3f}")
    BLEU: 0.562
    METEOR: 0.938
    1 − WER: 0.667
    1 − PER: 1.000
    exact match: 0.000
    """
    known = list(reference)
    return {
        "BLEU": lambda words: float(sentence_bleu(words, [known])),
        "METEOR": lambda words: float(meteor(words, [known], stem=stem)),
        "1 − WER": lambda words: 1 - word_error_rate([known], [words]),
        "1 − PER": lambda words: 1 - position_independent_error_rate([known], [words]),
        "exact match": lambda words: float(list(words) == known),
    }


def bigram_fluency(text: Sequence[Tokens]) -> Metric:
    """Return a metric without a reference: 1 / perplexity under a bigram model of `text`.

    The model counts pairs of neighbours, the start and the end of a sentence among them, and adds
    one to each count. Any word that `text` does not have counts as one more word.

    >>> fluency = bigram_fluency(["we stop".split(), "we go".split()])
    >>> [round(fluency(words), 3) for words in (["we", "go"], ["go", "we"])]
    [0.344, 0.15]
    """
    pairs: Counter[tuple[str, str]] = Counter()
    for words in text:
        pairs.update(_neighbours(words))
    firsts: Counter[str] = Counter()
    for (first, _second), times in pairs.items():
        firsts[first] += times
    known = len({second for _first, second in pairs}) + 1  # what may come next, unknown words too

    def fluency(words: Tokens) -> float:
        seen = [(pairs[pair] + 1) / (firsts[pair[0]] + known) for pair in _neighbours(words)]
        return 1 / perplexity(probabilities=np.array(seen))

    return fluency


def _neighbours(words: Tokens) -> list[tuple[str, str]]:
    return list(zip(("<s>", *words), (*words, "</s>"), strict=True))


def picture_metrics(image: Array, *, data_range: float) -> dict[str, Metric]:
    """Return PSNR and SSIM of a picture, compared with `image`."""
    return {
        "PSNR": lambda other: psnr(image, other, data_range=data_range),
        "SSIM": lambda other: ssim(image, other, data_range=data_range),
    }


def label_metrics(truth: Labels) -> dict[str, Metric]:
    """Return accuracy, micro-F1 and macro-F1 of predicted classes; those of `truth` count."""
    classes = sorted(set(np.asarray(truth).tolist()))

    def f1(average: str) -> Metric:
        return lambda said: float(
            precision_recall_f1(truth, said, average=average, classes=classes).f1
        )

    return {
        "accuracy": lambda said: accuracy(truth, said),
        "micro-F1": f1("micro"),
        "macro-F1": f1("macro"),
    }


def weight_metrics(people: np.ndarray, right: np.ndarray) -> dict[str, Metric]:
    """Return three metrics of weights `(q, k)`, given what people marked and the right keys.

    The gold links of the alignment error rate are the pairs at which `right` is True.
    """
    gold = {(query, key) for query, key in np.argwhere(right).tolist()}
    return {
        "1 − AER": lambda weights: 1 - alignment_error_rate(links_from_weights(weights), gold),
        "correctness": lambda weights: attention_correctness(weights, right),
        "rank correlation": lambda weights: float(np.nanmean(spearman(weights, people))),
    }


# --- the table -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corruption:
    """A corrupted answer, with a name; `shown` is a text that shows it to a reader."""

    name: str
    answer: Any
    is_harmless: bool = False
    shown: str = ""


@dataclass(frozen=True)
class Reactions:
    """How metrics react to corruptions: a table, as HTML in a notebook and as text elsewhere."""

    metrics: tuple[str, ...]
    corruptions: tuple[Corruption, ...]
    sound: np.ndarray  # (metrics,) the scores of the sound answer
    scores: np.ndarray  # (corruptions, metrics)

    @property
    def changes(self) -> np.ndarray:
        """The relative change of each score, `(corruptions, metrics)`: -1 is a drop to 0."""
        return (self.scores - self.sound) / self.sound

    def change(self, corruption: str, metric: str) -> float:
        """Return one entry of `changes`, by its names."""
        names = [one.name for one in self.corruptions]
        return float(self.changes[names.index(corruption), self.metrics.index(metric)])

    def blind(self, corruption: str) -> list[str]:
        """Return the metrics whose score a corruption leaves as it is."""
        return [name for name in self.metrics if abs(self.change(corruption, name)) < BLIND]

    def _text(self, corruption: Corruption, change: float) -> str:
        if abs(change) >= BLIND:
            percent = 100 * abs(change)
            return f"{'−' if change < 0 else '+'}{percent:.{0 if percent >= 1 else 1}f} %"
        return "0 %" if corruption.is_harmless else _("blind")

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The head and a line for each corruption."""
        head = (_("corruption"), _("should react"), *self.metrics)
        lines = [
            (
                one.name,
                _("no") if one.is_harmless else _("yes"),
                *(self._text(one, change) for change in changes),
            )
            for one, changes in zip(self.corruptions, self.changes.tolist(), strict=True)
        ]
        return [head, *lines]

    def _repr_html_(self) -> str:
        head, *lines = self.cells
        heads = "".join(f'<th scope="col" style="{NARROW}">{escape(cell)}</th>' for cell in head)
        body = "".join(
            f'<tr>{_row_head(one)}<td style="{NARROW}">{escape(should)}</td>'
            f"{''.join(map(_cell, changes, texts))}</tr>"
            for one, changes, (_name, should, *texts) in zip(
                self.corruptions, self.changes.tolist(), lines, strict=True
            )
        )
        table = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
        return f'<div class="scroll-box"><table style="font-size:0.85em">{table}</table></div>'

    def __str__(self) -> str:
        """Return the table for a terminal."""
        cells = self.cells
        widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        )

    __repr__ = __str__


def reactions(
    metrics: Mapping[str, Metric], sound: Any, corruptions: Sequence[Corruption]
) -> Reactions:
    """Score the `sound` answer and every corrupted one with each metric.

    A metric is a function of an answer, larger for a better one; the sound answer must have a
    score above 0. An error rate has to be turned round first: `lambda answer: 1 - rate(answer)`.

    >>> said = "do not stop".split()
    >>> print(reactions(
    ...     {"length": len, "first word": lambda words: float(words[0] == "do")},
    ...     said,
    ...     [Corruption("drop not", dropped(said, 1)), Corruption("shout", ["DO", "NOT", "STOP"])],
    ... ))
    corruption  should react  length  first word
    drop not    yes           −33 %   blind
    shout       yes           blind   −100 %
    """
    if not metrics or not corruptions:
        raise ValueError("there is nothing to compare: give at least one metric and corruption.")
    perfect = np.array([float(metric(sound)) for metric in metrics.values()])
    if not (np.isfinite(perfect) & (perfect > 0)).all():
        raise ValueError(
            "a change is relative to the score of the sound answer, so that must be finite and "
            f"above 0, but the scores are {dict(zip(metrics, perfect.tolist(), strict=True))}."
        )
    scores = [[float(metric(one.answer)) for metric in metrics.values()] for one in corruptions]
    return Reactions(tuple(metrics), tuple(corruptions), perfect, np.array(scores))


def _row_head(corruption: Corruption) -> str:
    shown = f"<br><small><i>{escape(corruption.shown)}</i></small>" if corruption.shown else ""
    style = f"text-align:left;font-weight:400;min-width:8rem;{NARROW}"
    return f'<th scope="row" style="{style}">{escape(corruption.name)}{shown}</th>'


def _cell(change: float, text: str) -> str:
    """Return a cell, the darker the more the score fell; a blind metric has a dashed frame."""
    shade = STRONGEST * min(1, max(0, -change))
    style = f"{NARROW};white-space:nowrap;background:rgba({GREY},{shade:.3f})"
    if text != _("blind"):
        return f'<td style="{style}">{escape(text)}</td>'
    frame = "padding:0 0.3em;border:2px dashed currentColor;border-radius:0.25em"
    return f'<td style="{style}"><b style="{frame}">{escape(text)}</b></td>'
