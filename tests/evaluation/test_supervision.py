"""Supervised attention: the losses against PyTorch's, their gradients, and one training step."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from attn_course.alignment import softmax
from attn_course.evaluation.supervision import (
    SupervisedAttention,
    cross_entropy_loss,
    gold_distribution,
    kl_loss,
    squared_loss,
)

SHAPE = B, Q, K = 2, 3, 5
LOSSES = {"cross_entropy": cross_entropy_loss, "squared": squared_loss, "kl": kl_loss}
seeds = st.integers(0, 2**32 - 1)


def draw(seed):
    """Scores, a mask, and marked keys; some rows have no mark, some no key."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(SHAPE, generator=generator, dtype=torch.float64).requires_grad_()
    mask = torch.rand(SHAPE, generator=generator) < 0.8
    right = torch.rand(SHAPE, generator=generator) < 0.3
    return scores, mask, right


def losses_in_loops(kind, weights, gold):
    """The mean over rows with gold; all weights above 0."""
    total, rows = 0.0, 0
    for a, wanted in zip(weights.reshape(-1, K), gold.reshape(-1, K), strict=True):
        if not any(g > 0 for g in wanted):
            continue
        rows += 1
        for l in range(K):
            if kind == "squared":
                total += (wanted[l] - a[l]) ** 2
            elif wanted[l] > 0:
                entropy = wanted[l] * np.log(wanted[l]) if kind == "kl" else 0
                total += entropy - wanted[l] * np.log(a[l])
    return total / rows if rows else 0.0


@pytest.mark.parametrize("kind", LOSSES)
@given(seed=seeds, smoothing=st.sampled_from([0.0, 0.1]))
def test_every_loss_agrees_with_loops(kind, seed, smoothing):
    scores, _, right = draw(seed)
    weights = softmax(scores.detach().numpy())
    gold = gold_distribution(right.numpy(), smoothing=smoothing)
    wanted = losses_in_loops(kind, weights, gold)
    assert LOSSES[kind](weights, gold) == pytest.approx(wanted, abs=1e-12)
    theirs = LOSSES[kind](torch.from_numpy(weights), torch.from_numpy(gold))
    assert theirs.item() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.agrees("evaluation.cross_entropy_loss", "PyTorch")
@pytest.mark.agrees("evaluation.kl_loss", "PyTorch")
@given(seed=seeds)
def test_cross_entropy_and_kl_agree_with_pytorch(seed):
    scores, _, _ = draw(seed)
    gold = torch.softmax(3 * scores.detach().flip(0), dim=-1)
    flat, target = scores.reshape(-1, K), gold.reshape(-1, K)
    weights = softmax(scores)
    torch.testing.assert_close(
        cross_entropy_loss(weights, gold), functional.cross_entropy(flat, target)
    )
    divergence = functional.kl_div(flat.log_softmax(-1), target, reduction="batchmean")
    torch.testing.assert_close(kl_loss(weights, gold), divergence)


@pytest.mark.parametrize("kind", ["cross_entropy", "kl"])
@given(seed=seeds, smoothing=st.sampled_from([0.0, 0.2]))
def test_the_gradient_with_respect_to_scores_is_weights_less_gold(kind, seed, smoothing):
    scores, mask, right = draw(seed)
    weights = softmax(scores, mask=mask)
    gold = gold_distribution(right, mask, smoothing)
    (gradient,) = torch.autograd.grad(LOSSES[kind](weights, gold, mask), scores)
    taught = (gold > 0).any(-1, keepdim=True)
    wanted = ((weights - gold) * taught / taught.sum().clamp(min=1)).detach()
    torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-12)


@given(seed=seeds)
def test_gold_is_a_distribution_over_marked_keys_one_may_see(seed):
    _, mask, right = draw(seed)
    for smoothing in (0.0, 0.3):
        gold = gold_distribution(right, mask, smoothing)
        marked = right & mask
        has = marked.any(-1)
        torch.testing.assert_close(gold.sum(-1), has.double())
        assert (gold[~mask] == 0).all()
        count, n = marked.sum(-1)[has], mask.sum(-1)[has]
        share = (1 - smoothing) / count + smoothing / n
        lowest = torch.where(marked[has], gold[has], torch.inf).amin(-1)
        torch.testing.assert_close(lowest, share.double())


