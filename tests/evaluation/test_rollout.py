"""Attention rollout: what reaches the top of linear layers, and its properties."""

import numpy as np
import pytest
import torch

from attn_course.alignment import softmax
from attn_course.evaluation.rollout import attention_rollout

LAYERS, BATCH, HEADS, N = 3, 2, 5, 7


def layers(*axes):
    rng = np.random.default_rng(0)
    return [softmax(rng.normal(size=(*axes, N, N))) for _ in range(LAYERS)]


def test_it_is_the_jacobian_of_linear_layers_with_residual_connections():
    weights = [torch.from_numpy(a) for a in layers()]

    def network(x):
        for a in weights:
            x = 0.5 * a @ x + 0.5 * x
        return x

    jacobian = torch.autograd.functional.jacobian(network, torch.zeros(N, dtype=torch.float64))
    torch.testing.assert_close(attention_rollout(weights), jacobian)
    np.testing.assert_allclose(attention_rollout(layers()), jacobian.numpy())


def test_rows_stay_distributions():
    np.testing.assert_allclose(attention_rollout(layers(BATCH)).sum(-1), np.ones((BATCH, N)))


def test_heads_are_averaged_first():
    weights = layers(BATCH, HEADS)
    wanted = attention_rollout([a.mean(axis=1) for a in weights])
    np.testing.assert_allclose(attention_rollout(weights, heads=True), wanted)


def test_the_share_that_passes_by_goes_from_the_product_to_nothing_happened():
    first, second, third = layers()
    np.testing.assert_allclose(
        attention_rollout([first, second, third], residual=0), third @ second @ first
    )
    np.testing.assert_allclose(attention_rollout([first, second], residual=1), np.eye(N))


def test_a_position_that_attends_nowhere_passes_by_whole():
    first = layers()[0]
    first[2] = 0
    np.testing.assert_allclose(attention_rollout([first])[2], np.eye(N)[2])


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="at least one layer"):
        attention_rollout([])
    with pytest.raises(ValueError, match="residual is a share"):
        attention_rollout(layers(), residual=2)
    with pytest.raises(ValueError, match=r"weights of layer 2 must be as those of layer 1"):
        attention_rollout([np.ones((3, 3)), np.ones((2, 2))])
    with pytest.raises(ValueError, match="rollout follows self-attention"):
        attention_rollout([np.ones((3, 5))])
    with pytest.raises(ValueError, match=r"must be \(..., head, n, n\)"):
        attention_rollout([np.ones((3, 3))], heads=True)


def test_layers_may_come_in_one_array():
    np.testing.assert_array_equal(
        attention_rollout(np.stack(layers())), attention_rollout(layers())
    )
