"""Layers and tensors of random numbers, for the tests of everything that is trained."""

import numpy as np
import torch
from hypothesis import strategies as st

seeds = st.integers(0, 2**31)


def tensor(*size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, dtype=torch.float64, generator=generator)


def words(*size, vocabulary, seed=0):
    return torch.randint(vocabulary, size, generator=torch.Generator().manual_seed(seed))


def fresh(module, seed=0, std=0.7):
    """Return the module in double precision with every parameter drawn at random."""
    torch.manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=std)
    return module


def numbers(module):
    """Return the parameters as NumPy arrays by name."""
    return {name: p.detach().numpy() for name, p in module.named_parameters()}


def assert_close(tensors, wanted):
    np.testing.assert_allclose(tensors.detach(), wanted, atol=1e-10)
