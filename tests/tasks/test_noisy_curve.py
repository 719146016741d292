"""The noisy curve: right points are right up to the noise, and the average stays an average."""

from math import sin

import numpy as np
import torch

from attn_course.tasks.noisy_curve import NoisyCurve
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
    ours, average = (arm.build() for arm in task.arms.values())
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
