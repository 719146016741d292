r"""Attention without a softmax: keys and values are summed up before any query asks."""

from math import nan

import torch
from torch import Tensor

from attn_course._arrays import require_mask
from attn_course.alignment.masks import last_positions
from attn_course.scale._fit import (
    at_least_single,
    require_fit,
    surely_finite,
    without_broken,
)
from attn_course.scale.visibility import slices

# Within a chunk pairs are compared, between chunks sums are passed on. Chunks about as long as
# keys are wide make both parts equally cheap.
CHUNK = 64
# Words whose chunks are in memory at the same time: few enough for the cache of a processor core,
# so that a word of a long text costs as much time as a word of a short one.
SEGMENT = 32 * CHUNK


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
    $n\,d\,d_v$ instead of $n^2 d$. `mask` `(..., k)` is True where there is a key.

    With `causal`, a query sums up the keys at its own position and before; queries are the last of
    the keys. Every chunk of keys gets the sums of all chunks before it, so memory grows with n.
    """
    q, k = require_fit(queries, keys, values)
    from_queries, from_keys, v = _features(queries, keys, values, mask)
    if causal:
        before = last_positions(q, k).start
        S, z = _summed_up(from_keys[..., :before, :], v[..., :before, :])
        contexts = _causal(from_queries, from_keys[..., before:, :], v[..., before:, :], S, z)
    else:
        S, z = _summed_up(from_keys, v)
        contexts = _quotient(from_queries @ S, from_queries @ z)
    return contexts.to(values.dtype)


class LinearState:
    r"""$S = \sum_l \phi(k_l)\,v_l^\top$ and $z = \sum_l \phi(k_l)$ of all words so far.

    What a `KeyValueCache` is to softmax: `attend` adds new keys and values `(..., new, d)` and
    returns the contexts of the new queries. Its size is `d * d_v + d` however long the text is.

    >>> state, x = LinearState(), torch.eye(4)
    >>> word_by_word = torch.cat([state.attend(x[[t]], x[[t]], x[[t]]) for t in range(4)])
    >>> torch.allclose(word_by_word, linear_attention(x, x, x, causal=True))
    True
    """

    def __init__(self) -> None:
        self.S: Tensor | None = None  # (..., d, d_v)
        self.z: Tensor | None = None  # (..., d, 1)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Add the keys and values; return the contexts of the queries, one for each key."""
        q, k = require_fit(queries, keys, values)
        if q != k:
            raise ValueError(f"each new word needs its query and its key: {q} and {k} came.")
        from_queries, from_keys, v = _features(queries, keys, values, None)
        S, z = _summed_up(from_keys, v)
        if self.S is None or self.z is None:
            self.S, self.z = torch.zeros_like(S), torch.zeros_like(z)
        contexts = _causal(from_queries, from_keys, v, self.S, self.z)
        self.S, self.z = self.S + S, self.z + z
        return contexts.to(values.dtype)


def _features(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the features of queries and keys, and the values, 0 where they are masked."""
    queries, keys, values = map(at_least_single, (queries, keys, values))
    if mask is None:
        return _positive(queries), _positive(keys), values
    require_mask(mask, keys[..., 0])
    mask = mask[..., None]
    # Cleaned before the features too: the gradient of exp at NaN is NaN, even times 0.
    from_keys = _positive(keys.where(mask, 0)).where(mask, 0)
    return _positive(queries), from_keys, values.where(mask, 0)


def _positive(x: Tensor) -> Tensor:
    """Return elu(x) + 1: below 0 that is exp(x), which `elu(x) + 1` would round to 0 and lose."""
    return x.clamp(max=0).exp() + x.relu()  # one of the two is constant


def _summed_up(from_keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return S `(..., d, d_v)` and z as a column `(..., d, 1)`."""
    return from_keys.mT @ values, from_keys.sum(dim=-2)[..., None]


def _causal(
    from_queries: Tensor, from_keys: Tensor, values: Tensor, S: Tensor, z: Tensor
) -> Tensor:
    """Return the contexts `(..., n, d_v)` of n words.

    S and z are the sums over all that comes before the n.
    """
    given = from_queries, from_keys, values
    spoils = not surely_finite(*given)
    if spoils:  # 0 * NaN is NaN, so a broken word must not even meet those that don't see it
        from_queries, from_keys, values = map(without_broken, given)
    n, contexts = from_keys.shape[-2], []
    for rows in slices(n, SEGMENT):
        phi_q, phi_k, v = (x[..., rows, :] for x in (from_queries, from_keys, values))
        contexts.append(_causal_segment(phi_q, phi_k, v, S, z))
        if rows.stop < n:
            S_here, z_here = _summed_up(phi_k, v)
            S, z = S + S_here, z + z_here
    found = torch.cat(contexts, dim=-2)
    return found + _broken_so_far(*given) if spoils else found


def _causal_segment(
    from_queries: Tensor, from_keys: Tensor, values: Tensor, S: Tensor, z: Tensor
) -> Tensor:
    """Return what `_causal` does, for numbers that are all finite, one segment at once."""
    n = from_keys.shape[-2]
    phi_q, phi_k, v = map(_in_chunks, (from_queries, from_keys, values))  # (..., chunks, CHUNK, d)
    within = (phi_q @ phi_k.mT).tril()  # (..., chunks, CHUNK, CHUNK)
    S_of_chunk, z_of_chunk = _summed_up(phi_k, v)
    S_before = S[..., None, :, :] + _sum_of_earlier(S_of_chunk)  # (..., chunks, d, d_v)
    z_before = z[..., None, :, :] + _sum_of_earlier(z_of_chunk)
    above = within @ v + phi_q @ S_before
    below = within.sum(dim=-1, keepdim=True) + phi_q @ z_before
    return _quotient(above, below).flatten(-3, -2)[..., :n, :]


def _broken_so_far(from_queries: Tensor, from_keys: Tensor, values: Tensor) -> Tensor:
    """Return what inf and NaN add to the contexts `(..., n, d_v)` of those words that see them."""
    of_queries, of_keys, of_values = (
        x.detach().masked_fill(x.isfinite(), 0) for x in (from_queries, from_keys, values)
    )
    of_words = of_queries + of_keys.cumsum(dim=-2)
    spoiled = (of_words != 0).any(dim=-1, keepdim=True)  # NaN differs from 0 too
    return of_values.cumsum(dim=-2).masked_fill(spoiled, nan)


def _in_chunks(x: Tensor) -> Tensor:
    """Return `(..., n, d)` as `(..., chunks, CHUNK, d)`, the last chunk filled up with 0."""
    missing = -x.shape[-2] % CHUNK
    return torch.nn.functional.pad(x, (0, 0, 0, missing)).unflatten(-2, (-1, CHUNK))


def _sum_of_earlier(sums: Tensor) -> Tensor:
    """Return for each chunk `(..., chunks, d, d_v)` the sum of those before it."""
    # Shifted before the sum, not subtracted after it: a large chunk would swallow small ones.
    return torch.nn.functional.pad(sums, (0, 0, 0, 0, 1, 0))[..., :-1, :, :].cumsum(dim=-3)


def _quotient(above: Tensor, below: Tensor) -> Tensor:
    return above / below.masked_fill(below == 0, 1)
