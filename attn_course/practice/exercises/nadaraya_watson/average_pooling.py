"""Predict the mean of all values at every query."""

import numpy as np

from attn_course.definitions import nadaraya_watson as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def average_pooling(queries, values):
    mean = definition.average_pooling(values)
    return np.full(len(queries), mean)


@average_pooling.cases(points=1, label=_("a few numbers"))
def a_few_numbers(rng):
    yield Case(readable(rng, 2, low=-3, high=3), readable(rng, 3, low=-3, high=3))
    yield Case(readable(rng, 3, low=-3, high=3), readable(rng, 2, low=-3, high=3))
    # Whole numbers as queries, and a mean that is none.
    yield Case(rng.integers(1, 9, 3), rng.integers(1, 5) + np.array([0.2, 0.9]))


@average_pooling.cases(points=1, label=_("many queries, and many values"))
def many_numbers(rng):
    yield Case(rng.normal(size=11), rng.normal(2.0, 1.0, size=5))
    yield Case(rng.normal(size=7), rng.normal(2.0, 1.0, size=13))
    yield Case(rng.normal(size=1), rng.normal(size=1))


@average_pooling.variant
def pooling_with_a_loop(queries, values):
    return [sum(values) / len(values) for _query in queries]


@average_pooling.variant
def pooling_as_uniform_weights(queries, values):
    weights = np.ones((len(queries), len(values))) / len(values)
    return weights @ values


@average_pooling.variant
def pooling_in_torch(queries, values):
    import torch

    mean = torch.as_tensor(values, dtype=torch.float32).mean()
    return mean.expand(len(queries))
