"""Attention without a query: a learned score of each feature, weights, a weighted sum."""

from functools import partial

import numpy as np

from attn_course.definitions import features as definition
from attn_course.definitions.scoring import no_query
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import average, matrix, partly_real
from attn_course.practice.inputs import all_of, padded, readable, row_by_row, softmax
from attn_course.translate import _


@reference
def summarise(features, mask, w, W, b):
    score = partial(no_query, w=w, W=W, b=b)

    def one_input(part):
        def found(real, rows):
            return np.array(definition.without_query(rows, rows, score, real)[part])

        return row_by_row(found, mask, features)

    return one_input(0), one_input(1)


def _input(rng, n, d, m, batch=(), mask=None, padding=0.0):
    mask = partly_real(rng, *batch, n) if mask is None else mask
    features = padded(readable(rng, *mask.shape, d), mask, padding)
    return features, mask, readable(rng, m), matrix(rng, m, d), readable(rng, m)


@summarise.cases(points=1, label=_("one input without padding"))
def one_whole_input(rng):
    yield Case(*_input(rng, 2, 3, 2, mask=all_of(2)))
    yield Case(*_input(rng, 5, 3, 3, mask=all_of(5)))


@summarise.cases(points=1, label=_("padding, with anything in it, even NaN"))
def one_padded_input(rng):
    yield Case(*_input(rng, 3, 2, 5, padding=3.0))
    yield Case(*_input(rng, 7, 3, 2, padding=np.nan))


@summarise.cases(points=1, label=_("a batch of inputs"))
def batches(rng):
    yield Case(*_input(rng, 3, 2, 5, batch=(2,)))
    yield Case(*_input(rng, 5, 7, 3, batch=(2,), padding=np.nan))
    yield Case(*_input(rng, 3, 5, 2, batch=(2, 7)))


@summarise.cases(points=1, label=_("an input without a feature: weights 0, summary 0"))
def without_a_feature(rng):
    mask = np.array([[True, True, False], [False] * 3])
    yield Case(*_input(rng, 3, 2, 5, mask=mask, padding=2.0))


@summarise.cases(points=1, label=_("scores far from 0"))
def large_scores(rng):
    # The first entry makes all scores of an input large, the second tells its features apart. As
    # tanh 50 is 1 and tanh 0 is 0, single precision holds these scores exactly.
    features, mask, _w, _W, _b = _input(rng, 5, 3, 2, batch=(2,))
    features[0, :, 0], features[1, :, 0] = 1.0, -1.0
    features[..., 1] = rng.permuted(np.tile([-1.0, 0.0, 1.0, 0.0, 1.0], (2, 1)), axis=1)
    W = np.array([[50.0, 0.0, 0.0], [0.0, 50.0, 0.0]])
    yield Case(features, mask, np.array([750.0, 1.5]), W, np.array([1.0, 0.0]))


@summarise.variant
def summary_in_loops(features, mask, w, W, b):
    if mask.ndim > 1:
        parts = [summary_in_loops(*one, w, W, b) for one in zip(features, mask, strict=True)]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    weights, summary = np.zeros(len(mask)), np.zeros(features.shape[-1])
    real = np.flatnonzero(mask)
    scores = [float(w @ np.tanh(W @ features[row] + b)) for row in real]
    strengths = [np.exp(score - max(scores)) for score in scores]
    for row, strength in zip(real, strengths, strict=True):
        weights[row] = strength / sum(strengths)
        summary += weights[row] * features[row]
    return summary, weights


@summarise.variant
def summary_by_einsum(features, mask, w, W, b):
    kept = padded(features, mask, 0.0)
    hidden = np.tanh(np.einsum("...nd,md->...nm", kept, W) + b)
    weights = softmax(np.einsum("...nm,m->...n", hidden, w), mask)
    return np.einsum("...n,...nd->...d", weights, kept), weights


@summarise.variant
def summary_as_a_product_of_matrices(features, mask, w, W, b):
    weights = softmax(np.tanh(features @ W.T + b) @ w, mask)
    return average(weights, features, mask), weights


@summarise.variant
def summary_in_torch(features, mask, w, W, b):
    import torch

    features, mask, w, W, b = (torch.as_tensor(part) for part in (features, mask, w, W, b))
    kept = features.masked_fill(~mask[..., None], 0.0)
    scores = torch.tanh(torch.nn.functional.linear(kept, W, b)) @ w
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
    return (weights[..., None] * kept).sum(dim=-2), weights
