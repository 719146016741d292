"""One query per class reads the features that all classes share."""

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import dot
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import all_of, huge, padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def class_contexts(features, mask, queries):
    if mask.ndim > 1:
        examples = zip(features, mask, strict=True)
        found = [class_contexts.reference(*one, queries) for one in examples]
    else:
        found = [attend(query, features, features, dot, mask) for query in queries]
    contexts, weights = zip(*found, strict=True)
    return np.stack(contexts), np.stack(weights)


def _input(rng, n, d, classes, batch=(), mask=None, padding=0.0):
    mask = some_of(rng, *batch, n) if mask is None else mask
    features = padded(readable(rng, *mask.shape, d), mask, padding)
    return Case(features, mask, readable(rng, classes, d))


@class_contexts.cases(points=1, label=_("one input without padding"))
def one_whole_input(rng):
    yield _input(rng, 3, 2, 2, mask=all_of(3))
    yield _input(rng, 2, 5, 3, mask=all_of(2))


@class_contexts.cases(points=1, label=_("padding, with anything in it, even NaN"))
def one_padded_input(rng):
    yield _input(rng, 3, 2, 2, padding=2.0)
    yield _input(rng, 5, 3, 7, padding=np.nan)


@class_contexts.cases(points=1, label=_("a batch, and an input without a feature"))
def batches(rng):
    different = np.array([[True, True, False], [False, True, True]])
    yield _input(rng, 3, 5, 2, mask=different, padding=2.0)  # as many inputs as classes
    yield _input(rng, 5, 2, 3, batch=(7,), padding=np.nan)
    yield _input(rng, 3, 2, 5, batch=(2, 3))
    yield _input(rng, 3, 2, 2, mask=np.array([[True, False, True], [False] * 3]), padding=2.0)


@class_contexts.cases(points=1, label=_("scores far from 0"))
def large_scores(rng):
    # Queries that read one entry each: the scores are the entries themselves.
    features = np.ascontiguousarray(huge(rng, 2, 5).T)
    yield Case(features, all_of(5), np.eye(2))


@class_contexts.variant
def class_by_class(features, mask, queries):
    contexts, weights = [], []
    for query in queries:
        kept = padded(features, mask, 0.0)
        weights.append(softmax(kept @ query, mask))
        contexts.append((weights[-1][..., None] * kept).sum(axis=-2))
    return np.stack(contexts, axis=-2), np.stack(weights, axis=-2)


@class_contexts.variant
def contexts_by_einsum(features, mask, queries):
    kept = padded(features, mask, 0.0)
    weights = softmax(np.einsum("...nd,cd->...cn", kept, queries), mask[..., None, :])
    return np.einsum("...cn,...nd->...cd", weights, kept), weights


@class_contexts.variant
def contexts_in_torch(features, mask, queries):
    import torch

    features, mask, queries = (torch.as_tensor(part) for part in (features, mask, queries))
    kept = features.masked_fill(~mask[..., None], 0.0)
    scores = (queries @ kept.mT).masked_fill(~mask[..., None, :], -torch.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ kept, weights
