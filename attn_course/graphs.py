r"""Attention on graphs: every node asks, its neighbours answer.  (chapter 9)

A graph is a list of edges `(2, e)`: `edges[0]` are the nodes that ask, `edges[1]` the nodes that
are looked at, in the order (query, key) of every score in the course. So `mask.nonzero().T` of a
square mask is its graph. Other libraries list (source, target), which is `edges.flip(0)`.

- `segment_softmax` is the softmax over each node's own edges
- `graph_attention` aligns and averages scores that exist for edges only
- `GAT` and `GATv2` are the layers made of it; they differ in the score alone

Nothing here ever holds a number for each pair of nodes: work and memory grow with the edges. That
is why these functions don't call `attend`, whose scores are `(..., q, k)`; on a complete graph
both are the same. The array API has no sums over segments, so this chapter is PyTorch's alone.
A node without neighbours gets context 0, as does any query that may attend nowhere.
"""

from abc import ABC, abstractmethod
from math import inf, sqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from attn_course._arrays import require_axes, require_choice, require_mask, require_shape, shape
from attn_course.activations import Activation, activation

COMBINE = ("concat", "average")
SLOPE = 0.2  # of LeakyReLU below 0, in both papers


def with_self_loops(edges: Tensor, n: int) -> Tensor:
    r"""Let every node look at itself too: $\mathcal{N}_i \leftarrow \mathcal{N}_i \cup \{i\}$.

    Only the loops that are missing are added, and they come last.

    >>> with_self_loops(torch.tensor([[0, 1], [1, 1]]), n=3).tolist()
    [[0, 1, 0, 2], [1, 1, 0, 2]]
    """
    _require_edges(edges, n, n)
    lonely = torch.ones(n, dtype=torch.bool, device=edges.device)
    lonely[edges[0, edges[0] == edges[1]]] = False
    loops = lonely.nonzero()[:, 0]
    return torch.cat([edges, torch.stack([loops, loops])], dim=1)


def segment_softmax(scores: Tensor, segments: Tensor, n: int, mask: Tensor | None = None) -> Tensor:
    r"""$a_m = \exp(e_m) / \sum_{m' \in \mathrm{segment}(m)} \exp(e_{m'})$.

    Scores `(..., e)` whose last axis falls into `n` segments: entry $m$ belongs to `segments[m]`,
    in any order. Returns weights `(..., e)`; each segment's weights add up to 1. `mask` `(..., e)`
    is True where an entry counts; where none of a segment does, its weights are 0.

    >>> segment_softmax(torch.zeros(5), torch.tensor([0, 1, 0, 0, 0]), n=2).tolist()
    [0.25, 1.0, 0.25, 0.25, 0.25]
    """
    require_axes(1, "(..., e)", scores=scores)
    require_shape((scores.shape[-1],), "(e,)", segments=segments)
    if mask is not None:
        require_mask(mask, scores)
        scores = scores.masked_fill(~mask, -inf)
    # Half precision can't add up many small numbers, so the sums are taken in single.
    e = scores.to(torch.promote_types(scores.dtype, torch.float32)).movedim(-1, 0)  # edges first
    index = segments.view(-1, *[1] * (e.ndim - 1)).expand(e.shape)
    per_segment = (n, *e.shape[1:])
    largest = e.new_full(per_segment, -inf).scatter_reduce(0, index, e.detach(), "amax")
    largest = largest.masked_fill(largest == -inf, 0)  # nothing counts: avoids -inf - (-inf)
    exponentials = (e - largest.gather(0, index)).exp()
    total = e.new_zeros(per_segment).scatter_add(0, index, exponentials)
    total = total.masked_fill(total == 0, 1)
    return (exponentials / total.gather(0, index)).movedim(0, -1).to(scores.dtype)


