"""What is special to the exercises of page 08d; what holds for all is in `tests/course`."""

from functools import partial
from math import comb

import numpy as np
import pytest
from scipy.stats import fisher_exact

from attn_course.evaluation.ablation import uniform_weights
from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["08d"]
SEEDS = range(20)

reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_uniform_weights_is_right():
    values = np.array([[3.0], [6.0], [12.0]])
    mask = np.array([[True, True, False], [True, True, True]])
    contexts, weights = reference("uniform_ablation")(np.full((2, 3), np.nan), values, mask)
    np.testing.assert_allclose(contexts, [[4.5], [7.0]])
    np.testing.assert_allclose(weights, [[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])


def test_the_example_of_the_seeds_is_right():
    with_it, without = np.array([0.9, 0.9, 0.8]), np.array([0.9, 0.2, 0.1, 0.3])
    solved, other, p = reference("seeds_that_solve")(with_it, without, 0.8)
    assert (solved, other) == (3, 1)
    assert p == pytest.approx(1 / 7)


def test_the_example_of_the_removed_head_is_right():
    heads = np.array([[[2.0]], [[3.0]]])
    W_O = np.array([[1.0, 10.0], [100.0, 1000.0]])
    found = reference("sliced_after_projection")(heads, W_O, np.ones(2), 0)
    np.testing.assert_allclose(found, [[301.0, 3001.0]])
    everything = np.array([[2.0, 3.0]]) @ W_O + 1
    assert everything[0, 1] == 3021.0  # what the function as handed out leaves of it


# The references agree with what they are definitions of.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_weights_are_those_of_the_package(seed):
    for scores, values, mask in (case.args for case in drawn("uniform_ablation", seed)):
        _contexts, weights = reference("uniform_ablation")(scores, values, mask)
        np.testing.assert_allclose(weights, uniform_weights(scores, mask))


@pytest.mark.parametrize("seed", SEEDS)
def test_p_is_that_of_scipy(seed):
    for mechanism, ablation, line in (case.args for case in drawn("seeds_that_solve", seed)):
        a, b, p = reference("seeds_that_solve")(mechanism, ablation, line)
        table = [[a, len(mechanism) - a], [b, len(ablation) - b]]
        assert p == pytest.approx(fisher_exact(table).pvalue)


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_every_mask_hides_something_and_no_two_axes_have_the_same_length(seed):
    for scores, values, mask in (case.args for case in drawn("uniform_ablation", seed)):
        assert not mask.all()
        sizes = (*scores.shape, values.shape[-1])
        assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_may_see_different_numbers_of_keys(seed):
    for case in groups_of("uniform_ablation", seed)[0]:
        assert len(set(case.args[2].sum(axis=-1))) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_score_of_an_allowed_key_is_infinite_and_another_is_nan(seed):
    cases = groups_of("uniform_ablation", seed)[2]
    allowed = [scores[mask] for scores, _values, mask in (case.args for case in cases)]
    assert any(np.isinf(scores).any() for scores in allowed)
    assert any(np.isnan(scores).any() for scores in allowed)


@pytest.mark.parametrize("seed", SEEDS)
def test_twice_one_side_is_not_the_answer_to_every_case(seed):
    """With equally many seeds the two sides are mirror images, so the first group has others."""
    for case in groups_of("seeds_that_solve", seed)[0]:
        assert len(case.args[0]) != len(case.args[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_an_outcome_is_exactly_as_probable_as_the_observed_one_on_the_same_side(seed):
    """Such a tie is no mirror image, so probabilities that are rounded need not be equal."""
    mechanism, ablation, line = groups_of("seeds_that_solve", seed)[0][-1].args
    n, m = len(mechanism), len(ablation)
    a, b, p = reference("seeds_that_solve")(mechanism, ablation, line)
    assert comb(n, a) * comb(m, b) == comb(n, a + 2) * comb(m, b - 2)
    assert 2 * (a + b) != n + m != 2 * n
    assert p == pytest.approx((165 + 165 + 20) / 680)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_that_some_query_may_see_is_finite(seed):
    for _scores, values, mask in (case.args for case in drawn("uniform_ablation", seed)):
        assert np.isfinite(values[mask.any(axis=-2)]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_each_variant_has_a_score_on_the_line_and_one_that_is_nan(seed):
    cases = [case.args for case in groups_of("seeds_that_solve", seed)[2]]
    for variant in (0, 1):
        assert any((case[variant] == case[2]).any() for case in cases)
        assert any(np.isnan(case[variant]).any() for case in cases)


@pytest.mark.parametrize("seed", SEEDS)
def test_heads_are_mixed_and_the_bias_counts(seed):
    for heads, W_O, b, _head in (case.args for case in drawn("sliced_after_projection", seed)):
        assert heads.shape[-3] > 1
        assert (W_O != 0).all()
        assert (b != 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_has_heads_wider_than_one(seed):
    """Heads of width 1 cannot show which entries of the joined contexts belong to a head."""
    for group in groups_of("sliced_after_projection", seed):
        assert max(case.args[0].shape[-1] for case in group) > 1
