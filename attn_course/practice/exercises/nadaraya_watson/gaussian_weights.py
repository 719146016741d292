"""Turn distances between queries and keys into Gaussian weights."""

import numpy as np

from attn_course import nadaraya_watson
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import apart
from attn_course.translate import _


@reference
def gaussian_weights(queries, keys, w):
    return nadaraya_watson.weights(queries, keys, w)


@gaussian_weights.cases(points=1, label=_("a few queries and keys"))
def a_few_places(rng):
    yield Case(apart(rng, 1), apart(rng, 2), 0.5)
    yield Case(apart(rng, 2), apart(rng, 3), 2.0)
    yield Case(rng.uniform(0, 5, 5), rng.uniform(0, 5, 7), 0.7)
    yield Case(rng.uniform(0, 5, 11), rng.uniform(0, 5, 3), 0.0)


@gaussian_weights.cases(points=1, label=_("a batch: queries (..., q), keys (..., k)"))
def batches_of_places(rng):
    yield Case(rng.uniform(0, 5, (2, 3)), rng.uniform(0, 5, (2, 5)), 1.5)
    yield Case(rng.uniform(0, 5, (3, 2, 7)), rng.uniform(0, 5, (3, 2, 5)), 0.6)


@gaussian_weights.cases(points=1, label=_("queries far away from every key"))
def places_far_away(rng):
    yield Case(100 + apart(rng, 1), apart(rng, 2), 2.0)
    yield Case(np.concatenate([apart(rng, 2), -90 - apart(rng, 3)]), apart(rng, 7), 3.0)


@gaussian_weights.variant
def weights_in_loops(queries, keys, w):
    if queries.ndim > 1:
        return np.stack([weights_in_loops(q, k, w) for q, k in zip(queries, keys, strict=True)])
    rows = []
    for query in queries:
        scores = [-0.5 * (w * (query - key)) ** 2 for key in keys]
        exponentials = [np.exp(score - max(scores)) for score in scores]
        rows.append([e / sum(exponentials) for e in exponentials])
    return rows


@gaussian_weights.variant
def weights_in_torch(queries, keys, w):
    import torch

    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    difference = queries.unsqueeze(-1) - keys.unsqueeze(-2)
    return torch.softmax(-((w * difference) ** 2) / 2, dim=-1)


@gaussian_weights.variant
def weights_by_log_sum_exp(queries, keys, w):
    scores = -0.5 * (w * (queries[..., :, None] - keys[..., None, :])) ** 2
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[..., None])
