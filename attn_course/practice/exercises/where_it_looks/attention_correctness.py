"""Attention correctness with its uniform baseline, one pair of numbers for each query."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.where_it_looks._weights import shares, with_padding
from attn_course.practice.inputs import all_of, some_of
from attn_course.translate import _


@reference
def attention_correctness(weights, region, mask):
    if weights.ndim > 1:
        found = [
            attention_correctness.reference(*one) for one in zip(weights, region, mask, strict=True)
        ]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    inside = total = 0.0
    marked = number = 0
    for weight, is_marked, is_real in zip(weights, region, mask, strict=True):
        if is_real:
            total, number = total + weight, number + 1
            if is_marked:
                inside, marked = inside + weight, marked + 1
    share = inside / total if total > 0 else 0.0
    return np.array(share), np.array(marked / number if number else 0.0)


def _row(rng, n, batch=(), scale=None, padding=None):
    """Return weights, region and mask; with a scale the weights do not sum to 1."""
    weights = shares(rng, *batch, n)
    if scale is not None:
        weights = np.round(weights * scale, 3)
    region = some_of(rng, *batch, n)
    if padding is None:
        return Case(weights, region, all_of(*batch, n))
    # Real and padded keys are inside the region and outside it, so that each shows.
    kind = rng.permuted(np.broadcast_to(np.arange(n) % 4, (*batch, n)), axis=-1)
    mask = kind < 2
    return Case(with_padding(weights, mask, padding), kind % 2 == 0, mask)


@attention_correctness.cases(points=1, label=_("one query, weights that sum to 1"))
def one_query(rng):
    yield _row(rng, 3)
    yield _row(rng, 5)


@attention_correctness.cases(points=1, label=_("weights that do not sum to 1"))
def unnormalised(rng):
    yield _row(rng, 3, scale=0.5)
    yield _row(rng, 5, scale=np.round(rng.uniform(1.5, 2.5), 1))


@attention_correctness.cases(points=1, label=_("padding, with anything in it, even NaN"))
def with_padded_keys(rng):
    yield _row(rng, 5, padding=0.7)
    yield _row(rng, 7, padding=np.nan)


@attention_correctness.cases(points=1, label=_("a batch of queries"))
def batches(rng):
    yield _row(rng, 5, batch=(2,), scale=0.8)
    yield _row(rng, 7, batch=(2, 3), padding=np.nan)


@attention_correctness.cases(points=1, label=_("an empty region, no weight, or no key"))
def nothing(rng):
    case = _row(rng, 5, batch=(4,), padding=0.7)
    weights, region, mask = case.args
    region[0] = False
    weights[1] = 0.0
    mask[2] = False
    mask[3] = np.arange(5) == 2  # a single key
    weights[3, 2], region[3, 2] = 0.4, True
    yield case


@attention_correctness.variant
def as_dot_products(weights, region, mask):
    real = np.where(mask, weights, 0.0)
    total = np.einsum("...n->...", real)
    inside = np.einsum("...n,...n->...", real, (region & mask).astype(float))
    share = np.divide(inside, total, out=np.zeros_like(total), where=total != 0)
    with np.errstate(invalid="ignore"):
        baseline = np.nan_to_num((region & mask).sum(axis=-1) / mask.sum(axis=-1))
    return share, baseline


@attention_correctness.variant
def one_formula_called_twice(weights, region, mask):
    def share(numbers):
        numbers = np.where(mask, numbers, 0.0)
        total = numbers.sum(axis=-1, keepdims=True)
        return (region * (numbers / np.where(total == 0, 1.0, total))).sum(axis=-1)

    return share(weights), share(np.ones_like(weights))


@attention_correctness.variant
def in_torch(weights, region, mask):
    import torch

    weights, region, mask = (torch.as_tensor(part) for part in (weights, region, mask))
    kept = weights.masked_fill(~mask, 0.0)
    inside = kept.masked_fill(~region, 0.0).sum(dim=-1)
    share = (inside / kept.sum(dim=-1)).nan_to_num(0.0)
    return share, (region & mask).sum(dim=-1) / mask.sum(dim=-1).clamp(min=1)
