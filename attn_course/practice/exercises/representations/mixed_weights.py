"""Predict weights of two embeddings, by softmax and by gates, with and without a bias."""

from math import log

import numpy as np

from attn_course.definitions.features import meta_embedding
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def mixed_weights():
    embeddings, u = [[1.0, 1.0], [1.0, 0.0]], [log(2), log(3)]
    maps = [(np.eye(2), np.zeros(2))] * 2  # the embeddings of the question are mapped already

    def weights(beta, weighting, second_exists=True):
        return meta_embedding(embeddings, maps, u, beta, weighting, [True, second_exists])[1]

    beta = -log(4)
    return [
        weights(0.0, "softmax")[0],
        weights(beta, "softmax")[0],
        *weights(beta, "gate"),
        weights(beta, "softmax", second_exists=False)[0],
        weights(beta, "gate", second_exists=False)[0],
    ]


@mixed_weights.cases(points=2, label=_("six weights"))
def no_inputs(rng):
    yield Case()


@mixed_weights.variant
def weights_as_decimals():
    return [0.75, 0.75, 0.6, 0.3333333, 1.0, 0.6]


@mixed_weights.variant
def weights_as_an_array():
    return np.array([6 / 8, 6 / 8, 1.5 / 2.5, 0.5 / 1.5, 1, 1.5 / 2.5])


@mixed_weights.variant
def weights_as_a_tuple():
    return (3 / 4, 3 / 4, 3 / 5, 1 / 3, 1, 3 / 5)
