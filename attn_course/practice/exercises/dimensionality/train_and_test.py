"""Train W_d with free columns and with tied ones, and compare the test losses."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.dimensionality.gradient_step import loss_and_gradient
from attn_course.practice.inputs import readable
from attn_course.translate import _


def _tie(W_d):
    return np.repeat(W_d.mean(axis=1, keepdims=True), W_d.shape[1], axis=1)


def _loss(test, W_d):
    return loss_and_gradient(W_d, *test)[0]


@reference
def train_and_test(training, test, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        _training_loss, gradient = loss_and_gradient(W_d, *training)
        W_d = W_d - learning_rate * gradient
        W_d = _tie(W_d) if tied else W_d
    return W_d, _loss(test, W_d)


def _told_by_roles(rng, batch, n=5, d_v=3):
    """Return roles (one-hot), values, and targets: feature i as the word with role i has it."""
    roles = rng.permuted(np.tile(np.arange(n), (batch, 1)), axis=1)
    values = np.round(rng.normal(size=(batch, n, d_v)), 1)
    telling = roles[:, :, None] == np.arange(d_v)  # (batch, n, d_v)
    return np.eye(n)[roles], values, (values * telling).sum(axis=1)


@train_and_test.cases(points=2, label=_("free columns, and tied ones"))
def a_few_steps(rng):
    # The first are so small that a step can be redone by hand.
    for batch, n, d_v, steps in ((1, 2, 2, 2), (7, 5, 3, 3)):
        for tied in (False, True):
            W_d = readable(rng, n, d_v)
            data = _told_by_roles(rng, batch, n, d_v), _told_by_roles(rng, batch // 4 + 1, n, d_v)
            yield Case(*data, W_d, 2.0, 0, tied)
            yield Case(*data, W_d, 2.0, steps, tied)


@train_and_test.cases(points=1, label=_("the figures of the task"))
def the_figures_of_the_task(rng):
    fixed = np.random.default_rng(0)  # the numbers that the notebook draws, for everybody
    data = _told_by_roles(fixed, 200), _told_by_roles(fixed, 500)
    for tied in (False, True):
        yield Case(*data, np.zeros((5, 3)), 2.0, 40, tied)


@train_and_test.variant
def trained_with_tied_gradients(training, test, W_d, learning_rate, steps, tied):
    for _number in range(steps):
        _training_loss, gradient = loss_and_gradient(W_d, *training)
        if tied:  # the mean of a difference is the difference of the means
            W_d, gradient = _tie(W_d), _tie(gradient)
        W_d = W_d - learning_rate * gradient
    return W_d, _loss(test, W_d)


@train_and_test.variant
def trained_in_torch(training, test, W_d, learning_rate, steps, tied):
    import torch

    training = [torch.tensor(part) for part in training]
    W_d = torch.tensor(W_d)
    for _number in range(steps):
        W_d = W_d.detach().requires_grad_()
        context = (torch.softmax(training[0] @ W_d, dim=1) * training[1]).sum(dim=1)
        loss = 0.5 * (context - training[2]).square().sum(dim=1).mean()
        (gradient,) = torch.autograd.grad(loss, W_d)
        W_d = W_d - learning_rate * gradient
        W_d = W_d.mean(dim=1, keepdim=True).expand_as(W_d) if tied else W_d
    W_d = W_d.detach().numpy()
    return W_d, _loss(test, W_d)
