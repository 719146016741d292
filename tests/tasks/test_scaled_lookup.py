"""Scaled lookup: the right key is the nearest, and width saturates a softmax without its scale."""

from math import log

import numpy as np
import pytest
import torch

from attn_course.tasks.scaled_lookup import ScaledLookup, accuracies, at_start, entropy_at_start
from attn_course.tasks.training import seeded, train


def test_the_right_key_is_the_nearest_to_the_query_and_holds_the_answer():
    task = ScaledLookup()
    examples = task.examples("test", 200, task.rng("test"))
    for i in range(200):
        features = examples.inputs["inputs"][i].double().numpy()
        query = examples.inputs["query_inputs"][i, 0].double().numpy()
        distances = [sum((f[e] - query[e]) ** 2 for e in range(task.d)) for f in features]
        nearest = int(np.argmin(distances))
        right = examples.right["weights"][i, 0].tolist()
        assert right == [place == nearest for place in range(task.n)]
        assert features[nearest, task.d :].argmax() == examples.targets[i, 0]


def test_arms_have_the_same_parameters_and_start_from_the_same_numbers():
    task = ScaledLookup()
    built = []
    for arm in task.arms.values():
        torch.manual_seed(0)
        built.append(dict(arm.build().named_parameters()))
    assert built[0].keys() == built[1].keys()
    for name, parameter in built[0].items():
        torch.testing.assert_close(parameter, built[1][name], rtol=0, atol=0)


@pytest.mark.parametrize("d_k", [64, 256])
def test_scores_have_variance_one_with_the_scale_and_d_k_without(d_k):
    task = ScaledLookup()
    torch.manual_seed(0)
    examples = task.examples("test", 300, task.rng("test"))
    for kind, wanted in (("scaled_dot", 1.0), ("dot", d_k)):
        model = task.with_score(kind, d_k)
        keys = model.feature_model(examples.inputs["inputs"])[..., :d_k]
        strangers = model.query_model(examples.inputs["query_inputs"].roll(1, dims=0))
        variance = model.attention.score(strangers, keys).var().item()
        assert 0.6 * wanted < variance < 1.6 * wanted


def test_entropy_at_start_falls_with_the_width_without_the_scale_only():
    widths = (16, 64, 256)
    unscaled = [entropy_at_start("dot", d_k) for d_k in widths]
    scaled = [entropy_at_start("scaled_dot", d_k) for d_k in widths]
    assert unscaled[0] > 1.5 * unscaled[1] > 1.5**2 * unscaled[2]
    assert all(2 < entropy < log(16) for entropy in scaled)


def test_training_lowers_the_loss():
    task = ScaledLookup()
    task.n, task.d_k, task.tested_on = 4, 32, 50  # learned sooner
    losses = train(task, "scaled_dot", learning_rate=1e-2, steps=150).losses
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])


def test_without_the_scale_the_softmax_is_flatter_and_the_gradient_larger():
    for d_k in (64, 256):
        dot, scaled = (
            [at_start(kind, d_k, seed) for seed in range(3)] for kind in ("dot", "scaled_dot")
        )
        assert max(one.slope for one in dot) < 0.5 * min(one.slope for one in scaled)
        assert min(one.gradient for one in dot) > 2 * max(one.gradient for one in scaled)


def test_entropy_slope_and_gradient_are_those_of_a_model_by_hand():
    task = ScaledLookup()
    examples = task.examples("validation", 40, task.rng("validation"))
    with seeded(3):
        model = task.with_score("dot", 8)
    predictions, weights = model(**examples.inputs)
    loss = torch.nn.functional.cross_entropy(predictions[:, 0], examples.targets[:, 0])
    (gradient,) = torch.autograd.grad(loss, [model.query_model.weight])
    found = at_start("dot", 8, seed=3, number=40)
    a = weights[:, 0].detach()
    assert found.entropy == pytest.approx(float(-torch.xlogy(a, a).sum(-1).mean()), rel=1e-4)
    assert found.slope == pytest.approx(float(1 - (a**2).sum(-1).mean()), rel=1e-4)
    assert found.gradient == pytest.approx(float(gradient.norm()), rel=1e-4)


def test_one_rate_trains_wide_keys_with_the_scale_and_not_without():
    scaled, dot = (
        accuracies(kind, 512, 0.03, seeds=3, steps=150) for kind in ("scaled_dot", "dot")
    )
    assert scaled.shape == dot.shape == (3,)
    assert scaled.min() > dot.max() + 0.1


def test_an_output_that_begins_as_the_identity_is_used():
    known = accuracies("scaled_dot", 64, 1e-9, seeds=2, steps=1, output=torch.eye(8))
    unknown = accuracies("scaled_dot", 64, 1e-9, seeds=2, steps=1)
    assert (known > unknown + 0.02).all()
