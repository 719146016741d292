"""What is special to the exercises of page 08c; what holds for all is in `tests/course`."""

from functools import partial
from math import inf, log10

import numpy as np
import pytest

from attn_course import evaluation
from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["08c"]
SEEDS = range(20)

reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_psnr_is_right():
    decibels = reference("psnr")(np.array([[0.0, 3.0]]), np.array([[0.0, 2.0]]), 10)
    assert decibels == pytest.approx(10 * log10(200))
    assert round(decibels, 2) == 23.01


def test_the_example_of_a_window_is_right():
    x, y, weights = np.array([[0.0, 8.0]]), np.array([[10.0, 2.0]]), np.array([[3.0, 1.0]])
    similarity = reference("ssim_window")(x, y, weights, 100)
    assert similarity == pytest.approx(-5 / 23)
    assert round(similarity, 4) == -0.2174


def test_the_example_of_regions_is_right():
    masks = np.array([[[1, 1, 1, 0]], [[0, 0, 0, 0]]], dtype=bool)
    others = np.array([[[0, 1, 1, 0]], [[0, 0, 0, 0]]], dtype=bool)
    assert reference("iou")(masks, others, 1.0) == pytest.approx((5 / 6, 2 / 3))


def test_the_example_of_classes_is_right():
    truth, predicted = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 0, 1, 1])
    scores = reference("macro_f1")(truth, predicted, 2, 0.0)
    assert scores == pytest.approx((16 / 21, 21 / 26))
    assert tuple(round(score, 4) for score in scores) == (0.7619, 0.8077)


# The exercises ask for what the package and the libraries compute.


@pytest.mark.parametrize("seed", range(3))
def test_the_package_has_the_same_psnr(seed):
    for case in drawn("psnr", seed):
        image, other, data_range = case.args
        expected = evaluation.psnr(image, other, data_range=data_range)
        assert reference("psnr")(*case.args) == pytest.approx(expected)


def test_a_gaussian_window_is_the_package_s():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (2, 11, 11))
    offsets = np.arange(11) - 5
    weights = np.exp(-(offsets[:, None] ** 2 + offsets**2) / (2 * 1.5**2))
    similarity = reference("ssim_window")(x, y, weights, 1.0)
    assert similarity == pytest.approx(evaluation.ssim(x, y, data_range=1.0))


@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_has_the_same_scores(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    for case in drawn("macro_f1", seed):
        truth, predicted, n_classes, zero_division = case.args
        if zero_division == 0.5:  # scikit-learn allows 0 and 1
            continue
        options = {
            "labels": range(n_classes),
            "average": "macro",
            "zero_division": zero_division,
        }
        precision, recall, f1, _support = metrics.precision_recall_fscore_support(
            truth, predicted, **options
        )
        means = precision + recall
        of_means = 2 * precision * recall / means if means else 0.0
        assert reference("macro_f1")(*case.args) == pytest.approx((f1, of_means))


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_white_is_no_number_of_the_images(seed):
    """Else a range that is read off the image would pass."""
    for case in drawn("psnr", seed):
        image, other, data_range = case.args
        assert max(image.max(), other.max()) < data_range


@pytest.mark.parametrize("seed", SEEDS)
def test_white_is_not_1_in_all_cases_of_a_group(seed):
    for name in ("psnr", "ssim_window"):
        for group in groups_of(name, seed):
            assert any(case.args[-1] != 1 for case in group)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_group_has_equal_images_alone(seed):
    for group in groups_of("psnr", seed):
        assert any(reference("psnr")(*case.args) < inf for case in group)


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_would_wrap_around(seed):
    for case in groups_of("psnr", seed)[2]:
        image, other, _white = case.args
        assert image.dtype == other.dtype == np.uint8
        assert (image < other).any()
        assert (image > other).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_window_and_its_negative_score_below_zero(seed):
    for case in groups_of("ssim_window", seed)[1]:
        assert reference("ssim_window")(*case.args) < -0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_window_has_a_negative_covariance(seed):
    """Then the product of the standard deviations is another number, with two pixels already."""
    x, y, weights, _white = groups_of("ssim_window", seed)[0][0].args
    assert x.shape == (1, 2)
    assert np.cov(x, y, aweights=weights[0], ddof=0)[0, 1] < -0.1


@pytest.mark.parametrize("white", [1e4, 1e5])
def test_a_large_range_makes_all_windows_similar(white):
    """The question of the sliders expects it."""
    for case in drawn("ssim_window", 0):
        x, y, weights, own = case.args
        if own < 100:
            assert reference("ssim_window")(x, y, weights, white) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_constants_of_ssim_can_be_seen(seed):
    """The first group has dark windows, where a tenth of the range changes the result."""
    for case in groups_of("ssim_window", seed)[0]:
        *windows, white = case.args
        right = reference("ssim_window")(*windows, white)
        assert abs(right - reference("ssim_window")(*windows, white / 10)) > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_over_images_is_not_the_pooled_iou(seed):
    for group in groups_of("iou", seed)[:3]:
        for case in group:
            mean, pooled = reference("iou")(*case.args)
            assert abs(mean - pooled) > 1e-3 or len(case.args[0]) == 1
        assert any(len(case.args[0]) > 1 for case in group)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_macro_f1_differ_in_every_group(seed):
    for group in groups_of("macro_f1", seed):
        found = [reference("macro_f1")(*case.args) for case in group]
        assert max(abs(one - other) for one, other in found) > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_f1_of_the_means_is_never_the_smaller_one(seed):
    """The explanation of the solution says so."""
    for case in drawn("macro_f1", seed):
        of_f1, of_means = reference("macro_f1")(*case.args)
        assert of_means >= of_f1 - 1e-12
