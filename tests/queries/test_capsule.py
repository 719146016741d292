"""Capsule attention: the definitions in loops, the losses, and properties P5.22–P5.27."""

import numpy as np
import pytest
import torch
from torch import nn

from attn_course.definitions import queries as definition
from attn_course.queries import CapsuleAttention
from tests.queries.poolings import MASK, B, D, N
from tests.random_layers import fresh, numbers, tensor


@pytest.mark.agrees("queries.CapsuleAttention", "definitions.queries.capsule")
def test_capsules_agree_with_their_definition_in_loops():
    layer, features = fresh(CapsuleAttention(D, classes=3)), tensor(B, N, D)
    capsules, weights = layer(features, MASK)
    p = numbers(layer)
    for b, c in np.ndindex(B, 3):
        probability, reconstruction, a = definition.capsule(
            features[b].numpy(), p["q"][c], p["w"][c], p["b"][c], MASK[b].tolist()
        )
        assert capsules.probabilities[b, c].item() == pytest.approx(probability)
        np.testing.assert_allclose(capsules.reconstructions[b, c].detach(), reconstruction)
        np.testing.assert_allclose(weights[b, c].detach(), a)


@pytest.mark.proves("P5.22")
def test_equal_queries_give_equal_contexts():
    layer = fresh(CapsuleAttention(D, classes=3))
    with torch.no_grad():
        layer.q.copy_(layer.q[:1].expand(3, D))
    contexts = layer(tensor(B, N, D))[0].contexts
    torch.testing.assert_close(contexts, contexts[:, :1].expand(B, 3, D))


@pytest.mark.proves("P5.23")
@pytest.mark.proves("P5.24")
def test_reconstructions_are_shorter_and_probabilities_independent():
    capsules, _ = fresh(CapsuleAttention(D, classes=3))(tensor(B, N, D))
    r, c = capsules.reconstructions, capsules.contexts
    assert (r.norm(dim=-1) <= c.norm(dim=-1)).all()
    cosine = nn.functional.cosine_similarity(r, c, dim=-1)
    torch.testing.assert_close(cosine, torch.ones(B, 3, dtype=torch.float64))
    assert (capsules.probabilities.sum(-1) - 1).abs().max() > 0.1


@pytest.mark.proves("P5.25")
def test_permuting_the_classes_permutes_everything():
    layer, features, order = fresh(CapsuleAttention(D, classes=3)), tensor(B, N, D), [2, 0, 1]
    wanted, _ = layer(features)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(parameter[order].clone())
    permuted, _ = layer(features)
    for one, other in zip(wanted, permuted, strict=True):
        torch.testing.assert_close(one[:, order], other)


@pytest.mark.proves("P5.26")
def test_the_classification_loss_only_vanishes_in_the_limit():
    targets = torch.tensor([0])
    saturated, nearly = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.99, 0.01, 0.0]])
    for form in ("paper", "code"):
        assert CapsuleAttention.classification_loss(saturated, targets, form) == 0
        assert CapsuleAttention.classification_loss(nearly, targets, form) > 0


@pytest.mark.proves("P5.27")
def test_the_reconstruction_loss_can_reach_zero():
    features = torch.full((1, N, D), 2.0)
    reconstructions = torch.zeros(1, 3, D)
    reconstructions[0, 1] = 1.0  # the dot product with the mean is 10, far beyond the margin
    loss = CapsuleAttention.reconstruction_loss(reconstructions, features, torch.tensor([1]))
    assert loss == 0
    assert CapsuleAttention.reconstruction_loss(reconstructions, features, torch.tensor([0])) > 10


@pytest.mark.agrees(
    "queries.CapsuleAttention.classification_loss",
    "definitions.queries.capsule_hinge",
    "PyTorch",
)
def test_the_losses_of_paper_and_code_on_the_fixture():
    p, targets = torch.tensor([[0.9, 0.2, 0.4]]), torch.tensor([0])
    paper = CapsuleAttention.classification_loss(p, targets)
    assert paper.item() == pytest.approx(0.7)
    assert definition.capsule_hinge([0.9, 0.2, 0.4], 0) == pytest.approx(0.7)
    code = CapsuleAttention.classification_loss(p, targets, form="code")
    assert code.item() == pytest.approx(0.8 / 3)
    # the released form is PyTorch's multi-class margin loss
    assert code.item() == pytest.approx(nn.functional.multi_margin_loss(p, targets).item())
    two = torch.tensor([[0.7, 0.2]])
    halves = [
        CapsuleAttention.classification_loss(two, targets, form).item()
        for form in ("paper", "code")
    ]
    assert halves[0] == pytest.approx(2 * halves[1])
    with pytest.raises(ValueError, match="form must be 'paper' or 'code'"):
        CapsuleAttention.classification_loss(p, targets, form="survey")


@pytest.mark.agrees(
    "queries.CapsuleAttention.reconstruction_loss",
    "definitions.queries.capsule_hinge",
)
def test_the_mean_in_the_reconstruction_loss_divides_by_the_true_length():
    reconstructions, features, targets = tensor(B, 3, D), tensor(B, N, D), torch.tensor([0, 2])
    masked = CapsuleAttention.reconstruction_loss(reconstructions, features, targets, MASK)
    for b in range(B):
        mean = features[b, MASK[b]].mean(0)
        alone = definition.capsule_hinge(
            [float(r @ mean) for r in reconstructions[b]], int(targets[b])
        )
        assert masked[b].item() == pytest.approx(alone)
