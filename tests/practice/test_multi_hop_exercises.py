"""What is special to the exercises of page 06e; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["06e"]
SEEDS = range(20)
HOPS = ("chained_hops", "memory_hops")


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def all_real(*lengths):
    return [np.ones(n, dtype=bool) for n in lengths]


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_one_hop_is_right():
    words, facts = np.array([[0.0], [2.0]]), np.array([[0.0], [4.0]])
    W_q, W = log(3) * np.array([[1 / 2, 0.0]]), log(3) * np.array([[1 / 12, 1 / 8]])
    query, context, weights = reference("one_hop")(
        np.ones(1), np.ones(1), words, facts, *all_real(2, 2), W_q, W
    )
    np.testing.assert_allclose(query, [1.5])
    np.testing.assert_allclose(context, [3.0])
    np.testing.assert_allclose(weights, [0.25, 0.75])


def test_the_example_of_the_chain_is_right():
    words, facts = np.ones((1, 1)), np.array([[0.0], [4.0]])
    W_q, W = np.array([[5.0, -7.0]]), log(3) / 4 * np.array([[-1.0, 1.0]])
    query, context, weights = reference("chained_hops")(words, facts, *all_real(1, 2), W_q, W, 2)
    np.testing.assert_allclose(query, [1.0])
    np.testing.assert_allclose(context, [3.6])
    np.testing.assert_allclose(weights, [[0.25, 0.75], [0.1, 0.9]])


def test_the_example_of_the_memory_is_right():
    keys, values = np.array([[0.0], [log(3)]]), np.array([[0.0], [4.0]])
    u, weights = reference("memory_hops")(
        np.ones(1), keys, values, *all_real(2), np.array([[-1.0]]), 2
    )
    np.testing.assert_allclose(u, [1.6])
    np.testing.assert_allclose(weights, [[0.25, 0.75], [0.1, 0.9]])


# The cases are never blind.


@pytest.mark.parametrize("name", HOPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_hop_is_never_all_that_a_chain_is_asked_for(name, seed):
    """One hop cannot show whether hops are chained, so most cases have two or three."""
    for group in groups_of(name, seed)[:4]:
        assert max(case.args[-1] for case in group) >= 2


@pytest.mark.parametrize("name", HOPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_hops_of_a_chain_find_different_things(name, seed):
    for case in groups_of(name, seed)[0]:
        *_rest, weights = reference(name)(*case.args)
        assert np.abs(weights[1] - weights[0]).max() > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_words_as_facts(seed):
    for name, word_mask in (("one_hop", 4), ("chained_hops", 2)):
        masks = [case.args[word_mask : word_mask + 2] for case in drawn(name, seed)]
        assert all(words.shape[-1] != facts.shape[-1] for words, facts in masks)


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_and_values_of_a_memory_differ(seed):
    assert not any(np.array_equal(*case.args[1:3]) for case in drawn("memory_hops", seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_words_and_facts_can_be_left_out_of_a_padded_case(seed):
    """Axes of one length are cut together, so a padded case has a length of its own for each."""
    for name, first in (("one_hop", 2), ("chained_hops", 0)):
        for case in groups_of(name, seed)[1]:
            words, features, *_masks, W_q, _W = case.args[first : first + 6]
            lengths = [*words.shape, *features.shape, W_q.shape[-1]]
            assert len(set(lengths)) == len(lengths)
