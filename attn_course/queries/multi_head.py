r"""Multi-head attention: several queries side by side, each with its own view.  (chapter 6)"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attn_course._arrays import batch_shape, require_axes, require_keys, require_values, shape
from attn_course.alignment import softmax
from attn_course.attention import Align, attend
from attn_course.attention.context import find_align
from attn_course.attention.mask_policy import (
    all_finite,
    apart,
    pair_mask,
    require_key_mask,
    require_pairs,
)
from attn_course.learned_scores import make_score


class MultiHeadAttention(nn.Module):
    r"""$c = W_O\,[c^{(1)}; \dots; c^{(h)}]$, survey (38)–(40), each head with matrices of its own:

    $c^{(j)} = \mathrm{att}(W_q^{(j)} q,\, W_K^{(j)} K,\, W_V^{(j)} V)$.

    Queries `(..., q, d_q)`, keys `(..., k, d_k)`, values `(..., k, d_v)` give contexts
    `(..., q, d_out)` and weights `(..., heads, q, k)`. Widths default to `d_q`. Each head projects
    queries and keys to `d_head`, values to `d_head_v` (default `d_q / heads`, as in the
    Transformer, so that the cost does not grow with the number of heads; the survey leaves both
    free).

    - `score`, `align`: by name; a score with parameters gives each head its own. `align` may also
      be a function of scores and a mask. The scale of `scaled_dot` is that of one head.
    - `dropout`: the probability with which a weight is set to 0 while the layer trains.
    - `mask` broadcasts to `(..., q, k)`; a mask with a head axis, `(..., heads, q, k)`, is told
      apart by having one axis more than the queries. `key_mask` `(..., k)` is True where there is
      a key. `causal` lets a query see the keys up to its own; the last query is at the last key.
    - `need_weights=False` returns None for the weights, and uses PyTorch's fused kernel where
      score and alignment are those of the Transformer.

    What is masked has no effect, on contexts and gradients, even if it is NaN or inf.

    Parameters: $h\,(d_q d + d_k d + d_v d') + d_{out} h d'$ with head sizes $d$, $d'$; and biases.
    """

    def __init__(
        self,
        d_q: int,
        heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        d_head: int | None = None,
        d_head_v: int | None = None,
        d_out: int | None = None,
        score: str = "scaled_dot",
        align: Align | str = softmax,
        bias: bool = True,
        dropout: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads must be at least 1, but is {heads}.")
        if d_head is None and d_q % heads:
            raise ValueError(
                f"{heads} heads can't share a width of {d_q} equally. Choose heads that divide "
                "d_q, or give the size of a head as d_head."
            )
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is a probability from 0 to below 1, but is {dropout}.")
        d_head = d_head or d_q // heads
        d_head_v = d_head_v or d_head
        self.heads, self.dropout = heads, dropout
        self.W_q = nn.Linear(d_q, heads * d_head, bias, device, dtype)
        self.W_K = nn.Linear(d_k or d_q, heads * d_head, bias, device, dtype)
        self.W_V = nn.Linear(d_v or d_q, heads * d_head_v, bias, device, dtype)
        self.W_O = nn.Linear(heads * d_head_v, d_out or d_q, bias, device, dtype)
        scores = nn.ModuleList(make_score(score, d_head, d_head) for _ in range(heads))
        self.scores = scores.to(device=device, dtype=dtype)
        self.align = find_align(align)
        self._kernel_fits = score == "scaled_dot" and self.align is softmax

    @classmethod
    def from_torch(cls, layer: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Return a copy of PyTorch's layer: the same contexts and weights, from weights of its own.

        Here the batch always comes first, whatever `batch_first` says, and True in a mask means
        "may attend", where PyTorch's masks say "leave out".
        """
        if layer.bias_k is not None or layer.add_zero_attn:
            raise ValueError(
                "from_torch copies layers without add_bias_kv and add_zero_attn, which add a key "
                "to every input, but this layer has one of them. Append that key to yours instead."
            )
        own = cls(
            layer.embed_dim,
            layer.num_heads,
            d_k=layer.kdim,
            d_v=layer.vdim,
            bias=layer.in_proj_bias is not None,
            dropout=layer.dropout,
            device=layer.out_proj.weight.device,
            dtype=layer.out_proj.weight.dtype,
        )
        matrices = (
            (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
            if layer.in_proj_weight is None
            else layer.in_proj_weight.chunk(3)
        )
        projections = own.W_q, own.W_K, own.W_V
        with torch.no_grad():
            for projection, matrix in zip(projections, matrices, strict=True):
                projection.weight.copy_(matrix)
            if layer.in_proj_bias is not None:
                for projection, bias in zip(projections, layer.in_proj_bias.chunk(3), strict=True):
                    projection.bias.copy_(bias)
            own.W_O.load_state_dict(layer.out_proj.state_dict())
        return own.train(layer.training)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
        *,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return contexts `(..., q, d_out)` and weights `(..., heads, q, k)`."""
        self._require_widths(queries, keys, values)
        q = self.split(self.W_q(queries))  # (..., heads, q, d_head)
        k = self.split(self.W_K(keys))
        v = self.split(self.W_V(values))
        finite = all_finite(q, k, v)
        if not finite:  # a broken row must not reach the gradient of a projection
            q = self.split(apart(self.W_q, queries))
            k = self.split(apart(self.W_K, keys))
            v = self.split(apart(self.W_V, values))
        return self._attend(q, k, v, mask, key_mask, causal, need_weights, finite)

    def attend_in_heads(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
        *,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Do what `forward` does with queries, keys and values that are projected and split.

        Cached decoding comes in here, with keys and values `(..., heads, k, d)` made before.
        """
        finite = all_finite(queries, keys, values)
        return self._attend(queries, keys, values, mask, key_mask, causal, need_weights, finite)

    def _attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        key_mask: Tensor | None,
        causal: bool,
        need_weights: bool,
        finite: bool,
    ) -> tuple[Tensor, Tensor | None]:
        if mask is not None and 2 < mask.ndim < queries.ndim:
            mask = mask[..., None, :, :]  # the same for all heads
        if key_mask is not None:
            batch = torch.broadcast_shapes(queries.shape[:-3], keys.shape[:-3])
            require_key_mask(key_mask, (*batch, keys.shape[-2]))
            key_mask = key_mask[..., None, :]
        square = queries.shape[-2] == keys.shape[-2]
        purely_causal = causal and square and mask is None and key_mask is None
        if not purely_causal:  # the kernel has no other masks of its own
            mask = pair_mask(mask, key_mask, causal, queries, keys)
        _require_fit(queries, keys, values, mask)
        if self._kernel_fits and not need_weights and finite:  # kernels differ in what NaN does
            contexts = scaled_dot_product_attention(
                queries,
                keys,
                values,
                attn_mask=mask[None, :] if mask is not None and mask.ndim == 1 else mask,
                dropout_p=self.dropout if self.training else 0.0,
                is_causal=purely_causal,
            )
            return self.W_O(self.merge(contexts)), None
        contexts, weights = attend(
            queries, keys, values, self._score, self._dropped(), mask, causal=purely_causal
        )
        merged = self.merge(contexts)
        output = self.W_O(merged) if finite else apart(self.W_O, merged)
        return output, weights if need_weights else None

    def split(self, x: Tensor) -> Tensor:
        """Return `(..., n, heads * d)` as `(..., heads, n, d)`."""
        return x.unflatten(-1, (self.heads, -1)).transpose(-2, -3)

    @staticmethod
    def merge(x: Tensor) -> Tensor:
        """Return `(..., heads, n, d)` as `(..., n, heads * d)`."""
        return x.transpose(-2, -3).flatten(-2)

    def _score(self, queries: Tensor, keys: Tensor) -> Tensor:
        first = self.scores[0]
        if not list(first.parameters()):  # the same formula for all heads: all at once
            return first(queries, keys)
        each = [
            score(queries[..., j, :, :], keys[..., j, :, :]) for j, score in enumerate(self.scores)
        ]
        return torch.stack(each, dim=-3)  # (..., heads, q, k)

    def _dropped(self) -> Align:
        """Return the alignment, followed by dropout while the layer trains."""
        if not self.training or self.dropout == 0:
            return self.align

        def dropped(scores: Tensor, mask: Tensor | None = None) -> Tensor:
            return nn.functional.dropout(self.align(scores, mask=mask), self.dropout)

        return dropped

    def _require_widths(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        for name, x, projection in (
            ("queries", queries, self.W_q),
            ("keys", keys, self.W_K),
            ("values", values, self.W_V),
        ):
            require_axes(2, "(..., n, width)", **{name: x})
            if x.shape[-1] != projection.in_features:
                raise ValueError(
                    f"{name} must have the width {projection.in_features} that the layer was made "
                    f"for, but are {shape(x)}. Give d_q, d_k and d_v where widths differ."
                )
        batch_shape(queries=queries, keys=keys, values=values)


def _require_fit(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> None:
    """Raise where `attend` would: PyTorch's kernel adds a mask of numbers, and asks no more."""
    require_values(keys, values)
    batch = torch.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    scores = torch.empty((*batch, queries.shape[-2], keys.shape[-2]), device="meta")  # no memory
    require_keys(scores, -1)
    if mask is not None:
        require_pairs(mask, scores)
