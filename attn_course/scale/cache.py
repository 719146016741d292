"""Keys and values that are kept while a text is written word by word."""

import torch
from torch import Tensor

from attn_course._arrays import require_axes, require_values, shape


class KeyValueCache:
    """The keys and values of all steps so far, for writing word by word.

    Without it step t would project all t words again. `append` takes what is new, `(..., new, d)`,
    and returns all there is, `(..., k, d)`, as views that stay valid. Room is doubled when it runs
    out, so that n steps copy fewer than 2n rows in all. For use without gradients.

    New words do not begin at position 0: `next_positions` says where they are. With rotary
    positions, rotate the new queries and keys there, and append keys that are rotated: each key is
    rotated once, by its own position.

    >>> cache = KeyValueCache()
    >>> for step in range(3):
    ...     keys, values = cache.append(torch.ones(1, 2), torch.ones(1, 5))
    >>> keys.shape, values.shape, len(cache)
    (torch.Size([3, 2]), torch.Size([3, 5]), 3)
    >>> cache.next_positions(2)
    range(3, 5)
    """

    def __init__(self) -> None:
        self._keys: Tensor | None = None  # with room to grow
        self._values: Tensor | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values held, room to grow not counted."""
        rooms = (room for room in (self._keys, self._values) if room is not None)
        return sum(room[..., : self._length, :].nbytes for room in rooms)

    def next_positions(self, new: int) -> range:
        """Return the positions of the next `new` words, to ask for before they are appended."""
        return range(self._length, self._length + new)

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add new keys and values; return all of them, the oldest first."""
        self._require_like_before(keys, values)
        start, self._length = self._length, self._length + keys.shape[-2]
        self._keys = _grown(self._keys, keys, start)
        self._values = _grown(self._values, values, start)
        return self._keys[..., : self._length, :], self._values[..., : self._length, :]

    def _require_like_before(self, keys: Tensor, values: Tensor) -> None:
        require_axes(2, "(..., new, d_k)", keys=keys)
        require_axes(2, "(..., new, d_v)", values=values)
        require_values(keys, values)
        if torch.is_grad_enabled() and (keys.requires_grad or values.requires_grad):
            raise ValueError(
                "a cache is written in place and can't be trained through. Decode under "
                "torch.no_grad(), and train on whole sequences with a causal mask."
            )
        for name, new, room in (("keys", keys, self._keys), ("values", values, self._values)):
            if room is None:
                continue
            wanted = (*room.shape[:-2], new.shape[-2], room.shape[-1])
            if shape(new) != wanted:
                raise ValueError(
                    f"new {name} must be {wanted} like those in the cache, but are {shape(new)}. "
                    "Make a new cache for another batch."
                )


def _grown(old: Tensor | None, new: Tensor, start: int) -> Tensor:
    """Return the room `old`, doubled if need be, with `new` written from `start` on."""
    needed = start + new.shape[-2]
    room = old
    if room is None or room.shape[-2] < needed:
        room = new.new_empty((*new.shape[:-2], max(needed, 2 * start), new.shape[-1]))
        if old is not None:
            room[..., :start, :] = old[..., :start, :]
    room[..., start:needed, :] = new
    return room
