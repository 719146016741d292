"""What is special to the exercises of page 06c; what holds for all is in `tests/course`."""

from functools import partial
from math import cos, pi

import numpy as np
import pytest

from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["06c"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def checked(name, answer, seed):
    exercise = chapter.exercises[name]
    return exercise.check(exercise.local(answer), seed=seed, closer=True)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_waves_is_right():
    waves = reference("sinusoids")(np.array([pi, 0.0]), 4, 4.0)
    np.testing.assert_allclose(waves, [[0, -1, 1, 0], [0, 1, 0, 1]], atol=1e-12)


def test_the_example_of_the_rotation_is_right():
    turned = reference("rotate")(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([pi]), 4.0)
    np.testing.assert_allclose(turned, [[-1, -2, -4, 3]])


def test_the_example_of_the_biases_is_right():
    biases = reference("distance_bias")(2, np.array([40.0]), np.array([8.0, 40.0]))
    np.testing.assert_array_equal(biases, [[[-2, 0]], [[-0.125, 0]]])


@pytest.mark.parametrize("shift", [0, 100])
def test_the_example_of_the_two_conventions_is_right(shift):
    one = np.eye(4)[:1]
    product = reference("mixed_conventions")(one, one, np.array([5 + shift]), np.array([3 + shift]))
    np.testing.assert_allclose(product, [[cos(2)]])


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_are_integers_whole_floats_and_fractions(seed):
    positions = [case.args[0] for case in drawn("sinusoids", seed)]
    assert any(np.issubdtype(one.dtype, np.integer) for one in positions)
    assert any((one != np.round(one)).any() for one in positions)


def sinusoids(positions, d, base, dtype=float):
    angles = positions[..., None] / base ** (np.arange(0, d, 2) / d)
    waves = np.zeros((*positions.shape, d), dtype)
    waves[..., 0::2], waves[..., 1::2] = np.sin(angles), np.cos(angles)
    return waves


def of_the_type_of_the_positions(positions, d, base):
    return sinusoids(positions, d, base, positions.dtype)


def at_whole_positions(positions, d, base):
    return sinusoids(positions.astype(int), d, base)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (of_the_type_of_the_positions, "waves_of_the_type_of_the_positions"),
        (at_whole_positions, "positions_cut_to_whole_numbers"),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_waves_and_positions_cut_to_whole_numbers_do_not_pass(answer, name, seed):
    assert checked("sinusoids", sinusoids, seed).verdict is Verdict.PASSED
    assert checked("sinusoids", answer, seed).mistake.name == name


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("sinusoids", (np.arange(2), 3, 10.0), "even"),
        ("sinusoids", (np.arange(2), 4, 1.0), "above 1"),
        ("rotate", (np.ones((2, 3)), np.arange(2), 10.0), "even"),
        ("rotate", (np.ones((2, 4)), np.arange(3), 10.0), "position"),
        ("rotate", (np.ones((2, 4)), np.arange(2), 1.0), "above 1"),
        ("distance_bias", (3, np.arange(2), np.arange(2)), "power of two"),
        ("distance_bias", (0, np.arange(2), np.arange(2)), "power of two"),
        ("mixed_conventions", (*np.ones((2, 2, 3)), np.arange(2), np.arange(2)), "even"),
        ("mixed_conventions", (*np.ones((2, 2, 4)), np.arange(2), np.arange(3)), "position"),
        ("mixed_conventions", (np.ones((2, 4)), np.ones((2, 6)), *np.ones((2, 2))), "width"),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)


def test_the_features_of_an_example_come_in_pairs():
    def one_table(features, positions, base):
        _n, _d = features.shape
        return reference("rotate")(features, positions, base)

    result = checked("rotate", one_table, seed=0)
    shown = next(group.failure for group in result.groups if group.failure)
    assert shown.arguments["features"].shape[-1] % 2 == 0
