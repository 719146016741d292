r"""Positions as biases: a score decreases with the distance of query and key (ALiBi)."""

import array_api_compat
import numpy as np

from attn_course._arrays import Array, floating_dtype, namespace
from attn_course.alignment.masks import Positions, positions_of_pairs


def alibi_slopes(heads: int, like: Array | None = None) -> Array:
    r"""$s_h = 2^{-8h/H}$ for head $h = 1, …, H$: `(heads,)` (Press et al., 2022).

    This is a geometric series for a power of two. For another number of heads the paper uses the
    slopes of the next smaller power of two, and adds every other slope of the one above it.

    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    >>> alibi_slopes(3).tolist()
    [0.0625, 0.00390625, 0.25]
    """
    if heads < 1:
        raise ValueError(f"heads must be at least 1, but is {heads}.")
    power = 2 ** (heads.bit_length() - 1)  # the largest power of two that is not above `heads`
    slopes = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    slopes += [2.0 ** (-8 * h / (2 * power)) for h in range(1, 2 * (heads - power), 2)]
    known = np.empty(0) if like is None else like
    xp = namespace(like=known)
    dtype, device = floating_dtype(xp, known), array_api_compat.device(known)
    return xp.asarray(slopes, dtype=dtype, device=device)


def distance_bias(
    slopes: Array, query_positions: Positions, key_positions: Positions | None = None
) -> Array:
    r"""$b_{hij} = -s_h\,|i - j|$ for head h, query position i, key position j: `(..., h, q, k)`.

    Add it to the scores of each head after their scale and before the softmax. `slopes` are
    `(h,)`, positions as in `causal_mask`: arrays `(..., q)` and `(..., k)`, ranges, or numbers.

    Every query sees both sides alike. With a `causal_mask` only keys with $j \le i$ remain, where
    the bias is $-s_h (i - j)$: the paper's. So one function is enough for encoders and decoders.

    >>> distance_bias(np.array([0.5]), 3).tolist()
    [[[0.0, -0.5, -1.0], [-0.5, 0.0, -0.5], [-1.0, -0.5, 0.0]]]
    """
    xp = namespace(slopes=slopes)
    if slopes.ndim != 1:
        raise ValueError(
            f"slopes must be (heads,), one number per head, but are {tuple(slopes.shape)}. "
            "For one head write an array of one number."
        )
    i, j = positions_of_pairs(query_positions, key_positions, slopes)
    nearness = xp.astype(-abs(i - j), slopes.dtype)  # (..., q, k)
    return slopes[:, None, None] * nearness[..., None, :, :]
