"""A summary of one input asks the other, and what it finds asks back: three steps in a row."""

from functools import partial

import numpy as np

from attn_course.definitions import features as definition
from attn_course.definitions.scoring import additive, no_query
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import (
    average,
    empty_pair,
    example_by_example,
    matrix,
    padded_pair,
    whole_pair,
)
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def alternating(features_1, features_2, mask_1, mask_2, step_1, step_2, step_3):
    score_0 = partial(no_query, **dict(zip(("w", "W", "b"), step_1, strict=True)))
    score_2, score_1 = (
        partial(additive, **dict(zip(("w", "W_q", "W_k"), step, strict=True)))
        for step in (step_2, step_3)
    )

    def one_example(first, second, real_1, real_2):
        contexts, weights = definition.alternating(
            (first, first),
            (second, second),
            score_0,
            score_2,
            score_1,
            real_1,
            real_2,
        )
        return contexts["c_1"], contexts["c_2"], weights["a_1"], weights["a_2"]

    return example_by_example(one_example, features_1, features_2, mask_1, mask_2)


def _steps(rng, d_1, d_2, m):
    """Return the parameters of the three steps: a summary and two questions."""
    summary = readable(rng, m), matrix(rng, m, d_1), readable(rng, m)
    there = readable(rng, m), matrix(rng, m, d_1), matrix(rng, m, d_2)
    back = readable(rng, m), matrix(rng, m, d_2), matrix(rng, m, d_1)
    return summary, there, back


@alternating.cases(points=2, label=_("two inputs of one width, no padding"))
def of_one_width(rng):
    yield Case(*whole_pair(rng, 2, 3, 2, 2), *_steps(rng, 2, 2, 2))
    yield Case(*whole_pair(rng, 5, 3, 2, 2), *_steps(rng, 2, 2, 3))


@alternating.cases(points=1, label=_("two widths, padding with anything in it"))
def of_two_widths(rng):
    yield Case(*padded_pair(rng, 3, 5, 2, 3, padding=3.0), *_steps(rng, 2, 3, 2))
    yield Case(*padded_pair(rng, 5, 3, 2, 7, padding=np.nan), *_steps(rng, 2, 7, 3))


@alternating.cases(points=1, label=_("a batch, and inputs without a feature"))
def batches(rng):
    yield Case(*padded_pair(rng, 5, 3, 3, 7, batch=(2,)), *_steps(rng, 3, 7, 2))
    yield Case(*padded_pair(rng, 3, 5, 7, 3, batch=(2, 2)), *_steps(rng, 7, 3, 5))
    yield Case(*empty_pair(rng, 5, 7, 2, 3), *_steps(rng, 2, 3, 5))


@alternating.variant
def three_calls_of_one_function(features_1, features_2, mask_1, mask_2, step_1, step_2, step_3):
    def attended(features, mask, w, W, shift):
        weights = softmax(np.tanh(features @ W.T + shift[..., None, :]) @ w, mask)
        return average(weights, features, mask), weights

    (w_0, W_0, b), (w_2, W_q2, W_k2), (w_1, W_q1, W_k1) = step_1, step_2, step_3
    c_0, _a_0 = attended(features_1, mask_1, w_0, W_0, b)
    c_2, a_2 = attended(features_2, mask_2, w_2, W_k2, c_0 @ W_q2.T)
    c_1, a_1 = attended(features_1, mask_1, w_1, W_k1, c_2 @ W_q1.T)
    return c_1, c_2, a_1, a_2


@alternating.variant
def query_beside_each_feature(features_1, features_2, mask_1, mask_2, step_1, step_2, step_3):
    """W_q q + W_k k is one product of a matrix with the two vectors one below the other."""

    def attended(query, features, mask, w, W_q, W_k):
        queries = np.broadcast_to(
            query[..., None, :], (*features.shape[:-1], query.shape[-1])
        )
        both = np.concatenate([queries, features], axis=-1)
        scores = np.tanh(both @ np.concatenate([W_q, W_k], axis=1).T) @ w
        weights = softmax(scores, mask)
        return average(weights, features, mask), weights

    w, W, b = step_1
    constant = np.ones((*mask_1.shape[:-1], 1))
    c_0, _a_0 = attended(constant, features_1, mask_1, w, b[:, None], W)
    c_2, a_2 = attended(c_0, features_2, mask_2, *step_2)
    c_1, a_1 = attended(c_2, features_1, mask_1, *step_3)
    return c_1, c_2, a_1, a_2


@alternating.variant
def steps_in_torch(features_1, features_2, mask_1, mask_2, step_1, step_2, step_3):
    import torch

    def attended(features, mask, w, W, shift):
        mask, features = torch.as_tensor(mask), torch.as_tensor(features)
        kept = features.masked_fill(~mask[..., None], 0.0)
        scores = torch.tanh(kept @ torch.as_tensor(W).T + shift[..., None, :]) @ torch.as_tensor(w)
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
        return (weights[..., None, :] @ kept)[..., 0, :], weights

    (w_0, W_0, b), (w_2, W_q2, W_k2), (w_1, W_q1, W_k1) = step_1, step_2, step_3
    c_0, _a_0 = attended(features_1, mask_1, w_0, W_0, torch.as_tensor(b))
    c_2, a_2 = attended(features_2, mask_2, w_2, W_k2, c_0 @ torch.as_tensor(W_q2).T)
    c_1, a_1 = attended(features_1, mask_1, w_1, W_k1, c_2 @ torch.as_tensor(W_q1).T)
    return c_1, c_2, a_1, a_2
