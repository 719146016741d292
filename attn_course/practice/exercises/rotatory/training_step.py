"""One step of gradient descent through the output, the rotation and all scores."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.rotatory._layer import QUESTIONS, Rotatory, padded_batch
from attn_course.translate import _


@reference
def training_step(parameters, W_o, inputs, labels, learning_rate):
    d = W_o.shape[1] // 4
    model, output = Rotatory(d), nn.Linear(4 * d, W_o.shape[0], bias=False)
    model.load_state_dict(parameters)
    output.load_state_dict({"weight": W_o})
    optimiser = torch.optim.SGD([*model.parameters(), *output.parameters()], lr=learning_rate)
    loss = functional.cross_entropy(output(model(*inputs)), labels)
    loss.backward()
    optimiser.step()
    after = {name: parameter.detach() for name, parameter in model.named_parameters()}
    return loss.item(), output.weight.detach(), after


def _case(rng, d, batch, classes, n_t, n_l, n_r, learning_rate):
    inputs, masks = padded_batch(rng, d, batch, n_t, n_l, n_r)
    shapes = {f"{p}_{n}": (d, d) if p == "W" else () for n in QUESTIONS for p in "Wb"}
    parameters = {
        name: torch.tensor(rng.normal(size=shape), dtype=torch.float32)
        for name, shape in shapes.items()
    }
    W_o = torch.tensor(rng.normal(size=(classes, 4 * d)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(classes, size=batch))
    return Case(parameters, W_o, [*inputs, *masks], labels, learning_rate)


@training_step.cases(points=2, label=_("loss, output map and parameters after one step"))
def one_step(rng):
    yield _case(rng, 2, 3, 3, 2, 3, 5, 0.5)
    yield _case(rng, 3, 5, 2, 5, 2, 3, 2.0)


@training_step.variant
def step_by_autograd(
    parameters, W_o, inputs, labels, learning_rate, loss_of=functional.cross_entropy
):
    layer = Rotatory(W_o.shape[1] // 4)
    before = [tensor.clone().requires_grad_() for tensor in (W_o, *parameters.values())]
    named = dict(zip(parameters, before[1:], strict=True))
    logits = functional_call(layer, named, tuple(inputs)) @ before[0].T
    loss = loss_of(logits, labels)
    gradients = torch.autograd.grad(loss, before)
    pairs = zip(before, gradients, strict=True)
    W_o, *after = [(tensor - learning_rate * gradient).detach() for tensor, gradient in pairs]
    return loss.item(), W_o, dict(zip(parameters, after, strict=True))


@training_step.variant
def step_with_a_loss_by_hand(*inputs):
    def loss_of(logits, labels):
        log_probabilities = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
        return -log_probabilities[torch.arange(len(labels)), labels].mean()

    return step_by_autograd(*inputs, loss_of=loss_of)


@training_step.variant
def step_in_double_precision(parameters, W_o, inputs, labels, learning_rate):
    doubled = [part.double() if part.is_floating_point() else part for part in inputs]
    named = {name: value.double() for name, value in parameters.items()}
    return step_by_autograd(named, W_o.double(), doubled, labels, learning_rate)
