"""Which queries may attend to which keys, asked block by block."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TypeAlias

import torch
from torch import Tensor

from attn_course._arrays import is_surely_empty, require_mask
from attn_course.alignment.masks import last_positions, positions_of_pairs

# True where query i may attend to key j, both positions; i is (..., q, 1), j is (..., 1, k).
MaskFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]
Positions: TypeAlias = range | Tensor


class Visibility:
    """The pairs `(..., q, k)` that count; no more than a block of them is ever written down."""

    def __init__(
        self,
        size: tuple[int, ...],
        like: Tensor,
        mask: Tensor | MaskFunction | None,
        key_mask: Tensor | None,
        causal: bool,
        positions: tuple[Positions | None, Positions | None],
    ) -> None:
        self.size, self.like = size, like
        self.mask, self.key_mask, self.causal = mask, key_mask, causal
        scores = torch.empty(size, device="meta")  # a shape, no memory
        if isinstance(mask, Tensor):
            require_mask(mask, scores)
        if key_mask is not None:
            require_mask(key_mask, scores[..., 0, :], "key_mask")
        self.hides = causal or mask is not None or key_mask is not None
        self.ordered = causal or callable(mask)  # who asks for positions
        if self.ordered:
            self.query_positions, self.key_positions = self._known(*positions)

    def blocks(self, rows: slice, block: int) -> Iterator[tuple[slice, Tensor | None]]:
        """Yield the blocks of keys that some of these queries see, with their masks (None: all).

        At least one block comes, be it masked out whole, so that there is a context, which is 0.
        """
        seen = False
        for cols in slices(self.size[-1], block):
            needed = not seen and cols.stop == self.size[-1]
            if self._is_later(rows, cols) and not needed:
                continue
            allowed = self._mask(rows, cols)
            if allowed is not None and is_surely_empty(torch, allowed) and not needed:
                continue
            seen = True
            yield cols, allowed

    def _known(self, queries: Positions | None, keys: Positions | None) -> tuple[Positions, ...]:
        *_, q, k = self.size
        if queries is None:
            queries = last_positions(q, None if keys is not None else k)
        keys = range(k) if keys is None else keys
        for name, n, given in (("query", q, queries), ("key", k, keys)):
            length = len(given) if isinstance(given, range) else given.shape[-1]
            if length != n:
                raise ValueError(f"{name}_positions must be {n}, one for each, but are {length}.")
        return queries, keys

    def _is_later(self, rows: slice, cols: slice) -> bool:
        """Tell whether all keys of a block are known to come after all its queries."""
        return self._compare(rows, cols, lambda i, j: j[0] > i[-1])

    def _is_past(self, rows: slice, cols: slice) -> bool:
        """Tell whether no key of a block comes after any of its queries."""
        return self._compare(rows, cols, lambda i, j: j[-1] <= i[0])

    def _compare(self, rows: slice, cols: slice, told: Callable[[range, range], bool]) -> bool:
        if not self.causal:
            return False
        i, j = self.query_positions, self.key_positions
        if not isinstance(i, range) or not isinstance(j, range) or min(i.step, j.step) < 1:
            return False  # unknown before the tensors are read
        return len(i[rows]) > 0 and len(j[cols]) > 0 and told(i[rows], j[cols])

    def _mask(self, rows: slice, cols: slice) -> Tensor | None:
        masks = []
        if isinstance(self.mask, Tensor):
            masks.append(_part(self.mask, rows, cols))
        if self.key_mask is not None:
            masks.append(self.key_mask[..., None, cols])
        if callable(self.mask) or (self.causal and not self._is_past(rows, cols)):
            i, j = positions_of_pairs(
                _at(self.query_positions, rows), _at(self.key_positions, cols), self.like
            )
            if callable(self.mask):
                masks.append(self._checked(self.mask(i, j), i.shape[-2], j.shape[-1]))
            if self.causal:
                masks.append(j <= i)
        return reduce(torch.logical_and, masks) if masks else None

    def _checked(self, allowed: Tensor, q: int, k: int) -> Tensor:
        require_mask(allowed, torch.empty((*self.size[:-2], q, k), device="meta"))
        return allowed


def slices(n: int, block: int) -> Iterator[slice]:
    """Yield the blocks of n places; one empty block where there are none."""
    return (slice(start, min(start + block, n)) for start in range(0, max(n, 1), block))


def _at(positions: Positions, part: slice) -> Positions:
    return positions[part] if isinstance(positions, range) else positions[..., part]


def _part(mask: Tensor, rows: slice, cols: slice) -> Tensor:
    """Return the block of a mask that may have broadcast axes of length 1."""
    if mask.ndim == 0:
        return mask
    mask = mask if mask.shape[-1] == 1 else mask[..., cols]
    return mask if mask.ndim == 1 or mask.shape[-2] == 1 else mask[..., rows, :]
