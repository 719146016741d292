"""Take one step of gradient descent on W_d, with the gradient in closed form."""

import numpy as np

from attn_course.dimensionality import attend_multi_by_scores
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


def loss_and_gradient(W_d, hidden, values, targets):
    """Return the loss, and its derivative by W_d in the closed form of the task."""
    scores = (hidden @ W_d)[:, None]  # (batch, 1, n, d_v), without a query
    context, weights = attend_multi_by_scores(scores, values)
    errors = context - targets[:, None]
    slopes = weights[:, 0] * (values - context) * errors  # (batch, n, d_v)
    loss = 0.5 * float(np.sum(errors**2)) / len(hidden)
    return loss, np.einsum("bnj,bni->ji", hidden, slopes) / len(hidden)


@reference
def gradient_step(hidden, values, targets, W_d, learning_rate):
    loss, gradient = loss_and_gradient(W_d, hidden, values, targets)
    return loss, W_d - learning_rate * gradient


def _training(rng, batch, n, d_w, d_v, scale=1.0):
    hidden, values = scale * readable(rng, batch, n, d_w), readable(rng, batch, n, d_v)
    return hidden, values, readable(rng, batch, d_v), readable(rng, d_w, d_v)


@gradient_step.cases(points=2, label=_("one sentence"))
def one_step_on_one_sentence(rng):
    yield Case(*_training(rng, 1, 2, 3, 2), 0.5)
    yield Case(*_training(rng, 1, 5, 2, 3), 2.0)


@gradient_step.cases(points=1, label=_("a batch of sentences"))
def one_step_on_a_batch(rng):
    yield Case(*_training(rng, 2, 3, 5, 7), 0.5)
    yield Case(*_training(rng, 5, 7, 2, 3), 3.0)
    yield Case(*_training(rng, 3, 5, 7, 2, scale=500.0), 0.5)  # a softmax that has made up its mind


@gradient_step.variant
def step_in_loops(hidden, values, targets, W_d, learning_rate):
    loss, gradient = 0.0, np.zeros(W_d.shape)
    for h, v, y in zip(hidden, values, targets, strict=True):
        for i in range(W_d.shape[1]):
            weights = softmax(h @ W_d[:, i])  # (n,)
            error = weights @ v[:, i] - y[i]
            loss += 0.5 * error**2 / len(hidden)
            for l, weight in enumerate(weights):
                gradient[:, i] += h[l] * weight * (v[l, i] - error - y[i]) * error / len(hidden)
    return loss, W_d - learning_rate * gradient


@gradient_step.variant
def step_by_autograd(hidden, values, targets, W_d, learning_rate):
    import torch

    named = (hidden, values, targets, W_d)
    hidden, values, targets, W_d = (torch.tensor(part, dtype=torch.float64) for part in named)
    W_d.requires_grad_()
    optimiser = torch.optim.SGD([W_d], lr=learning_rate)
    context = (torch.softmax(hidden @ W_d, dim=1) * values).sum(dim=1)
    loss = (context - targets).square().sum() / (2 * len(hidden))
    loss.backward()
    optimiser.step()
    return loss.item(), W_d.detach()
