r"""The construction kit: a choice on each axis of the taxonomy makes a layer."""

from math import sqrt

import torch
from torch import Tensor, nn

from attn_course.activations import Activation
from attn_course.attention.mask_policy import pair_mask, require_pairs, without_unseen
from attn_course.general_attention import choices as axis
from attn_course.general_attention import costs
from attn_course.general_attention.aligners import make_align, real_features
from attn_course.general_attention.combinations import refuse_nonsense
from attn_course.general_attention.models import find_models
from attn_course.general_attention.singular import SingularAttention
from attn_course.general_attention.sizes import find_sizes
from attn_course.queries import MultiHeadAttention, MultiHopAttention, refine

Weights = Tensor | list[Tensor] | None


class Attention(nn.Module):
    r"""score × align × dimension × query × multiplicity: one choice for each axis.

    Features `(..., n, d_f)` and queries `(..., q, d_q)` give contexts and weights, so that it can
    be the attention of a `TaskModel`. `Attention.axes()` lists the axes and their choices.

    - `score`, `align`: by name. `half_width` is the $D$ of the local alignments, `rng` what `hard`
      and `reinforced` draw from.
    - `dimension="multi"`: a weight for every feature of a value, `(..., q, n, d_v)`.
    - `query`: `"basic"` queries are given; the other kinds make their own and read nothing of the
      queries that come in: `"learned"` (survey (34)), `"removed"` (33), `"self"` (35), which has
      a query, and so a context, for every feature.
    - `heads`: `MultiHeadAttention`, weights `(..., heads, q, n)`; `d_k` and `d_v` are those of one
      head. `hops`: `MultiHopAttention`, the queries being what its one query is made of; weights
      a list. Both: each hop replaces the features by $\mathrm{Normalize}(f + c)$, survey (37).
    - `capsules`: a learned query for each class. For the losses see `CapsuleAttention`.
    - `d_k`, `d_v` of None: the features themselves are the keys, or the values. `d_w`: the hidden
      width of scores and alignments that have one (default `d_k`).

    `mask` broadcasts to `(..., q, n)`, with `hops` to `(..., 1, n)`; `key_mask` `(..., n)` is True
    where there is a feature. `causal` lets a query see the features up to its own place; the last
    query is at the last feature.

    >>> layer = Attention(d_f=5, d_q=3, score="additive")
    >>> contexts, weights = layer(torch.ones(2, 7, 5), torch.ones(2, 1, 3))
    >>> tuple(contexts.shape), tuple(weights.shape), layer.name()
    ((2, 1, 5), (2, 1, 7), 'Bahdanau 2015')
    """

    def __init__(
        self,
        d_f: int,
        score: str = "scaled_dot",
        align: str = "softmax",
        dimension: str = "single",
        query: str = "basic",
        heads: int = 1,
        hops: int = 1,
        capsules: int = 0,
        d_q: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        d_w: int | None = None,
        d_out: int | None = None,
        act: Activation = "tanh",
        half_width: float | None = None,
        rng: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.choices = axis.Choices(score, align, dimension, query, heads, hops, capsules)
        self.choices.check()
        refuse_nonsense(self.choices)
        self.sizes = find_sizes(self.choices, d_f, d_q, d_k, d_v, d_w, d_out)
        if (heads > 1 or hops > 1) and act != "tanh":
            raise ValueError(f"act is for attention without heads or hops, but is {act!r}.")
        bound = make_align(align, self.sizes, half_width, rng)
        s = self.sizes
        if query == "learned":
            self.q = nn.Parameter(torch.randn(capsules or 1, s.d_q) / sqrt(s.d_q))
        if heads > 1:
            self.heads = nn.ModuleList(
                MultiHeadAttention(
                    s.d_q,
                    heads,
                    d_k=d_f,
                    d_v=d_f,
                    d_head=s.d_k,
                    d_head_v=s.d_v,
                    d_out=s.d_out,
                    score=score,
                    align=bound,
                    bias=False,
                )
                for _ in range(hops)
            )
            self.norms = nn.ModuleList(nn.LayerNorm(d_f) for _ in range(hops if hops > 1 else 0))
        elif hops > 1:
            self.hops = MultiHopAttention(s.d_q, d_f, hops, score=score, align=bound)
        else:
            self.one = SingularAttention(self.choices, s, bound, act)

    @staticmethod
    def axes() -> dict[str, dict[str, str]]:
        """Return every axis of the taxonomy, its choices, and how or where each is made.

        >>> Attention.axes()["features"]["rotatory"]
        'features.RotatoryAttention'
        """
        return axis.axes()

    def name(self) -> str | None:
        """Return the first model of the survey's table that made these choices, or None."""
        c = self.choices
        found = find_models(
            score=c.score,
            align=c.align,
            dimension=c.dimension,
            query=c.query,
            multiplicity=c.multiplicity,
            features="singular",
            levels="single",
            representations="single",
        )
        return found[0].name if found else None

    def report(self, n: int, q: int = 1) -> costs.Cost:
        """Return what one example costs: n features, q queries.

        Where the layer makes its own queries their number follows, and `q` is not read. With
        `hops` and basic queries `q` is how many vectors the query is made of.

        >>> Attention(d_f=12, query="self", heads=3).report(n=7).flops  # 8nd² + 4n²d
        10416
        """
        own = {"self": n, "removed": 1, "learned": self.choices.capsules or 1}
        q = own.get(self.choices.query, q)
        if self.choices.heads > 1:
            flops, memory = costs.multi_head(self.choices, self.sizes, n, q)
        elif self.choices.hops > 1:
            flops, memory = costs.multi_hop(self.choices, self.sizes, n, q)
        else:
            flops, memory = costs.singular(self.choices, self.sizes, n, q)
        return costs.Cost(sum(p.numel() for p in self.parameters()), flops, memory)

    def forward(
        self,
        features: Tensor,
        queries: Tensor | None = None,
        mask: Tensor | None = None,
        need_weights: bool = True,
        *,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Weights]:
        """Return contexts `(..., q, d_v)` and weights."""
        real, masked = None, mask is not None or key_mask is not None or causal
        pairs = self._like_weights(features, queries) if masked else features
        mask = pair_mask(mask, key_mask, causal, pairs, features)
        if mask is not None:
            require_pairs(mask, pairs)
            real = real_features(mask, features.shape[-2])
            features = without_unseen(features, mask)
        asked = self._queries(features, queries)
        if self.choices.heads > 1:
            return self._with_heads(features, asked, mask, need_weights)
        if self.choices.hops > 1:
            query_mask = real if self.choices.query == "self" else None
            return self.hops(asked, features, query_mask, real, need_weights)
        contexts, weights = self.one(features, asked, mask)
        return contexts, weights if need_weights else None

    def _queries(self, features: Tensor, queries: Tensor | None) -> Tensor:
        if self.choices.query == "learned":
            return self.q.expand(*features.shape[:-2], *self.q.shape)
        if self.choices.query != "basic":
            return features
        if queries is None:
            raise ValueError("query='basic' needs queries (..., q, d_q), but none came.")
        return queries

    def _like_weights(self, features: Tensor, queries: Tensor | None) -> Tensor:
        """Return a tensor without memory in the shape `(..., q, n)` the weights will have."""
        asked = self._queries(features, queries)
        one_row = self.choices.query == "removed" or self.choices.multiplicity == "hops"
        batch = torch.broadcast_shapes(features.shape[:-2], asked.shape[:-2])
        rows = 1 if one_row else asked.shape[-2]
        return torch.empty((*batch, rows, features.shape[-2]), device="meta")

    def _with_heads(
        self, features: Tensor, queries: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Weights]:
        if not self.norms:
            return self.heads[0](queries, features, features, mask, need_weights)
        all_weights = []
        for attention, norm in zip(self.heads, self.norms, strict=True):
            contexts, weights = attention(features, features, features, mask, need_weights)
            features = refine(features, contexts, norm)
            all_weights.append(weights)
        return features, all_weights if need_weights else None

    def extra_repr(self) -> str:
        """Print the choices."""
        return ", ".join(f"{name}={choice!r}" for name, choice in vars(self.choices).items())
