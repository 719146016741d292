"""Softmax in one pass over blocks, so that the `(q, k)` weights are never in memory at once."""

from collections.abc import Iterable, Iterator
from math import e as base
from math import inf, log2

import torch
from torch import Tensor

from attn_course._arrays import batch_shape, require_keys
from attn_course.attention import Score, with_broken_values
from attn_course.scale._fit import (
    at_least_single,
    require_fit,
    surely_finite,
    without_broken,
)
from attn_course.scale.visibility import MaskFunction, Positions, Visibility, slices
from attn_course.scoring import scaled_dot

LOG2_E = log2(base)


def online_softmax(blocks: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    r"""$c = \sum_j \exp(e_j)\, v_j / \sum_j \exp(e_j)$ in one pass over blocks of keys.

    `blocks` yields pairs of scores `(..., q, b)` and values `(..., b, d_v)`; the context is
    `(..., q, d_v)`. Only three things are kept from block to block: the largest score so far $m$,
    the denominator $\ell = \sum_j \exp(e_j - m)$ and the numerator $o$, the same sum with values.
    When a larger score $m'$ arrives, both are multiplied by $\exp(m - m')$ (Milakov & Gimelshein,
    2018). A score of -inf is a masked one; a query that has no other gets context 0.

    >>> scores, values = torch.tensor([[1.0, 3.0, 2.0]]), torch.eye(3)
    >>> at_once = torch.softmax(scores, dim=-1) @ values
    >>> one_by_one = online_softmax((scores[:, [l]], values[[l]]) for l in range(3))
    >>> torch.allclose(one_by_one, at_once)
    True
    """
    largest: Tensor | None = None
    for scores, values in blocks:
        require_keys(scores, -1)
        dtype = values.dtype
        e, v = at_least_single(scores), at_least_single(values)
        highest = e.detach().amax(dim=-1, keepdim=True)
        if largest is None:
            largest = highest.clamp(min=torch.finfo(e.dtype).min)  # avoids -inf - (-inf)
            exponentials = _exp_in_place(e - largest)
            total, context = exponentials.sum(dim=-1, keepdim=True), exponentials @ v
        else:
            before, largest = largest, torch.maximum(largest, highest)
            shrink = (before - largest).exp_()
            exponentials = _exp_in_place(e - largest)
            total = torch.addcmul(exponentials.sum(dim=-1, keepdim=True), total, shrink)
            context = torch.addcmul(exponentials @ v, context, shrink)
    if largest is None:
        raise ValueError("there are no keys to attend to: online_softmax got no block.")
    return (context / total.masked_fill(total == 0, 1)).to(dtype)


def _exp_in_place(x: Tensor) -> Tensor:
    """Return exp(x), written over x. On the CPU `exp2` can be several times as fast as `exp`."""
    return x.mul_(LOG2_E).exp2_()


def blockwise_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    score: Score = scaled_dot,
    mask: Tensor | MaskFunction | None = None,
    causal: bool = False,
    block: int = 256,
    *,
    key_mask: Tensor | None = None,
    query_positions: Positions | None = None,
    key_positions: Positions | None = None,
) -> Tensor:
    r"""$c = \mathrm{softmax}(\mathrm{score}(q, K))\,V$, never more than a block of it at a time.

    The contexts `(..., q, d_v)` of `attend`, in memory that grows with q + k. It can't call
    `attend`, whose softmax wants whole rows; nor return the weights, which are what it avoids.
    Meant for the forward pass: gradients are right, but autograd keeps every block for them.

    Which pairs count is said by any of these, or by several at once:

    - `causal`: no key after its query
    - `mask`: a function, so that no `(q, k)` mask is needed either; given the positions i
      `(..., q, 1)` and j `(..., 1, k)` of a block, it says whether query i may attend to key j.
      Or a tensor that broadcasts to `(..., q, k)`
    - `key_mask` `(..., k)`: True where there is a key and not padding

    Positions are ranges or tensors `(..., q)` and `(..., k)`; without them the queries are the
    last of the keys. Blocks that no query may see are skipped. `block` is the number of queries,
    and of keys, in a block: 256 × 256 scores stay in the cache of a processor core.

    >>> x = torch.eye(5)
    >>> near = blockwise_attention(x, x, x, mask=lambda i, j: abs(i - j) <= 1, block=2)
    >>> (near > 0).int().tolist()[0]
    [1, 1, 0, 0, 0]
    """
    q, k = require_fit(queries, keys, values)
    batch = batch_shape(queries=queries, keys=keys)
    if block < 1:
        raise ValueError(f"block must be at least 1, but is {block}.")
    positions = query_positions, key_positions
    visible = Visibility((*batch, q, k), keys, mask, key_mask, causal, positions)
    broken = None
    if visible.hides and not surely_finite(queries, keys, values):
        broken, values = values, without_broken(values)  # 0 * NaN is NaN; put back below
        score = _careful(score)

    def scored(rows: slice) -> Iterator[tuple[Tensor, Tensor]]:
        for cols, allowed in visible.blocks(rows, block):
            scores = score(queries[..., rows, :], keys[..., cols, :])
            if allowed is not None:
                scores = scores.masked_fill(~allowed, -inf)
            yield scores, values[..., cols, :]

    contexts = []
    for rows in slices(q, block):
        context = online_softmax(scored(rows))
        if broken is not None:  # rare: NaN goes to those who do see it
            for cols, allowed in visible.blocks(rows, block):
                seen = keys.new_ones(1, 1, dtype=torch.bool) if allowed is None else allowed
                context = with_broken_values(context, broken[..., cols, :], seen)
        contexts.append(context)
    return torch.cat(contexts, dim=-2)


def _careful(score: Score) -> Score:
    """Return a score through whose broken numbers no gradient flows.

    A mask makes the gradient of a score 0, but then 0 meets the NaN of its key in a product.
    """

    def scores(queries: Tensor, keys: Tensor) -> Tensor:
        found = score(queries.detach(), keys.detach())
        clean = score(without_broken(queries), without_broken(keys))
        return clean.where(found.isfinite(), found)

    return scores
