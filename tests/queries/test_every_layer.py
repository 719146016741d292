"""What every layer of chapter 6 must do: masks, gradients, weights, precision."""

import pytest
import torch

from attn_course.queries import CapsuleAttention, MultiHopAttention, SelfAttention
from tests.queries.poolings import MASK, POOLINGS, B, D, N
from tests.random_layers import fresh, tensor

LAYERS = {
    **{f"pooling_{form}": (make, lambda x: (x,)) for form, make in POOLINGS.items()},
    "self_attention": (lambda: SelfAttention(D, 3, 11), lambda x: (x,)),
    "multi_hop": (lambda: MultiHopAttention(3, D, hops=2), lambda x: (tensor(B, 11, 3), x)),
    "capsules": (lambda: CapsuleAttention(D, 3), lambda x: (x,)),
}


def run(name, features, mask=None, layer=None):
    make, arguments = LAYERS[name]
    layer = layer or fresh(make())
    if mask is not None and name == "self_attention":
        mask = mask[:, None, :]
    output, weights = layer(*arguments(features), mask=mask)
    return output.probabilities if name == "capsules" else output, weights


@pytest.mark.parametrize("name", LAYERS)
def test_junk_behind_the_mask_changes_nothing_and_a_fully_masked_input_is_finite(name):
    features = tensor(B, N, D)
    wanted, _ = run(name, features, MASK)
    junk = features.masked_fill(~MASK[..., None], torch.nan)
    output, _ = run(name, junk, MASK)
    rows = MASK if name == "self_attention" else torch.ones_like(output[..., 0], dtype=torch.bool)
    torch.testing.assert_close(output[rows], wanted[rows])
    nothing, _ = run(name, features, torch.zeros(B, N, dtype=torch.bool))
    assert torch.isfinite(nothing).all()


@pytest.mark.parametrize("name", LAYERS)
def test_every_parameter_learns_and_gradients_are_right(name):
    layer = fresh(LAYERS[name][0]())
    features = tensor(B, N, D).requires_grad_()
    output, _ = run(name, features, MASK, layer)
    output.square().sum().backward()
    for parameter_name, parameter in layer.named_parameters():
        assert parameter.grad.abs().sum() > 1e-9, parameter_name
    assert torch.autograd.gradcheck(
        lambda x: run(name, x, MASK, layer)[0], features, fast_mode=True
    )


@pytest.mark.parametrize("name", LAYERS)
def test_weights_come_only_when_asked_for(name):
    layer = fresh(LAYERS[name][0]())
    arguments = LAYERS[name][1](tensor(B, N, D))
    assert layer(*arguments, need_weights=False)[1] is None


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_large_features_in_any_precision_stay_finite(name, dtype):
    layer = fresh(LAYERS[name][0]()).to(dtype)
    arguments = [a.to(dtype) * 30 for a in LAYERS[name][1](tensor(B, N, D))]
    output, _ = layer(*arguments)
    output = output.probabilities if name == "capsules" else output
    assert output.dtype == dtype
    assert torch.isfinite(output).all()