def graph_attention(
    scores: Tensor,
    edges: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    q: int | None = None,
) -> tuple[Tensor, Tensor]:
    r"""$c_i = \sum_{j \in \mathcal{N}_i} a_{ij} v_j$, $a_{ij}$ the softmax over $\mathcal{N}_i$.

    Scores `(..., e)`, one for each edge, and values `(..., n, d_v)` give contexts `(..., q, d_v)`
    and weights `(..., e)`. `q` is the number of nodes that ask (default `n`). `mask` `(..., e)`
    is True where an edge is real. An edge that is listed twice counts twice.

    >>> edges = torch.tensor([[0, 0, 1], [0, 1, 1]])  # node 2 has no neighbours
    >>> contexts, weights = graph_attention(torch.zeros(3), edges, torch.tensor([[1.], [3.], [5.]]))
    >>> contexts[:, 0].tolist()
    [2.0, 3.0, 0.0]
    """
    require_axes(2, "(..., n, d_v)", values=values)
    q = values.shape[-2] if q is None else q
    _require_edges(edges, q, values.shape[-2])
    require_axes(1, "(..., e)", scores=scores)
    if scores.shape[-1] != edges.shape[1]:
        raise ValueError(
            f"each edge needs its score: scores are {shape(scores)}, edges are {shape(edges)}. "
            "The last axis of both must be the number of edges."
        )
    arriving = _of_nodes(values, edges[1])  # (..., n, d_v) -> (..., e, d_v)
    return _averaged(scores, edges[0], arriving, mask, q)


def _averaged(
    scores: Tensor, asks: Tensor, arriving: Tensor, mask: Tensor | None, q: int
) -> tuple[Tensor, Tensor]:
    """Return contexts and weights as `graph_attention` does, from the value of each edge.

    `arriving` `(..., e, d_v)` is what `_of_nodes` returns.
    """
    weights = segment_softmax(scores, asks, q, mask)
    if mask is not None:  # 0 * NaN is NaN, so a broken value must not even meet its weight of 0
        arriving = arriving.where(mask[..., None], 0)
    batch = torch.broadcast_shapes(weights.shape, arriving.shape[:-1])  # (..., e)
    arriving, shares = arriving.expand(*batch, -1), weights.expand(batch)
    by_edge = arriving.movedim(-2, 0) * shares.movedim(-1, 0)[..., None]  # (e, ..., d_v)
    rows = by_edge.flatten(1)
    contexts = rows.new_zeros(q, rows.shape[1]).scatter_add(0, asks[:, None].expand_as(rows), rows)
    return contexts.unflatten(1, by_edge.shape[1:]).movedim(0, -2), weights


def _of_nodes(features: Tensor, nodes: Tensor) -> Tensor:
    """Return the features `(..., n, d)` of the nodes of each edge, `(..., e, d)`.

    In memory edges come first, whatever the order of axes says: then an edge's numbers are next
    to each other, and what adds them up, here and in the backward pass, is much faster.
    """
    return features.movedim(-2, 0).index_select(0, nodes).movedim(0, -2)


def _for_each_head(features: Tensor, W: Tensor) -> Tensor:
    """Return `W` `(heads, d_head, d_f)` times the features `(..., n, d_f)`: one product for all.

    The result is `(..., heads, n, d_head)`; in memory the heads of a node are together.
    """
    together = features @ W.flatten(0, 1).mT  # (..., n, heads * d_head)
    return together.unflatten(-1, W.shape[:2]).transpose(-2, -3)


