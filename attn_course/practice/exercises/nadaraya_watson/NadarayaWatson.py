"""Write the regression as a module with one parameter."""

import numpy as np
import torch
from torch import nn

from attn_course import nadaraya_watson
from attn_course.practice.definition import Case, reference
from attn_course.translate import _

NadarayaWatson = reference(nadaraya_watson.NadarayaWatson)


def _places_and_values(rng, q, k, scale=1.0, batch=()):
    """Return float32 tensors; no query is midway between two keys, so that no rounding decides.

    The check loads a random w into the module. Whatever it is, one of the scales in the cases
    is about one bandwidth, so that a mistake shows, and exp vanishes in none of them.
    """
    keys = np.arange(k) + rng.uniform(-0.1, 0.1, (*batch, k))
    queries = rng.integers(0, k, (*batch, q)) + rng.uniform(0.2, 0.3, (*batch, q))
    values = rng.normal(size=(*batch, k))
    return [torch.tensor(a, dtype=torch.float32) for a in (scale * queries, scale * keys, values)]


@NadarayaWatson.cases(points=2, label=_("one row of queries: output and gradient of w"))
def module_on_one_row(rng):
    yield Case(*_places_and_values(rng, 1, 3))
    yield Case(*_places_and_values(rng, 2, 3))
    yield Case(*_places_and_values(rng, 5, 7))
    yield Case(*_places_and_values(rng, 7, 5, scale=10.0))


@NadarayaWatson.cases(
    points=1,
    label=_("a batch: queries (..., q), keys and values (..., k); and queries far from every key"),
)
def module_on_a_batch_and_far_away(rng):
    yield Case(*_places_and_values(rng, 3, 5, batch=(2,)))
    yield Case(*_places_and_values(rng, 5, 3, scale=10.0, batch=(2,)))
    # So far away that exp vanishes for every w that the check may load, and the last key wins.
    queries, keys, values = _places_and_values(rng, 2, 3, scale=30.0)
    yield Case(queries + 1000, keys, values)


@NadarayaWatson.variant
class ModuleWithBatchedProduct(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(()))

    def forward(self, queries, keys, values):
        u = self.w * (queries.unsqueeze(-1) - keys.unsqueeze(-2))
        weights = nn.functional.softmax(-(u**2) / 2, dim=-1)
        return (weights @ values.unsqueeze(-1)).squeeze(-1)


@NadarayaWatson.variant
class ModuleWithKernelSums(nn.Module):
    def __init__(self, w=0.5):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(w), requires_grad=True)

    def forward(self, queries, keys, values):
        scores = -0.5 * self.w**2 * (queries[..., None] - keys[..., None, :]) ** 2
        kernel = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
        return torch.einsum("...qk,...k->...q", kernel, values) / kernel.sum(dim=-1)
