r"""Positions as rotations: queries and keys turn, and their product sees the distance (RoPE)."""

from typing import Any

from attn_course._arrays import (
    Array,
    at_least,
    broadcasts,
    is_tensor,
    require_axes,
    require_choice,
    shape,
)
from attn_course.positions.waves import BASE, angles_of, require_pairs

# Which two features form pair m: (2m, 2m + 1) as in the paper, or (m, m + d/2) as in most code.
PAIRS = ("interleaved", "half")


def rotate(
    features: Array,
    positions: range | Array | None = None,
    pairs: str = "interleaved",
    base: float = BASE,
) -> Array:
    r"""$(x_a, x_b) \mapsto (x_a\cos p\theta_m - x_b\sin p\theta_m,\ x_a\sin p\theta_m + x_b\cos
    p\theta_m)$, $\theta_m = 10000^{-2m/d}$, for each pair m of features (Su et al., 2021).

    Rotate queries and keys, each by their own positions, and leave values as they are: a dot
    product of the two then depends on the distance of the positions alone.

    - `features` `(..., n, d)` with an even d; returns the same shape and dtype.
    - `positions` broadcast to `(..., n)`, or are a range; without them 0, …, n - 1. After a cache
      of c keys, the new words have `range(c, c + n)`, which `scale.KeyValueCache.next_positions`
      returns, and the cache stores keys that are already rotated. Features with heads
      `(..., h, n, d)` and one row of positions per text need `positions[:, None, :]`.
    - `pairs` says which features form a pair: "interleaved" (0, 1), (2, 3), … as in the paper, or
      "half" (0, d/2), (1, d/2 + 1), … as in most released models. Both are right; queries and keys
      of one model must agree.

    >>> import numpy as np
    >>> quarter = np.array([np.pi / 2])
    >>> rotate(np.array([[3.0, 5.0]]), quarter).round(3)
    array([[-5.,  3.]])
    """
    require_axes(2, "(..., n, d)", features=features)
    require_choice("pairs", pairs, PAIRS)
    *_, n, d = shape(features)
    require_pairs(d, "rotate turns features")
    positions = range(n) if positions is None else positions
    if isinstance(positions, int):
        raise ValueError(
            f"positions must be an array or a range with one position per row, but is the number "
            f"{positions}. For {n} words that begin there, write range({positions}, "
            f"{positions} + {n})."
        )
    xp, angles = angles_of(positions, d, features, base)  # (..., n, d/2)
    if not broadcasts(shape(angles)[:-1], shape(features)[:-1]):
        raise ValueError(
            f"each row of features needs its position: features are {shape(features)}, so "
            f"positions must broadcast to {shape(features)[:-1]}, but are {shape(angles)[:-1]}. "
            "For features with heads write positions[:, None, :]."
        )
    wide = at_least(xp, xp.float32, features)  # half precision would lose digits of the sums
    cos, sin = xp.astype(xp.cos(angles), wide.dtype), xp.astype(xp.sin(angles), wide.dtype)
    if pairs == "interleaved":
        rotated = _neighbours(xp, wide, cos, sin)
    else:
        x_a, x_b = wide[..., : d // 2], wide[..., d // 2 :]
        rotated = xp.concat([x_a * cos - x_b * sin, x_a * sin + x_b * cos], axis=-1)
    return rotated if rotated.dtype == features.dtype else xp.astype(rotated, features.dtype)


def _neighbours(xp: Any, features: Array, cos: Array, sin: Array) -> Array:
    """Return the features with pairs of neighbours turned."""
    x_a, x_b = features[..., 0::2], features[..., 1::2]  # (..., n, d/2)
    if is_tensor(features):  # one product of complex numbers is several times faster
        turned = xp.view_as_real(xp.complex(x_a, x_b) * xp.complex(cos, sin))
    else:
        turned = xp.stack([x_a * cos - x_b * sin, x_a * sin + x_b * cos], axis=-1)
    return xp.reshape(turned, features.shape)
