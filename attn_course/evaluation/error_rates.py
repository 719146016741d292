r"""Error rates of recognised speech: how many edits turn the reference into what was heard?

Words give the word error rate, phonemes the phoneme error rate. "PER" is also short for the
position-independent error rate of translations, which is another thing; both are here.  (chapter 8)
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attn_course.evaluation._tokens import Tokens, require_pairs, require_tokens

Pair = tuple[str | None, str | None]  # of reference and hypothesis; None where one has no word


@dataclass(frozen=True)
class EditAlignment:
    """Reference and hypothesis word by word, as `edit_alignment` paired them; print it."""

    pairs: tuple[Pair, ...]

    @property
    def hits(self) -> int:
        """Words of the reference that were heard."""
        return sum(one == other for one, other in self.pairs)

    @property
    def substitutions(self) -> int:
        """Words of the reference for which another was heard."""
        return len(self.pairs) - self.hits - self.deletions - self.insertions

    @property
    def deletions(self) -> int:
        """Words of the reference for which none was heard."""
        return sum(other is None for _, other in self.pairs)

    @property
    def insertions(self) -> int:
        """Words that were heard but not said."""
        return sum(one is None for one, _ in self.pairs)

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions together: the edit distance."""
        return len(self.pairs) - self.hits

    def __str__(self) -> str:
        lines = [["REF:"], ["HYP:"], ["    "]]
        for one, other in self.pairs:
            edit = " " if one == other else "I" if one is None else "D" if other is None else "S"
            width = max(len(one or ""), len(other or ""), 1)
            for line, word in zip(lines, (one, other, edit), strict=True):
                line.append("*" * width if word is None else word.rjust(width))
        return "\n".join(" ".join(line).rstrip() for line in lines)


def edit_alignment(reference: Tokens, hypothesis: Tokens) -> EditAlignment:
    """Return the alignment with the fewest edits, and among those one with the most hits.

    An edit substitutes, deletes or inserts a word (Levenshtein, 1966).

    >>> print(edit_alignment("we recognise speech".split(), "we wreck a nice speech".split()))
    REF: we ***** * recognise speech
    HYP: we wreck a      nice speech
                I I         S
    """
    require_tokens("reference", reference)
    require_tokens("hypothesis", hypothesis)
    same, cost = _same(reference, hypothesis), _edit_costs(reference, hypothesis)
    i, j = len(reference), len(hypothesis)
    edit = _edit(i, j)
    pairs: list[Pair] = []
    while i or j:  # from the end: which of the three steps led here?
        diagonal = (
            i and j and cost[i, j] == cost[i - 1, j - 1] + (not same[i - 1, j - 1]) * (edit + 1)
        )
        if diagonal:
            i, j = i - 1, j - 1
            pairs.append((reference[i], hypothesis[j]))
        elif i and cost[i, j] == cost[i - 1, j] + edit:
            i -= 1
            pairs.append((reference[i], None))
        else:
            j -= 1
            pairs.append((None, hypothesis[j]))
    return EditAlignment(tuple(reversed(pairs)))


def word_error_rate(references: Sequence[Tokens], hypotheses: Sequence[Tokens]) -> float:
    r"""$\mathrm{WER} = (S + D + I) / N$, over a corpus: edits and words are summed, then divided.

    S substitutions, D deletions and I insertions of the alignment with the fewest edits, N words
    in all references. 0 is best; an empty hypothesis gets 1.

    Where it misleads: it is no percentage, for whoever hears more than was said gets above 1; and
    every word weighs the same, so a lost "um" costs as much as a lost "not".

    >>> word_error_rate(["stop".split()], ["well I should stop now".split()])
    4.0
    >>> said = "um do not stop".split()
    >>> word_error_rate([said], ["do not stop".split()])
    0.25
    >>> word_error_rate([said], ["um do stop".split()])
    0.25
    """
    return _pooled_error_rate(references, hypotheses)


def phoneme_error_rate(references: Sequence[Tokens], hypotheses: Sequence[Tokens]) -> float:
    r"""$\mathrm{PER} = (S + D + I) / N$ over phonemes: `word_error_rate` of finer tokens.

    Where it misleads: all phonemes are equally far apart, so a voiced sound for its voiceless twin
    costs as much as a vowel for a consonant.

    >>> for heard in ("p ae t", "b m t"):
    ...     print(f"{phoneme_error_rate(['b ae t'.split()], [heard.split()]):.3f}")
    0.333
    0.333
    """
    return _pooled_error_rate(references, hypotheses)


