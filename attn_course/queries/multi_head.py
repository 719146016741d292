r"""Multi-head attention: several queries side by side, each with its own view.  (chapter 6)"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attn_course._arrays import require_keys, require_mask, require_values
from attn_course.alignment import softmax
from attn_course.attention import Align, attend, with_broken
from attn_course.learned_scores import make_score


class MultiHeadAttention(nn.Module):
    r"""$c = W_O\,[c^{(1)}; \dots; c^{(h)}]$, survey (38)–(40), each head with matrices of its own:

    $c^{(j)} = \mathrm{att}(W_q^{(j)} q,\, W_K^{(j)} K,\, W_V^{(j)} V)$.

    Queries `(..., q, d_q)`, keys `(..., k, d_k)`, values `(..., k, d_v)` give contexts
    `(..., q, d_out)` and weights `(..., heads, q, k)`. Widths default to `d_q`. Each head projects
    queries and keys to `d_head`, values to `d_head_v` (default `d_q / heads`, as in the
    Transformer, so that the cost does not grow with the number of heads; the survey leaves both
    free).

    Any `score` by name and any `align`; a score with parameters gives each head its own. The
    scale of `scaled_dot` is that of one head. `mask` broadcasts to `(..., q, k)`; a mask with a
    head axis, `(..., heads, q, k)`, is told apart by having one axis more than the queries.

    Parameters: $h\,(d_q d + d_k d + d_v d') + d_{out} h d'$ with head sizes $d$, $d'$; and biases.
    """

    def __init__(
        self,
        d_q: int,
        heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        d_head: int | None = None,
        d_head_v: int | None = None,
        d_out: int | None = None,
        score: str = "scaled_dot",
        align: Align = softmax,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads must be at least 1, but is {heads}.")
        if d_head is None and d_q % heads:
            raise ValueError(
                f"{heads} heads can't share a width of {d_q} equally. Choose heads that divide "
                "d_q, or give the size of a head as d_head."
            )
        d_head = d_head or d_q // heads
        d_head_v = d_head_v or d_head
        self.heads = heads
        self.W_q = nn.Linear(d_q, heads * d_head, bias)
        self.W_K = nn.Linear(d_k or d_q, heads * d_head, bias)
        self.W_V = nn.Linear(d_v or d_q, heads * d_head_v, bias)
        self.W_O = nn.Linear(heads * d_head_v, d_out or d_q, bias)
        self.scores = nn.ModuleList(make_score(score, d_head, d_head) for _ in range(heads))
        self.align = align
        self._kernel_fits = score == "scaled_dot" and align is softmax

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return contexts `(..., q, d_out)` and weights `(..., heads, q, k)`."""
        q = self.split(self.W_q(queries))  # (..., heads, q, d_head)
        k = self.split(self.W_K(keys))
        v = self.split(self.W_V(values))
        return self.attend_in_heads(q, k, v, mask, need_weights)

    def attend_in_heads(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Do what `forward` does with queries, keys and values that are projected and split.

        Cached decoding comes in here, with keys and values `(..., heads, k, d)` made before.
        """
        if mask is not None and 1 < mask.ndim < queries.ndim:
            mask = mask[..., None, :, :]  # the same for all heads
        _require_fit(queries, keys, values, mask)
        if self._kernel_fits and not need_weights:
            return self.W_O(self.merge(_fast(queries, keys, values, mask))), None
        contexts, weights = attend(queries, keys, values, self._score, self.align, mask)
        return self.W_O(self.merge(contexts)), weights if need_weights else None

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


def _require_fit(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> None:
    """Raise where `attend` would: PyTorch's kernel adds a mask of numbers, and asks no more."""
    require_values(keys, values)
    batch = torch.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    scores = torch.empty((*batch, queries.shape[-2], keys.shape[-2]), device="meta")  # no memory
    require_keys(scores, -1)
    if mask is not None:
        require_mask(mask, scores)


def _fast(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Return the contexts by PyTorch's fused kernel, which never builds the weights.

    The kernel adds the mask to the scores, and NaN plus anything is NaN: so that what is masked
    never reaches a context, broken numbers are taken out before and put back where they belong.
    """
    if mask is None:
        contexts = scaled_dot_product_attention(queries, keys, values)
        # Some kernels drop NaN: a broken query spoils its own row, a broken key every row.
        spoilt = (
            queries.isnan().any(dim=-1, keepdim=True)
            | keys.isnan().any(dim=(-2, -1))[..., None, None]
        )
        return contexts.masked_fill(spoilt, torch.nan)
    mask = mask[None, :] if mask.ndim == 1 else mask  # (k,): the kernel wants rows
    whole_keys, whole_values = keys.isfinite(), values.isfinite()
    contexts = scaled_dot_product_attention(
        queries, keys.where(whole_keys, 0), values.where(whole_values, 0), attn_mask=mask
    )
    lost = ~whole_keys.all(dim=-1, keepdim=True)  # a broken key spoils all that sees it
    return with_broken(contexts, values.masked_fill(lost, torch.nan), mask)
