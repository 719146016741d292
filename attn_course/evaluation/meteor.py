r"""METEOR: words that match, exactly or by their stem, and in how few pieces.  (chapter 8)

This is the form of 2005, without synonyms. Read next: `meteor_links`, which words match.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attn_course.evaluation._tokens import Tokens, require_references, require_tokens
from attn_course.evaluation.meteor_links import Link, count_chunks, count_crossings, link_words


@dataclass(frozen=True)
class Meteor:
    """A METEOR score and how it came about; `float(meteor)` is the score."""

    score: float
    precision: float
    recall: float
    f_mean: float
    penalty: float
    chunks: int
    crossings: int
    links: tuple[Link, ...]
    reference: int  # which of the references was the best, from 0
    is_exact: bool  # False where the search was cut, and fewer crossings may exist

    def __float__(self) -> float:
        return self.score


def meteor(
    candidate: Tokens,
    references: Sequence[Tokens],
    *,
    stem: Callable[[str], str] | None = None,
) -> Meteor:
    r"""$F\,(1 - \frac12(\text{chunks}/m)^3)$, $F = 10PR/(R + 9P)$ (Banerjee & Lavie, 2005).

    where m words match, $P = m$ / words of the candidate, $R = m$ / words of the reference, and a
    chunk is a run of matches that stand side by side in both. Of several references the best one
    counts. Words are compared as they come, so lower-case them first if case shall not matter.
    `stem` is Porter's (1980) unless you give another function from word to stem.

    NLTK gives the same for words in lower case of which none repeats, if both stem alike. Where a
    word repeats, it links from the end backwards and not by the fewest crossings, see `link_words`.
    Its stemmer is Porter's with extensions: "dying" becomes "die", Porter's own rules say "dy".

    An identical sentence of m words is one chunk, and scores $1 - 0.5 / m^3$, not 1:

    >>> cat = "the cat sat on the mat".split()
    >>> round(float(meteor(cat, [cat])), 6)
    0.997685

    Where it misleads: words count, not who did what. The opposite, the same, and a paraphrase:

    >>> reference = "the dog bit the old man in the park".split()
    >>> opposite = "the old man bit the dog in the park".split()
    >>> same = "in the park the dog bit the old man".split()
    >>> paraphrase = "a dog attacked an elderly gentleman in the park".split()
    >>> [round(float(meteor(said, [reference])), 2) for said in (opposite, same, paraphrase)]
    [0.91, 0.76, 0.42]

    (The second could be had in 2 chunks, but that has 18 crossings, and the form of 2005 takes the
    16 that come with 7 chunks.)
    """
    require_tokens("candidate", candidate)
    require_references("references", references)
    scored = [_score(candidate, r, number, stem) for number, r in enumerate(references)]
    return max(scored, key=float)


def _score(
    candidate: Tokens, reference: Tokens, number: int, stem: Callable[[str], str] | None
) -> Meteor:
    links, is_exact = link_words(candidate, reference, stem=stem)
    m, chunks = len(links), count_chunks(links)
    precision, recall = m / max(len(candidate), 1), m / len(reference)
    f_mean = 10 * precision * recall / (recall + 9 * precision) if m else 0.0
    penalty = 0.5 * (chunks / m) ** 3 if m else 0.0
    return Meteor(
        score=f_mean * (1 - penalty),
        precision=precision,
        recall=recall,
        f_mean=f_mean,
        penalty=penalty,
        chunks=chunks,
        crossings=count_crossings(links),
        links=tuple(links),
        reference=number,
        is_exact=is_exact,
    )
