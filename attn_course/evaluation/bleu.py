r"""BLEU: how many of the candidate's n-grams stand in a reference?  (chapter 8)

Counts are pooled over the corpus before they are divided, so the BLEU of a corpus is not the mean
of the BLEU of its sentences.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

from attn_course._arrays import require_choice
from attn_course.evaluation._tokens import Tokens, require_pairs, require_references, require_tokens

_SMOOTHING_VALUES = {"none": 0.0, "add-k": 1.0, "floor": 0.1, "exp": 0.0}


@dataclass(frozen=True)
class Bleu:
    """A BLEU score and how it came about; `float(bleu)` is the score."""

    score: float
    precisions: tuple[float, ...]  # p_1 … p_n, after smoothing
    matches: tuple[int, ...]  # n-grams that stand in a reference, clipped, for each order
    totals: tuple[int, ...]  # n-grams of the candidates, for each order
    brevity_penalty: float
    candidate_length: int  # c
    reference_length: int  # r, the closest reference of each candidate

    def __float__(self) -> float:
        return self.score

    def __str__(self) -> str:
        precisions = " ".join(
            f"{p:.3f} ({m}/{t})"
            for p, m, t in zip(self.precisions, self.matches, self.totals, strict=True)
        )
        return (
            f"BLEU {self.score:.4f}, precisions {precisions}, brevity penalty "
            f"{self.brevity_penalty:.3f} ({self.candidate_length} words for "
            f"{self.reference_length})"
        )


def corpus_bleu(
    candidates: Sequence[Tokens],
    references: Sequence[Sequence[Tokens]],
    *,
    n: int = 4,
    smoothing: str = "none",
    smoothing_value: float | None = None,
    effective_order: bool = False,
) -> Bleu:
    r"""$\mathrm{BP}\,\exp\big(\frac1N\sum_{n=1}^N\log p_n\big)$ in [0, 1] (Papineni et al., 2002).

    where $p_n$ is the share of the candidates' n-grams that stand in a reference, each counted at
    most as often as in the reference that has it most often, and $\mathrm{BP} = \min(1,
    e^{1 - r/c})$ punishes c words for r wanted ones: r sums the closest reference lengths, the
    shorter one where two are as close. `references` has a list of references for each candidate.

    One $p_n = 0$ makes the whole score 0, which for short texts is too hard. `smoothing` (Chen &
    Cherry, 2014) lifts it, once any word matches at all:

    - "add-k" adds `smoothing_value` (1) to matches and totals of every order above 1
    - "floor" takes `smoothing_value` (0.1) matches where there are none
    - "exp" takes 1/2 a match at the first order without one, 1/4 at the second, …

    `effective_order` leaves out the orders for which the candidates are too short.

    sacrebleu gives the same numbers (times 100). NLTK's differ where a candidate has fewer than n
    words: it counts one n-gram there, not matched, where in truth there is none.

    >>> cat = "the cat sat on the mat".split()
    >>> print(corpus_bleu([cat[:5]], [[cat]], n=2))
    BLEU 0.8187, precisions 1.000 (5/5) 1.000 (4/4), brevity penalty 0.819 (5 words for 6)

    Where it misleads: it sees n-grams, not meaning. A paraphrase that a reader would accept gets
    0, and a sentence that says the opposite scores high:

    >>> reference = "the patient does not need to see a doctor after the fall".split()
    >>> paraphrase = "no medical visit is required following this accident".split()
    >>> opposite = "the patient does need to see a doctor after the fall".split()
    >>> [round(float(sentence_bleu(said, [reference])), 2) for said in (paraphrase, opposite)]
    [0.0, 0.74]
    """
    value = _smoothing_value(n, smoothing, smoothing_value)
    require_pairs(candidates=candidates, references=references)
    matches, totals, c, r = [0] * n, [0] * n, 0, 0
    for number, (candidate, own) in enumerate(zip(candidates, references, strict=True)):
        require_tokens(f"candidates[{number}]", candidate)
        require_references(f"references[{number}]", own)
        c += len(candidate)
        r += min((len(reference) for reference in own), key=_closeness(len(candidate)))
        for order in range(1, n + 1):
            said = _ngrams(candidate, order)
            wanted = _ngrams(own[0], order)
            for reference in own[1:]:
                wanted |= _ngrams(reference, order)  # the union keeps the larger count
            matches[order - 1] += sum(
                min(said[ngram], wanted[ngram]) for ngram in said.keys() & wanted.keys()
            )
            totals[order - 1] += max(0, len(candidate) - order + 1)
    precisions = _smoothed(matches, totals, smoothing, value)
    brevity_penalty = 1.0 if c >= r else exp(1 - r / c) if c else 0.0
    return Bleu(
        score=brevity_penalty * _geometric_mean(precisions, totals, smoothing, effective_order),
        precisions=tuple(precisions),
        matches=tuple(matches),
        totals=tuple(totals),
        brevity_penalty=brevity_penalty,
        candidate_length=c,
        reference_length=r,
    )


def sentence_bleu(candidate: Tokens, references: Sequence[Tokens], **options: Any) -> Bleu:
    """Return `corpus_bleu` of a corpus of one sentence; it takes the same options.

    Where it misleads: a sentence of fewer than n words has no n-gram, and so gets 0 even when it
    is right to the last word, unless `effective_order` is set.

    >>> thanks = "thank you !".split()
    >>> float(sentence_bleu(thanks, [thanks]))
    0.0
    >>> float(sentence_bleu(thanks, [thanks], effective_order=True))
    1.0
    """
    require_tokens("candidate", candidate)
    require_references("references", references)
    return corpus_bleu([candidate], [references], **options)


def _smoothing_value(n: int, smoothing: str, value: float | None) -> float:
    require_choice("smoothing", smoothing, _SMOOTHING_VALUES)
    if n < 1:
        raise ValueError(f"n must be at least 1, but is {n}. BLEU counts n-grams up to n words.")
    if value is None:
        return _SMOOTHING_VALUES[smoothing]
    if smoothing not in ("add-k", "floor") or not value > 0:
        raise ValueError(
            "smoothing_value must be above 0 and goes with the smoothings add-k and floor, "
            f"but is {value} with {smoothing}."
        )
    return value


def _ngrams(tokens: Tokens, order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def _closeness(length: int) -> Any:
    return lambda other: (abs(other - length), other)


def _smoothed(
    matches: Sequence[int], totals: Sequence[int], smoothing: str, value: float
) -> list[float]:
    """Return the precision of each order; all 0 where not even one word matches."""
    if not any(matches):
        return [0.0] * len(matches)
    precisions, half = [], 1.0
    for order, (match, total) in enumerate(zip(matches, totals, strict=True), start=1):
        added = value if smoothing == "add-k" and order > 1 else 0.0
        if total + added == 0:
            precisions.append(0.0)
        elif match + added > 0:
            precisions.append((match + added) / (total + added))
        elif smoothing == "exp":
            half /= 2
            precisions.append(half / total)
        else:
            precisions.append(value / total)  # "none" has the value 0
    return precisions


def _geometric_mean(
    precisions: Sequence[float], totals: Sequence[int], smoothing: str, effective_order: bool
) -> float:
    # add-k gives even an order without n-grams a total
    short = effective_order and smoothing != "add-k"
    used = [p for p, total in zip(precisions, totals, strict=True) if total or not short]
    if not used or min(used) == 0:
        return 0.0
    return exp(sum(log(p) for p in used) / len(used))
