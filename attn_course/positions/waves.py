r"""Positions as waves: sines and cosines of many frequencies, and the angles behind them."""

from math import log
from typing import Any

import array_api_compat
import numpy as np

from attn_course._arrays import AnyArray, floating_dtype, namespace
from attn_course.alignment.masks import Positions

BASE = 10000.0  # the slowest wave turns about once in 2π times so many positions


def sinusoidal_positions(
    positions: Positions, d: int, like: AnyArray | None = None, base: float = BASE
) -> AnyArray:
    r"""$PE_{pos,2i} = \sin(pos / 10000^{2i/d})$, $PE_{pos,2i+1} = \cos(pos / 10000^{2i/d})$.

    `positions` `(..., n)` counted from 0, a range, or a number n for 0, …, n - 1; returns
    `(..., n, d)`. Each pair $(2i, 2i + 1)$ is the hand of a clock, which $\delta$ positions turn
    by the same angle wherever they start: the encoding of $pos + \delta$ is a rotation of that of
    $pos$. The result comes from the library (and device) of the positions or of `like`, else
    NumPy's, in the dtype of `like`.

    >>> sinusoidal_positions(1, 4)
    array([[0., 1., 0., 1.]])
    """
    require_pairs(d, "sines and cosines come")
    xp, angles = angles_of(positions, d, like, base)  # (..., n, d/2)
    waves = xp.stack([xp.sin(angles), xp.cos(angles)], axis=-1)  # (..., n, d/2, 2)
    waves = xp.reshape(waves, (*angles.shape[:-1], d))
    return xp.astype(waves, floating_dtype(xp, like))


def positions_of(mask: AnyArray) -> AnyArray:
    """Return the position of each real token among the real ones, from 0: `(..., n)`.

    So padding on the left shifts nothing. A padded token has the position of the one before it,
    or 0; no query attends to it.

    >>> positions_of(np.array([False, True, True, False])).tolist()
    [0, 0, 1, 1]
    """
    xp = namespace(mask=mask)
    counted = xp.cumulative_sum(xp.astype(mask, xp.int64), axis=-1) - 1
    return xp.clip(counted, 0, None)


def angles_of(
    positions: Positions, d: int, like: AnyArray | None, base: float = BASE
) -> tuple[Any, AnyArray]:
    r"""Return the array library and $p\,b^{-2m/d}$ for position p and pair m: `(..., n, d/2)`.

    In double: a position of some thousands leaves single precision few digits of an angle.
    """
    if isinstance(positions, int):
        positions = range(positions)
    from_range = isinstance(positions, range)
    given = {"positions": None if from_range else positions, "like": like}
    known = next((array for array in given.values() if array is not None), np.empty(0))
    xp, device = namespace(**given | {"positions": known}), array_api_compat.device(known)
    if isinstance(positions, range):
        positions = xp.arange(positions.start, positions.stop, positions.step, device=device)
    pair = xp.arange(0, d, 2, dtype=xp.float64, device=device)
    return xp, xp.astype(positions, xp.float64)[..., None] * xp.exp(-log(base) * pair / d)


def require_pairs(d: int, who: str) -> None:
    """Raise unless the width `d` can be split into pairs; `who` begins the reason."""
    if d < 2 or d % 2:
        raise ValueError(f"d must be even, as {who} in pairs, but is {d}.")