class _GraphLayer(nn.Module, ABC):
    """What `GAT` and `GATv2` share: all but the score."""

    def __init__(
        self,
        d_f: int,
        d_head: int,
        heads: int = 1,
        d_e: int | None = None,
        combine: str = "concat",
        act: Activation = "elu",
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads must be at least 1, but is {heads}.")
        require_choice("combine", combine, COMBINE)
        self.d_f, self.d_e, self.heads, self.combine = d_f, d_e, heads, combine
        self.act = activation(act)
        self.W_e = None if d_e is None else nn.Parameter(_glorot(heads, d_head, d_e))

    def forward(
        self,
        features: Tensor,
        edges: Tensor,
        edge_features: Tensor | None = None,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return new features `(..., n, d_out)` and weights `(..., heads, e)`.

        Features are `(..., n, d_f)`, `edges` `(2, e)`, `edge_features` `(..., e, d_e)`. `mask`
        `(..., n)` is True where there is a node; what is no node is no neighbour either.
        """
        n = features.shape[-2]
        _require_edges(edges, n, n)
        self._require_widths(features, edges, edge_features)
        real = None
        if mask is not None:
            require_mask(mask, features[..., 0])
            mask = mask.expand(features.shape[:-1])
            features = features.where(mask[..., None], 0)  # NaN would poison the gradient of W
            real = (mask[..., edges[0]] & mask[..., edges[1]])[..., None, :]  # (..., 1, e)
            if edge_features is not None:
                edge_features = edge_features.where(real[..., 0, :, None], 0)
        arriving, scores = self._values_and_scores(features, edges, edge_features)
        contexts, weights = _averaged(scores, edges[0], arriving, real, n)
        if self.combine == "concat":
            # (..., heads, n, d_head) -> (..., n, heads * d_head)
            joined = contexts.transpose(-2, -3).flatten(-2)
        else:
            joined = contexts.mean(dim=-3)  # (..., n, d_head)
        return self.act(joined), weights if need_weights else None

    @abstractmethod
    def _values_and_scores(
        self, features: Tensor, edges: Tensor, edge_features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the values of edges `(..., heads, e, d_head)` and scores `(..., heads, e)`."""

    def _require_widths(
        self, features: Tensor, edges: Tensor, edge_features: Tensor | None
    ) -> None:
        require_axes(2, "(..., n, d_f)", features=features)
        require_shape((*features.shape[:-1], self.d_f), "(..., n, d_f)", features=features)
        if (edge_features is None) != (self.d_e is None):
            raise ValueError(
                f"the layer was made with d_e = {self.d_e}, but edge_features are "
                f"{None if edge_features is None else shape(edge_features)}. "
                "Give both (..., e, d_e) edge features and d_e, or neither."
            )
        if edge_features is not None and self.d_e is not None:
            wanted = (*edge_features.shape[:-2], edges.shape[1], self.d_e)
            require_shape(wanted, "(..., e, d_e)", edge_features=edge_features)


class GAT(_GraphLayer):
    r"""$h_i' = \sigma(\sum_j a_{ij} W h_j)$ with the score (Veličković et al., 2018)

    $e_{ij} = \mathrm{LeakyReLU}(a_1^\top W h_i + a_2^\top W h_j + a_3^\top W_e \varepsilon_{ij})$,

    where `a_1`, `a_2` are the two halves of the paper's $a$, so that no pair $[W h_i; W h_j]$ is
    ever built, and $\varepsilon_{ij}$ are edge features of width `d_e`; without `d_e` that term is
    left out. Each head has its own parameters: `W` `(heads, d_head, d_f)`, `W_e`
    `(heads, d_head, d_e)`, `a_1`, `a_2`, `a_3` `(heads, d_head)`.

    `combine` is "concat" in hidden layers, $\Vert_m\, \sigma(\cdot)$ of width `heads * d_head`,
    and "average" in the last one, $\sigma(\frac1M \sum_m \cdot)$ of width `d_head`: the heads are
    averaged before the non-linearity $\sigma$ = `act`. In the paper a node is its own neighbour;
    that is your choice here: pass `with_self_loops(edges, n)`.

    All nodes rank their common neighbours alike, by $a_2^\top W h_j$: `GATv2` is the remedy.
    """

    def __init__(
        self,
        d_f: int,
        d_head: int,
        heads: int = 1,
        d_e: int | None = None,
        combine: str = "concat",
        act: Activation = "elu",
    ) -> None:
        super().__init__(d_f, d_head, heads, d_e, combine, act)
        self.W = nn.Parameter(_glorot(heads, d_head, d_f))
        self.a_1 = nn.Parameter(_glorot(heads, d_head))
        self.a_2 = nn.Parameter(_glorot(heads, d_head))
        self.a_3 = None if d_e is None else nn.Parameter(_glorot(heads, d_head))

    def _values_and_scores(
        self, features: Tensor, edges: Tensor, edge_features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        values = _for_each_head(features, self.W)  # (..., n, d_f) -> (..., heads, n, d_head)
        asking = (values @ self.a_1[..., None])[..., 0]  # (..., heads, n)
        looked_at = (values @ self.a_2[..., None])[..., 0]
        scores = asking.index_select(-1, edges[0]) + looked_at.index_select(-1, edges[1])
        if edge_features is not None and self.W_e is not None and self.a_3 is not None:
            of_edge = self.a_3[:, None, :] @ self.W_e  # a_3^T W_e: (heads, 1, d_e)
            scores = scores + (edge_features[..., None, :, :] @ of_edge.mT)[..., 0]
        return _of_nodes(values, edges[1]), leaky_relu(scores, SLOPE)  # (..., heads, e)


class GATv2(_GraphLayer):
    r"""$h_i' = \sigma(\sum_j a_{ij} W_k h_j)$ with the score (Brody et al., 2022)

    $e_{ij} = a^\top \mathrm{LeakyReLU}(W_q h_i + W_k h_j + W_e \varepsilon_{ij} + b)$,

    the additive score of chapter 2 (`w` is called `a` here; `W_q`, `W_k` are the halves of the
    paper's $W$). With the activation inside, each node can prefer a neighbour of its own. `W_q`,
    `W_k` are `(heads, d_head, d_f)`, `a` and `b` `(heads, d_head)`. The rest is as in `GAT`.
    """

    def __init__(
        self,
        d_f: int,
        d_head: int,
        heads: int = 1,
        d_e: int | None = None,
        combine: str = "concat",
        act: Activation = "elu",
        bias: bool = True,
    ) -> None:
        super().__init__(d_f, d_head, heads, d_e, combine, act)
        self.W_q = nn.Parameter(_glorot(heads, d_head, d_f))
        self.W_k = nn.Parameter(_glorot(heads, d_head, d_f))
        self.a = nn.Parameter(_glorot(heads, d_head))
        self.b = nn.Parameter(torch.zeros(heads, d_head)) if bias else None

    def _values_and_scores(
        self, features: Tensor, edges: Tensor, edge_features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        # `scoring.additive` would map both ends of every edge; here every node is mapped once.
        queries = _for_each_head(features, self.W_q)  # (..., heads, n, d_head)
        if self.b is not None:
            queries = queries + self.b[:, None, :]
        # Gathered once, as keys and as values: in the backward pass that is what costs.
        keys = _of_nodes(_for_each_head(features, self.W_k), edges[1])  # (..., heads, e, d_head)
        inside = _of_nodes(queries, edges[0]) + keys
        if edge_features is not None and self.W_e is not None:
            inside = inside + _for_each_head(edge_features, self.W_e)
        activated = leaky_relu(inside, SLOPE).movedim(-2, 0)  # (e, ..., heads, d_head)
        return keys, (activated * self.a).sum(dim=-1).movedim(0, -1)


def _glorot(heads: int, *size: int) -> Tensor:
    """Return one draw a head, from the range that keeps the variance from layer to layer."""
    bound = sqrt(6 / (size[0] + size[-1] if len(size) > 1 else size[0] + 1))
    return torch.empty(heads, *size).uniform_(-bound, bound)


def _require_edges(edges: Tensor, q: int, n: int) -> None:
    """Raise unless `edges` is a list of pairs of nodes that exist."""
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype != torch.int64:
        raise ValueError(
            f"edges must be (2, e) whole numbers (torch.int64), but are {shape(edges)} of "
            f"{edges.dtype}. For a list of pairs write torch.tensor(pairs).T."
        )
    if edges.shape[1] == 0:
        return
    low, high = edges.amin().item(), edges.amax(dim=1).tolist()
    if low < 0 or high[0] >= q or high[1] >= n:
        raise ValueError(
            f"edges must lie between 0 and {q - 1} (who asks) and 0 and {n - 1} (who is looked "
            f"at), but run from {low} to {high}. Count nodes from 0, and queries in the first row."
        )
