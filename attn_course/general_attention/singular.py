r"""The kit's plain attention: one query at a time, any score, alignment and dimension."""

import torch
from torch import Tensor, nn

from attn_course.activations import Activation
from attn_course.attention import Align, attend, attend_by_scores
from attn_course.attention.mask_policy import mapped_for, without_unseen
from attn_course.dimensionality import (
    attend_multi,
    attend_multi_by_scores,
    multi_no_query,
    multi_scores,
)
from attn_course.general_attention.aligners import LearnedSubset, PredictedWindow
from attn_course.general_attention.choices import Choices
from attn_course.general_attention.sizes import Sizes
from attn_course.learned_scores import NoQueryScore, make_score


class SingularAttention(nn.Module):
    r"""$K = W_K F$, $V = W_V F$ (survey (1)), then score, align and average: (2)–(4).

    `align` is a function of scores and mask, or a layer that is bound to queries and features
    first. With `query="self"` the queries are $W_Q F$, survey (35); with `query="removed"` the
    scores come from the keys alone, (33).
    """

    def __init__(
        self,
        choices: Choices,
        sizes: Sizes,
        align: Align | PredictedWindow | LearnedSubset,
        act: Activation,
    ) -> None:
        super().__init__()
        d_f, d_q, d_k = sizes.d_f, sizes.d_q, sizes.d_k
        self.W_Q = nn.Linear(d_f, d_q, False) if choices.query == "self" else nn.Identity()
        self.W_K = nn.Linear(d_f, d_k, False) if sizes.key_map else nn.Identity()
        self.W_V = nn.Linear(d_f, sizes.d_v, False) if sizes.value_map else nn.Identity()
        self.query_removed = choices.query == "removed"
        self.multi = choices.dimension == "multi"
        if self.multi and self.query_removed:
            self.score: nn.Module = NoQueryFeatureScore(d_k, sizes.d_w, sizes.d_v, act)
        elif self.multi:
            self.score = FeatureScore(d_q, d_k, sizes.d_w, sizes.d_v, act)
        elif self.query_removed:
            self.score = NoQueryScore(d_k, sizes.d_w, act)
        else:
            self.score = make_score(choices.score, d_q, d_k, sizes.d_w, act)
        self.align = align

    def forward(
        self, features: Tensor, queries: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return contexts `(..., q, d_v)` and weights `(..., q, n)` or `(..., q, n, d_v)`."""
        if self.query_removed:
            features = without_unseen(features, mask)
        (asked,) = mapped_for(mask, queries, self.W_Q)
        keys, values = mapped_for(mask, features, self.W_K, self.W_V)
        align = self.align
        if isinstance(align, PredictedWindow | LearnedSubset):
            align = align.bound_to(asked, features, mask)
        if self.query_removed:
            average = attend_multi_by_scores if self.multi else attend_by_scores
            return average(self.score(keys), values, align, mask)
        look = attend_multi if self.multi else attend
        return look(asked, keys, values, self.score, align, mask)


class FeatureScore(nn.Module):
    r"""$W_d^\top \mathrm{act}(W_q q + W_k k + b) \in \mathbb{R}^{d_v}$, survey (30)."""

    def __init__(self, d_q: int, d_k: int, d_w: int, d_v: int, act: Activation) -> None:
        super().__init__()
        self.W_d = nn.Parameter(torch.randn(d_w, d_v) / d_w**0.5)
        self.W_q = nn.Parameter(torch.randn(d_w, d_q) / d_q**0.5)
        self.W_k = nn.Parameter(torch.randn(d_w, d_k) / d_k**0.5)
        self.b = nn.Parameter(torch.zeros(d_w))
        self.act = act

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k, d_v)`."""
        return multi_scores(queries, keys, self.W_d, self.W_q, self.W_k, self.b, self.act)


class NoQueryFeatureScore(nn.Module):
    r"""$W_d^\top \mathrm{act}(W_k k + b) \in \mathbb{R}^{d_v}$: (30) with the query left out."""

    def __init__(self, d_k: int, d_w: int, d_v: int, act: Activation) -> None:
        super().__init__()
        self.W_d = nn.Parameter(torch.randn(d_w, d_v) / d_w**0.5)
        self.W_k = nn.Parameter(torch.randn(d_w, d_k) / d_k**0.5)
        self.b = nn.Parameter(torch.zeros(d_w))
        self.act = act

    def forward(self, keys: Tensor) -> Tensor:
        """Return scores `(..., 1, k, d_v)`."""
        return multi_no_query(keys, self.W_d, self.W_k, self.b, self.act)
