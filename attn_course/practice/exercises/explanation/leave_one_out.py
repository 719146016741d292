"""How far does the prediction move when one token is removed?"""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.explanation._sentences import (
    prediction,
    shared_out,
    tvd,
)
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def leave_one_out(values, scores, W):
    if scores.ndim > 1:
        pairs = zip(values, scores, strict=True)
        return np.stack([leave_one_out.reference(v, e, W) for v, e in pairs])
    if len(W) < 2:
        raise ValueError("with one class nothing can change")  # where a case is made smaller
    whole = prediction(values, shared_out(scores.tolist()), W)
    changes = []
    for t in range(len(scores)):
        others = [*range(t), *range(t + 1, len(scores))]
        weights = shared_out([float(scores[i]) for i in others])
        changes.append(tvd(prediction([values[i] for i in others], weights, W), whole))
    return np.array(changes)


def _sentence(rng, n, d, classes, batch=()):
    values, scores = readable(rng, *batch, n, d), readable(rng, *batch, n)
    return Case(values, scores, readable(rng, classes, d, low=-1.0, high=1.0))


@leave_one_out.cases(points=2, label=_("one sentence"))
def one_sentence(rng):
    yield _sentence(rng, 3, 2, 4)
    yield _sentence(rng, 5, 3, 2)


@leave_one_out.cases(points=1, label=_("a batch of sentences"))
def batches(rng):
    yield _sentence(rng, 3, 4, 5, batch=(2,))
    yield _sentence(rng, 4, 2, 5, batch=(3, 6))


@leave_one_out.cases(points=1, label=_("scores far apart, so that one token has all the weight"))
def far_apart(rng):
    # A gap of 60 leaves the others a weight above 0, and 1 minus the largest is 0; a gap of 1000
    # rounds the others to 0 as well.
    for n, d, classes, gap in ((3, 2, 4, 60.0), (3, 4, 2, 1000.0), (5, 3, 2, 1000.0)):
        case = _sentence(rng, n, d, classes)
        case.args[1][rng.integers(n)] += gap
        yield case


@leave_one_out.cases(points=1, label=_("a single token, without which the context is 0"))
def single_token(rng):
    yield _sentence(rng, 1, 2, 3)
    yield _sentence(rng, 1, 3, 5, batch=(4,))
    yield _sentence(rng, 4, 3, 2)


@leave_one_out.variant
def all_masks_at_once(values, scores, W):
    n = scores.shape[-1]
    kept = np.concatenate([np.ones((1, n), dtype=bool), ~np.eye(n, dtype=bool)])  # (n + 1, n)
    weights = softmax(np.where(kept, scores[..., None, :], -np.inf))  # (..., n + 1, n)
    weights = np.where(kept.any(axis=-1, keepdims=True), weights, 0.0)
    predictions = softmax(np.einsum("...tn,...nd,cd->...tc", weights, values, W))
    whole, without = predictions[..., :1, :], predictions[..., 1:, :]
    return np.abs(without - whole).sum(axis=-1) / 2


@leave_one_out.variant
def tokens_deleted(values, scores, W):
    def predicted(v, e):
        return softmax((softmax(e)[..., None] * v).sum(axis=-2) @ W.T) if v.shape[-2] else equal

    equal = np.full((*scores.shape[:-1], len(W)), 1 / len(W))
    changes = []
    for t in range(scores.shape[-1]):
        without = predicted(np.delete(values, t, axis=-2), np.delete(scores, t, axis=-1))
        changes.append(np.maximum(without - predicted(values, scores), 0).sum(axis=-1))
    return np.stack(changes, axis=-1)


@leave_one_out.variant
def in_torch(values, scores, W):
    import torch

    values, scores, W = (torch.as_tensor(part) for part in (values, scores, W))

    def predicted(e):
        context = torch.softmax(e, dim=-1).nan_to_num(0.0)[..., None, :] @ values
        return torch.softmax((context @ W.T)[..., 0, :], dim=-1)

    changes = []
    for t in range(scores.shape[-1]):
        without = scores.clone()
        without[..., t] = -torch.inf
        changes.append((predicted(without) - predicted(scores)).abs().sum(dim=-1) / 2)
    return torch.stack(changes, dim=-1)
