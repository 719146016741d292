"""The best match of each feature, among the real features of the other input alone."""

import numpy as np

from attn_course.definitions.features import scores_max
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import partly_real
from attn_course.practice.exercises.parallel._affinities import affinities_for
from attn_course.practice.inputs import all_of
from attn_course.translate import _


@reference
def best_match_scores(A, mask_1, mask_2):
    if A.ndim > 2:
        examples = zip(A, mask_1, mask_2, strict=True)
        parts = [best_match_scores.reference(*example) for example in examples]
        return tuple(np.stack(same) for same in zip(*parts, strict=True))
    e_1, e_2 = scores_max(A, mask_1, mask_2)
    return np.where(mask_1, e_1, 0.0), np.where(mask_2, e_2, 0.0)


def _below_zero(rng, mask_1, mask_2, padding):
    """Return affinities that are all negative, so that a 0 would win, and the masks."""
    return affinities_for(rng, mask_1, mask_2, padding, low=-2.0, high=-0.1), mask_1, mask_2


@best_match_scores.cases(points=1, label=_("one table without padding"))
def without_padding(rng):
    masks = all_of(2), all_of(3)
    yield Case(affinities_for(rng, *masks, 0.0, low=-2.0, high=2.0), *masks)
    yield Case(*_below_zero(rng, all_of(5), all_of(2), 0.0))


@best_match_scores.cases(points=2, label=_("padding, with anything in it"))
def with_padding(rng):
    for n_1, n_2, padding in ((3, 5, 0.0), (5, 3, 9.0), (3, 7, np.nan), (5, 7, np.inf)):
        yield Case(*_below_zero(rng, partly_real(rng, n_1), partly_real(rng, n_2), padding))


@best_match_scores.cases(points=1, label=_("a batch of tables"))
def batches(rng):
    yield Case(*_below_zero(rng, partly_real(rng, 2, 3), partly_real(rng, 2, 5), 2.0))
    yield Case(*_below_zero(rng, partly_real(rng, 2, 2, 5), partly_real(rng, 2, 2, 3), np.nan))


@best_match_scores.cases(points=1, label=_("an input without a feature: every score is 0"))
def without_a_feature(rng):
    mask_1 = np.array([[False] * 3, [True, False, True], [True, True, False]])
    mask_2 = np.array([[True] * 4 + [False], [False] * 5, [True, False, True, True, False]])
    yield Case(*_below_zero(rng, mask_1, mask_2, -0.5))


@best_match_scores.variant
def best_in_loops(A, mask_1, mask_2):
    if A.ndim > 2:
        parts = [best_in_loops(*example) for example in zip(A, mask_1, mask_2, strict=True)]
        return tuple(np.stack(same) for same in zip(*parts, strict=True))
    real_1, real_2 = np.flatnonzero(mask_1), np.flatnonzero(mask_2)
    e_1, e_2 = np.zeros(len(mask_1)), np.zeros(len(mask_2))
    for i in real_1:
        e_1[i] = max((A[i, j] for j in real_2), default=0.0)
    for j in real_2:
        e_2[j] = max((A[i, j] for i in real_1), default=0.0)
    return e_1, e_2


@best_match_scores.variant
def one_side_and_its_transpose(A, mask_1, mask_2):
    def side(table, rows, columns):
        best = np.max(table, axis=-1, where=columns[..., None, :], initial=-np.inf)
        return np.where(rows & columns.any(axis=-1, keepdims=True), best, 0.0)

    return side(A, mask_1, mask_2), side(np.swapaxes(A, -1, -2), mask_2, mask_1)


@best_match_scores.variant
def best_in_torch(A, mask_1, mask_2):
    import torch

    A, mask_1, mask_2 = (torch.as_tensor(part) for part in (A, mask_1, mask_2))
    A = A.masked_fill(~(mask_1[..., None] & mask_2[..., None, :]), -torch.inf)
    e_1, e_2 = A.amax(dim=-1), A.amax(dim=-2)
    return e_1.masked_fill(e_1.isinf(), 0.0), e_2.masked_fill(e_2.isinf(), 0.0)
