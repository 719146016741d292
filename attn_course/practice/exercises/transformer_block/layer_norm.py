"""Layer normalisation: each vector gets mean 0 and variance 1, then a gain and a bias."""

from math import sqrt

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def layer_norm(x, gain, bias, eps):
    if eps <= 0:
        raise ValueError(f"eps must be positive, but is {eps}")
    if x.ndim > 1:
        return np.stack([layer_norm.reference(part, gain, bias, eps) for part in x])
    d = len(x)
    mean = sum(float(entry) for entry in x) / d
    variance = sum((float(entry) - mean) ** 2 for entry in x) / d
    scale = sqrt(variance + eps)
    entries = zip(x, gain, bias, strict=True)
    return np.array(
        [float(g) * (float(entry) - mean) / scale + float(b) for entry, g, b in entries]
    )


def vectors(rng, *size):
    """Return vectors whose entries are clearly different, around a mean that is not 0.

    A vector of equal entries would be divided by the root of eps alone, which makes rounding
    errors visible. Such vectors have a group of their own.
    """
    steps = np.broadcast_to(1.5 * np.arange(size[-1]), size)
    jitter = rng.integers(-3, 4, size) / 10
    heights = readable(rng, *size[:-1], 1, low=0.5, high=3.0)
    return np.round(rng.permuted(steps, axis=-1) + jitter + heights, 1)


def _learned(rng, d):
    return readable(rng, d), readable(rng, d)


@layer_norm.cases(points=2, label=_("a few vectors"))
def a_few_vectors(rng):
    yield Case(vectors(rng, 3), *_learned(rng, 3), 0.5)
    yield Case(vectors(rng, 2, 3), *_learned(rng, 3), 0.5)
    yield Case(vectors(rng, 3, 3), *_learned(rng, 3), 2.0)  # square: sizes that fit by accident
    yield Case(vectors(rng, 3, 5), *_learned(rng, 5), 1.0)
    yield Case(vectors(rng, 5, 2), *_learned(rng, 2), 0.1)


@layer_norm.cases(points=1, label=_("batches"))
def batches(rng):
    yield Case(vectors(rng, 2, 3, 5), *_learned(rng, 5), 0.5)
    yield Case(vectors(rng, 5, 2, 3), *_learned(rng, 3), 0.2)
    yield Case(vectors(rng, 2, 3, 2, 5), *_learned(rng, 5), 1.0)


@layer_norm.cases(points=1, label=_("vectors with equal or nearly equal entries, and a small eps"))
def equal_entries(rng):
    # Powers of two, so that single precision computes these means exactly.
    nearly = 1.5 + rng.permuted(np.array([-3.0, -1.0, 1.0, 3.0])) / 1024
    yield Case(np.stack([np.full(4, 0.5), nearly]), *_learned(rng, 4), 1e-5)
    yield Case(np.stack([nearly, np.full(4, -2.0), vectors(rng, 4)]), *_learned(rng, 4), 1e-5)
    yield Case(readable(rng, 3, 1), *_learned(rng, 1), 1e-5)  # one entry always equals its mean


@layer_norm.cases(points=1, label=_("single precision, far from 0"))
def far_from_zero(rng):
    """There x² has few digits left for the variance: the mean must be subtracted first.

    Farther away, PyTorch's own layer_norm is off by more than the check allows, and a bias near 0
    would leave little room for its rounding errors.
    """
    for rows, d in ((2, 4), (3, 8)):
        above = rng.integers(8, 17, (rows, d // 2)) / 16
        # In pairs around 512, so that the mean is exact in whatever order the sum is computed.
        x = 512 + rng.permuted(np.concatenate([above, -above], axis=-1), axis=-1)
        gain, bias = rng.choice([-1.0, -0.5, 0.5, 1.0], d), rng.choice([-4.0, -3.0, 3.0, 4.0], d)
        yield Case(*(part.astype(np.float32) for part in (x, gain, bias)), 0.1)


@layer_norm.variant
def with_the_variance_of_numpy(x, gain, bias, eps):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return gain * ((x - mean) / (variance + eps) ** 0.5) + bias


@layer_norm.variant
def vector_by_vector(x, gain, bias, eps):
    rows = x.reshape(-1, x.shape[-1])
    normalised = [(row - row.mean()) / np.sqrt(row.var() + eps) * gain + bias for row in rows]
    return np.reshape(normalised, x.shape)


@layer_norm.variant
def as_a_product_with_a_matrix(x, gain, bias, eps):
    """Centring is linear: the matrix I - 1/d subtracts the mean."""
    d = x.shape[-1]
    centred = x @ (np.eye(d) - 1 / d)
    lengths = np.sqrt((centred**2).sum(axis=-1, keepdims=True) + d * eps)
    return np.sqrt(d) * centred / lengths * gain + bias


@layer_norm.variant
def norm_in_torch(x, gain, bias, eps):
    import torch

    x, gain, bias = (torch.as_tensor(part) for part in (x, gain, bias))
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias, eps)
