"""SSIM of one window, with weights that are given."""

from math import inf

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def ssim_window(x, y, weights, data_range):
    if not 0 < data_range < inf or (weights < 0).any() or weights.sum() == 0:
        raise ValueError("a range above 0, and weights")  # where inputs are changed
    pixels = list(
        zip(*(part.ravel().tolist() for part in (weights, x, y)), strict=True)
    )  # weight and both
    total = sum(w for w, _x, _y in pixels)
    mu_x = sum(w * x_i for w, x_i, _y in pixels) / total
    mu_y = sum(w * y_i for w, _x, y_i in pixels) / total
    variance_x = sum(w * (x_i - mu_x) ** 2 for w, x_i, _y in pixels) / total
    variance_y = sum(w * (y_i - mu_y) ** 2 for w, _x, y_i in pixels) / total
    covariance = sum(w * (x_i - mu_x) * (y_i - mu_y) for w, x_i, y_i in pixels) / total
    c_1, c_2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    above = (2 * mu_x * mu_y + c_1) * (2 * covariance + c_2)
    return above / ((mu_x**2 + mu_y**2 + c_1) * (variance_x + variance_y + c_2))


def _weights(rng, *size):
    """Return weights with one decimal that differ from pixel to pixel and do not sum to 1."""
    return np.round(rng.uniform(0.2, 1.5, size), 1)


def _window(rng, *size, data_range=10.0, sign=1.0):
    """Return two dark windows whose pixels rise and fall together, or against each other."""
    x = readable(rng, *size, low=0.1, high=2.5)
    noise = readable(rng, *size, low=-0.4, high=0.4)
    y = np.round(1.8 + sign * 0.6 * (x - 1.2) + noise, 1)
    return Case(x, y, _weights(rng, *size), data_range)


@ssim_window.cases(points=2, label=_("two pixels, and windows that rise and fall together"))
def together(rng):
    # Two pixels that move in opposite directions: the covariance is negative, and easy to see.
    low, high = np.round(rng.uniform(0.1, 0.6, 2), 1), np.round(rng.uniform(1.5, 2.5, 2), 1)
    weights = np.array([[0.9, 0.3]])
    yield Case(np.array([[low[0], high[0]]]), np.array([[high[1], low[1]]]), weights, 10.0)
    yield _window(rng, 2, 3)
    yield _window(rng, 3, 5, data_range=20.0)
    yield _window(rng, 5, 2, data_range=5.0)


@ssim_window.cases(points=1, label=_("a window and its negative: SSIM is below 0"))
def against(rng):
    yield _window(rng, 2, 3, data_range=6.0, sign=-1.5)
    yield _window(rng, 3, 7, data_range=10.0, sign=-1.5)


@ssim_window.cases(points=1, label=_("numbers from 0 to 1 and from 0 to 255, a Gaussian window"))
def other_ranges(rng):
    for h, w, white in ((3, 5, 1.0), (7, 5, 255.0)):
        down, across = np.arange(h)[:, None] - h // 2, np.arange(w) - w // 2
        weights = np.exp(-(down**2 + across**2) / (2 * 1.5**2))
        x, y, _other, _range = _window(rng, h, w).args
        yield Case(np.round(x * white / 20, 3), np.round(y * white / 20, 3), weights, white)


@ssim_window.cases(points=1, label=_("flat windows, and weights of which most are 0"))
def flat(rng):
    dark, bright = 0.1 * rng.integers(1, 5), 0.1 * rng.integers(8, 15)
    yield Case(np.full((2, 3), dark), np.full((2, 3), bright), _weights(rng, 2, 3), 10.0)
    yield Case(np.zeros((3, 2)), np.full((3, 2), bright), _weights(rng, 3, 2), 10.0)
    case = _window(rng, 3, 5)
    case.args[2][:, 2:] = 0.0
    yield case


@ssim_window.variant
def by_moments(x, y, weights, data_range):
    mean = np.vectorize(lambda values: np.average(values, weights=weights), signature="(h,w)->()")
    mu_x, mu_y = mean(x), mean(y)
    variances = mean(x * x) - mu_x**2 + mean(y * y) - mu_y**2
    covariance = mean(x * y) - mu_x * mu_y
    c_1, c_2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    above = (2 * mu_x * mu_y + c_1) * (2 * covariance + c_2)
    return above / ((mu_x**2 + mu_y**2 + c_1) * (variances + c_2))


@ssim_window.variant
def by_a_covariance_matrix(x, y, weights, data_range):
    pixels = np.stack([x.ravel(), y.ravel()])
    mu = np.average(pixels, axis=1, weights=weights.ravel())
    covariances = np.cov(pixels, aweights=weights.ravel(), ddof=0)
    c_1, c_2 = (np.array([0.01, 0.03]) * data_range) ** 2
    brightness = (2 * mu.prod() + c_1) / ((mu**2).sum() + c_1)
    return brightness * (2 * covariances[0, 1] + c_2) / (np.trace(covariances) + c_2)


@ssim_window.variant
def ssim_window_in_torch(x, y, weights, data_range):
    import torch

    x, y, weights = (torch.as_tensor(part).double() for part in (x, y, weights))
    share = weights / weights.sum()
    mu_x, mu_y = (share * x).sum(), (share * y).sum()
    off_x, off_y = x - mu_x, y - mu_y
    c_1, c_2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    brightness = 1 - (mu_x - mu_y) ** 2 / (mu_x**2 + mu_y**2 + c_1)
    errors, squares = (share * (off_x - off_y) ** 2).sum(), (share * (off_x**2 + off_y**2)).sum()
    return brightness * (1 - errors / (squares + c_2))
