"""What is special to the exercises of page 06a; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["06a"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_decoder_is_right():
    matrices = np.array([[log(3) / 2]]), np.array([[100.0]]), np.array([[-100.0]])
    source = np.array([[0.0], [2.0]])
    contexts, weights = reference("decoder_query")(
        np.ones(1), source, np.ones(2, dtype=bool), *matrices, 2
    )
    np.testing.assert_allclose(contexts, [[1.5], [0.5]])
    np.testing.assert_allclose(weights, [[0.25, 0.75], [0.75, 0.25]])


def test_the_example_of_the_mean_is_right():
    words, features = np.array([[1.0], [3.0], [9.0]]), np.array([[0.0], [2.0], [9.0]])
    W = np.array([[log(3) / 4]])
    query, context, weights = reference("mean_query")(words, 2, features, 2, W)
    np.testing.assert_allclose(query, [2.0])
    np.testing.assert_allclose(context, [1.5])
    np.testing.assert_allclose(weights, [0.25, 0.75, 0.0])


def test_the_hint_counts_the_types_right():
    answers = reference("whose_query")
    counted = {name: answers.count(name) for name in ("basic", "self-attentive", "specialised")}
    assert counted == {"basic": 2, "self-attentive": 2, "specialised": 3}


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_a_decoder_always_takes_two_steps_or_more(seed):
    """After a single step it does not matter what becomes of the state."""
    assert all(case.args[-1] >= 2 for case in drawn("decoder_query", seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_steps_as_words(seed):
    assert all(case.args[-1] != case.args[2].shape[-1] for case in drawn("decoder_query", seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_question_and_text_of_a_batch_differ_in_their_lengths(seed):
    batches = [case.args for case in drawn("mean_query", seed) if np.ndim(case.args[1])]
    assert batches
    for words, n_words, features, n_features, _W in batches:
        assert words.shape[-2] != features.shape[-2]
        assert len(set(n_words.flat)) > 1
        assert len(set(n_features.flat)) > 1
        assert (n_words < words.shape[-2]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_some_question_has_no_word_some_one_and_some_text_no_feature(seed):
    cases = [case.args for case in drawn("mean_query", seed)]
    assert {0, 1} <= {int(n) for args in cases for n in np.ravel(args[1])}
    assert 0 in {int(n) for args in cases for n in np.ravel(args[3])}


# What a learner is shown obeys the task, also where the input was made smaller.


@pytest.mark.parametrize("lengths", [(4, 2), (2, 6), (-1, 2)])
def test_a_mean_of_more_rows_than_there_are_is_refused(lengths):
    n_words, n_features = lengths
    words, features, W = np.ones((3, 2)), np.ones((5, 2)), np.ones((2, 2))
    with pytest.raises(ValueError, match=r"3 rows|5 rows"):
        reference("mean_query")(words, n_words, features, n_features, W)


MEAN_MISTAKES = {mistake.name: mistake for mistake in chapter.exercises["mean_query"].mistakes}


@pytest.mark.parametrize("name", ["every_word_asks", "W_transposed", "padding_in_the_sum"])
def test_the_smallest_question_has_as_many_rows_as_it_says(name):
    exercise = chapter.exercises["mean_query"]
    wrong = exercise.local(MEAN_MISTAKES[name].answer)
    shown = exercise.check(wrong, seed=0, closer=True).failure.arguments
    assert np.all(shown["n_words"] <= shown["words"].shape[-2])
    assert np.all(shown["n_features"] <= shown["features"].shape[-2])
