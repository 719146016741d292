"""Complete one step of gradient descent on the leave-one-out loss."""

import numpy as np

from attn_course import nadaraya_watson
from attn_course.definitions import nadaraya_watson as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.nadaraya_watson._targets import require_others, up_and_down
from attn_course.practice.inputs import apart
from attn_course.translate import _


@reference
def gradient_step(inputs, targets, w, learning_rate):
    require_others(inputs)
    return w - learning_rate * nadaraya_watson.loss_gradient(inputs, targets, w)


@gradient_step.cases(points=2, label=_("three points"))
def step_on_three_points(rng):
    yield Case(apart(rng, 3, 0.4, 0.9), up_and_down(rng, 3), 0.8, 0.5)
    yield Case(apart(rng, 3, 0.4, 0.9), up_and_down(rng, 3), 1.5, 0.2)


@gradient_step.cases(points=1, label=_("more points, other learning rates, and w below 0"))
def step_on_many_points(rng):
    yield Case(apart(rng, 5), up_and_down(rng, 5), 0.6, 0.3)
    yield Case(apart(rng, 7), up_and_down(rng, 7), -0.7, 0.1)
    yield Case(apart(rng, 13, 0.2, 0.5), rng.normal(size=13), 1.3, 0.05)
    yield Case(np.append(apart(rng, 3), 50.0), up_and_down(rng, 4), 1.5, 0.2)  # a lonely point


@gradient_step.variant
def step_in_loops(inputs, targets, w, learning_rate):
    gradient = definition.loss_gradient(inputs, targets, w)
    return w - learning_rate * gradient


@gradient_step.variant
def step_by_autograd(inputs, targets, w, learning_rate):
    import torch

    parameter = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    loss = nadaraya_watson.loss(torch.as_tensor(inputs), torch.as_tensor(targets), parameter)
    (gradient,) = torch.autograd.grad(loss, parameter)
    return (parameter - learning_rate * gradient).item()


@gradient_step.variant
def step_by_moments(inputs, targets, w, learning_rate):
    others = nadaraya_watson.leave_one_out_mask(len(inputs))
    weights = nadaraya_watson.weights(inputs, inputs, w, others)
    predictions = weights @ targets
    moments = weights * (inputs[:, None] - inputs) ** 2
    covariances = moments @ targets - moments.sum(axis=1) * predictions
    return w + learning_rate * w * (predictions - targets) @ covariances
