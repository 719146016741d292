"""PSNR and SSIM against scikit-image and the definition of one window in loops."""

import re
from math import inf

import numpy as np
import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from attn_course.definitions import evaluation as definition
from attn_course.evaluation.images import psnr, ssim, ssim_map

H, W = 17, 23


def two_images(seed=0, shape=(H, W)):
    rng = np.random.default_rng(seed)
    image = rng.uniform(0, 255, shape)
    return image, np.clip(image + rng.normal(0, 30, shape), 0, 255)


def assert_ssim_is_that_of_scikit_image(image, other, data_range, **theirs):
    wanted, whole = structural_similarity(
        image,
        other,
        data_range=data_range,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        full=True,
        **theirs,
    )
    assert ssim(image, other, data_range=data_range) == pytest.approx(wanted, abs=1e-9)
    inside = whole[..., 5:-5, 5:-5]
    np.testing.assert_allclose(ssim_map(image, other, data_range=data_range), inside, atol=1e-9)


@pytest.mark.agrees("evaluation.ssim", "scikit-image")
@pytest.mark.agrees("evaluation.psnr", "scikit-image")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("data_range", [255, 1.0])
def test_ssim_and_psnr_agree_with_scikit_image(seed, data_range):
    image, other = (x * data_range / 255 for x in two_images(seed))
    assert_ssim_is_that_of_scikit_image(image, other, data_range)
    wanted = peak_signal_noise_ratio(image, other, data_range=data_range)
    assert psnr(image, other, data_range=data_range) == pytest.approx(wanted)


def test_bytes_do_not_overflow():
    image, other = (x.astype(np.uint8) for x in two_images())
    wanted = peak_signal_noise_ratio(image, other, data_range=255)
    assert psnr(image, other, data_range=255) == pytest.approx(wanted)
    floats = image.astype(float), other.astype(float)
    assert ssim(image, other, data_range=255) == ssim(*floats, data_range=255)


@pytest.mark.agrees("evaluation.ssim", "scikit-image")
def test_channels_are_averaged_over():
    image, other = two_images(shape=(3, H, W))
    assert_ssim_is_that_of_scikit_image(image, other, 255, channel_axis=0)
    assert ssim_map(image, other, data_range=255).shape == (3, H - 10, W - 10)


@pytest.mark.agrees("evaluation.ssim", "scikit-image")
@pytest.mark.parametrize("size", [3, 7])
def test_a_uniform_window_agrees_with_scikit_image(size):
    image, other = two_images()
    wanted = structural_similarity(
        image, other, data_range=255, win_size=size, use_sample_covariance=False
    )
    ours = ssim(image, other, data_range=255, window="uniform", size=size)
    assert ours == pytest.approx(wanted, abs=1e-9)


@pytest.mark.agrees("evaluation.ssim_map", "definitions.evaluation.ssim_window")
@pytest.mark.parametrize(("size", "sigma"), [(11, 1.5), (5, 0.7)])
def test_each_window_agrees_with_its_definition_in_loops(size, sigma):
    image, other = two_images(shape=(13, 17))
    windows = ssim_map(image, other, data_range=255, size=size, sigma=sigma)
    assert windows.shape == (13 - size + 1, 17 - size + 1)
    for i, j in np.ndindex(windows.shape):
        x, y = (a[i : i + size, j : j + size].tolist() for a in (image, other))
        assert windows[i, j] == pytest.approx(definition.ssim_window(x, y, 255, sigma))


def test_pytorch_gives_the_same_and_a_gradient():
    image, other = two_images()
    x, y = torch.from_numpy(image).requires_grad_(), torch.from_numpy(other)
    assert ssim(x.detach(), y, data_range=255) == pytest.approx(ssim(image, other, data_range=255))
    assert psnr(x.detach(), y, data_range=255) == pytest.approx(psnr(image, other, data_range=255))
    ssim_map(x, y, data_range=255).mean().backward()
    assert x.grad.abs().sum() > 0


def test_equal_images_have_ssim_1_and_infinite_psnr():
    image, _ = two_images()
    assert ssim(image, image.copy(), data_range=255) == pytest.approx(1)
    assert psnr(image, image.copy(), data_range=255) == inf


@pytest.mark.parametrize("seed", range(5))
def test_both_are_symmetric_and_ssim_of_different_images_is_below_1(seed):
    image, other = two_images(seed)
    for score in (ssim, psnr):
        there, back = score(image, other, data_range=255), score(other, image, data_range=255)
        assert there == pytest.approx(back)
    assert ssim(image, other, data_range=255) < 1


def test_where_psnr_misleads_ssim_tells_a_lighter_image_from_one_with_a_grid():
    image = np.add.outer(np.arange(32), np.arange(32)) * 2.0 + 50
    grid = np.where(np.indices((32, 32)).sum(axis=0) % 2, 10.0, -10.0)
    lighter = psnr(image, image + 10, data_range=255)
    assert lighter == pytest.approx(psnr(image, image + grid, data_range=255))
    assert ssim(image, image + 10, data_range=255) > 0.99
    assert ssim(image, image + grid, data_range=255) < 0.5


def test_where_ssim_misleads_stripes_that_move_by_one_pixel_are_their_negative():
    stripes = np.tile([0.0, 1.0], (32, 16))
    assert ssim(stripes, np.roll(stripes, 1, axis=1), data_range=1) < -0.9
    assert ssim(stripes, np.full((32, 32), 0.5), data_range=1) > -0.1


IMAGE = np.ones((H, W))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: psnr(IMAGE, IMAGE.T, data_range=1), "other must be the shape of image = (17, 23)"),
        (lambda: ssim(IMAGE, IMAGE[:5], data_range=1), "but is (5, 23)"),
        (lambda: psnr(IMAGE[:0], IMAGE[:0], data_range=1), "the images have no pixels"),
        (lambda: psnr(IMAGE, IMAGE, data_range=0), "data_range must be above 0, but is 0"),
        (lambda: psnr([[1.0]], IMAGE, data_range=1), "image must be an array"),
        (lambda: psnr(IMAGE, torch.ones(H, W), data_range=1), "must come from one library"),
        (lambda: ssim(IMAGE, IMAGE, data_range=1, size=4), "size must be odd"),
        (lambda: ssim(IMAGE, IMAGE, data_range=1, sigma=0), "sigma must be above 0, but is 0"),
        (lambda: ssim(IMAGE, IMAGE, data_range=1, window="flat"), "one of gaussian, uniform"),
        (lambda: ssim(IMAGE[0], IMAGE[0], data_range=1), "image must be (..., h, w)"),
        (
            lambda: ssim(np.ones((H, W, 3)), np.ones((H, W, 3)), data_range=1),
            "Give a smaller size, or move the channels to the front",
        ),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def test_another_sigma_agrees_with_scikit_image_if_the_size_is_the_one_it_derives():
    image, other = two_images()
    options = dict(data_range=255, gaussian_weights=True, use_sample_covariance=False)
    wanted = structural_similarity(image, other, sigma=2.0, **options)
    size = 2 * int(3.5 * 2.0 + 0.5) + 1
    assert ssim(image, other, data_range=255, sigma=2.0, size=size) == pytest.approx(wanted)
    assert ssim(image, other, data_range=255, sigma=2.0) != pytest.approx(wanted, abs=1e-6)
    assert "2 int(3.5 sigma + 0.5) + 1" in ssim.__doc__
