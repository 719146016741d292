"""What all tasks about dates share: examples, exact match, and links scored by their error rate."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attn_course.evaluation.links import corpus_alignment_error_rate, links_from_weights
from attn_course.tasks.dates.material import ISO_SIGNS, START, material, source_signs
from attn_course.tasks.task import Examples, Split, Task, Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained


class Dates(Task):
    """Which day is it? Dates in 18 languages and four lengths become ISO dates.

    A model takes the written date `source` `(batch, n)`, the ISO date so far `target` `(batch, 10)`
    and `source_mask` `(batch, n)`; it returns logits `(batch, 10, signs)` and alignments
    `(batch, 10, n)`. The two right maps are one alignment seen twice, `possible` and `sure`.
    """

    metric = "exact match"
    attention_metric = "alignment error rate (lower is better)"
    learning_rates = (3e-3, 1e-2, 3e-2)
    batch_size = 64
    one_cycle = True
    tested_on = 1000

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return dates of a split, as long as the longest; none twice, if there are enough."""
        rows = material(split)
        chosen = torch.from_numpy(rng.choice(len(rows), number, replace=number > len(rows)))
        lengths, iso = rows.lengths[chosen], rows.iso[chosen]
        longest = int(lengths.max())
        mask = torch.arange(longest) < lengths[:, None]
        seen = mask[:, None, :].expand(-1, iso.shape[-1], -1)
        return Examples(
            inputs={
                "source": rows.source[chosen, :longest],
                "target": functional.pad(iso[:, :-1], (1, 0), value=START),
                "source_mask": mask,
            },
            targets=iso,
            right={
                "possible": rows.possible[chosen, :, :longest],
                "sure": rows.sure[chosen, :, :longest],
            },
            allowed={"possible": seen, "sure": seen},
        )

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of dates that greedy decoding gets right to the last digit.

        Teacher forcing is enough to know it: if the likeliest sign is right at every step after
        the right ones, then greedy decoding says just these signs, and the other way round.
        """
        whole = (predictions.argmax(dim=-1) == examples.targets).all(dim=-1)
        return whole.double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the alignment under both names."""
        assert isinstance(weights, Tensor)
        return {"possible": weights, "sure": weights}

    def attention_scores(self, weights: Weights, examples: Examples) -> dict[str, float]:
        """Return the error rate of the links of highest weight, one for each digit."""
        assert isinstance(weights, Tensor)
        possible, sure = examples.right["possible"], examples.right["sure"]
        counts = examples.allowed["possible"] & possible.any(dim=-1, keepdim=True)  # no hyphens
        drawn = [links_from_weights(w, mask=m) for w, m in zip(weights, counts, strict=True)]
        return {"links": corpus_alignment_error_rate(drawn, _as_links(sure), _as_links(possible))}

    def uniform_scores(self, examples: Examples) -> dict[str, float]:
        """Return the error rate to be expected if each digit is linked to any sign by lot.

        Of equal weights none is the highest, so uniform attention draws no link of its own.
        """
        possible, sure = examples.right["possible"], examples.right["sure"]
        chance = 1 / examples.allowed["possible"].sum(dim=-1, keepdim=True).double()
        hits = (chance * possible).sum() + (chance * sure).sum()
        wanted = possible.any(dim=-1).sum() + sure.sum()  # |A| + |S|
        return {"links": 1 - (hits / wanted).item()}

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the ISO date beside the rows and the written date below the columns."""
        known = source_signs()
        iso = [ISO_SIGNS[sign] for sign in examples.targets[place].tolist()]
        source = [known[sign] for sign in examples.inputs["source"][place].tolist()]
        return dict.fromkeys(("possible", "sure"), (iso, source))

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw the gold alignment of a test date, sure links dark, above what the arms found."""
        from attn_course.tasks.dates.figure import alignment_figure

        return alignment_figure(self, trained, place)


def _as_links(there: Tensor) -> list[set[tuple[int, int]]]:
    links: list[set[tuple[int, int]]] = [set() for _ in there]
    for example, target, source in there.nonzero().tolist():
        links[example].add((target, source))
    return links
