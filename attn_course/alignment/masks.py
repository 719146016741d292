"""Masks: which keys a query may attend to.

A mask is boolean, True where a query may attend, and broadcasts to the scores `(..., q, k)`. Masks
that depend on order compare positions, so the same call is right for a whole text, for the next
word after a cache, and for a window.
"""

from math import inf
from typing import Any, TypeAlias

import array_api_compat
import numpy as np

from attn_course._arrays import AnyArray, namespace, require_mask

# An array `(..., n)`, a range, or how many there are.
Positions: TypeAlias = int | range | AnyArray


def padding_mask(lengths: AnyArray, k: int) -> AnyArray:
    """Return the mask `(..., 1, k)` that shows the first `lengths` keys.

    >>> import numpy as np
    >>> padding_mask(np.array([2, 0]), 3).astype(int).tolist()
    [[[1, 1, 0]], [[0, 0, 0]]]
    """
    xp = namespace(lengths=lengths)
    place = xp.arange(k, device=array_api_compat.device(lengths))
    return (place < lengths[..., None])[..., None, :]


def causal_mask(
    query_positions: Positions,
    key_positions: Positions | None = None,
    like: AnyArray | None = None,
) -> AnyArray:
    """Return the mask `(..., q, k)` that hides every key after its query.

    Positions are arrays `(..., q)` and `(..., k)`, or ranges. A number n
    is short for n positions of one text; with more keys than queries the
    queries are the last ones, as in cached decoding. The mask comes from
    the library (and device) of the positions or of `like`, else NumPy's.

    >>> causal_mask(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal_mask(1, 3).astype(int).tolist()
    [[1, 1, 1]]
    >>> causal_mask(range(1, 3), range(4)).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0]]
    """
    i, j = positions_of_pairs(query_positions, key_positions, like)
    return j <= i


def window_mask(
    query_positions: Positions,
    key_positions: Positions,
    half_width: int,
    like: AnyArray | None = None,
) -> AnyArray:
    """Return the mask `(..., q, k)` that hides keys more than D positions from their query.

    Positions are as in `causal_mask`.

    >>> window_mask(3, 3, half_width=1).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    >>> window_mask(range(3), range(4), half_width=1).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]
    """
    if half_width < 0:
        raise ValueError(f"half_width must not be negative, but is {half_width}.")
    i, j = positions_of_pairs(query_positions, key_positions, like)
    return abs(i - j) <= half_width


def sliding_window_mask(
    query_positions: Positions,
    key_positions: Positions | None = None,
    *,
    width: int,
    sinks: int = 0,
    like: AnyArray | None = None,
) -> AnyArray:
    """Return the causal mask `(..., q, k)` of the last `width` keys and the first `sinks` keys.

    A query counts among its own `width` keys. Positions are as in `causal_mask`; the sinks are the
    keys at positions 0 to `sinks` - 1, which a model needs to see if it has learned to leave
    unwanted weight there (Xiao et al., 2024).

    >>> sliding_window_mask(5, width=2, sinks=1).astype(int).tolist()
    [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 0, 1, 1]]
    """
    if width < 1 or sinks < 0:
        raise ValueError(
            f"width must be at least 1 and sinks at least 0, but they are {width} and {sinks}."
        )
    i, j = positions_of_pairs(query_positions, key_positions, like)
    return (j <= i) & ((j > i - width) | (j < sinks))  # i - j would be a table of numbers


def positions_of_pairs(
    query_positions: Positions, key_positions: Positions | None, like: AnyArray | None = None
) -> tuple[AnyArray, AnyArray]:
    """Return the positions of queries `(..., q, 1)` and of keys `(..., 1, k)`, ready to compare."""
    if key_positions is None:
        key_positions = query_positions
    if isinstance(query_positions, int):
        k = key_positions if isinstance(key_positions, int) else None
        query_positions = last_positions(query_positions, k)
    keys = range(key_positions) if isinstance(key_positions, int) else key_positions
    arrays = {"query_positions": query_positions, "key_positions": keys, "like": like}
    given = {name: x for name, x in arrays.items() if x is not None and not isinstance(x, range)}
    xp = namespace(**given) if given else namespace(positions=np.empty(0))
    device = next(iter(given.values())).device if given else None
    i, j = (
        xp.arange(x.start, x.stop, x.step, device=device) if isinstance(x, range) else x
        for x in (query_positions, keys)
    )
    return i[..., :, None], j[..., None, :]


def last_positions(q: int, k: int | None) -> range:
    """Return the positions of the last `q` of `k` words: where queries are unless you say so."""
    if k is None:
        raise ValueError(
            f"{q} is a number of queries, but the keys came with positions. "
            "Give the positions of both, for example range(4, 6) for the fifth and the sixth word."
        )
    if k < q:
        raise ValueError(
            f"the queries are the last of the keys unless you give positions, so {q} queries need "
            f"{q} keys or more, not {k}. Give the positions of both, such as range({q})."
        )
    return range(k - q, k)


def hide(
    xp: Any,
    scores: AnyArray,
    mask: AnyArray,
    axis: int,
) -> tuple[AnyArray, AnyArray]:
    """Return scores with -inf where the mask is False.

    Rows that are masked out entirely get a finite number instead: it keeps
    softmax and its gradient free of NaN, and the caller sets those
    weights to 0. Also returns which rows are not entirely masked out.
    """
    require_mask(mask, scores)
    row_lives = xp.any(mask, axis=axis, keepdims=True)
    zeros = xp.zeros_like(row_lives, dtype=scores.dtype)
    elsewhere = xp.where(row_lives, -inf, zeros)
    return xp.where(mask, scores, elsewhere), row_lives


def both(window: AnyArray, mask: AnyArray | None, scores: AnyArray) -> AnyArray:
    """Return where the window and the mask for these scores are both True."""
    if mask is None:
        return window
    require_mask(mask, scores)
    return window & mask