def position_independent_error_rate(
    references: Sequence[Tokens], hypotheses: Sequence[Tokens]
) -> float:
    r"""$(\max(N, M) - \text{matches}) / N$, both sentences taken as bags (Tillmann et al., 1997).

    N words in the reference, M in the hypothesis, and a match for each word they share, as often
    as they share it. It is the smallest word error rate that any order of the hypothesis has. Over
    a corpus, errors and N are summed, then divided.

    Where it misleads: it can't see order, so a sentence and its opposite may be the same to it.

    >>> said, heard = "the dog bit the man".split(), "the man bit the dog".split()
    >>> position_independent_error_rate([said], [heard]), word_error_rate([said], [heard])
    (0.0, 0.4)
    """
    words = _count_reference_words(references, hypotheses)
    errors = 0
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        matches = (Counter(reference) & Counter(hypothesis)).total()
        errors += max(len(reference), len(hypothesis)) - matches
    return errors / words


def _pooled_error_rate(references: Sequence[Tokens], hypotheses: Sequence[Tokens]) -> float:
    words = _count_reference_words(references, hypotheses)
    pairs = zip(references, hypotheses, strict=True)
    return sum(_count_edits(reference, hypothesis) for reference, hypothesis in pairs) / words


def _count_reference_words(references: Sequence[Tokens], hypotheses: Sequence[Tokens]) -> int:
    require_pairs(references=references, hypotheses=hypotheses)
    for name, corpus in {"references": references, "hypotheses": hypotheses}.items():
        for number, tokens in enumerate(corpus):
            require_tokens(f"{name}[{number}]", tokens)
    words = sum(len(reference) for reference in references)
    if words == 0:
        raise ValueError(
            "an error rate counts errors for each word of the references, but they have no words. "
            "Give at least one reference that is not empty."
        )
    return words


def _count_edits(reference: Tokens, hypothesis: Tokens) -> int:
    """Return the edit distance, a column of the table at a time (Myers, 1999; Hyyrö, 2003).

    Neighbours in the table of costs differ by 1 at most, so two bits say how: a column is two whole
    numbers, `rises` and `falls`, whose bit i is for the step from word i to word i + 1.
    """
    places: dict[str, int] = {}
    for i, token in enumerate(reference):
        places[token] = places.get(token, 0) | 1 << i
    every = (1 << len(reference)) - 1
    rises, falls = every, 0
    for token in hypothesis:
        same = places.get(token, 0)
        level = (same & rises) + rises ^ rises | same | falls  # a step down and right costs nothing
        # What a step right costs, 1 more or 1 less. No complement `~`: negative numbers are slow.
        up, down = (falls | every ^ (level | rises)) << 1 | 1, (level & rises) << 1
        rises, falls = (down | every ^ (level | up)) & every, up & level
    # The last column starts at one insertion per word; its steps lead down to the distance.
    return len(hypothesis) + rises.bit_count() - (falls & every).bit_count()


def _edit(n: int, m: int) -> int:
    """Return what an edit costs: more than all substitutions that could break a tie."""
    return min(n, m) + 1


def _same(reference: Tokens, hypothesis: Tokens) -> np.ndarray:
    """Return which words are equal, (n, m)."""
    numbers: dict[str, int] = {}
    coded = [
        np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)
        for tokens in (reference, hypothesis)
    ]
    return coded[0][:, None] == coded[1]


def _edit_costs(reference: Tokens, hypothesis: Tokens) -> np.ndarray:
    """Return what it costs to turn the first i words into the first j words, (n + 1, m + 1).

    A substitution costs 1 more than a deletion or an insertion does, and all cost so much that
    this breaks ties only: of two ways with as many edits, the one with more hits is cheaper.
    """
    n, m = len(reference), len(hypothesis)
    edit = _edit(n, m)
    substituted = np.where(_same(reference, hypothesis), 0, edit + 1)
    inserted = edit * np.arange(m + 1)
    cost = np.empty((n + 1, m + 1), dtype=np.int64)
    cost[0] = inserted
    for i in range(n):
        row = cost[i] + edit  # a deletion, or else
        row[1:] = np.minimum(row[1:], cost[i, :-1] + substituted[i])
        # an insertion after an earlier place k: the least of row[k] + (j - k) edits, in one go
        cost[i + 1] = np.minimum.accumulate(row - inserted) + inserted
    return cost
