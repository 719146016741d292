"""Two means that cross: the mean of each input asks the features of the other."""

from functools import partial

import numpy as np

from attn_course.definitions import features as definition
from attn_course.definitions.scoring import activated_general
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import (
    average,
    empty_pair,
    example_by_example,
    matrix,
    padded_pair,
    whole_pair,
)
from attn_course.practice.inputs import padded, softmax
from attn_course.translate import _


@reference
def interactive(features_1, features_2, mask_1, mask_2, W_1, b_1, W_2, b_2):
    def one_example(first, second, real_1, real_2):
        contexts, weights = definition.interactive(
            (first, first),
            (second, second),
            partial(activated_general, W=W_1, b=b_1),
            partial(activated_general, W=W_2, b=b_2),
            real_1,
            real_2,
        )
        return contexts["c_1"], contexts["c_2"], weights["a_1"], weights["a_2"]

    return example_by_example(one_example, features_1, features_2, mask_1, mask_2)


def _parameters(rng, d_1, d_2):
    return matrix(rng, d_1, d_2), 0.6, matrix(rng, d_2, d_1), -0.7


@interactive.cases(points=2, label=_("two inputs of one width, no padding"))
def of_one_width(rng):
    yield Case(*whole_pair(rng, 2, 3, 2, 2), *_parameters(rng, 2, 2))
    yield Case(*whole_pair(rng, 5, 3, 2, 2), *_parameters(rng, 2, 2))


@interactive.cases(points=1, label=_("two widths, padding with anything in it"))
def of_two_widths(rng):
    yield Case(*padded_pair(rng, 3, 5, 2, 3), *_parameters(rng, 2, 3))
    yield Case(*padded_pair(rng, 5, 3, 2, 3, padding=3.0), *_parameters(rng, 2, 3))
    yield Case(*padded_pair(rng, 5, 3, 2, 7, padding=np.nan), *_parameters(rng, 2, 7))


@interactive.cases(points=1, label=_("a batch, and inputs without a feature"))
def batches(rng):
    yield Case(*padded_pair(rng, 5, 3, 3, 7, batch=(2,)), *_parameters(rng, 3, 7))
    yield Case(*padded_pair(rng, 3, 5, 7, 3, batch=(2, 2)), *_parameters(rng, 7, 3))
    yield Case(*empty_pair(rng, 5, 7, 2, 3), *_parameters(rng, 2, 3))


@interactive.variant
def means_as_equal_weights(features_1, features_2, mask_1, mask_2, W_1, b_1, W_2, b_2):
    def mean(features, mask):
        return average(softmax(np.zeros(mask.shape), mask), features, mask)

    def asked(query, features, mask, W, b):
        weights = softmax(np.tanh(np.einsum("...nd,de,...e->...n", features, W, query) + b), mask)
        return average(weights, features, mask), weights

    c_1, a_1 = asked(mean(features_2, mask_2), features_1, mask_1, W_1, b_1)
    c_2, a_2 = asked(mean(features_1, mask_1), features_2, mask_2, W_2, b_2)
    return c_1, c_2, a_1, a_2


@interactive.variant
def scores_of_all_pairs_before_the_mean(
    features_1, features_2, mask_1, mask_2, W_1, b_1, W_2, b_2
):
    """The product is linear, so the mean of all products is the product with the mean."""
    kept_1, kept_2 = padded(features_1, mask_1, 0.0), padded(features_2, mask_2, 0.0)
    n_1 = np.maximum(mask_1.sum(axis=-1, keepdims=True), 1)
    n_2 = np.maximum(mask_2.sum(axis=-1, keepdims=True), 1)
    scores_1 = np.tanh((kept_1 @ W_1 @ kept_2.mT).sum(axis=-1) / n_2 + b_1)
    scores_2 = np.tanh((kept_2 @ W_2 @ kept_1.mT).sum(axis=-1) / n_1 + b_2)
    a_1, a_2 = softmax(scores_1, mask_1), softmax(scores_2, mask_2)
    return average(a_1, kept_1, mask_1), average(a_2, kept_2, mask_2), a_1, a_2


@interactive.variant
def two_sides_in_loops(features_1, features_2, mask_1, mask_2, W_1, b_1, W_2, b_2):
    def side(features, mask, others, others_mask, W, b):
        real = [row for row, is_real in zip(others, others_mask, strict=True) if is_real]
        mean = sum(real) / len(real) if real else np.zeros(others.shape[-1])
        strengths = [
            np.exp(np.tanh(row @ W @ mean + b)) if is_real else 0.0
            for row, is_real in zip(features, mask, strict=True)
        ]
        weights = np.array(strengths) / (sum(strengths) or 1.0)
        context = np.zeros(features.shape[-1])
        for weight, row in zip(weights, features, strict=True):
            context += weight * row if weight > 0 else 0.0
        return context, weights

    def one_example(first, second, real_1, real_2):
        c_1, a_1 = side(first, real_1, second, real_2, W_1, b_1)
        c_2, a_2 = side(second, real_2, first, real_1, W_2, b_2)
        return c_1, c_2, a_1, a_2

    return example_by_example(one_example, features_1, features_2, mask_1, mask_2)
