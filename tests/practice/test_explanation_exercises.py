"""What is special to the exercises of page 08f; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.evaluation import divergences as package
from attn_course.practice.exercises import chapters
from attn_course.running_example import WORDS, features
from tests.practice import drawn_cases

chapter = chapters()["08f"]
SEEDS = range(10)

reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)

LOG_3 = np.array([[0.0], [log(3)]])  # two classes, the second three times as likely for each step


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_divergences_is_right():
    tvd, jsd = reference("divergences")(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))
    assert tvd == 0.5
    assert round(float(jsd), 4) == 0.3466
    assert np.isclose(jsd, log(2) / 2)


def test_the_example_of_leaving_one_out_is_right():
    values = np.array([[0.0], [2.0]])
    np.testing.assert_allclose(reference("leave_one_out")(values, np.zeros(2), LOG_3), [0.15, 0.25])


def test_the_example_of_the_permutations_is_right():
    values, weights = np.array([[0.0], [2.0], [4.0]]), np.array([0.5, 0.5, 0.0])
    permutations = np.array([[1, 0, 2], [0, 2, 1], [2, 0, 1]])
    test = partial(reference("permutation_test"), values, weights, LOG_3)
    assert np.isclose(test(permutations), 0.15)
    each = [float(test(permutations[[i]])) for i in range(3)]
    np.testing.assert_allclose(each, [0.0, 0.15, 0.2143], atol=5e-5)


def test_the_example_of_the_adversary_is_right():
    values, weights = np.array([[0.0], [1.0], [3.0]]), np.array([0.5, 0.3, 0.2])
    found = reference("null_space_adversary")(values, weights)
    np.testing.assert_allclose(found, [0.1, 0.9, 0.0], atol=1e-12)
    assert np.isclose(weights @ values, 0.9)
    assert np.isclose(found @ values, 0.9)


# The references agree with the package.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_divergences_are_those_of_the_package(seed):
    for case in drawn("divergences", seed):
        tvd, jsd = reference("divergences")(*case.args)
        np.testing.assert_allclose(tvd, package.tvd(*case.args), atol=1e-12)
        np.testing.assert_allclose(jsd, package.jsd(*case.args), atol=1e-12)


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_zeros_are_in_one_distribution_and_in_both(seed):
    for group in groups_of("divergences", seed)[:2]:
        assert all((part > 0).all() for case in group for part in case.args)
    one, other = groups_of("divergences", seed)[2][-1].args
    assert ((one == 0) & (other == 0)).any()
    assert ((one == 0) & (other > 0)).any()
    _tvd, jsd = reference("divergences")(one, other)
    assert np.isclose(jsd[0], log(2))  # no entry in both
    assert jsd[1] == 0  # the same twice


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_moves_a_prediction(seed):
    for group in groups_of("leave_one_out", seed):
        assert max(reference("leave_one_out")(*case.args).max() for case in group) > 0.01


@pytest.mark.parametrize("seed", SEEDS)
def test_one_token_has_all_the_weight_where_scores_are_far_apart(seed):
    """1 minus the largest weight is 0; where the gap is larger, so is every other weight."""
    gaps = []
    for case in groups_of("leave_one_out", seed)[2]:
        ordered = np.sort(case.args[1])
        gaps.append(ordered[-1] - ordered[-2])
    assert 50 < min(gaps) < 100
    assert max(gaps) > 900


@pytest.mark.parametrize("name", ["leave_one_out", "permutation_test"])
def test_an_example_is_never_made_smaller_than_two_classes(name):
    """With one class every prediction is 1, so that any answer of zeros would be right."""
    values, weights, W, *rest = drawn(name, 0)[0].args
    with pytest.raises(ValueError, match="one class"):
        reference(name)(values, weights, W[:1], *rest)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_permutation_is_never_the_identity_and_some_are_not_their_own_inverse(seed):
    for case in drawn("permutation_test", seed):
        _values, weights, _W, permutations = case.args
        there = np.arange(weights.shape[-1])
        assert (permutations != there).any(axis=-1).all()
        assert (permutations[0][permutations[0]] != there).any()
        assert (np.ptp(weights, axis=-1) > 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_permutation_is_never_all_there_is(seed):
    numbers = [
        [len(case.args[-1]) for case in group] for group in groups_of("permutation_test", seed)
    ]
    assert all(max(group) > 1 for group in numbers)
    assert all(number % 2 == 0 for number in numbers[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_an_adversary_has_the_same_context_and_is_a_distribution(seed):
    for case in drawn("null_space_adversary", seed):
        values, weights = case.args
        found = reference("null_space_adversary")(values, weights)
        np.testing.assert_allclose(found @ values, weights @ values, atol=1e-9)
        assert np.isclose(found.sum(), 1)
        assert found.min() > -1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_the_end_with_the_larger_jsd_is_sometimes_the_nearer_one(seed):
    def both_ends(values, weights):
        u = np.linalg.svd(np.vstack([values.T, np.ones(len(values))]))[2][-1]
        for way in (u, -u):
            yield weights + (weights[way < 0] / -way[way < 0]).min() * way

    surprises = 0
    for case in groups_of("null_space_adversary", seed)[1]:
        _values, weights = case.args
        ends = [np.maximum(end, 0.0) for end in both_ends(*case.args)]
        by_tvd = np.argmax([package.tvd(weights, end) for end in ends])
        surprises += by_tvd != np.argmax([package.jsd(weights, end) for end in ends])
    assert surprises >= 1


def test_no_entry_of_the_direction_is_zero_for_the_words_of_the_notebook():
    meanings = np.array([[0, 0, 1], [2, 0, 0], [0, 2, 0], [0, 1, 2], [2, 1, 0]], dtype=float)
    words = [WORDS.index(word) for word in ("the", "cat", "drinks", "warm", "milk")]
    np.testing.assert_array_equal(meanings, features()[words])
    u = np.array([2, -3, -1, -1, 3])
    np.testing.assert_array_equal(u @ meanings, 0)
    assert u.sum() == 0
    found = reference("null_space_adversary")(meanings, np.array([0.06, 0.51, 0.19, 0.20, 0.04]))
    np.testing.assert_allclose(found, [0.4, 0.0, 0.02, 0.03, 0.55], atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_adversary_moves_except_where_it_cannot(seed):
    *others, one_token = groups_of("null_space_adversary", seed)
    *moving, still = [*(case for group in others for case in group), *one_token]
    for case in moving:
        assert np.abs(reference("null_space_adversary")(*case.args) - case.args[1]).sum() > 0.1
    assert np.array_equal(reference("null_space_adversary")(*still.args), still.args[1])


@pytest.mark.parametrize("name", ["leave_one_out", "permutation_test"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_axis_has_its_own_size(name, seed):
    for case in drawn(name, seed):
        values, _weights, W, *permutations = case.args
        sizes = [*values.shape, len(W), *(len(part) for part in permutations)]
        assert len(set(sizes)) == len(sizes)
