"""Take one gradient step of a general score whose queries have a space of their own."""

from math import log

import numpy as np

from attn_course import scoring
from attn_course.alignment import softmax
from attn_course.definitions import scoring as definition
from attn_course.practice import inputs
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.scoring._pairs import gentle_matrix, pair
from attn_course.translate import _


@reference
def general_step(queries, keys, W, wanted, learning_rate):
    # The task's formula; that it is the gradient, `step_with_an_optimiser` shows.
    weights = softmax(scoring.general(queries, keys, W))
    right = np.eye(len(keys))[wanted]  # a right key that is not there is no question
    loss = -np.log((weights * right).sum(axis=1)).mean()
    gradient = np.einsum("qk,ki,qj->ij", weights - right, keys, queries) / len(queries)
    return float(loss), W - learning_rate * gradient


def _to_train(rng, q, k, d_q, d_k, learning_rate):
    queries, keys = pair(rng, q, k, d_q, d_k)
    W = gentle_matrix(rng, queries, keys)
    return Case(queries, keys, W, rng.integers(k, size=q), learning_rate)


@general_step.cases(points=2, label=_("loss and W after one step"))
def one_step(rng):
    yield _to_train(rng, 2, 3, 2, 2, 0.5)
    yield _to_train(rng, 3, 2, 5, 7, 0.3)
    yield _to_train(rng, 7, 5, 3, 2, 2.0)


@general_step.cases(points=1, label=_("large scores"))
def one_step_with_large_scores(rng):
    # 900 and a little in every place; whole numbers, so single precision is exact before the exp.
    queries = np.column_stack([np.full(2, 30), rng.integers(-1, 2, (2, 4))]).astype(float)
    keys = np.column_stack([np.full(5, 30), rng.integers(-1, 2, (5, 2))]).astype(float)
    W = np.zeros((3, 5))
    W[0, 0], W[1, 1], W[2, 3] = 1, 2, -1
    yield Case(queries, keys, W, rng.integers(5, size=2), 0.001)


@general_step.variant
def step_by_one_hot_rows(queries, keys, W, wanted, learning_rate):
    weights = inputs.softmax(queries @ W.T @ keys.T)
    right = np.eye(len(keys))[wanted]
    loss = -np.log((weights * right).sum(axis=1)).mean()
    gradient = keys.T @ (weights - right).T @ queries / len(queries)
    return loss, W - learning_rate * gradient


@general_step.variant
def general_step_in_loops(queries, keys, W, wanted, learning_rate):
    loss, moved = 0.0, W.copy()
    for query, right in zip(queries, wanted, strict=True):
        scores = [definition.general(query, key, W) for key in keys]
        strengths = [np.exp(score - max(scores)) for score in scores]
        weights = [strength / sum(strengths) for strength in strengths]
        loss -= log(weights[right]) / len(queries)
        for place, key in enumerate(keys):
            error = weights[place] - (place == right)
            moved -= learning_rate * error * np.outer(key, query) / len(queries)
    return loss, moved


@general_step.variant
def step_with_an_optimiser(queries, keys, W, wanted, learning_rate):
    import torch
    from torch import nn

    queries, keys = torch.as_tensor(queries), torch.as_tensor(keys)
    W = nn.Parameter(torch.as_tensor(W))
    optimiser = torch.optim.SGD([W], lr=learning_rate)
    weights = torch.softmax(queries @ W.T @ keys.T, dim=-1)
    loss = -weights.gather(1, torch.as_tensor(wanted)[:, None]).log().mean()
    loss.backward()
    optimiser.step()
    return [loss.item(), W.detach()]


@general_step.variant
def step_with_einsum_in_single_precision(queries, keys, W, wanted, learning_rate):
    queries, keys, W = (array.astype(np.float32) for array in (queries, keys, W))
    errors = inputs.softmax(np.einsum("qj,ij,ki->qk", queries, W, keys))
    loss = -np.log(errors[np.arange(len(queries)), wanted]).mean()
    errors[np.arange(len(queries)), wanted] -= 1
    gradient = np.einsum("ki,qk,qj->ij", keys, errors, queries) / len(queries)
    return loss, W - np.float32(learning_rate) * gradient
