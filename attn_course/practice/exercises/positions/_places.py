"""Positions for cases: far from 0, in no order, and different for queries and keys."""

import numpy as np


def places(rng, *size, most=40):
    """Return positions `(..., n)` that differ within a row, none of them where counting has it."""
    n = size[-1]
    rows = [rng.choice(np.arange(n, most), n, replace=False) for _ in range(int(np.prod(size[:-1])))]
    return np.array(rows, dtype=float).reshape(size)


def in_a_row(rng, n, most=30):
    """Return n positions in a row `(n,)` that begin somewhere after 0, as behind a cache."""
    return int(rng.integers(n + 1, most)) + np.arange(n, dtype=float)


def refuse_what_has_no_pairs(d, base):
    """Raise where no waves or rotations are defined: an input may be made smaller by too much."""
    if d % 2:
        raise ValueError(f"features come in pairs, so d is even, not {d}")
    if base <= 1:
        raise ValueError(f"the base is a number above 1, not {base}")


def base_of(rng):
    """Return a base small enough for angles that differ in the first decimal."""
    return float(rng.integers(3, 30))