def test_rows_without_gold_teach_nothing():
    scores = torch.zeros(3, 2, requires_grad=True)
    right = torch.tensor([[True, False], [False, False], [False, False]])
    loss = SupervisedAttention()(softmax(scores), right)
    loss.backward()
    assert loss.item() == pytest.approx(np.log(2))
    assert (scores.grad[1:] == 0).all()


@pytest.mark.parametrize("kind", LOSSES)
def test_a_batch_without_any_gold_adds_zero_and_has_a_gradient(kind):
    scores = torch.zeros(3, 2, requires_grad=True)
    loss = SupervisedAttention(kind=kind)(softmax(scores), torch.zeros(3, 2, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0
    assert (scores.grad == 0).all()


@pytest.mark.parametrize("kind", LOSSES)
def test_a_gold_key_of_weight_zero_costs_much_but_not_everything(kind):
    weights = torch.tensor([[1.0, 0.0]], requires_grad=True)
    loss = SupervisedAttention(kind=kind)(weights, torch.tensor([[False, True]]))
    loss.backward()
    assert 1 < loss.item() < 100
    assert torch.isfinite(weights.grad).all()


def test_lambda_scales_and_float32_stays_float32():
    weights = softmax(torch.randn(2, 3, 5))
    right = torch.ones(2, 3, 5, dtype=torch.bool)
    one, three = (SupervisedAttention(weight=w)(weights, right) for w in (1, 3))
    assert one.dtype == torch.float32
    torch.testing.assert_close(3 * one, three)


@pytest.mark.parametrize("kind", LOSSES)
def test_it_drops_into_a_training_loop_and_moves_the_weights(kind):
    torch.manual_seed(0)
    score = torch.nn.Linear(7, 1)
    tokens = torch.randn(11, 5, 7)
    right = tokens[..., 0] == tokens[..., 0].amax(-1, keepdim=True)  # one feature says where
    supervision = SupervisedAttention(weight=0.7, kind=kind)
    optimiser = torch.optim.Adam(score.parameters(), lr=0.3)
    inside = []
    for _ in range(60):
        weights = softmax(score(tokens).mT)
        loss = score.bias.square().sum() + supervision(weights, right[:, None, :])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        inside.append((weights[:, 0] * right).sum(-1).mean().item())
    assert inside[-1] > 0.9 > 0.5 > inside[0]


def test_errors_say_what_to_do():
    weights = np.full((2, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"Write gold_distribution\(gold\)"):
        cross_entropy_loss(weights, np.ones((2, 3), bool))
    with pytest.raises(ValueError, match="gold must be the shape of the weights"):
        squared_loss(weights, np.ones((3, 2)))
    with pytest.raises(ValueError, match="kind must be one of cross_entropy, squared, kl"):
        SupervisedAttention(kind="mse")
    with pytest.raises(ValueError, match="weight must not be negative"):
        SupervisedAttention(weight=-1)
    with pytest.raises(ValueError, match="smoothing is a share"):
        gold_distribution(np.ones((2, 3), bool), smoothing=1.0)


def test_one_gold_teaches_every_head():
    scores, mask, right = draw(0)
    heads = torch.stack([scores, 2 * scores, -scores], dim=1)  # (B, 3, Q, K)
    weights = softmax(heads, mask[:, None])
    one = SupervisedAttention(smoothing=0.1)(weights, right[:, None], mask[:, None])
    each = right[:, None].expand(heads.shape)
    torch.testing.assert_close(
        one, SupervisedAttention(smoothing=0.1)(weights, each, mask[:, None])
    )


def test_a_mask_of_padding_broadcasts_to_the_gold():
    right = np.array([[True, False, True], [False, True, False]])
    mask = np.array([True, True, False])
    wanted = [[0.95, 0.05, 0], [0.05, 0.95, 0]]
    np.testing.assert_allclose(gold_distribution(right, mask, smoothing=0.1), wanted)
