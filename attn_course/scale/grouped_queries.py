"""Heads that share keys and values."""

from functools import reduce

import torch
from torch import Tensor

from attn_course._arrays import require_axes, require_mask, shape
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
    r"""$c^{(j)} = \mathrm{att}(q^{(j)}, K^{(g)}, V^{(g)})$: heads of a group share keys, values.

    Queries `(..., heads, q, d)`, keys and values `(..., groups, k, d)` give contexts
    `(..., heads, q, d_v)` and weights `(..., heads, q, k)`. With as many groups as heads this is
    multi-head attention, with one group multi-query attention (Shazeer, 2019), in between
    grouped-query attention (Ainslie et al., 2023). A cache of keys and values shrinks by
    heads / groups.

    `mask` broadcasts to the weights. `key_mask` `(..., k)`, without an axis for heads, is True
    where there is a key and not padding. With `causal` no query sees a later key; positions are as
    in `causal_mask`, and without them the queries are the last of the keys.
    """
    for name, x in dict(queries=queries, keys=keys, values=values).items():
        require_axes(3, "(..., heads or groups, n, d)", **{name: x})
    heads, groups = queries.shape[-3], keys.shape[-3]
    if heads % groups:
        raise ValueError(f"{heads} heads can't share {groups} groups of keys equally.")
    masks = []
    if mask is not None:
        masks.append(_for_groups(mask, heads, groups))
    if key_mask is not None:
        require_mask(key_mask, keys[..., 0, :, 0], "key_mask")
        masks.append(key_mask[..., None, None, None, :])
        keys = keys.where(key_mask[..., None, :, None], 0)  # NaN would reach the queries' gradient
    if causal:
        q, k = queries.shape[-2], keys.shape[-2]
        masks.append(
            causal_mask(
                q if query_positions is None else query_positions,
                k if key_positions is None else key_positions,
                like=keys,
            )
        )
    contexts, weights = attend(
        queries.unflatten(-3, (groups, -1)),
        keys[..., None, :, :],  # (..., groups, 1, k, d): every head of a group reads the same
        values[..., None, :, :],
        mask=reduce(torch.logical_and, masks) if masks else None,
    )
    return contexts.flatten(-4, -3), weights.flatten(-4, -3)


def _for_groups(mask: Tensor, heads: int, groups: int) -> Tensor:
    """Return the mask with its axis of heads, if it has one, split into groups."""
    if mask.ndim <= 2:
        return mask
    if mask.shape[-3] not in (1, heads):
        raise ValueError(
            f"mask is {shape(mask)}: its third axis from the end is for the {heads} heads. "
            "A mask for each example of a batch is (batch, 1, q, k): write mask[:, None]. "
            "One over the keys of each example is (batch, k): write key_mask=mask."
        )
    split = (groups, -1) if mask.shape[-3] == heads else (1, -1)
    return mask.unflatten(-3, split)  # (..., groups, heads of a group, q, k)
