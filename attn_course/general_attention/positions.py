r"""Positions as waves: how a Transformer sees order."""

from math import log

import torch
from torch import Tensor


def sinusoidal_positions(
    positions: Tensor | int, d: int, dtype: torch.dtype | None = None
) -> Tensor:
    r"""$PE_{pos,2i} = \sin(pos / 10000^{2i/d})$, $PE_{pos,2i+1} = \cos(pos / 10000^{2i/d})$.

    `positions` `(..., n)` counted from 0, or a number n for 0, …, n - 1; returns `(..., n, d)`.
    Each pair $(2i, 2i + 1)$ is the hand of a clock, which $\delta$ positions turn by the same
    angle wherever they start: the encoding of $pos + \delta$ is a rotation of that of $pos$.

    >>> sinusoidal_positions(1, 4)
    tensor([[0., 1., 0., 1.]])
    """
    if d < 2 or d % 2:
        raise ValueError(f"d must be even, as sines and cosines come in pairs, but is {d}.")
    if isinstance(positions, int):
        positions = torch.arange(positions)
    # In double: a position of some thousands leaves single precision few digits of an angle.
    pair = torch.arange(0, d, 2, dtype=torch.float64, device=positions.device)
    angles = positions[..., None].double() * torch.exp(-log(10000.0) * pair / d)  # (..., n, d/2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (..., n, d/2, 2)
    return waves.flatten(-2).to(dtype or torch.get_default_dtype())


def positions_of(mask: Tensor) -> Tensor:
    """Return the place of each real token among the real ones, from 0: `(..., n)`.

    So padding on the left shifts nothing. A padded token takes the place of the one before it,
    or 0; nobody attends to it.
    """
    return (mask.cumsum(dim=-1) - 1).clamp(min=0)
