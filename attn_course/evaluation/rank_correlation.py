r"""Rank correlation: do two maps put the same keys first?

Maps are `(..., k)`: weights against the marks people made (Das et al., 2016), or against what
gradients say (Jain & Wallace, 2019). Each row is compared by itself, which gives `(...)`; keys
behind the `mask` (True = counts) are left out. A row that can't be ranked gets NaN: average with
`np.nanmean`, and say how many rows there were.

Everything here is made of $s_{ij} = \mathrm{sign}(x_i - x_j)$, which is 0 for a tie.
"""

from typing import Any

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
    xp, signs_one, signs_other = _signs(one, other, mask)
    # Half the sum of a key's signs is its rank less the mean rank.
    rank_one, rank_other = xp.sum(signs_one, axis=-1), xp.sum(signs_other, axis=-1)
    together = xp.sum(rank_one * rank_other, axis=-1)
    alone = xp.sum(rank_one**2, axis=-1) * xp.sum(rank_other**2, axis=-1)
    return _fraction(xp, together, xp.sqrt(alone))


def kendall(one: Array, other: Array, mask: Array | None = None, ties: str = "b") -> Array:
    r"""$\tau$: pairs of keys in the same order less pairs in opposite order, of all pairs.

    - `ties="a"`: $\tau_a = (C - D) / \frac{n(n-1)}2$, all pairs count. A tied pair is in neither
      order, so ties pull it to 0, and against uniform weights it is 0.
    - `ties="b"`: $\tau_b = (C - D) / \sqrt{(n_0 - n_1)(n_0 - n_2)}$, where $n_1$ and $n_2$ of the
      $n_0$ pairs are tied on one side. Against uniform weights it does not exist: NaN.

    Without ties both are the same. NaN too for fewer than two keys. The signs of all pairs are
    held at once, `(..., k, k)`.

    >>> import numpy as np
    >>> weights, marks = np.array([0.5, 0.25, 0.25]), np.array([3.0, 2.0, 1.0])
    >>> [round(float(kendall(weights, marks, ties=ties)), 3) for ties in "ab"]
    [0.667, 0.816]
    """
    require_choice("ties", ties, TIES)
    xp, signs_one, signs_other = _signs(one, other, mask)
    agreement = _over_pairs(xp, signs_one * signs_other)
    if ties == "b":
        untied = _over_pairs(xp, signs_one**2) * _over_pairs(xp, signs_other**2)
        return _fraction(xp, agreement, xp.sqrt(untied))
    n = xp.full_like(agreement, one.shape[-1])
    if mask is not None:
        n = xp.sum(xp.astype(xp.broadcast_to(mask, one.shape), agreement.dtype), axis=-1)
    return _fraction(xp, agreement, n * (n - 1))


def _signs(one: Array, other: Array, mask: Array | None) -> tuple[Any, Array, Array]:
    """Return the library, and for each map the signs of all pairs of keys, `(..., k, k)`."""
    xp = namespace(one=one, other=other, mask=mask)
    if shape(one) != shape(other) or one.ndim == 0:
        raise ValueError(
            f"two maps are compared key by key, so they need one shape (..., k): "
            f"the first is {shape(one)}, the other {shape(other)}."
        )
    if mask is not None:
        require_mask(mask, one)
    return xp, _signs_of(xp, one, mask), _signs_of(xp, other, mask)


def _signs_of(xp: Any, numbers: Array, mask: Array | None) -> Array:
    if not xp.isdtype(numbers.dtype, "real floating"):
        numbers = xp.astype(numbers, xp.float64)
    if mask is not None:
        mask = xp.broadcast_to(mask, numbers.shape)
        numbers = xp.where(mask, numbers, xp.zeros_like(numbers))
    # Compared, not subtracted: two numbers may be different and their difference too small to tell.
    above = numbers[..., :, None] > numbers[..., None, :]
    below = numbers[..., :, None] < numbers[..., None, :]
    signs = xp.astype(above, xp.float64) - xp.astype(below, xp.float64)
    # NaN is neither above nor below: it would pass for a tie.
    nan = xp.isnan(numbers)[..., :, None] | xp.isnan(numbers)[..., None, :]
    signs = xp.where(nan, xp.full_like(signs, xp.nan), signs)
    if mask is None:
        return signs
    return xp.where(mask[..., :, None] & mask[..., None, :], signs, xp.zeros_like(signs))


def _over_pairs(xp: Any, numbers: Array) -> Array:
    """Return the sum over all ordered pairs: twice that over pairs, above and below the line."""
    return xp.sum(numbers, axis=(-2, -1))


def _fraction(xp: Any, above: Array, below: Array) -> Array:
    exists = below != 0
    return xp.where(
        exists, above / xp.where(exists, below, xp.ones_like(below)), xp.full_like(above, xp.nan)
    )
