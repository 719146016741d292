"""PSNR of two images: how large the errors are, in decibels."""

from math import inf, log10

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def psnr(image, other, data_range):
    if image.shape != other.shape or not 0 < data_range < inf:
        raise ValueError("two images of one shape, and a range above 0")  # where inputs are changed
    total, number = 0.0, 0
    for one, two in zip(image.ravel().tolist(), other.ravel().tolist(), strict=True):
        total, number = total + (one - two) ** 2, number + 1
    return inf if total == 0 else 10 * log10(data_range**2 / (total / number))


def _pair(rng, *size, white=1.0, noise=0.3):
    """Return an image with numbers in a part of [0, white], and the same with errors."""
    image = readable(rng, *size, low=0.2 * white, high=0.6 * white)
    # All errors are of one sign on average, so their variance is not the mean square.
    error = rng.uniform(-0.3 * noise * white, noise * white, size)
    return image, np.round(image + error, 2)


def _bytes(rng, *size):
    """Return two images of bytes; either is the larger one somewhere, by 20 or more."""
    image = rng.integers(60, 190, size)
    error = rng.integers(20, 60, size) * rng.permuted(
        np.resize([1, -1, 1], np.prod(size)).reshape(size)
    )
    return image.astype(np.uint8), (image + error).astype(np.uint8)


@psnr.cases(points=2, label=_("numbers, black at 0 and white at 10, 4 or 1"))
def grey(rng):
    yield Case(*_pair(rng, 2, 3, white=10.0), 10.0)
    yield Case(*_pair(rng, 3, 5, white=4.0), 4.0)
    yield Case(*_pair(rng, 5, 2), 1.0)


@psnr.cases(points=1, label=_("colours: the mean is over all numbers of the image"))
def colours(rng):
    for size, white in (((2, 5, 3), 2.0), ((5, 7, 3), 10.0)):
        image, other = _pair(rng, *size, white=white, noise=0.15)
        # The channels have errors of different sizes.
        yield Case(image, np.round(image + (other - image) * np.array([0.3, 1, 2]), 2), white)


@psnr.cases(points=1, label=_("bytes, from 0 to 255"))
def in_bytes(rng):
    yield Case(*_bytes(rng, 2, 3), 255)
    yield Case(*_bytes(rng, 5, 7, 3), 255)
    image, _other = _bytes(rng, 3, 5)
    yield Case(image, image + np.where(image % 2 == 0, 1, -1).astype(np.uint8), 255)
    # The square of a difference from 182 on does not fit into 16 bits with a sign.
    far = [[rng.integers(5, 15), 80, 240], [90, rng.integers(230, 250), 30]]
    near = [[240, 80 + rng.integers(9), 20], [90, 6, 200]]
    yield Case(np.array(far, dtype=np.uint8), np.array(near, dtype=np.uint8), 255)


@psnr.cases(points=1, label=_("equal images, and images that are almost equal"))
def equal(rng):
    image, _other = _pair(rng, 2, 3, white=5.0)
    yield Case(image, image.copy(), 5.0)
    image, _other = _bytes(rng, 3, 5)
    yield Case(image, image.copy(), 255)
    # Errors that are small, or that cancel.
    image, _other = _pair(rng, 2, 3, white=2.0)
    almost = image.copy()
    almost[1, 2] += 2.0**-10  # which single precision holds
    yield Case(image, almost, 2.0)
    image = rng.integers(4, 12, (2, 5)) / 4  # so that the differences sum to 0 exactly
    yield Case(image, image + np.array([[0.5], [-0.5]]), 5.0)


@psnr.variant
def logarithms_subtracted(image, other, data_range):
    error = np.square(np.subtract(image, other, dtype=np.float64)).mean()
    with np.errstate(divide="ignore"):
        return 20 * np.log10(data_range) - 10 * np.log10(error)


@psnr.variant
def by_the_root_of_the_error(image, other, data_range):
    root = np.linalg.norm(image.astype(float) - other.astype(float)) / np.sqrt(image.size)
    return np.inf if root == 0 else 20 * np.log10(data_range / root)


@psnr.variant
def psnr_in_torch(image, other, data_range):
    import torch

    first, second = torch.as_tensor(image).double(), torch.as_tensor(other).double()
    return 10 * torch.log10(data_range**2 / torch.nn.functional.mse_loss(first, second))
