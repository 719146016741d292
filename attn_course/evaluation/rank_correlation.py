r"""Rank correlation: do two maps put the same keys first?

Maps are `(..., k)`: weights against the marks people made (Das et al., 2016), or against what
gradients say (Jain & Wallace, 2019). Each row is compared by itself, which gives `(...)`; keys
behind the `mask` (True = counts) are left out. A row that can't be ranked gets NaN: average with
`np.nanmean`, and say how many rows there were.

Both are sums over pairs of keys, but no pair is looked at: sorting is enough, so a row of k keys
costs about $k \log k$.
"""

from collections.abc import Callable
from math import prod

import numpy as np

from attn_course._arrays import Array, namespace, require_choice, require_mask, shape

TIES = ("a", "b")


def spearman(one: Array, other: Array, mask: Array | None = None) -> Array:
    r"""$\rho$, Pearson's correlation of the ranks; tied keys share the mean of their ranks.

    Without ties it is $1 - \frac{6 \sum_i d_i^2}{n (n^2 - 1)}$, with $d_i$ the difference of ranks.
    NaN where one side has fewer than two different numbers.

    >>> import numpy as np
    >>> float(spearman(np.array([0.1, 0.2, 0.7]), np.array([1.0, 3.0, 2.0])))
    0.5
    """
    return _by_row(_spearman, one, other, mask)


def kendall(one: Array, other: Array, mask: Array | None = None, ties: str = "b") -> Array:
    r"""$\tau$: pairs of keys in the same order less pairs in opposite order, of all pairs.

    - `ties="a"`: $\tau_a = (C - D) / \frac{n(n-1)}2$, all pairs count. A tied pair is in neither
      order, so ties pull it to 0, and against uniform weights it is 0.
    - `ties="b"`: $\tau_b = (C - D) / \sqrt{(n_0 - n_1)(n_0 - n_2)}$, where $n_1$ and $n_2$ of the
      $n_0$ pairs are tied on one side. Against uniform weights it does not exist: NaN.

    Without ties both are the same. NaN too for fewer than two keys.

    >>> import numpy as np
    >>> weights, marks = np.array([0.5, 0.25, 0.25]), np.array([3.0, 2.0, 1.0])
    >>> [round(float(kendall(weights, marks, ties=ties)), 3) for ties in "ab"]
    [0.667, 0.816]
    """
    require_choice("ties", ties, TIES)
    return _by_row(_kendall_a if ties == "a" else _kendall_b, one, other, mask)


def _by_row(
    correlation: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    one: Array,
    other: Array,
    mask: Array | None,
) -> Array:
    """Return the correlation of each row, in the library of the maps.

    `correlation` gets places `(rows, k)` of both maps and where they count.
    """
    xp = namespace(one=one, other=other, mask=mask)
    if shape(one) != shape(other) or one.ndim == 0:
        raise ValueError(
            f"two maps are compared key by key, so they need one shape (..., k): "
            f"the first is {shape(one)}, the other {shape(other)}."
        )
    *rows, k = shape(one)
    if mask is not None:
        require_mask(mask, one)
    counts = np.ones(k, dtype=bool) if mask is None else _in_memory(mask)
    in_rows = np.broadcast_to(counts, (*rows, k)).reshape(prod(rows), k)
    # Ranks have no gradient, and a sort costs the same everywhere: NumPy's will do.
    x, y = (_in_memory(xp.astype(a, xp.float64)).reshape(prod(rows), k) for a in (one, other))
    broken = ((np.isnan(x) | np.isnan(y)) & in_rows).any(axis=-1)
    found = correlation(_places(x, in_rows), _places(y, in_rows), in_rows)
    found = np.where(broken, np.nan, found).reshape(rows)
    return xp.asarray(found, dtype=xp.float64, device=one.device)


