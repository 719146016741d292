r"""Alignment error rate: do the links read off the weights agree with those people drew?

A link is a pair `(target, source)` of positions, counted from 0: row and column of the weights.
People draw *sure* links, and *possible* ones, which a model may draw or leave out.

- `links_from_weights` turns weights into a set of links.
- `alignment_error_rate` compares it with the links of one sentence pair,
  `corpus_alignment_error_rate` with those of many, pooled.
- `link_counts` shows the numbers behind it, with precision and recall.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

from attn_course._arrays import AnyArray, namespace, require_choice, require_mask, shape

Link: TypeAlias = tuple[int, int]  # (target, source)
Links: TypeAlias = AbstractSet[Link]

HOW = ("argmax", "threshold", "union")


def links_from_weights(
    weights: AnyArray,
    how: str = "argmax",
    threshold: float | None = None,
    mask: AnyArray | None = None,
    backward: AnyArray | None = None,
) -> set[Link]:
    r"""Weights `(q, k)` to the links `(target, source)` they draw.

    - `how="argmax"`: each target word to the source word of highest weight (Luong et al., 2015).
      Of equal weights the first counts, so uniform weights link everything to source 0.
    - `how="threshold"`: every pair whose weight is at least `threshold`.
    - `how="union"`: the argmax links of both directions. `backward` `(k, q)` are the weights of a
      model that translates the other way; without it the columns of `weights` are read as rows.

    `mask` is True where a target may attend; a target that attends nowhere has no link.

    >>> import numpy as np
    >>> sorted(links_from_weights(np.array([[0.7, 0.3], [0.6, 0.4]])))
    [(0, 0), (1, 0)]
    >>> sorted(links_from_weights(np.array([[0.7, 0.3], [0.6, 0.4]]), how="union"))
    [(0, 0), (1, 0), (1, 1)]
    """
    require_choice("how", how, HOW)
    if (threshold is None) == (how == "threshold"):
        raise ValueError(
            f"threshold goes with how='threshold' and only there, but how is {how!r} and threshold "
            f"is {threshold}. Write for example how='threshold', threshold=0.2."
        )
    if backward is not None and how != "union":
        raise ValueError(f"backward weights are read by how='union' only, but how is {how!r}.")
    seen = _seen(weights, mask)
    if how == "threshold":
        return _pairs(seen & (weights >= threshold))
    links = _pairs(_is_first_best(weights, seen))
    if how == "union":
        links |= _backward_links(weights, mask, backward)
    return links


def _backward_links(
    weights: AnyArray, mask: AnyArray | None, backward: AnyArray | None
) -> set[Link]:
    back = weights.T if backward is None else backward
    xp = namespace(weights=weights, backward=back)
    if shape(back) != shape(weights)[::-1]:
        raise ValueError(
            f"backward weights go from source to target, so they must be {shape(weights)[::-1]}, "
            f"but are {shape(back)}. Hand them over as the other model gives them."
        )
    back_mask = None if mask is None else xp.broadcast_to(mask, weights.shape).T
    best = _is_first_best(back, _seen(back, back_mask))
    return {(target, source) for source, target in _pairs(best)}


def _seen(weights: AnyArray, mask: AnyArray | None) -> AnyArray:
    """Return where there is weight and the target may attend, `(q, k)`."""
    xp = namespace(weights=weights, mask=mask)
    if weights.ndim != 2:
        raise ValueError(
            f"links are read off one matrix of weights (q, k), but weights are {shape(weights)}. "
            "Write [links_from_weights(w) for w in weights], and choose a head first."
        )
    if bool(xp.any(xp.isnan(weights))):
        raise ValueError("weights hold NaN, which is neither a link nor none. Look where it began.")
    seen = weights > 0
    if mask is None:
        return seen
    require_mask(mask, weights)
    return seen & mask


def _is_first_best(weights: AnyArray, seen: AnyArray) -> AnyArray:
    """Return True at the first of the largest weights of each row, and nowhere in an empty row."""
    xp = namespace(weights=weights, seen=seen)
    if weights.shape[-1] == 0:
        return seen
    best = xp.argmax(xp.where(seen, weights, -xp.ones_like(weights)), axis=-1)
    return seen & (xp.arange(weights.shape[-1]) == best[:, None])


def _pairs(linked: AnyArray) -> set[Link]:
    rows: Any = linked.tolist()
    return {(t, s) for t, row in enumerate(rows) for s, there in enumerate(row) if there}


# --- links against links ----------------------------------------------------------------------


@dataclass(frozen=True)
class LinkCounts:
    """How many links were drawn, how many wanted, and how many of them met. Counts add up."""

    drawn: int  # |A|
    sure: int  # |S|
    drawn_and_sure: int  # |A ∩ S|
    drawn_and_possible: int  # |A ∩ P|

    @property
    def error_rate(self) -> float:
        r"""$1 - (|A \cap S| + |A \cap P|) / (|A| + |S|)$; 0 where there is nothing to draw."""
        return 1.0 - _ratio(self.drawn_and_sure + self.drawn_and_possible, self.drawn + self.sure)

    @property
    def precision(self) -> float:
        r"""$|A \cap P| / |A|$: how much of what was drawn may be there; 1 if nothing was drawn."""
        return _ratio(self.drawn_and_possible, self.drawn)

    @property
    def recall(self) -> float:
        r"""$|A \cap S| / |S|$: how much of what is sure was drawn; 1 if nothing is sure."""
        return _ratio(self.drawn_and_sure, self.sure)

    def __add__(self, other: "LinkCounts") -> "LinkCounts":
        return LinkCounts(
            self.drawn + other.drawn,
            self.sure + other.sure,
            self.drawn_and_sure + other.drawn_and_sure,
            self.drawn_and_possible + other.drawn_and_possible,
        )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def link_counts(
    predicted: Iterable[Link], sure: Iterable[Link], possible: Iterable[Link] | None = None
) -> LinkCounts:
    """Count links of one sentence pair; every sure link must be among the possible ones."""
    drawn, certain = _as_links("predicted", predicted), _as_links("sure", sure)
    allowed = certain if possible is None else _as_links("possible", possible)
    if not certain <= allowed:
        missing = sorted(certain - allowed)[:3]
        raise ValueError(
            f"every sure link must also be possible, but {missing} are sure only. "
            "Write possible | sure if yours are kept apart; otherwise see whether they are swapped."
        )
    return LinkCounts(len(drawn), len(certain), len(drawn & certain), len(drawn & allowed))


def _as_links(name: str, pairs: Iterable[Link]) -> set[Link]:
    """Return the pairs as a set; lists of two will do as well as tuples."""
    try:
        return {(int(target), int(source)) for target, source in pairs}
    except (TypeError, ValueError) as fault:
        raise ValueError(
            f"{name} must be pairs of positions (target, source), such as {{(0, 0), (1, 2)}}, "
            f"but is {pairs!r:.60}."
        ) from fault


def alignment_error_rate(
    predicted: Iterable[Link], sure: Iterable[Link], possible: Iterable[Link] | None = None
) -> float:
    r"""$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$ (Och & Ney, 2003).

    A set measure between 0 and 1, and lower is better: it compares links, not weights. With no
    `possible` links besides the sure ones it is $1 - F_1$.

    >>> alignment_error_rate({(0, 0), (1, 2), (2, 1)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1), (1, 2)})
    0.4
    """
    return link_counts(predicted, sure, possible).error_rate


def corpus_alignment_error_rate(
    predicted: Sequence[Iterable[Link]],
    sure: Sequence[Iterable[Link]],
    possible: Sequence[Iterable[Link]] | None = None,
) -> float:
    """Error rate of many sentence pairs: counts are pooled first, so long sentences weigh more."""
    allowed = sure if possible is None else possible
    if not len(predicted) == len(sure) == len(allowed):
        raise ValueError(
            "each sentence pair needs its sets of links, but predicted has "
            f"{len(predicted)}, sure {len(sure)}, possible {len(allowed)}."
        )
    if not predicted:
        raise ValueError("there is nothing to score: predicted, sure and possible are empty.")
    total = LinkCounts(0, 0, 0, 0)
    for drawn, certain, maybe in zip(predicted, sure, allowed, strict=True):
        total += link_counts(drawn, certain, maybe)
    return total.error_rate
