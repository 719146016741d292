"""Sizes, a mask and the poolings, for the tests of chapter 6."""

import torch

from attn_course.queries import SelfAttentivePooling

B, N, D, D_W = 2, 7, 5, 11  # every axis its own prime


MASK = torch.tensor([[True] * 7, [True, True, False, True, False, False, False]])

POOLINGS = {
    "removed": lambda: SelfAttentivePooling(D, "removed", d_w=D_W),
    "learned": lambda: SelfAttentivePooling(D, "learned"),
    "structured": lambda: SelfAttentivePooling(D, "structured", d_w=D_W, r=3),
}
