"""Layers and tensors of random numbers, for the tests of chapter 6."""

import torch
from hypothesis import strategies as st

from attn_course.queries import SelfAttentivePooling

B, N, D, D_W = 2, 7, 5, 11  # every axis its own prime
seeds = st.integers(0, 2**32 - 1)


def tensor(*size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=generator)


def numbers(module):
    """Return the parameters as NumPy arrays by name, biases filled so that none is 0."""
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def fresh(module, seed=0):
    """Return the module in double precision with every parameter drawn at random."""
    torch.manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.7)
    return module


MASK = torch.tensor([[True] * 7, [True, True, False, True, False, False, False]])

POOLINGS = {
    "removed": lambda: SelfAttentivePooling(D, "removed", d_w=D_W),
    "learned": lambda: SelfAttentivePooling(D, "learned"),
    "structured": lambda: SelfAttentivePooling(D, "structured", d_w=D_W, r=3),
}
