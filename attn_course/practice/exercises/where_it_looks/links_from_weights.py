"""Links from weights: the source of highest weight for each target."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.where_it_looks._weights import shares, with_padding
from attn_course.practice.inputs import all_of
from attn_course.translate import _


@reference
def links_from_weights(weights, target_mask, source_mask):
    if weights.ndim > 2:
        batch = zip(weights, target_mask, source_mask, strict=True)
        return np.stack([links_from_weights.reference(*one) for one in batch])
    links = np.zeros(weights.shape, dtype=bool)
    for t, target_is_real in enumerate(target_mask):
        best = None
        for s, source_is_real in enumerate(source_mask):
            weight = weights[t, s] if target_is_real and source_is_real else 0.0
            if weight > (0.0 if best is None else weights[t, best]):
                best = s
        if best is not None:
            links[t, best] = True
    return links


def _partly_real(rng, *size):
    """Return a mask (..., n) with two real words at least in each row, and padding anywhere."""
    ranks = rng.random(size).argsort(axis=-1)
    return ranks < rng.integers(2, size[-1], (*size[:-1], 1))


def _sentence(rng, q, k, batch=(), padding=None):
    weights = shares(rng, *batch, q, k)
    if padding is None:
        return Case(weights, all_of(*batch, q), all_of(*batch, k))
    targets, sources = _partly_real(rng, *batch, q), _partly_real(rng, *batch, k)
    mask = targets[..., :, None] & sources[..., None, :]
    return Case(with_padding(weights, mask, padding), targets, sources)


@links_from_weights.cases(points=1, label=_("one sentence pair without padding"))
def one_sentence(rng):
    yield _sentence(rng, 2, 3)
    yield _sentence(rng, 5, 3)


@links_from_weights.cases(points=1, label=_("equal weights, of which the first counts"))
def equal_weights(rng):
    for q, row in ((2, [0.4, 0.4, 0.2]), (3, [0.3, 0.3, 0.2, 0.1, 0.1])):
        weights = rng.permuted(np.tile(row, (q, 1)), axis=1)
        yield Case(weights, all_of(q), all_of(len(row)))


@links_from_weights.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padded_words(rng):
    yield _sentence(rng, 3, 4, padding=2.0)
    yield _sentence(rng, 7, 5, padding=np.nan)


@links_from_weights.cases(points=1, label=_("a batch"))
def batches(rng):
    yield _sentence(rng, 3, 5, batch=(2,), padding=2.0)
    yield _sentence(rng, 5, 4, batch=(2, 3), padding=np.nan)


@links_from_weights.cases(points=1, label=_("a target that attends nowhere, or no source word"))
def nowhere(rng):
    case = _sentence(rng, 3, 4)
    case.args[0][rng.integers(3)] = 0.0
    yield case
    case = _sentence(rng, 3, 5, batch=(2,), padding=2.0)
    case.args[2][1] = False
    yield case


@links_from_weights.variant
def row_by_row_in_lists(weights, target_mask, source_mask):
    links = np.zeros(weights.shape, dtype=int)
    for place in np.ndindex(weights.shape[:-1]):
        row = [
            w if real else 0.0
            for w, real in zip(weights[place], source_mask[place[:-1]], strict=True)
        ]
        if target_mask[place] and max(row) > 0:
            links[(*place, row.index(max(row)))] = 1
    return links


@links_from_weights.variant
def first_of_the_maxima_by_cumsum(weights, target_mask, source_mask):
    kept = np.where(target_mask[..., None] & source_mask[..., None, :], weights, 0.0)
    is_largest = (kept == kept.max(axis=-1, keepdims=True)) & (kept > 0)
    return is_largest & (is_largest.cumsum(axis=-1) == 1)


@links_from_weights.variant
def in_torch(weights, target_mask, source_mask):
    import torch

    weights, targets, sources = (
        torch.as_tensor(part) for part in (weights, target_mask, source_mask)
    )
    kept = weights.masked_fill(~sources[..., None, :], 0.0)
    kept = kept.masked_fill(~targets[..., None], 0.0)
    positions = torch.arange(kept.shape[-1], 0, -1)  # of equal weights, the first is preferred
    is_largest = (kept == kept.amax(dim=-1, keepdim=True)) & (kept > 0)
    first = (is_largest * positions).argmax(dim=-1, keepdim=True)
    return torch.zeros_like(is_largest).scatter(-1, first, value=True) & is_largest