def _in_memory(array: Array) -> np.ndarray:
    """Return the numbers as NumPy's, from whatever device they are on."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    return np.asarray(array)


def _places(numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return 0 for the smallest number of a row, 1 for the next, …; what doesn't count gets k.

    Equal numbers have equal places. They are compared, not subtracted: two numbers may be
    different and their difference too small to tell.
    """
    numbers = np.where(counts & ~np.isnan(numbers), numbers, 0.0)
    order = np.argsort(numbers, axis=-1)
    ordered = np.take_along_axis(numbers, order, axis=-1)
    steps = np.zeros(numbers.shape, dtype=np.int64)
    steps[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    places = np.empty_like(steps)
    np.put_along_axis(places, order, np.cumsum(steps, axis=-1), axis=-1)
    return np.where(counts, places, numbers.shape[-1])


def _at_places(places: np.ndarray) -> np.ndarray:
    """Return how many keys of a row have each place 0, …, k: `(rows, k + 1)`."""
    rows, k = places.shape
    shifted = places + (k + 1) * np.arange(rows)[:, None]
    return np.bincount(shifted.ravel(), minlength=rows * (k + 1)).reshape(rows, k + 1)


def _spearman(one: np.ndarray, other: np.ndarray, counts: np.ndarray) -> np.ndarray:
    ranks = [_centred_ranks(places, counts) for places in (one, other)]
    together = (ranks[0] * ranks[1]).sum(axis=-1)
    alone = (ranks[0] ** 2).sum(axis=-1) * (ranks[1] ** 2).sum(axis=-1)
    return _fraction(together, np.sqrt(alone))


def _centred_ranks(places: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return each key's rank, the mean of its ties, less the mean rank; 0 if it doesn't count."""
    at = _at_places(places)
    middle = np.cumsum(at, axis=-1) - (at + 1) / 2  # of the ranks 0, 1, … that share a place
    ranks = np.take_along_axis(middle, places, axis=-1)
    mean_rank = (counts.sum(axis=-1, keepdims=True) - 1) / 2
    return np.where(counts, ranks - mean_rank, 0.0)


def _kendall_a(one: np.ndarray, other: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return _fraction(_agreement(one, other, counts), _pairs(counts.sum(axis=-1)))


def _kendall_b(one: np.ndarray, other: np.ndarray, counts: np.ndarray) -> np.ndarray:
    n_0 = _pairs(counts.sum(axis=-1))
    untied_one, untied_other = (n_0 - _tied_pairs(places) for places in (one, other))
    # Each root by itself: the product may be too large for a whole number.
    return _fraction(_agreement(one, other, counts), np.sqrt(untied_one) * np.sqrt(untied_other))


def _agreement(one: np.ndarray, other: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return C - D: pairs in the same order less pairs in opposite order.

    Of all pairs, those tied somewhere are in neither order, and those in opposite order are what
    is out of order in `other` once the keys are sorted by `one`.
    """
    k = counts.shape[-1]
    both = np.where(counts, one * (k + 1) + other, (k + 1) ** 2)
    both = np.sort(both, axis=-1)  # ties of `one` sorted by `other`: they are not out of order
    new = np.ones(both.shape, dtype=bool)
    new[:, 1:] = both[:, 1:] != both[:, :-1]
    tied_in_both = _tied_pairs(np.where(both < (k + 1) ** 2, np.cumsum(new, axis=-1) - 1, k))
    tied = _tied_pairs(one) + _tied_pairs(other) - tied_in_both
    opposite = _out_of_order(np.where(both < (k + 1) ** 2, both % (k + 1), k))
    return _pairs(counts.sum(axis=-1)) - tied - 2 * opposite


def _pairs(n: np.ndarray) -> np.ndarray:
    return n * (n - 1) // 2


def _tied_pairs(places: np.ndarray) -> np.ndarray:
    return _pairs(_at_places(places)[:, :-1]).sum(axis=-1)  # the last is for what doesn't count


def _out_of_order(places: np.ndarray) -> np.ndarray:
    """Return how many pairs of each row `(rows, k)` have the larger place first.

    Sort bit by bit, from the highest. Each step keeps the order of keys whose bits agree, so a key
    with bit 0 moves forward by one place for each 1 that was in front of it, and that 1 back.
    """
    rows, k = places.shape
    places = places.astype(np.min_scalar_type(k))  # NumPy sorts 16 bits in linear time
    found = np.zeros(rows, dtype=np.int64)
    for bit in reversed(range(k.bit_length())):
        order = np.argsort(places >> bit, axis=-1, kind="stable")
        found += np.abs(order - np.arange(k)).sum(axis=-1) // 2
        places = np.take_along_axis(places, order, axis=-1)
    return found


def _fraction(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    exists = below != 0
    return np.where(exists, above / np.where(exists, below, 1), np.nan)
