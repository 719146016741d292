"""Scores of both sides from one affinity matrix and two shared maps."""

import numpy as np

from attn_course.definitions.features import scores_projected
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import (
    matrix,
    padded_pair,
    whole_pair,
)
from attn_course.practice.exercises.parallel._affinities import affinities_for
from attn_course.practice.inputs import padded, readable
from attn_course.translate import _


@reference
def parallel_scores(A, features_1, features_2, mask_1, mask_2, W_1, W_2, w_1, w_2):
    if mask_1.ndim > 1:
        examples = zip(A, features_1, features_2, mask_1, mask_2, strict=True)
        parts = [parallel_scores.reference(*one, W_1, W_2, w_1, w_2) for one in examples]
        return tuple(np.stack(same) for same in zip(*parts, strict=True))
    found = scores_projected(
        A, features_1, features_2, W_1, W_2, w_1, w_2, mask_1=mask_1, mask_2=mask_2
    )
    masks = (mask_1, mask_2)
    return tuple(np.where(mask, scores, 0.0) for mask, scores in zip(masks, found, strict=True))


def _inputs(rng, pair, m, padding=0.0):
    features_1, features_2, mask_1, mask_2 = pair
    d_1, d_2 = features_1.shape[-1], features_2.shape[-1]
    A = affinities_for(rng, mask_1, mask_2, padding)
    maps = matrix(rng, m, d_1), matrix(rng, m, d_2), readable(rng, m), readable(rng, m)
    return (A, *pair, *maps)


@parallel_scores.cases(points=2, label=_("two inputs of one width, no padding"))
def of_one_width(rng):
    yield Case(*_inputs(rng, whole_pair(rng, 2, 3, 2, 2), 2))
    yield Case(*_inputs(rng, whole_pair(rng, 5, 3, 2, 2), 3))


@parallel_scores.cases(points=1, label=_("two widths, and a batch"))
def of_two_widths(rng):
    yield Case(*_inputs(rng, whole_pair(rng, 3, 5, 2, 3), 2))
    yield Case(*_inputs(rng, whole_pair(rng, 5, 3, 2, 7, batch=(2,)), 3))
    yield Case(*_inputs(rng, whole_pair(rng, 3, 7, 5, 2, batch=(2, 3)), 2))


@parallel_scores.cases(points=2, label=_("padding, with anything in it, even NaN"))
def with_padding(rng):
    for padding in (0.5, np.nan):
        yield Case(*_inputs(rng, padded_pair(rng, 3, 5, 2, 2, padding=padding), 3, padding))
    pair = padded_pair(rng, 5, 3, 2, 7, batch=(2,), padding=np.nan)
    yield Case(*_inputs(rng, pair, 3, np.nan))


@parallel_scores.variant
def feature_by_feature(A, features_1, features_2, mask_1, mask_2, W_1, W_2, w_1, w_2):
    if mask_1.ndim > 1:
        examples = zip(A, features_1, features_2, mask_1, mask_2, strict=True)
        parts = [feature_by_feature(*one, W_1, W_2, w_1, w_2) for one in examples]
        return tuple(np.stack(same) for same in zip(*parts, strict=True))
    e_1, e_2 = np.zeros(len(mask_1)), np.zeros(len(mask_2))
    real_1, real_2 = np.flatnonzero(mask_1), np.flatnonzero(mask_2)
    for i in real_1:
        message = sum(A[i, j] * (W_2 @ features_2[j]) for j in real_2)
        e_1[i] = w_1 @ np.tanh(message + W_1 @ features_1[i])
    for j in real_2:
        message = sum(A[i, j] * (W_1 @ features_1[i]) for i in real_1)
        e_2[j] = w_2 @ np.tanh(message + W_2 @ features_2[j])
    return e_1, e_2


@parallel_scores.variant
def messages_before_the_maps(A, features_1, features_2, mask_1, mask_2, W_1, W_2, w_1, w_2):
    """The maps are linear, so the features may be gathered first and mapped afterwards."""
    kept_1, kept_2 = padded(features_1, mask_1, 0.0), padded(features_2, mask_2, 0.0)
    A = np.where(mask_1[..., :, None] & mask_2[..., None, :], A, 0.0)
    gathered_1 = np.einsum("...ij,...jd->...id", A, kept_2)
    gathered_2 = np.einsum("...ij,...id->...jd", A, kept_1)
    e_1 = np.tanh(gathered_1 @ W_2.T + kept_1 @ W_1.T) @ w_1
    e_2 = np.tanh(gathered_2 @ W_1.T + kept_2 @ W_2.T) @ w_2
    return np.where(mask_1, e_1, 0.0), np.where(mask_2, e_2, 0.0)


@parallel_scores.variant
def scores_in_torch(A, features_1, features_2, mask_1, mask_2, W_1, W_2, w_1, w_2):
    import torch

    A, first, second, W_1, W_2, w_1, w_2 = (
        torch.as_tensor(part) for part in (A, features_1, features_2, W_1, W_2, w_1, w_2)
    )
    real_1, real_2 = torch.as_tensor(mask_1)[..., None], torch.as_tensor(mask_2)[..., None]
    A = A.masked_fill(~(real_1 & real_2.mT), 0.0)
    from_1 = first.masked_fill(~real_1, 0.0) @ W_1.T
    from_2 = second.masked_fill(~real_2, 0.0) @ W_2.T
    return torch.tanh(A @ from_2 + from_1) @ w_1, torch.tanh(A.mT @ from_1 + from_2) @ w_2
