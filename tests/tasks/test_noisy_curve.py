"""The noisy curve: right points are right up to the noise, and the average stays an average."""

from math import sin

import numpy as np
import torch

from attn_course.tasks.noisy_curve import NoisyCurve, PolynomialFit, best_degree
from attn_course.tasks.training import train

task = NoisyCurve()
task.tested_on = 50  # no figure is reported here


def height(x):
    return 2 * sin(x) + x**0.8


def test_right_points_are_those_whose_true_height_is_within_the_noise():
    examples = task.examples("test", 20, task.rng("test"))
    for i in range(20):
        for t in range(task.places):
            place = examples.inputs["queries"][i, t].item()
            assert abs(examples.targets[i, t].item() - height(place)) < 1e-5
            for j in range(task.n):
                off = abs(height(examples.inputs["keys"][i, j].item()) - height(place))
                if abs(off - task.noise) > 1e-5:  # float32 can't tell which side
                    assert examples.right["weights"][i, t, j] == (off < task.noise)


def test_points_are_noisy_always_and_targets_in_training_only():
    for split, wanted in (("train", task.noise), ("test", 0.0)):
        examples = task.examples(split, 200, task.rng(split))
        for x, y, noise in (
            ("keys", examples.inputs["values"], task.noise),
            ("queries", examples.targets, wanted),
        ):
            true = torch.tensor(
                [[height(one) for one in row] for row in examples.inputs[x].tolist()]
            )
            assert abs((y - true).std().item() - noise) < 0.02


def test_the_average_is_one_and_stays_one():
    trained = train(task, "average", steps=20)
    assert trained.model.regression.w.item() == 0
    examples = task.examples("test", 3, task.rng("test"))
    with torch.no_grad():
        predictions, weights = trained.model(**examples.inputs)
    torch.testing.assert_close(weights, torch.full((3, task.places, task.n), 1 / task.n))
    mean = examples.inputs["values"].mean(dim=-1, keepdim=True).expand_as(predictions)
    torch.testing.assert_close(predictions, mean)


def test_arms_differ_in_where_w_starts():
    ours, average = (task.arms[arm].build() for arm in ("Nadaraya–Watson", "average"))
    assert [n for n, _p in ours.named_parameters()] == [n for n, _p in average.named_parameters()]
    assert ours.regression.w.item() == 1


def test_training_lowers_the_loss_and_predictions_are_the_weighted_points():
    trained = train(task, "Nadaraya–Watson", steps=60)
    assert np.mean(trained.losses[-10:]) < 0.7 * np.mean(trained.losses[:5])
    examples = task.examples("test", 3, task.rng("test"))
    with torch.no_grad():
        predictions, weights = trained.model(**examples.inputs)
    read = (weights * examples.inputs["values"][:, None, :]).sum(dim=-1)
    torch.testing.assert_close(predictions, read)


def test_the_polynomial_finds_a_polynomial_and_has_no_weights():
    x = torch.linspace(0, 5, 12).expand(2, -1)
    asked = torch.tensor([[0.3, 4.1, 2.2]]).expand(2, -1)
    coefficients = torch.tensor([[1.0, -2.0, 0.5, 0.1], [0.0, 1.0, 0.0, -0.2]])

    def height(places):
        powers = places[..., None] ** torch.arange(4)
        return (powers * coefficients[:, None]).sum(-1)

    found, weights = PolynomialFit(3)(asked, x, height(x))
    torch.testing.assert_close(found, height(asked), rtol=1e-4, atol=1e-4)
    assert weights is None
    off, _weights = PolynomialFit(1)(asked, x, height(x))
    assert (off - height(asked)).abs().max() > 0.1


def test_the_degree_is_the_best_on_validation_and_inside_those_tried():
    task = NoisyCurve()
    examples = task.held_out("validation")

    def error(degree):
        return task.score(PolynomialFit(degree)(**examples.inputs)[0], examples)

    best = best_degree()
    assert 1 < best < 9
    assert error(best) <= min(error(best - 1), error(best + 1))


def test_a_fit_in_closed_form_is_not_trained():
    trained = train(NoisyCurve(), "polynomial", steps=5)
    assert trained.losses == ()
    assert trained.parameters == 0
    assert trained.test.attention == {}
