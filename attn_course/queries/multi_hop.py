r"""Multi-hop attention: ask, read, ask again with what was read.  (chapter 6)"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_course._arrays import require_choice
from attn_course.alignment import softmax
from attn_course.attention import Align, attend, mean_feature
from attn_course.attention.context import find_align
from attn_course.learned_scores import make_score
from attn_course.scoring import dot

TRANSFORMS = ("query", "context", "both", "identity")
AGGREGATIONS = ("last", "sum", "concat")


class MultiHopAttention(nn.Module):
    r"""Survey (41)–(42): each hop $s$ uses the **new** query and the **old** context.

    $q^{(s+1)} = \mathrm{transform}(q^{(s)}, c^{(s)})$,
    $e^{(s)}_l = \mathrm{score}([q^{(s+1)}; c^{(s)}],\, k_l)$,
    $c^{(s+1)} = \sum_l a^{(s)}_l v_l$.

    The transform attends to the features the query was made of, `query_features` `(..., m, d_q)`,
    and asks with $u$: `"query"` $u = q^{(s)}$, `"context"` $u = c^{(s)}$, `"both"` $u = [q^{(s)};
    c^{(s)}]$; `"identity"` keeps the query. It starts from $q^{(0)}$, the mean of
    `query_features`, and $c^{(0)}$, the mean of the features `(..., n, d_f)`, which are keys and
    values alike.

    `tied` uses the same weights in every hop. `aggregate`: the `"last"` context, their `"sum"`, or
    $W_O\,[c^{(1)}; \dots; c^{(S)}]$ for `"concat"`; the last two are choices outside the survey.
    Contexts are `(..., 1, d_f)`, weights a list of `(..., 1, n)`, one a hop.
    """

    def __init__(
        self,
        d_q: int,
        d_f: int,
        hops: int,
        transform: str = "both",
        score: str = "additive",
        tied: bool = True,
        aggregate: str = "last",
        align: Align | str = softmax,
    ) -> None:
        super().__init__()
        if hops < 1:
            raise ValueError(f"hops must be at least 1, but is {hops}.")
        require_choice("transform", transform, TRANSFORMS)
        require_choice("aggregate", aggregate, AGGREGATIONS)
        self.hops, self.transform, self.aggregate = hops, transform, aggregate
        self.align = find_align(align)
        d_u = {"query": d_q, "context": d_f, "both": d_q + d_f, "identity": 0}[transform]
        rounds = 1 if tied else hops
        self.scores = nn.ModuleList(make_score(score, d_q + d_f, d_f) for _ in range(rounds))
        self.query_scores = nn.ModuleList(
            make_score(score, d_u, d_q) for _ in range(rounds if d_u else 0)
        )
        self.W_O = nn.Linear(hops * d_f, d_f, bias=False) if aggregate == "concat" else None

    def forward(
        self,
        query_features: Tensor,
        features: Tensor,
        query_mask: Tensor | None = None,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, list[Tensor] | None]:
        """Return contexts `(..., 1, d_f)` and the weights of each hop."""
        query = mean_feature(query_features, query_mask)[..., None, :]  # (..., 1, d_q)
        context = mean_feature(features, mask)[..., None, :]  # (..., 1, d_f)
        contexts, all_weights = [], []
        for hop in range(self.hops):
            query = self._next_query(hop, query, context, query_features, query_mask)
            context, weights = attend(
                torch.cat([query, context], dim=-1),
                features,
                features,
                self.scores[hop % len(self.scores)],
                self.align,
                None if mask is None else mask[..., None, :],
            )
            contexts.append(context)
            all_weights.append(weights)
        return self._aggregated(contexts), all_weights if need_weights else None

    def _next_query(
        self,
        hop: int,
        query: Tensor,
        context: Tensor,
        query_features: Tensor,
        query_mask: Tensor | None,
    ) -> Tensor:
        if self.transform == "identity":
            return query
        asks: dict[str, Callable[[], Tensor]] = {
            "query": lambda: query,
            "context": lambda: context,
            "both": lambda: torch.cat([query, context], dim=-1),
        }
        new_query, _ = attend(
            asks[self.transform](),
            query_features,
            query_features,
            self.query_scores[hop % len(self.query_scores)],
            self.align,
            None if query_mask is None else query_mask[..., None, :],
        )
        return new_query

    def _aggregated(self, contexts: list[Tensor]) -> Tensor:
        if self.W_O is not None:
            return self.W_O(torch.cat(contexts, dim=-1))
        return contexts[-1] if self.aggregate == "last" else torch.stack(contexts).sum(0)


def memory_hops(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    hops: int,
    H: Tensor | None = None,
    mask: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    r"""$u^{k+1} = H u^k + o^k$, $o^k = \sum_i \mathrm{softmax}_i(u^{k\top} m_i)\, c_i$.

    The reads of an end-to-end memory network (Sukhbaatar et al., 2015): query `(..., 1, d)`, keys
    $m_i$ and values $c_i$ `(..., n, d)`. `H` `(d, d)` is the identity unless given (layer-wise
    tying). Returns $u^{K+1}$, which the output layer takes, and the weights of each hop.
    """
    all_weights = []
    for _ in range(hops):
        read, weights = attend(query, keys, values, dot, softmax, mask)
        query = read + (query if H is None else query @ H.mT)
        all_weights.append(weights)
    return query, all_weights
