"""Interactive co-attention: the definition in loops, and properties P4.6–P4.9."""

import re

import pytest
import torch
from hypothesis import given, settings
from torch.nn.functional import scaled_dot_product_attention

from attn_course.definitions import features as definition
from attn_course.features import InteractiveCoAttention
from tests.features.by_hand import assert_close, by_hand, keys_and_values, shaken
from tests.features.two_inputs import (
    D_1,
    D_2,
    D_K,
    D_V,
    D_W,
    N_2,
    assert_agrees,
    draw,
    interactive,
    numbers,
    plain,
    seeds,
)


@pytest.mark.agrees("features.InteractiveCoAttention", "definitions.features.interactive")
@pytest.mark.parametrize("score", ["activated_general", "additive", "general"])
@given(seed=seeds)
@settings(max_examples=8)
def test_interactive_agrees_with_its_definition_in_loops(score, seed):
    generator, features, masks = draw(seed)
    layer = InteractiveCoAttention((D_1, D_2), D_W, score, d_k=D_K, d_v=D_V).double()
    shaken(layer, generator)
    pairs = [
        keys_and_values(layer.input_1, features[0]),
        keys_and_values(layer.input_2, features[1]),
    ]
    scores = by_hand(layer.score_1), by_hand(layer.score_2)
    for given_masks in ((None, None), masks):
        output, weights = layer(*features, *given_masks)
        assert_agrees(
            output, weights, *definition.interactive(*pairs, *scores, *plain(given_masks))
        )


def test_interactive_uses_the_activated_general_score_of_its_paper():
    layer = interactive()
    assert layer.score_1.W.shape == (D_1, D_2)
    assert layer.score_2.W.shape == (D_2, D_1)
    assert sum(p.numel() for p in layer.parameters()) == 2 * D_1 * D_2 + 2


@pytest.mark.proves("P4.6")
def test_exchanging_inputs_and_parameters_exchanges_the_outputs():
    _, (first, second), (mask_1, mask_2) = draw()
    layer, exchanged = interactive(), interactive(D_2, D_1)
    exchanged.score_1.load_state_dict(layer.score_2.state_dict())
    exchanged.score_2.load_state_dict(layer.score_1.state_dict())
    output, weights = layer(first, second, mask_1, mask_2)
    other, other_weights = exchanged(second, first, mask_2, mask_1)
    assert_close(other, torch.cat([output[D_1:], output[:D_1]]))
    assert_close(other_weights["a_1"], weights["a_2"])


@pytest.mark.proves("P4.7")
def test_a_single_feature_is_its_own_mean():
    _, (first, second), _ = draw(n_2=1)
    layer = interactive()
    _, weights = layer(first, second)
    wanted = [by_hand(layer.score_1)(second[0].tolist(), k) for k in first.tolist()]
    assert_close(weights["a_1"], numbers(wanted).softmax(0))
    assert weights["a_2"].tolist() == [1.0]


@pytest.mark.proves("P4.8")
def test_writing_input_2_twice_changes_nothing():
    _, (first, second), _ = draw()
    layer = interactive()
    output, weights = layer(first, second)
    twice, twice_weights = layer(first, second.repeat(2, 1))
    assert_close(twice, output)
    assert_close(twice_weights["a_2"], weights["a_2"].repeat(2) / 2)


@pytest.mark.proves("P4.9")
def test_the_mean_is_over_the_true_length():
    _, (first, second), _ = draw()
    layer = interactive()
    wanted, _ = layer(first, second)
    padded = torch.cat([second, torch.full((4, D_2), 100.0, dtype=torch.float64)])
    mask = torch.arange(N_2 + 4) < N_2
    assert_close(layer(first, padded, mask_2=mask)[0], wanted)
    zeros = torch.cat([second, torch.zeros(4, D_2, dtype=torch.float64)])
    assert_close(layer(first, zeros, mask_2=mask)[0], wanted)  # zeros too would shorten the mean


@pytest.mark.agrees("features.InteractiveCoAttention", "PyTorch")
def test_interactive_with_dot_products_agrees_with_pytorch_own_kernel():
    _, (first, second), _ = draw(d_2=D_1)
    output, _ = interactive(d_2=D_1, score="scaled_dot")(first, second)
    c_1 = scaled_dot_product_attention(second.mean(0, keepdim=True), first, first)
    c_2 = scaled_dot_product_attention(first.mean(0, keepdim=True), second, second)
    assert_close(output, torch.cat([c_1[0], c_2[0]]))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: InteractiveCoAttention((5, 2), d_k=(3,)), "d_k must be 2 widths"),
    ],
)
def test_a_layer_that_cannot_be_made_says_why(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
