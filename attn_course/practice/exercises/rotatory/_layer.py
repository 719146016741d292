"""The layer of the package with its parameters named as in the exercise, and batches for it."""

import torch
from torch import nn
from torch.func import functional_call

from attn_course.features import RotatoryAttention
from attn_course.practice.inputs import padded, ragged_mask

QUESTIONS = ("l", "r", "lt", "rt")  # target to left, target to right, and the two ways back


class Parameters(nn.Module):
    """The four matrices and numbers under the names that the exercise gives them."""

    def __init__(self, d):
        super().__init__()
        for name in QUESTIONS:
            self.register_parameter(f"W_{name}", nn.Parameter(torch.randn(d, d) / d**0.5))
            self.register_parameter(f"b_{name}", nn.Parameter(torch.zeros(())))


class Rotatory(Parameters):
    """One rotation, computed by the layer of the package."""

    def __init__(self, d):
        super().__init__(d)
        self.layer = [RotatoryAttention((d, d, d))]  # in a list: its own parameters stay out

    def forward(self, target, left, right, target_mask, left_mask, right_mask):
        named = {f"score_{n}.{p}": getattr(self, f"{p}_{n}") for n in QUESTIONS for p in "Wb"}
        masks = (target_mask, left_mask, right_mask)
        r, _weights = functional_call(self.layer[0], named, (target, left, right, *masks))
        return r


def padded_batch(rng, d, batch, n_t, n_l, n_r, padding=0.0):
    """Return target, left and right context of a batch of sentences, and their masks."""
    inputs, masks = [], []
    for n in (n_t, n_l, n_r):
        mask = ragged_mask(rng, batch, n)
        features = padded(rng.normal(size=(batch, n, d)), mask, padding)
        inputs.append(torch.tensor(features, dtype=torch.float32))
        masks.append(torch.tensor(mask))
    return inputs, masks
