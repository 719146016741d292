"""What tasks of translation share: exact match, and links scored by their error rate."""

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from attn_course.evaluation.links import corpus_alignment_error_rate, links_from_weights
from attn_course.tasks.task import IGNORED, Examples, Task, Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.training import Trained


class AlignedTranslation(Task):
    """One text becomes another, sign by sign, and it is known which sign comes from where.

    A model gets `source` `(batch, n)`, the target so far `target` `(batch, m)` and `source_mask`
    `(batch, n)`; it returns logits `(batch, m, signs)` and alignments `(batch, m, n)`. The right
    map `possible` has all links that are right, and `sure` those of them that have to be drawn,
    where a task has such.
    """

    metric = "exact match"
    attention_metric = "alignment error rate (lower is better)"
    learning_rates = (3e-3, 1e-2, 3e-2)
    batch_size = 64
    one_cycle = True
    tested_on = 1000
    source_label: ClassVar[str]  # of the axes of a figure
    target_label: ClassVar[str]

    def score(self, predictions: Tensor, examples: Examples) -> float:
        """Return the share of texts that greedy decoding gets right to the last sign.

        Teacher forcing is enough to know it: if the likeliest sign is right at every step after
        the right ones, then greedy decoding says just these signs, and the other way round.
        """
        return exact(predictions, examples).double().mean().item()

    def named_weights(self, weights: Weights) -> dict[str, Tensor]:
        """Return the alignment under both names."""
        assert isinstance(weights, Tensor)
        return {"possible": weights, "sure": weights}

    def attention_scores(self, weights: Weights, examples: Examples) -> dict[str, float]:
        """Return the error rate of the links of highest weight, one for each sign that has any."""
        assert isinstance(weights, Tensor)
        possible, sure = _gold(examples)
        counts = examples.allowed["possible"] & possible.any(dim=-1, keepdim=True)
        drawn = [links_from_weights(w, mask=m) for w, m in zip(weights, counts, strict=True)]
        return {"links": corpus_alignment_error_rate(drawn, _as_links(sure), _as_links(possible))}

    def uniform_scores(self, examples: Examples) -> dict[str, float]:
        """Return the error rate to be expected if each target sign is linked to any sign by lot.

        Of equal weights none is the highest, so uniform attention draws no link of its own.
        """
        possible, sure = _gold(examples)
        chance = 1 / examples.allowed["possible"].sum(dim=-1, keepdim=True).double()
        hits = (chance * possible).sum() + (chance * sure).sum()
        wanted = possible.any(dim=-1).sum() + sure.sum()  # |A| + |S|
        return {"links": 1 - (hits / wanted).item()}

    def figure(self, *trained: "Trained", place: int = 0) -> "Figure":
        """Draw the gold alignment of a test example above what the arms found."""
        from attn_course.tasks.alignment_figure import alignment_figure

        return alignment_figure(self, trained, place)


def exact(predictions: Tensor, examples: Examples) -> Tensor:
    """Return for each example whether the likeliest sign is right everywhere, `(batch,)`."""
    hits = predictions.argmax(dim=-1) == examples.targets
    return (hits | (examples.targets == IGNORED)).all(dim=-1)


def _gold(examples: Examples) -> tuple[Tensor, Tensor]:
    """Return the possible links and the sure ones; a task where no link is sure has none."""
    possible = examples.right["possible"]
    return possible, examples.right.get("sure", torch.zeros_like(possible))


def _as_links(there: Tensor) -> list[set[tuple[int, int]]]:
    links: list[set[tuple[int, int]]] = [set() for _ in there]
    for example, target, source in there.nonzero().tolist():
        links[example].add((target, source))
    return links
