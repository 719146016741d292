"""Draw one key for each query, and move the scores by what the draw earned."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import huge, readable, softmax
from attn_course.translate import _


@reference
def reinforce_step(scores, u, rewards, baseline, learning_rate):
    ends = np.cumsum(alignment.softmax(scores), axis=-1)
    choice = (ends <= u[..., None]).sum(axis=-1)
    one_hot = np.equal(np.arange(scores.shape[-1]), choice[..., None])
    gradient = alignment.score_function_gradient(
        scores, one_hot[None], at_choice(rewards, choice)[None], baseline
    )
    return choice, scores + learning_rate * gradient


def at_choice(table, choice):
    """Return what a table (..., q, k) says of the key that each query has drawn, (..., q)."""
    return np.take_along_axis(table, choice[..., None], axis=-1)[..., 0]


def _draw_case(rng, scores, baseline, learning_rate):
    rewards = np.round(rng.uniform(1, 5, scores.shape), 1)
    return Case(scores, _draws(rng, scores), rewards, baseline, learning_rate)


def _draws(rng, scores):
    """Return draws u that lie well inside the piece of some key: no rounding decides."""
    weights = softmax(scores)
    choice = (rng.random(scores.shape) * (weights > 0.01)).argmax(axis=-1)
    piece = at_choice(weights, choice)
    end = at_choice(np.cumsum(weights, axis=-1), choice)
    return np.round(end - piece * rng.uniform(0.3, 0.7, choice.shape), 3)


@reinforce_step.cases(points=2, label=_("a few queries, each with a draw of its own"))
def a_few_draws(rng):
    yield _draw_case(rng, readable(rng, 1, 2, low=-1, high=1), 0.5, 0.5)
    yield _draw_case(rng, readable(rng, 2, 3, low=-1, high=1), 1.5, 0.2)
    yield _draw_case(rng, readable(rng, 5, 7, low=-1, high=1), 3.0, 0.1)


@reinforce_step.cases(points=1, label=_("batches (..., q, k), and large scores"))
def batches_of_draws(rng):
    yield _draw_case(rng, readable(rng, 2, 3, 5, low=-1, high=1), 2.0, 0.3)
    yield _draw_case(rng, huge(rng, 2, 3), 1.0, 0.5)
    yield _draw_case(rng, readable(rng, 2, 3, 5, 7, low=-1, high=1), 1.5, 0.4)


@reinforce_step.cases(points=1, label=_("draws that fall on the end of a piece"))
def draws_at_an_end(rng):
    # Equal scores of 2 or 4 keys: the ends are halves and quarters, which every precision holds.
    for k, u in ((2, [0.5]), (4, [0.0, 0.25, 0.75])):
        rewards = np.round(rng.uniform(1, 5, (len(u), k)), 1)
        yield Case(np.full((len(u), k), 0.5), np.array(u), rewards, 0.5, 0.5)


@reinforce_step.variant
def step_in_loops(scores, u, rewards, baseline, learning_rate):
    if scores.ndim > 2:
        parts = [
            step_in_loops(*part, baseline, learning_rate)
            for part in zip(scores, u, rewards, strict=True)
        ]
        return tuple(np.array(each) for each in zip(*parts, strict=True))
    choices, after = [], []
    for row, drawn, earns in zip(scores, u, rewards, strict=True):
        a = definition.softmax(row)
        m, end = 0, a[0]
        while end <= drawn:
            m += 1
            end += a[m]
        advantage = earns[m] - baseline
        choices.append(m)
        after.append([e + learning_rate * advantage * ((j == m) - a[j]) for j, e in enumerate(row)])
    return choices, after


@reinforce_step.variant
def step_by_autograd(scores, u, rewards, baseline, learning_rate):
    import torch

    parameter = torch.tensor(scores, requires_grad=True)
    log_weights = torch.log_softmax(parameter, dim=-1)
    ends = log_weights.detach().exp().cumsum(dim=-1)
    choice = torch.searchsorted(ends, torch.tensor(u)[..., None], right=True)
    advantage = torch.tensor(rewards).gather(-1, choice) - baseline
    (advantage * log_weights.gather(-1, choice)).sum().backward()
    with torch.no_grad():
        return choice[..., 0], parameter + learning_rate * parameter.grad
