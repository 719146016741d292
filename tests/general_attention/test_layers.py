"""Encoder and decoder layers: PyTorch's own, masks, and what they cost."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attn_course.alignment import causal_mask
from attn_course.general_attention import DecoderLayer, EncoderLayer
from tests.general_attention.pytorch_layers import (
    D_FF,
    HEADS,
    NORMS,
    SOURCE_MASK,
    TARGET_MASK,
    B,
    D,
    M,
    N,
    fresh,
    their_decoder_layer,
    their_encoder_layer,
)
from tests.random_layers import tensor


@pytest.mark.agrees("general_attention.EncoderLayer", "PyTorch")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masks", ["none", "padding", "causal", "both"])
def test_an_encoder_layer_is_pytorch_own(norm, need_weights, masks):
    ours = fresh(EncoderLayer(D, HEADS, D_FF, norm))
    theirs = their_encoder_layer(ours, norm)
    x = tensor(B, N, D)
    padding, causal = SOURCE_MASK[:, None, :], causal_mask(N, like=x)
    mask = {"none": None, "padding": padding, "causal": causal, "both": padding & causal}[masks]
    features, weights = ours(x, mask, need_weights)
    # PyTorch's masks have the other polarity: True means "leave out".
    wanted = theirs(
        x,
        src_mask=~causal if masks in ("causal", "both") else None,
        src_key_padding_mask=~SOURCE_MASK if masks in ("padding", "both") else None,
    )
    torch.testing.assert_close(features, wanted)
    assert (weights is not None) == need_weights


@pytest.mark.agrees("general_attention.DecoderLayer", "PyTorch")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_decoder_layer_is_pytorch_own(norm, need_weights):
    ours = fresh(DecoderLayer(D, HEADS, D_FF, norm))
    theirs = their_decoder_layer(ours, norm)
    x, memory = tensor(B, M, D), tensor(B, N, D, seed=1)
    causal = causal_mask(M, like=x)
    features, weights = ours(
        x, memory, causal & TARGET_MASK[:, None, :], SOURCE_MASK[:, None, :], need_weights
    )
    wanted = theirs(
        x,
        memory,
        tgt_mask=~causal,
        tgt_key_padding_mask=~TARGET_MASK,
        memory_key_padding_mask=~SOURCE_MASK,
    )
    torch.testing.assert_close(features, wanted)
    assert all((w is not None) == need_weights for w in weights.values())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("need_weights", [True, False])
def test_broken_features_behind_the_mask_reach_no_other(norm, need_weights):
    encoder = fresh(EncoderLayer(D, HEADS, D_FF, norm))
    decoder = fresh(DecoderLayer(D, HEADS, D_FF, norm))
    features, x, mask = tensor(B, N, D), tensor(B, M, D, seed=1), SOURCE_MASK[:, None, :]
    broken = features.masked_fill(~SOURCE_MASK[..., None], torch.nan)
    wanted, _ = encoder(features, mask, need_weights)
    refined, _ = encoder(broken, mask, need_weights)
    torch.testing.assert_close(refined[SOURCE_MASK], wanted[SOURCE_MASK])
    wanted, _ = decoder(x, features, None, mask, need_weights)
    torch.testing.assert_close(decoder(x, broken, None, mask, need_weights)[0], wanted)


def test_a_layer_has_twelve_d_squared_parameters_and_the_flops_of_the_formula():
    d, n = 24, 7
    layer = EncoderLayer(d, HEADS, d_ff=4 * d)
    matrices = [p for p in layer.parameters() if p.ndim == 2]
    assert sum(p.numel() for p in matrices) == 12 * d**2
    with FlopCounterMode(display=False) as counter:
        layer(torch.ones(1, n, d))
    assert counter.get_total_flops() == 24 * n * d**2 + 4 * n**2 * d
