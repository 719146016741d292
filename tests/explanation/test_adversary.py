"""Adversarial attention: P6.4, the bound on predictions, and the ceiling."""

from itertools import pairwise
from math import log

import pytest
import torch

from attn_course.evaluation.divergences import jsd, tvd
from attn_course.explanation.adversary import Adversaries, find_adversaries
from tests.explanation.explained_models import BATCH, N, explained, token_inputs

QUICK = {"k": 3, "steps": 60, "learning_rate": 0.2}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def uniform_model():
    """Its query asks for nothing, so its learned weights are uniform."""
    model = explained()
    torch.nn.init.zeros_(model.model.query_model.q)
    return model


@pytest.mark.proves("P6.4")
def test_with_equal_values_the_adversary_reaches_its_ceiling():
    model, inputs = uniform_model(), token_inputs()
    inputs["inputs"] = inputs["inputs"][:, :1].expand_as(inputs["inputs"])
    found = find_adversaries(model, inputs, generator(), **QUICK)
    torch.testing.assert_close(found.tvd, torch.zeros(3, BATCH).double())
    assert found.feasible.all()
    assert found.ceiling[0].item() == pytest.approx(0.478, abs=5e-4)  # seven tokens: below ln 2
    several = torch.tensor([0, 2, 3, 4])
    assert (found.relative[several] > 0.97).all()
    assert found.relative[1].isnan()  # one token leaves no choice
    assert (found.largest <= found.ceiling + 1e-9).all()


@pytest.mark.proves("P6.4")
def test_two_weightings_that_differ_by_the_kernel_of_the_values_predict_alike():
    model = explained()
    inputs = {name: tensor[:1] for name, tensor in token_inputs().items()}
    inputs["inputs"] = inputs["inputs"].clone()
    inputs["inputs"][0, :, 2:] = 0  # two dimensions: seven tokens are more than 2 + 1
    values = inputs["inputs"][0, :, :2]
    constraints = torch.cat([values.T, torch.ones(1, N).double()])  # keep V a and the sum
    direction = torch.linalg.svd(constraints).Vh[-1]
    assert (constraints @ direction).abs().max() < 1e-9
    _, learned = model.predict(inputs)
    other = learned + 0.9 * direction * (learned[0] / direction.abs()).min()
    assert (other > 0).all()
    assert jsd(other, learned).item() > 1e-6
    torch.testing.assert_close(model.predict(inputs, other)[0], model.predict(inputs)[0])


def test_what_it_reports_is_what_the_weights_do():
    model, inputs = explained(), token_inputs()
    found = find_adversaries(model, inputs, generator(), epsilon=0.05, **QUICK)
    prediction, learned = model.predict(inputs)
    mask = model.mask(inputs)
    assert found.weights.shape == (3, BATCH, N)
    for i, weights in enumerate(found.weights):
        assert (weights[~mask] == 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH).double())
        torch.testing.assert_close(found.jsd[i], jsd(weights, learned).detach())
        torch.testing.assert_close(
            found.tvd[i], tvd(model.predict(inputs, weights)[0], prediction).detach()
        )


def test_the_bound_is_kept_and_a_tighter_one_leaves_less_room():
    model, inputs = explained(), token_inputs()
    wide, tight = (
        find_adversaries(model, inputs, generator(), epsilon=epsilon, **QUICK)
        for epsilon in (0.5, 1e-3)
    )
    assert wide.feasible.all()
    assert wide.largest.mean() > tight.largest.mean() + 0.01
    free = find_adversaries(model, inputs, generator(), penalty=0.0, **QUICK)
    assert free.tvd.mean() > 5 * tight.tvd.mean()


def test_what_is_kept_is_the_furthest_feasible_of_the_path():
    model, inputs = explained(), token_inputs()
    found = [
        find_adversaries(
            model, inputs, generator(), k=2, steps=steps, learning_rate=0.2, epsilon=0.03
        )
        for steps in (5, 20, 40)
    ]
    for shorter, longer in pairwise(found):
        assert not (shorter.feasible & ~longer.feasible).any()
        assert (longer.largest >= shorter.largest).all()


def test_examples_do_not_touch_each_other():
    model, inputs = explained(), token_inputs()
    whole = find_adversaries(model, inputs, generator(), **QUICK)
    changed = {name: tensor.clone() for name, tensor in inputs.items()}
    changed["inputs"][3:] *= 5
    other = find_adversaries(model, changed, generator(), **QUICK)
    torch.testing.assert_close(other.weights[:, :3], whole.weights[:, :3])
    assert not torch.allclose(other.weights[:, 3:], whole.weights[:, 3:])


def test_the_model_stands_still():
    model, inputs = explained(), token_inputs()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    find_adversaries(model, inputs, generator(), k=1, steps=3)
    for parameter, was in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, was)
        assert parameter.grad is None


def test_the_largest_is_taken_among_the_feasible_alone():
    weights = torch.eye(3)[:, None, :].expand(3, 2, 3)
    found = Adversaries(
        weights,
        jsd=torch.tensor([[0.6, 0.6], [0.4, 0.5], [0.2, 0.4]]),
        tvd=torch.tensor([[0.9, 0.9], [0.0, 0.3], [0.01, 0.2]]),
        ceiling=torch.tensor([0.5, log(2)]),
        epsilon=0.01,
    )
    assert found.largest.tolist() == pytest.approx([0.4, 0.0])
    assert found.relative.tolist() == pytest.approx([0.8, 0.0])
    assert found.best.argmax(-1).tolist() == [1, 2]  # none feasible: the least harmful
