"""Measure how dot products of wide vectors spread, and what a softmax makes of them."""

from math import log, sqrt

import numpy as np

from attn_course import scoring
from attn_course.alignment import softmax
from attn_course.practice import inputs
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.scoring._pairs import pair
from attn_course.translate import _


@reference
def scale_experiment(queries, keys):
    scores = scoring.dot(queries, keys)
    scaled = scoring.scaled_dot(queries, keys)
    return float(scores.var()), _mean_entropy(scores), _mean_entropy(scaled)


def _mean_entropy(scores):
    return -sum(weight * log(weight) for weight in softmax(scores).flat if weight > 0) / len(scores)


@scale_experiment.cases(points=1, label=_("a few queries and keys"))
def a_few_to_measure(rng):
    yield Case(*pair(rng, 2, 3, 5))
    yield Case(*pair(rng, 5, 2, 3))
    yield Case(*pair(rng, 11, 7, 13))


# In the two groups below all scores are whole numbers, so that they are exact also in single
# precision. Their gaps are so small, or so large, that rounding decides nothing.


@scale_experiment.cases(points=1, label=_("scores so large that np.exp overflows"))
def scores_that_overflow(rng):
    queries = np.column_stack([np.full(2, 30), rng.integers(-1, 2, (2, 2))]).astype(float)
    keys = np.column_stack([np.full(5, 30), rng.integers(-1, 2, (5, 2))]).astype(float)
    yield Case(queries, keys)  # 900 and a little, in every place
    yield Case(np.array([[30.0, 1.0], [-30.0, 1.0]]), _a_little_apart(rng, 3))  # a row at -900


def _a_little_apart(rng, k):
    """Return keys (k, 2): 30 in the first place, different whole numbers in the second."""
    return np.column_stack([np.full(k, 30), rng.permutation(k)]).astype(float)


@scale_experiment.cases(points=1, label=_("weights so small that they become 0"))
def weights_that_vanish(rng):
    # Scores 0, -1600, -3200, …, for the first query with two keys at 0: its entropy is ln 2.
    levels = [[0, 0, -1, -2, -3], [0, -1, -2, -3, -4], [1, 1, 1, 1, 1]]
    keys = 40.0 * np.column_stack([rng.permutation(column) for column in levels])
    yield Case(40.0 * np.eye(3)[:2], keys)


@scale_experiment.cases(points=1, label=_("the experiment: 500 queries, 16 keys, width 256"))
def the_scale_experiment(rng):
    fixed = np.random.default_rng(0)
    queries = fixed.normal(size=(500, 256))
    yield Case(queries, fixed.normal(size=(16, 256)))


@scale_experiment.variant
def experiment_with_safe_logarithms(queries, keys):
    def entropy(scores):
        weights = inputs.softmax(scores)
        return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1).mean()

    scores = queries @ keys.T
    return scores.var(), entropy(scores), entropy(scores / sqrt(keys.shape[-1]))


@scale_experiment.variant
def experiment_by_log_sum_exp(queries, keys):
    # The entropy is the normaliser minus the expected score.
    def entropy(scores):
        normaliser = np.logaddexp.reduce(scores, axis=-1)
        return (normaliser - (inputs.softmax(scores) * scores).sum(axis=-1)).mean()

    scores = queries @ keys.T
    return [scores.var(), entropy(scores), entropy(scores / sqrt(keys.shape[-1]))]


@scale_experiment.variant
def experiment_in_torch(queries, keys):
    import torch

    scores = torch.as_tensor(queries) @ torch.as_tensor(keys).T
    pair_of_scores = torch.stack([scores, scores / sqrt(keys.shape[-1])])
    entropies = torch.distributions.Categorical(logits=pair_of_scores).entropy().mean(dim=-1)
    return scores.var(correction=0), *entropies
