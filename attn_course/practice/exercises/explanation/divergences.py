"""TVD between predictions and JSD between weights, for rows of distributions."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.explanation import _sentences
from attn_course.practice.exercises.explanation._sentences import require_distributions, shares
from attn_course.translate import _


@reference
def divergences(one, other):
    if one.ndim > 1:
        found = [divergences.reference(*pair) for pair in zip(one, other, strict=True)]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    require_distributions(one, other)
    return np.array(_sentences.tvd(one, other)), np.array(_sentences.jsd(one, other))


@divergences.cases(points=1, label=_("two distributions"))
def two_distributions(rng):
    yield Case(shares(rng, 3), shares(rng, 3))
    yield Case(shares(rng, 5), shares(rng, 5))


@divergences.cases(points=1, label=_("rows of distributions, in batches too"))
def rows(rng):
    yield Case(shares(rng, 2, 3), shares(rng, 2, 3))
    yield Case(shares(rng, 4, 2, 5), shares(rng, 4, 2, 5))


@divergences.cases(points=2, label=_("entries of 0, in one distribution or in both"))
def zeros(rng):
    yield Case(shares(rng, 3), shares(rng, 3, zeros=1))
    yield Case(shares(rng, 4, zeros=1), shares(rng, 4))
    one, other = shares(rng, 3, 5, zeros=2), shares(rng, 3, 5, zeros=1)
    one[0], other[0] = [0.25, 0.75, 0, 0, 0], [0, 0, 0.35, 0.65, 0]  # no key in both
    one[1] = other[1]  # the same twice
    yield Case(one, other)


@divergences.variant
def by_entropies(one, other):
    def entropy(p):
        return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1)

    middle = (one + other) / 2
    jsd = entropy(middle) - (entropy(one) + entropy(other)) / 2
    return np.maximum(one - other, 0).sum(axis=-1), jsd


@divergences.variant
def with_scipy(one, other):
    from scipy.special import rel_entr

    middle = (one + other) / 2
    both = rel_entr(one, middle) + rel_entr(other, middle)
    return 1 - np.minimum(one, other).sum(axis=-1), both.sum(axis=-1) / 2


@divergences.variant
def in_torch(one, other):
    import torch

    one, other = torch.as_tensor(one), torch.as_tensor(other)
    middle = (one + other) / 2
    first, second = (torch.xlogy(p, p) - torch.xlogy(p, middle) for p in (one, other))
    return (one - other).abs().sum(dim=-1) / 2, (first + second).sum(dim=-1) / 2
