r"""Attention at scale: the same contexts from less memory, or fewer numbers.  (chapter 10)

Exact, and none of it holds the `(q, k)` weights:
- `online_softmax` averages in one pass over blocks of keys
- `blockwise_attention` does so for blocks of queries: memory grows with n, not with n²
- `KeyValueCache` keeps keys and values while a text is written word by word

Other models, made to be cheaper:
- `grouped_query_attention` lets several heads share keys and values
- `linear_attention` replaces the softmax, so that keys and values can be summed up beforehand

Blocks are written in place and sums kept in single precision: this chapter is PyTorch's alone.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf

import torch
from torch import Tensor

from attn_course._arrays import require_axes, require_keys, require_mask, require_values, shape
from attn_course.attention import Score, attend, with_broken
from attn_course.scoring import scaled_dot

# True where query i may attend to key j; i is (q, 1), j is (k,), both counted from 0.
MaskFunction = Callable[[Tensor, Tensor], Tensor]


def online_softmax(blocks: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    r"""$c = \sum_l e^{e_l} v_l / \sum_l e^{e_l}$ in one pass over blocks of keys.

    `blocks` yields pairs of scores `(..., q, b)` and values `(..., b, d_v)`; the context is
    `(..., q, d_v)`. Only three things are kept from block to block: the largest score so far $m$,
    the sum $s = \sum e^{e_l - m}$, and the unfinished context. When a larger score turns up, sum
    and context shrink by $e^{m - m'}$ (Milakov & Gimelshein, 2018). A score of -inf is a masked
    one; a query that has no other gets context 0.

    >>> scores, values = torch.tensor([[1.0, 3.0, 2.0]]), torch.eye(3)
    >>> at_once = torch.softmax(scores, dim=-1) @ values
    >>> one_by_one = online_softmax((scores[:, [l]], values[[l]]) for l in range(3))
    >>> torch.allclose(one_by_one, at_once)
    True
    """
    largest: Tensor | None = None
    for scores, values in blocks:
        require_keys(scores, -1)
        dtype = values.dtype
        e, v = _at_least_single(scores), _at_least_single(values)
        highest = e.detach().amax(dim=-1, keepdim=True)
        new_largest = highest if largest is None else torch.maximum(largest, highest)
        shift = new_largest.masked_fill(new_largest == -inf, 0)  # avoids -inf - (-inf)
        exponentials = (e - shift).exp_()  # in place: a block more would be a third of the memory
        block_total, block_context = exponentials.sum(dim=-1, keepdim=True), exponentials @ v
        if largest is None:
            total, context = block_total, block_context
        else:
            shrink = (largest - shift).exp()
            total = total * shrink + block_total
            context = context * shrink + block_context
        largest = new_largest
    if largest is None:
        raise ValueError("there are no keys to attend to: online_softmax got no block.")
    return (context / total.masked_fill(total == 0, 1)).to(dtype)


def blockwise_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    score: Score = scaled_dot,
    mask: Tensor | MaskFunction | None = None,
    causal: bool = False,
    block: int = 1024,
) -> Tensor:
    r"""$c = \mathrm{softmax}(\mathrm{score}(q, K))\,V$, never more than a block of it at a time.

    The contexts `(..., q, d_v)` of `attend`, in memory that grows with q + k. It can't call
    `attend`, whose softmax wants whole rows; nor return the weights, which are what it avoids.
    Meant for the forward pass: gradients are right, but autograd keeps every block for them.

    So that no `(q, k)` mask is needed either, `mask` may be a function: given positions `i`
    `(q, 1)` and `j` `(k,)`, it says whether query i may attend to key j. With `causal` both count
    the words of one text, of which the queries are the last. A tensor that broadcasts to
    `(..., q, k)` will do too, such as `padding_mask(lengths, k)`, `(..., 1, k)`. `causal` is as in
    `causal_mask`: with more keys than queries the queries are the last ones. Blocks that no query
    may see are skipped.

    >>> x = torch.eye(5)
    >>> near = blockwise_attention(x, x, x, mask=lambda i, j: abs(i - j) <= 1, block=2)
    >>> (near > 0).int().tolist()[0]
    [1, 1, 0, 0, 0]
    """
    q, k = _require_fit(queries, keys, values)
    if block < 1:
        raise ValueError(f"block must be at least 1, but is {block}.")
    if causal and k < q:
        raise ValueError(f"there must be a key for every query: {q} queries, {k} keys.")
    if isinstance(mask, Tensor):
        batch = torch.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
        require_mask(mask, torch.empty((*batch, q, k), device="meta"))  # a shape, no memory
    broken = None
    if (mask is not None or causal) and not values.isfinite().all():
        broken = values  # 0 * NaN is NaN; put back below where it is seen
        values = values.masked_fill(~values.isfinite(), 0)

    def columns(rows: slice) -> Iterator[slice]:
        end = min(k, rows.stop + k - q) if causal else k
        return (slice(start, min(start + block, end)) for start in range(0, max(end, 1), block))

    def visible(rows: slice, cols: slice) -> Tensor | None:
        first = k - q if causal else 0  # the position of the first query
        i = first + torch.arange(rows.start, rows.stop, device=keys.device)[:, None]
        j = torch.arange(cols.start, cols.stop, device=keys.device)
        allowed = mask(i, j) if callable(mask) else _part(mask, rows, cols)
        if causal and cols.stop > rows.start + k - q + 1:
            past = j <= i
            return past if allowed is None else allowed & past
        return allowed

    def scored(rows: slice) -> Iterator[tuple[Tensor, Tensor]]:
        for cols in columns(rows):
            scores = score(queries[..., rows, :], keys[..., cols, :])
            allowed = visible(rows, cols)
            if allowed is not None:
                require_mask(allowed, scores)
                scores = scores.masked_fill(~allowed, -inf)
            yield scores, values[..., cols, :]

    contexts = []
    for start in range(0, max(q, 1), block):
        rows = slice(start, min(start + block, q))
        context = online_softmax(scored(rows))
        if broken is not None:  # rare: NaN goes to those who do see it
            for cols in columns(rows):
                allowed = visible(rows, cols)
                seen = torch.ones(1, 1, dtype=torch.bool) if allowed is None else allowed
                context = with_broken(context, broken[..., cols, :], seen)
        contexts.append(context)
    return torch.cat(contexts, dim=-2)


class KeyValueCache:
    """The keys and values of all steps so far, for writing word by word.

    Without it step t would project all t words again. `append` takes what is new, `(..., new, d)`,
    and returns all there is, `(..., k, d)`, as views that stay valid. Room is doubled when it runs
    out, so that n steps copy fewer than 2n rows in all. For use without gradients.

    >>> cache = KeyValueCache()
    >>> for step in range(3):
    ...     keys, values = cache.append(torch.ones(1, 2), torch.ones(1, 5))
    >>> keys.shape, values.shape, len(cache)
    (torch.Size([3, 2]), torch.Size([3, 5]), 3)
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


def grouped_query_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""$c^{(j)} = \mathrm{att}(q^{(j)}, K^{(g)}, V^{(g)})$: heads of a group share keys, values.

    Queries `(..., heads, q, d)`, keys and values `(..., groups, k, d)` give contexts
    `(..., heads, q, d_v)` and weights `(..., heads, q, k)`; `mask` broadcasts to the weights.
    With as many groups as heads this is multi-head attention, with one group multi-query attention
    (Shazeer, 2019), in between grouped-query attention (Ainslie et al., 2023). A cache of keys and
    values shrinks by heads / groups.
    """
    for name, x in dict(queries=queries, keys=keys, values=values).items():
        require_axes(3, "(..., heads or groups, n, d)", **{name: x})
    heads, groups = queries.shape[-3], keys.shape[-3]
    if heads % groups:
        raise ValueError(f"{heads} heads can't share {groups} groups of keys equally.")
    if mask is not None and mask.ndim > 2:
        if mask.shape[-3] not in (1, heads):
            raise ValueError(
                f"mask is {shape(mask)}: its third axis from the end is for the {heads} heads. "
                "A mask for each example of a batch is (batch, 1, q, k): write mask[:, None]."
            )
        split = (groups, -1) if mask.shape[-3] == heads else (1, -1)
        mask = mask.unflatten(-3, split)  # (..., groups, heads of a group, q, k)
    contexts, weights = attend(
        queries.unflatten(-3, (groups, -1)),
        keys[..., None, :, :],  # (..., groups, 1, k, d): every head of a group reads the same
        values[..., None, :, :],
        mask=mask,
    )
    return contexts.flatten(-4, -3), weights.flatten(-4, -3)


def linear_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    r"""$c^\top = \phi(q)^\top S / \phi(q)^\top z$, where

    $S = \sum_l \phi(k_l)\,v_l^\top$, `(d, d_v)`, and $z = \sum_l \phi(k_l)$, `(d,)`.

    With $\phi(x) = \mathrm{elu}(x) + 1 > 0$ (Katharopoulos et al., 2020) the weights are
    $\phi(q)^\top\phi(k_l)$, normalised; since $S$ and $z$ don't depend on the query, the cost is
    $n\,d\,d_v$ instead of $n^2 d$. `mask` `(..., k)` is True where there is a key. With `causal`,
    $S$ and $z$ are running sums, `(..., k, d, d_v)`.
    """
    q, k = _require_fit(queries, keys, values)
    if causal and q != k:
        raise ValueError(f"causal linear attention needs a query for every key: {q} and {k} came.")
    dtype = values.dtype
    queries, keys, values = map(_at_least_single, (queries, keys, values))
    from_queries, from_keys = _positive(queries), _positive(keys)
    if mask is not None:
        require_mask(mask, keys[..., 0])
        from_keys = from_keys.where(mask[..., None], 0)
        values = values.where(mask[..., None], 0)
    if causal:
        S = (from_keys[..., None] * values[..., None, :]).cumsum(dim=-3)  # (..., k, d, d_v)
        z = from_keys.cumsum(dim=-2)
        above = (from_queries[..., None, :] @ S)[..., 0, :]  # (..., q, d_v)
        below = (from_queries * z).sum(dim=-1, keepdim=True)
    else:
        above = from_queries @ (from_keys.mT @ values)  # (..., q, d) @ (..., d, d_v)
        below = from_queries @ from_keys.sum(dim=-2)[..., None]  # (..., q, 1)
    return (above / below.masked_fill(below == 0, 1)).to(dtype)


def _positive(x: Tensor) -> Tensor:
    """Return elu(x) + 1: below 0 that is exp(x), which `elu(x) + 1` would round to 0 and lose."""
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def _require_fit(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[int, int]:
    """Raise unless each key has its value; return how many queries and keys there are."""
    require_axes(2, "(..., q, d_q)", queries=queries)
    require_axes(2, "(..., k, d_k)", keys=keys)
    require_axes(2, "(..., k, d_v)", values=values)
    require_values(keys, values)
    return queries.shape[-2], keys.shape[-2]


def _at_least_single(x: Tensor) -> Tensor:
    """Half precision can't add up many small numbers; other precisions are left as they are."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _part(mask: Tensor | None, rows: slice, cols: slice) -> Tensor | None:
    """Return the block of a mask that may have broadcast axes of length 1."""
    if mask is None or mask.ndim == 0:
        return mask
    mask = mask if mask.shape[-1] == 1 else mask[..., cols]
    return mask if mask.ndim == 1 or mask.shape[-2] == 1 else mask[..., rows, :]


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
