"""Query heads that share key-value heads."""

from functools import reduce

import torch
from torch import Tensor

from attn_course._arrays import batch_shape, require_axes, require_mask, shape
from attn_course.alignment.masks import Positions, causal_mask
from attn_course.attention import attend


def grouped_query_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
    *,
    key_mask: Tensor | None = None,
    query_positions: Positions | None = None,
    key_positions: Positions | None = None,
) -> tuple[Tensor, Tensor]:
    r"""$c^{(h)} = \mathrm{att}(Q^{(h)}, K^{(g)}, V^{(g)})$, $g = \lfloor h H_{kv} / H \rfloor$.

    Query heads that are neighbours share a key-value head: queries `(..., heads, q, d)`, keys and
    values `(..., key-value heads, k, d)` give contexts `(..., heads, q, d_v)` and weights
    `(..., heads, q, k)`. With as many key-value heads as query heads this is multi-head attention,
    with one it is multi-query attention (Shazeer, 2019), in between grouped-query attention
    (Ainslie et al., 2023). A cache of keys and values shrinks by heads / key-value heads.

    `mask` broadcasts to the weights. `key_mask` `(..., k)`, without an axis for heads, is True
    where there is a key and not padding. With `causal` no query sees a later key; positions are as
    in `causal_mask`, and without them the queries are the last of the keys.

    >>> values = torch.tensor([[[10.0]], [[20.0]]])  # two key-value heads, one key each
    >>> contexts, _ = grouped_query_attention(torch.ones(4, 1, 1), values, values)
    >>> contexts.flatten().tolist()
    [10.0, 10.0, 20.0, 20.0]
    """
    for name, x in dict(queries=queries, keys=keys, values=values).items():
        require_axes(3, "(..., heads, n, d)", **{name: x})
    heads, q = queries.shape[-3:-1]
    kv_heads, k = keys.shape[-3:-1]
    if heads % kv_heads or values.shape[-3] != kv_heads:
        raise ValueError(
            f"{heads} query heads can't share {kv_heads} heads of keys and {values.shape[-3]} of "
            "values equally: both must be the same number, which divides the query heads."
        )
    masks = []
    if mask is not None:
        batch = batch_shape(queries=queries[..., 0, :, :], keys=keys[..., 0, :, :])
        masks.append(_for_key_value_heads(mask, (*batch, heads, q, k), kv_heads))
    if key_mask is not None:
        require_mask(key_mask, keys[..., 0, :, 0], "key_mask")
        masks.append(key_mask[..., None, None, None, :])
        keys = keys.where(key_mask[..., None, :, None], 0)  # NaN would reach the queries' gradient
    if causal:
        masks.append(
            causal_mask(
                q if query_positions is None else query_positions,
                k if key_positions is None else key_positions,
                like=keys,
            )
        )
    # The queries of all heads that share keys become the rows of one table. An axis of size 1 in
    # the keys would do as well, but the product would then copy the keys for every head.
    shared = (kv_heads, heads // kv_heads)
    contexts, weights = attend(
        queries.unflatten(-3, shared).flatten(-3, -2),  # (..., key-value heads, sharing * q, d)
        keys,
        values,
        mask=_in_rows(reduce(torch.logical_and, masks), shared[1], q) if masks else None,
    )
    return _by_head(contexts, shared[1]), _by_head(weights, shared[1])


def _by_head(rows: Tensor, sharing: int) -> Tensor:
    """Return rows `(..., key-value heads, sharing * q, d)` as `(..., heads, q, d)`."""
    return rows.unflatten(-2, (sharing, -1)).flatten(-4, -3)


def _in_rows(mask: Tensor, sharing: int, q: int) -> Tensor:
    """Return a mask that broadcasts to `(..., sharing, q, k)` with these two axes as one."""
    size = torch.broadcast_shapes(mask.shape, (sharing, q, 1))
    return mask.expand(size).flatten(-3, -2)


def _for_key_value_heads(mask: Tensor, weights: tuple[int, ...], kv_heads: int) -> Tensor:
    """Return the mask with its axis of heads, if it has one, split by the key-value heads."""
    heads = weights[-3]
    if mask.ndim > 2 and mask.shape[-3] not in (1, heads):
        raise ValueError(
            f"mask is {shape(mask)}: its third axis from the end is for the {heads} heads. "
            "A mask for each example of a batch is (batch, 1, q, k): write mask[:, None]. "
            "One over the keys of each example is (batch, k): write key_mask=mask."
        )
    require_mask(mask, torch.empty(weights, device="meta"))  # a shape, no memory
    if mask.ndim <= 2:
        return mask
    split = (kv_heads, -1) if mask.shape[-3] == heads else (1, -1)
    return mask.unflatten(-3, split)  # (..., key-value heads, sharing, q, k)
