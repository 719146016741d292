"""The reads of a memory network: the question is mapped, and the answer is added to it."""

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import dot, times
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.multi_hop._questions import partly_real
from attn_course.practice.inputs import all_of, padded, readable, softmax
from attn_course.translate import _


@reference
def memory_hops(query, keys, values, mask, H, hops):
    if query.ndim > 1:
        batch = zip(query, keys, values, mask, strict=True)
        found = [memory_hops.reference(*one, H, hops) for one in batch]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    if hops < 1:
        raise ValueError("there is one hop at least")  # also where a case is made smaller
    u, all_weights = list(query), []
    for _hop in range(hops):
        read, weights = attend(u, keys, values, dot, mask)
        u = [h_i + o_i for h_i, o_i in zip(times(H, u), read, strict=True)]
        all_weights.append(weights)
    return np.array(u), np.array(all_weights)


def _memory(rng, n, d, hops, batch=(), padding=None):
    mask = all_of(*batch, n) if padding is None else partly_real(rng, *batch, n)
    keys, values = (
        padded(readable(rng, *batch, n, d, low=-1.0, high=1.0), mask, padding or 0.0)
        for _part in range(2)
    )
    query = readable(rng, *batch, d)
    return Case(query, keys, values, mask, readable(rng, d, d, low=-1.0, high=1.0), hops)


@memory_hops.cases(points=2, label=_("two hops and three, no padding"))
def without_padding(rng):
    yield _memory(rng, 3, 2, hops=2)
    yield _memory(rng, 5, 2, hops=3)


@memory_hops.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    yield _memory(rng, 5, 3, hops=2, padding=3.0)
    yield _memory(rng, 7, 2, hops=3, padding=np.nan)


@memory_hops.cases(points=1, label=_("a batch, and a single hop"))
def batches(rng):
    yield _memory(rng, 5, 3, hops=3, batch=(2,), padding=4.0)
    yield _memory(rng, 3, 5, hops=2, batch=(7, 2), padding=np.nan)
    yield _memory(rng, 5, 3, hops=1, batch=(2,))


@memory_hops.cases(points=1, label=_("a memory without a fact: weights 0, nothing is read"))
def without_a_fact(rng):
    case = _memory(rng, 5, 3, hops=2, batch=(2,), padding=2.0)
    case.args[3][1] = False
    yield case


@memory_hops.cases(points=1, label=_("scores far from 0"))
def large_scores(rng):
    # The first entry of every key is the same and makes all scores of a memory large, the second
    # tells the facts apart. Single precision holds these scores exactly.
    query, keys, values, mask, H, _hops = _memory(rng, 5, 2, hops=1, batch=(2,)).args
    query[0], query[1] = [1000.0, 0.5], [-1000.0, -0.5]
    keys[..., 0] = 1.0
    keys[..., 1] = rng.permuted(np.tile([-2.0, -1.0, 0.0, 1.0, 2.0], (2, 1)), axis=1)
    yield Case(query, keys, values, mask, 0.001 * H, 1)


@memory_hops.variant
def reads_by_einsum(query, keys, values, mask, H, hops):
    u, all_weights = query, []
    for _hop in range(hops):
        a = softmax(np.einsum("...nd,...d->...n", padded(keys, mask, 0.0), u), mask)
        u = u @ H.T + np.einsum("...n,...nd->...d", a, padded(values, mask, 0.0))
        all_weights.append(a)
    return u, np.stack(all_weights, axis=-2)


@memory_hops.variant
def reads_by_recursion(query, keys, values, mask, H, hops):
    a = softmax((padded(keys, mask, 0.0) @ query[..., None])[..., 0], mask)
    u = query @ H.T + (a[..., None, :] @ padded(values, mask, 0.0))[..., 0, :]
    if hops == 1:
        return u, a[..., None, :]
    u, later = reads_by_recursion(u, keys, values, mask, H, hops - 1)
    return u, np.concatenate([a[..., None, :], later], axis=-2)


@memory_hops.variant
def reads_in_torch(query, keys, values, mask, H, hops):
    import torch

    given = (query, keys, values, mask, H)
    u, keys, values, mask, H = (torch.as_tensor(part) for part in given)
    keys, values = (part.masked_fill(~mask[..., None], 0.0) for part in (keys, values))
    all_weights = []
    for _hop in range(hops):
        scores = (keys @ u[..., None])[..., 0].masked_fill(~mask, -torch.inf)
        a = torch.softmax(scores, dim=-1).nan_to_num(0.0)
        u = u @ H.T + (a[..., None, :] @ values)[..., 0, :]
        all_weights.append(a)
    return u, torch.stack(all_weights, dim=-2)
