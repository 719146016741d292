"""What every kind of attention at scale asks of its tensors."""

import torch
from torch import Tensor

from attn_course._arrays import is_surely_empty, require_axes, require_values

_WIDE = (torch.float32, torch.float64)


def require_fit(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[int, int]:
    """Raise unless each key has its value; return how many queries and keys there are."""
    require_axes(2, "(..., q, d_q)", queries=queries)
    require_axes(2, "(..., k, d_k)", keys=keys)
    require_axes(2, "(..., k, d_v)", values=values)
    require_values(keys, values)
    return queries.shape[-2], keys.shape[-2]


def at_least_single(x: Tensor) -> Tensor:
    """Half precision can't add up many small numbers; other precisions are left as they are."""
    return x if x.dtype in _WIDE else x.to(torch.promote_types(x.dtype, torch.float32))


def surely_finite(*tensors: Tensor) -> bool:
    """Tell whether nothing is NaN or infinite; no, where it can't be known or a sum overflows."""
    sums = torch.stack([x.detach().sum(dtype=torch.float32) for x in tensors])
    return is_surely_empty(torch, ~sums.isfinite())


def without_broken(x: Tensor) -> Tensor:
    """Return x with 0 in place of NaN and inf, which get no gradient."""
    return x.masked_fill(~x.isfinite(), 0)
