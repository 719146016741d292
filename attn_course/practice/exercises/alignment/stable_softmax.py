"""Turn scores of any size into weights, at any temperature."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import huge, readable, row_by_row
from attn_course.translate import _


@reference
def stable_softmax(scores, temperature):
    return alignment.softmax(scores, temperature=temperature)


@stable_softmax.cases(points=1, label=_("scores (q, k), at several temperatures"))
def small_scores(rng):
    yield Case(readable(rng, 2, 3), 2.0)
    yield Case(readable(rng, 3, 2), 0.5)
    yield Case(rng.normal(size=(5, 7)), 3.0)


@stable_softmax.cases(points=1, label=_("batches of scores (..., q, k)"))
def batches_of_scores(rng):
    yield Case(readable(rng, 2, 3, 5), 0.5)
    yield Case(rng.normal(size=(2, 3, 5, 7)), 2.0)


@stable_softmax.cases(points=1, label=_("very large and very small scores"))
def huge_scores(rng):
    yield Case(huge(rng, 2, 3), 1.25)
    yield Case(huge(rng, 3, 5), 0.5)
    yield Case(huge(rng, 2, 7), 4.0)  # the best key is far above the lowest, near the mean


@stable_softmax.variant
def softmax_in_loops(scores, temperature):
    return row_by_row(lambda row: np.array(definition.softmax(row / temperature)), scores)


@stable_softmax.variant
def softmax_scaled_last(scores, temperature):
    exponentials = np.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@stable_softmax.variant
def softmax_in_torch(scores, temperature):
    import torch

    return torch.softmax(torch.as_tensor(scores) / temperature, dim=-1)


@stable_softmax.variant
def softmax_by_log_sum_exp(scores, temperature):
    scaled = scores / temperature
    return np.exp(scaled - np.logaddexp.reduce(scaled, axis=-1)[..., None])
