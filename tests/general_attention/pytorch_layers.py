"""PyTorch's own layers with the parameters of ours, and the sizes of both."""

from functools import partial

import torch
from torch import nn

from tests import random_layers

fresh = partial(random_layers.fresh, std=0.5)

B, N, M, D, HEADS, D_FF, LAYERS = 2, 7, 5, 12, 3, 13, 2
NORMS = ("post", "pre")

SOURCE_MASK = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
TARGET_MASK = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])


@torch.no_grad()
def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat([m.weight for m in (ours.W_q, ours.W_K, ours.W_V)]))
    theirs.in_proj_bias.copy_(torch.cat([m.bias for m in (ours.W_q, ours.W_K, ours.W_V)]))
    theirs.out_proj.load_state_dict(ours.W_O.state_dict())


def copy_rest(ours, theirs, norms):
    theirs.linear1.load_state_dict(ours.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward[2].state_dict())
    for mine, their in zip(norms, (theirs.norm1, theirs.norm2, theirs.norm3), strict=True):
        their.load_state_dict(mine.normalise.state_dict())


def their_encoder_layer(ours, norm):
    theirs = nn.TransformerEncoderLayer(
        D, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm == "pre"
    ).double()
    theirs.norm3 = theirs.norm1  # an encoder has two: the third is only there for `copy_rest`
    copy_attention(ours.attention, theirs.self_attn)
    norms = (ours.around_attention, ours.around_feed_forward, ours.around_attention)
    copy_rest(ours, theirs, norms)
    return theirs


def their_decoder_layer(ours, norm):
    theirs = nn.TransformerDecoderLayer(
        D, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm == "pre"
    ).double()
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    around = (ours.around_attention, ours.around_cross_attention, ours.around_feed_forward)
    copy_rest(ours, theirs, around)
    return theirs
