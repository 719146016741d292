"""What is special to the exercises of page 03e; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["03e"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_answers_to_the_prediction_are_right():
    answers = [4 / 5, 1, 3, 1 / 5, 1 / 4, 1 / 8, 3 / 2]
    np.testing.assert_allclose(reference("exact_zeros"), answers)


def test_the_example_of_the_prediction_is_right():
    weights = reference("sparsemax")(np.array([[0.2, 0.0]]), np.ones((1, 2), dtype=bool))
    np.testing.assert_allclose(weights, [[0.6, 0.4]])


@pytest.mark.parametrize(
    ("mask", "weights"),
    [([True, True, True], [[0.6, 0.4, 0.0]]), ([False, True, True], [[0.0, 1.0, 0.0]])],
)
def test_the_examples_of_sparsemax_are_right(mask, weights):
    found = reference("sparsemax")(np.array([[1.0, 0.8, -1.0]]), np.array([mask]))
    np.testing.assert_allclose(found, weights)
    assert [(1.0 - 1) / 1, (1.8 - 1) / 2, round((0.8 - 1) / 3, 2)] == [0.0, 0.4, -0.07]


def test_the_example_of_the_subset_is_right():
    kept, log_p, gradient = reference("select_subset")(
        np.array([log(3), 0.0]), np.array([0.2, 0.9]), np.ones(2, dtype=bool), 2.0, 1.0, 1.0
    )
    assert kept.tolist() == [True, False]
    assert np.isclose(log_p, log(3 / 8))
    assert round(float(log_p), 3) == -0.981
    np.testing.assert_allclose(gradient, [0.125, -0.25])


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_sparsemax_keeps_several_keys_and_drops_some_in_every_first_case(seed):
    """With one key kept it is a maximum, and with all of them no weight is 0."""
    for group in groups_of("sparsemax", seed):
        scores, mask = group[0].args
        kept = (reference("sparsemax")(scores, mask) > 0).sum(axis=-1)
        assert kept.max() >= 2 or mask.sum(axis=-1).max() < 3
    for case in groups_of("sparsemax", seed)[0][:2]:
        scores, mask = case.args
        kept = (reference("sparsemax")(scores, mask) > 0).sum(axis=-1)
        assert (kept >= 2).all()
        assert (kept < mask.sum(axis=-1)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_queries_as_keys(seed):
    shapes = [case.args[0].shape for case in drawn("sparsemax", seed)]
    assert all(queries != keys for *_batch, queries, keys in shapes)


@pytest.mark.parametrize("seed", SEEDS)
def test_rounding_never_decides_which_keys_are_drawn(seed):
    for case in drawn("select_subset", seed):
        logits, u, mask, *_rest = case.args
        apart = np.abs(u - 1 / (1 + np.exp(-logits)))[mask & (logits != 0)]
        assert (apart > 0.01).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_subsets_are_neither_empty_nor_whole(seed):
    for group in groups_of("select_subset", seed)[:2]:
        for case in group:
            kept, _log_p, gradient = reference("select_subset")(*case.args)
            assert kept.any(axis=-1).all()
            assert not kept.all(axis=-1).any()
            assert np.abs(gradient).max() > 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_the_draw_of_padding_is_below_the_probability_of_its_logit(seed):
    """Else nobody would notice that padding is kept."""
    logits, u, mask, *_rest = groups_of("select_subset", seed)[2][0].args
    assert (u < 1 / (1 + np.exp(-logits)))[~mask].all()
