"""Alternating co-attention: the definition in loops, and properties P4.1–P4.5."""

import re

import pytest
import torch
from hypothesis import given, settings
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attn_course.definitions import features as definition
from attn_course.features import AlternatingCoAttention
from tests.features.by_hand import assert_close, by_hand, keys_and_values, shaken
from tests.features.two_inputs import (
    D_1,
    D_2,
    D_K,
    D_V,
    D_W,
    alternating,
    assert_agrees,
    draw,
    plain,
    seeds,
)


@pytest.mark.agrees("features.AlternatingCoAttention", "definitions.features.alternating")
@pytest.mark.parametrize("shared", [True, False])
@given(seed=seeds)
@settings(max_examples=8)
def test_alternating_agrees_with_its_definition_in_loops(shared, seed):
    generator, features, masks = draw(seed)
    layer = AlternatingCoAttention((D_1, D_2), D_W, shared=shared, d_k=D_K, d_v=D_V).double()
    shaken(layer, generator)
    pairs = [
        keys_and_values(layer.input_1, features[0]),
        keys_and_values(layer.input_2, features[1]),
    ]
    scores = by_hand(layer.score_0), by_hand(layer.score_2), by_hand(layer.score_1)
    for given_masks in ((None, None), masks):
        output, weights = layer(*features, *given_masks)
        assert_agrees(
            output, weights, *definition.alternating(*pairs, *scores, *plain(given_masks))
        )


@pytest.mark.proves("P4.1")
def test_with_shared_weights_and_no_query_step_3_repeats_step_1():
    _, features, _ = draw()
    layer = alternating()
    layer.score_1.W_q.data.zero_()
    output, weights = layer(*features)
    assert_close(weights["a_1"], weights["a_0"])
    assert_close(output[:D_1], weights["a_0"] @ features[0])  # c_1 = c_0


def test_the_weights_are_shared_and_stay_shared_when_they_are_trained():
    _, features, _ = draw()
    layer = alternating(shared=True)
    before = layer.score_0.W.detach().clone()
    layer(*features)[0].sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    assert layer.score_0.W is layer.score_1.W_k
    assert layer.score_0.w is layer.score_1.w
    assert layer.score_0.b is layer.score_1.b
    assert not torch.equal(layer.score_0.W, before)


def test_weights_of_its_own_cost_step_3_as_many_parameters_as_step_1_has():
    shared, separate = (
        sum(p.numel() for p in alternating(shared=s).parameters()) for s in (True, False)
    )
    assert shared == D_W * (D_1 + D_2 + 2) + D_W * (D_2 + D_1 + 2)
    assert separate - shared == D_W * D_1 + 2 * D_W


@pytest.mark.proves("P4.2")
def test_without_its_query_input_2_does_not_depend_on_input_1():
    _, features, _ = draw()
    _, others, _ = draw(seed=1)
    layer = alternating()
    with_query = [layer(f, features[1])[0][D_1:] for f in (features[0], others[0])]
    assert not torch.allclose(*with_query)
    layer.score_2.W_q.data.zero_()
    without = [layer(f, features[1])[0][D_1:] for f in (features[0], others[0])]
    assert_close(*without)


@pytest.mark.proves("P4.3")
def test_a_single_feature_of_input_1_is_both_of_its_contexts():
    _, features, _ = draw(n_1=1)
    layer = alternating(d_v=(D_1, D_2))
    output, weights = layer(*features)
    assert weights["a_0"].tolist() == weights["a_1"].tolist() == [1.0]
    assert_close(output[:D_1], layer.input_1.value_map(features[0])[0])


@pytest.mark.proves("P4.4")
@pytest.mark.parametrize("shared", [True, False])
def test_the_order_of_features_does_not_matter(shared):
    _, (first, second), _ = draw()
    layer = alternating(shared=shared)
    wanted, weights = layer(first, second)
    order_1, order_2 = torch.tensor([2, 0, 1]), torch.tensor([6, 1, 0, 3, 5, 2, 4])
    output, permuted = layer(first[order_1], second[order_2])
    assert_close(output, wanted)
    assert_close(permuted["a_0"], weights["a_0"][order_1])
    assert_close(permuted["a_1"], weights["a_1"][order_1])
    assert_close(permuted["a_2"], weights["a_2"][order_2])


@pytest.mark.proves("P4.5")
def test_exchanging_the_inputs_gives_another_result():
    _, (first, second), _ = draw(d_2=D_1)
    torch.manual_seed(0)
    layer = AlternatingCoAttention((D_1, D_1), D_W).double()
    layer.score_2.load_state_dict(layer.score_1.state_dict())  # even if both sides weigh alike
    output, _ = layer(first, second)
    exchanged, _ = layer(second, first)
    assert not torch.allclose(exchanged[D_1:], output[:D_1])
    assert not torch.allclose(exchanged[:D_1], output[D_1:])


@pytest.mark.agrees("features.AlternatingCoAttention", "PyTorch")
def test_alternating_with_dot_products_agrees_with_pytorch_own_kernel():
    _, (first, second), _ = draw(d_2=D_1)
    torch.manual_seed(0)
    layer = AlternatingCoAttention((D_1, D_1), D_W, score="scaled_dot", shared=False).double()
    output, _ = layer(first, second)
    hidden = torch.tanh(nn.functional.linear(first, layer.score_0.W, layer.score_0.b))
    c_0 = scaled_dot_product_attention(layer.score_0.w[None], hidden, first, scale=1.0)
    c_2 = scaled_dot_product_attention(c_0, second, second)
    c_1 = scaled_dot_product_attention(c_2, first, first)
    assert_close(output, torch.cat([c_1[0], c_2[0]]))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: AlternatingCoAttention((5, 2), score="general"), "or shared=False"),
        (lambda: AlternatingCoAttention((5, 2), score="sum"), "score must be one of additive"),
        (lambda: AlternatingCoAttention(5), "d_f must be 2 widths, for features_1, features_2"),
    ],
)
def test_a_layer_that_cannot_be_made_says_why(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
