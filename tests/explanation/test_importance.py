"""Importance by gradients and by leaving one out, against finite differences and shorter inputs."""

import pytest
import torch
from scipy.stats import kendalltau
from torch import nn

from attn_course.explanation.importance import (
    agreement,
    gradient_importance,
    leave_one_out,
)
from tests.explanation.explained_models import BATCH, D_F, D_IN, N, explained, token_inputs


def tanh_encoder():
    return nn.Sequential(nn.Linear(D_IN, D_F), nn.Tanh())


def test_the_gradient_is_that_of_the_prediction_with_weights_held_still():
    model, inputs = explained(encoder=tanh_encoder()), token_inputs()
    importance = gradient_importance(model, inputs)
    with torch.no_grad():
        probabilities, weights = model.predict(inputs)
        tokens, step = inputs["inputs"], 1e-6
        for t in range(N):
            scaled = [tokens.clone() for _ in range(2)]
            for sign, changed in zip((1, -1), scaled, strict=True):
                changed[:, t] *= 1 + sign * step  # along the token itself, as a one-hot moves
            up, down = (
                model.predict_from(changed, model.mask(inputs), inputs, weights)[0]
                for changed in scaled
            )
            slope = (up - down) / (2 * step)
            wanted = slope.gather(-1, probabilities.argmax(-1, keepdim=True))[:, 0].abs()
            torch.testing.assert_close(importance[:, t], wanted, rtol=1e-5, atol=1e-8)


def test_with_the_graph_uncut_it_would_be_another_gradient():
    model, inputs = explained(encoder=tanh_encoder()), token_inputs()
    tokens = inputs["inputs"].clone().requires_grad_()
    probabilities, _ = model.predict_from(tokens, model.mask(inputs), inputs)
    (uncut,) = torch.autograd.grad(probabilities.max(-1).values.sum(), tokens)
    whole = (tokens * uncut).sum(-1).abs().detach()
    assert not torch.allclose(whole, gradient_importance(model, inputs), atol=1e-3)


def test_masked_tokens_matter_nothing():
    model, inputs = explained(), token_inputs()
    hidden = ~model.mask(inputs)
    assert hidden.any()
    for importance in (gradient_importance(model, inputs), leave_one_out(model, inputs)):
        assert importance.shape == (BATCH, N)
        assert (importance[hidden] == 0).all()
        assert (importance[~hidden] > 0).all()


def test_leaving_one_out_is_predicting_from_the_others():
    model, inputs = explained(encoder=tanh_encoder()), token_inputs()
    importance = leave_one_out(model, inputs)
    whole = model.predict(inputs)[0]
    t = 2
    others = [l for l in range(N) if l != t]
    shorter = {"inputs": inputs["inputs"][:, others], "mask": inputs["mask"][..., others]}
    wanted = (model.predict(shorter)[0] - whole).abs().sum(-1) / 2
    present = model.mask(inputs)[:, t]
    torch.testing.assert_close(importance[present, t], wanted[present])


def test_the_norm_is_proportional_to_the_weights_behind_a_linear_encoder():
    model, inputs = explained(), token_inputs()
    mask = model.mask(inputs)
    importance = gradient_importance(model, inputs, form="norm")
    ratio = importance / model.predict(inputs)[1].detach()
    for row, seen in zip(ratio, mask, strict=True):
        torch.testing.assert_close(row[seen], row[0].expand(int(seen.sum())))
    tau = agreement(model, inputs, importance)
    assert tau[1].isnan()  # one token has no order
    torch.testing.assert_close(tau[[0, 2, 3, 4]], torch.ones(4, dtype=torch.float64))


@pytest.mark.agrees("explanation.agreement", "SciPy")
def test_agreement_is_scipys_tau_over_the_tokens_there_are():
    model, inputs = explained(encoder=tanh_encoder()), token_inputs()
    importance = leave_one_out(model, inputs)
    tau = agreement(model, inputs, importance)
    weights, mask = model.predict(inputs)[1].detach(), model.mask(inputs)
    for i in (0, 2, 3, 4):
        seen = mask[i]
        wanted = kendalltau(weights[i][seen], importance[i][seen]).statistic
        assert tau[i].item() == pytest.approx(wanted)


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="form must be one of one_hot, norm"):
        gradient_importance(explained(), token_inputs(), form="mean")
