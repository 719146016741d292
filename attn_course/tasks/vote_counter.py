"""The model of `votes` and `bids`: weigh tokens by scores, or by choosing a subset of them."""

from functools import partial

import torch
from torch import Tensor, nn

from attn_course.alignment import reinforced, select, selection_probabilities, softmax
from attn_course.attention import Align, attend_by_scores
from attn_course.general_attention.aligners import LearnedSubset


class ChosenSubset(LearnedSubset):
    """ReSAN's selector, which in a test keeps what it would more likely keep than not."""

    def bound_to(self, queries: Tensor, features: Tensor, mask: Tensor | None) -> Align:
        """Return the alignment over the subset for these features."""
        if self.training:
            return super().bound_to(queries, features, mask)
        there = None if mask is None else mask[..., 0, :]
        probabilities = selection_probabilities(features, self.w, self.W, self.b, self.b_0, there)
        return partial(reinforced, selection=probabilities > 0.5)


class RandomSubset(nn.Module):
    """The ablation of the selector: each token is kept by the same chance."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def bound_to(self, queries: Tensor, features: Tensor, mask: Tensor | None) -> Align:
        """Return the alignment over a random subset."""
        chance = torch.full(features.shape[:-1], self.share)
        return partial(reinforced, selection=select(chance, torch.default_generator))


class VoteCounter(nn.Module):
    """Weigh the tokens, by scores or by choosing a subset, and read the answer off their mean."""

    baseline: Tensor

    def __init__(
        self,
        width: int,
        answers: int,
        score: nn.Module,
        align: Align = softmax,
        subset: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.score = score
        self.align = align
        self.subset = subset
        self.output = nn.Linear(width, answers)
        self.register_buffer("baseline", torch.zeros(()))  # the usual reward of a selection

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the answers `(batch, 1, answers)` and the weights `(batch, 1, n)`."""
        seen, align = mask[:, None], self.align
        if self.subset is not None:
            # A subset does not depend on the query, so any row will do for it.
            align = self.subset.bound_to(tokens[:, :1], tokens, seen)  # type: ignore[operator]
        votes, weights = attend_by_scores(self.score(tokens), tokens, align, seen)
        return self.output(votes), weights
