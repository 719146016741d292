"""Supervised attention: the cross-entropy of the weights to the gold distribution."""

from math import log

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.where_it_looks._weights import shares, with_padding
from attn_course.practice.inputs import all_of, some_of
from attn_course.translate import _


@reference
def supervised_loss(weights, marked, mask):
    k = weights.shape[-1]
    rows = zip(*(part.reshape(-1, k) for part in (weights, marked, mask)), strict=True)
    losses = []
    for row, marks, real in rows:
        gold = [l for l in range(k) if marks[l] and real[l]]
        if gold:
            losses.append(sum(-log(max(row[l], 1e-12)) / len(gold) for l in gold))
    return sum(losses) / max(len(losses), 1)


def _rows(rng, q, k, batch=(), padding=None):
    """Return weights, marks and mask: all rows have gold, the first of them on two keys."""
    weights = shares(rng, *batch, q, k)
    marked = some_of(rng, *batch, q, k)
    marked[..., 0, :] = rng.permuted(np.broadcast_to(np.arange(k) < 2, (*batch, k)), axis=-1)
    if padding is None:
        return Case(weights, marked, all_of(*batch, q, k))
    # The last query is padding, and so is the last key: both are marked, to see that they are
    # left out; the second query has marks behind the mask only.
    mask = all_of(*batch, q, k)
    mask[..., -1, :] = mask[..., :, -1] = False
    marked[..., -1, :] = marked[..., :, -1] = True
    marked[..., 0, :3] = [True, True, False]
    marked[..., 1, :-1] = False
    return Case(with_padding(weights, mask, padding), marked, mask)


@supervised_loss.cases(points=1, label=_("every query has gold, no padding"))
def all_have_gold(rng):
    yield _rows(rng, 2, 3)
    yield _rows(rng, 3, 5)


@supervised_loss.cases(points=1, label=_("queries without gold do not count"))
def some_have_none(rng):
    for q, k in ((3, 4), (5, 7)):
        case = _rows(rng, q, k)
        case.args[1][rng.integers(1, q)] = False
        yield case
    case = _rows(rng, 3, 5)
    case.args[1][1:] = False  # a single query has gold
    yield case


@supervised_loss.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padded_words(rng):
    yield _rows(rng, 4, 5, padding=0.3)
    yield _rows(rng, 5, 4, padding=np.nan)


@supervised_loss.cases(points=1, label=_("a batch, with one mean over all queries with gold"))
def batches(rng):
    for batch, q, k, padding in (((2,), 4, 5, 0.3), ((2, 3), 5, 4, np.nan)):
        case = _rows(rng, q, k, batch, padding)
        case.args[1].reshape(-1, q, k)[0, 1:] = False  # this one has a single row with gold
        yield case


@supervised_loss.cases(points=1, label=_("a weight of 0 at a marked key, or no gold at all"))
def edges(rng):
    case = _rows(rng, 3, 5)
    weights, marked, _mask = case.args
    weights[0, np.flatnonzero(marked[0])[0]] = 0.0
    yield case
    case = _rows(rng, 3, 4)
    case.args[1][:] = False
    yield case


@supervised_loss.variant
def with_a_gold_distribution(weights, marked, mask):
    gold = (marked & mask).astype(float)
    has_gold = gold.any(axis=-1)
    gold, kept = gold[has_gold], weights[has_gold]  # (rows with gold, k)
    if len(gold) == 0:
        return 0.0
    gold /= gold.sum(axis=-1, keepdims=True)
    kept = np.where(gold > 0, np.clip(kept, 1e-12, None), 1.0)
    return -(gold * np.log(kept)).sum(axis=-1).mean()


@supervised_loss.variant
def divergence_plus_entropy(weights, marked, mask):
    gold = marked & mask
    number = gold.sum(axis=-1, keepdims=True)
    a_star = gold / np.maximum(number, 1)
    kept = np.maximum(np.where(gold, weights, 1.0), 1e-12)
    divergence = np.where(gold, a_star * np.log(np.where(gold, a_star, 1.0) / kept), 0.0)
    entropies = np.log(np.maximum(number, 1))
    return (divergence.sum() + entropies.sum()) / max((number > 0).sum(), 1)


@supervised_loss.variant
def in_torch(weights, marked, mask):
    import torch

    weights, marked, mask = (torch.as_tensor(part) for part in (weights, marked, mask))
    gold = marked & mask
    number = gold.sum(dim=-1)
    logs = weights.masked_fill(~gold, 1.0).clamp(min=1e-12).log().sum(dim=-1)
    losses = (-logs / number)[number > 0]
    return losses.mean() if losses.numel() else torch.tensor(0.0)
