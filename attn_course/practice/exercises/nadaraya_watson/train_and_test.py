"""Train w on noisy points, and measure the error on a clean curve."""

import numpy as np

from attn_course import nadaraya_watson
from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def train_and_test(inputs, targets, test_inputs, test_targets, w, learning_rate, steps):
    path = nadaraya_watson.gradient_descent(inputs, targets, w, learning_rate, steps)
    predictions = nadaraya_watson.regress(test_inputs, inputs, targets, path[-1])
    return path[-1], float(np.mean((predictions - test_targets) ** 2))


def _curve(rng, n, test_points):
    """Return training points of the chapter's curve and noise-free points to test on."""
    inputs, targets = nadaraya_watson.noisy_curve(rng, n)
    test_inputs = np.linspace(0, 5, test_points, endpoint=False)
    test_targets = nadaraya_watson.true_curve(test_inputs)
    return inputs.round(1), targets.round(1), test_inputs, test_targets


@train_and_test.cases(points=2, label=_("a few points, a few steps or none"))
def a_few_steps(rng):
    yield Case(*_curve(rng, 3, 2), 0.6, 0.1, 0)
    yield Case(*_curve(rng, 5, 3), 0.6, 0.1, 1)
    yield Case(*_curve(rng, 7, 5), 0.7, 0.05, 3)
    yield Case(*_curve(rng, 13, 11), 0.8, 0.02, 5)


@train_and_test.cases(points=2, label=_("the experiment of the chapter: 50 points, 150 steps"))
def the_experiment(rng):
    inputs, targets = nadaraya_watson.noisy_curve(np.random.default_rng(0))
    test_inputs = np.arange(0, 5, 0.1)
    test_targets = nadaraya_watson.true_curve(test_inputs)
    yield Case(inputs, targets, test_inputs, test_targets, 0.5, 0.1, 150)


@train_and_test.variant
def experiment_as_a_list(*arguments):
    return list(train_and_test.reference(*arguments))


@train_and_test.variant
def experiment_with_an_optimiser(inputs, targets, x, y, w, learning_rate, steps):
    import torch

    x, y, inputs, targets = (torch.as_tensor(a) for a in (x, y, inputs, targets))
    others = ~torch.eye(len(inputs), dtype=torch.bool)
    model = nadaraya_watson.NadarayaWatson(w).double()
    with torch.no_grad():
        model.w.fill_(w)  # a float32 start would be a little off
    optimiser = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for _step in range(steps):
        optimiser.zero_grad()
        loss = 0.5 * ((model(inputs, inputs, targets, others) - targets) ** 2).sum()
        loss.backward()
        optimiser.step()
    return model.w.item(), ((model(x, inputs, targets) - y) ** 2).mean().item()
