"""Write the additive score as a PyTorch module."""

import torch
from torch import nn
from torch.nn import functional

from attn_course import learned_scores
from attn_course.practice.definition import Case, reference
from attn_course.translate import _

AdditiveScore = reference(learned_scores.AdditiveScore)


def _to_add(rng, q, k, d_q, d_k, d_w, batch=()):
    """Return a case; its numbers are small, so that tanh does not saturate."""
    inputs = [0.4 * rng.normal(size=(*batch, *size)) for size in ((q, d_q), (k, d_k))]
    queries, keys = (torch.tensor(array, dtype=torch.float32) for array in inputs)
    return Case(queries, keys, d_q=d_q, d_k=d_k, d_w=d_w)


@AdditiveScore.cases(points=2, label=_("one table: output and gradients"))
def additive_tables(rng):
    yield _to_add(rng, 1, 2, 3, 2, 5)
    yield _to_add(rng, 2, 3, 5, 7, 11)
    yield _to_add(rng, 5, 2, 3, 3, 7)


@AdditiveScore.cases(points=1, label=_("a batch: queries (..., q, d_q), keys (..., k, d_k)"))
def additive_batches(rng):
    yield _to_add(rng, 3, 5, 7, 11, 13, batch=(2,))
    yield _to_add(rng, 5, 7, 3, 2, 11, batch=(3, 2))


class _Parameters(nn.Module):
    """What every variant has; they differ in the forward pass."""

    def __init__(self, d_q, d_k, d_w):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d_w))
        self.W_q = nn.Parameter(torch.randn(d_w, d_q))
        self.W_k = nn.Parameter(torch.randn(d_w, d_k))
        self.b = nn.Parameter(torch.zeros(d_w))


@AdditiveScore.variant
class AdditiveOfConcatenation(_Parameters):
    def forward(self, queries, keys):
        q, k = queries.shape[-2], keys.shape[-2]
        rows = queries.unsqueeze(-2).expand(*queries.shape[:-1], k, queries.shape[-1])
        columns = keys.unsqueeze(-3).expand(*keys.shape[:-2], q, *keys.shape[-2:])
        W = torch.cat([self.W_q, self.W_k], dim=-1)
        return torch.tanh(functional.linear(torch.cat([rows, columns], dim=-1), W, self.b)) @ self.w


@AdditiveScore.variant
class AdditiveWithEinsum(_Parameters):
    def forward(self, queries, keys):
        from_queries = torch.einsum("...qd,wd->...qw", queries, self.W_q)
        from_keys = torch.einsum("...kd,wd->...kw", keys, self.W_k)
        inside = from_queries.unsqueeze(-2) + from_keys.unsqueeze(-3) + self.b
        return torch.einsum("...qkw,w->...qk", inside.tanh(), self.w)


@AdditiveScore.variant
class AdditiveQueryByQuery(_Parameters):
    def forward(self, queries, keys):
        from_keys = keys @ self.W_k.mT + self.b
        rows = [
            (torch.tanh(from_keys + (query @ self.W_q.mT).unsqueeze(-2)) * self.w).sum(dim=-1)
            for query in queries.unbind(dim=-2)
        ]
        return torch.stack(rows, dim=-2)
