"""Compute the training loss with each point predicted from all the others."""

import numpy as np

from attn_course import nadaraya_watson
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.nadaraya_watson._targets import require_others, up_and_down
from attn_course.practice.inputs import apart, softmax
from attn_course.translate import _


@reference
def leave_one_out_loss(inputs, targets, w):
    require_others(inputs)
    return nadaraya_watson.loss(inputs, targets, w)


@leave_one_out_loss.cases(points=2, label=_("a few points"))
def loss_of_a_few_points(rng):
    yield Case(apart(rng, 2), up_and_down(rng, 2), 0.5)
    yield Case(apart(rng, 3), up_and_down(rng, 3), 1.5)
    yield Case(apart(rng, 5), up_and_down(rng, 5), 0.7)
    yield Case(rng.uniform(0, 5, 13), rng.normal(size=13), 2.0)
    yield Case(apart(rng, 3), up_and_down(rng, 3), 0.0)  # all others are equally near
    places = apart(rng, 3)
    yield Case(np.append(places, places[0]), up_and_down(rng, 4), 1.5)  # two at the same place


@leave_one_out_loss.cases(points=1, label=_("a lonely point, far from the others"))
def loss_with_a_lonely_point(rng):
    inputs = np.append(apart(rng, 3), 80.0)
    yield Case(inputs, up_and_down(rng, 4), 1.5)
    # Whole numbers, each nearer to one other than to the rest: so large a w forgives no rounding.
    inputs = rng.integers(1, 6) + np.array([0.0, 1.0, 3.0, 90.0])
    yield Case(inputs, up_and_down(rng, 4), 1000.0)


@leave_one_out_loss.variant
def loss_in_loops(inputs, targets, w):
    loss = 0.0
    for n in range(len(inputs)):
        others = [i for i in range(len(inputs)) if i != n]
        scores = [-0.5 * (w * (inputs[n] - inputs[i])) ** 2 for i in others]
        exponentials = [np.exp(score - max(scores)) for score in scores]
        prediction = sum(e * targets[i] for e, i in zip(exponentials, others, strict=True))
        loss += 0.5 * (prediction / sum(exponentials) - targets[n]) ** 2
    return loss


@leave_one_out_loss.variant
def loss_in_torch(inputs, targets, w):
    import torch

    x, y = torch.as_tensor(inputs), torch.as_tensor(targets)
    scores = -0.5 * (w * (x[:, None] - x)) ** 2
    scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool), -torch.inf)
    return ((torch.softmax(scores, dim=1) @ y - y) ** 2).sum() / 2


@leave_one_out_loss.variant
def loss_with_a_mask(inputs, targets, w):
    scores = -0.5 * (w * (inputs[:, None] - inputs)) ** 2
    weights = softmax(scores, mask=~np.eye(len(inputs), dtype=bool))
    return 0.5 * np.sum((weights @ targets - targets) ** 2)
