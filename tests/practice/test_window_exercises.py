"""What is special to the exercises of page 10c; what holds for all is in `tests/course`."""

from functools import partial

import numpy as np
import pytest

from attn_course import alignment
from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["10c"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)


def checked(name, answer, seed):
    exercise = chapter.exercises[name]
    return exercise.check(exercise.local(answer), seed=seed, closer=True)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_window_is_right():
    mask = reference("window_mask")(np.array([5]), np.arange(7), 3, 1)
    assert mask.tolist() == [[True, False, False, True, True, True, False]]


@pytest.mark.parametrize(
    ("sink", "may", "weights"),
    [
        (0.0, [True, True], [1 / 3, 1 / 3]),
        (0.0, [True, False], [1 / 2, 0]),
        (np.log(2), [True, True], [1 / 4, 1 / 4]),
    ],
)
def test_the_examples_of_the_sink_are_right(sink, may, weights):
    found = reference("with_sink")(np.zeros((1, 1, 2)), np.array([may]), np.array([sink]))
    np.testing.assert_allclose(found, [[weights]])


def as_handed_out(scores):
    m = np.maximum(scores.max(axis=-1, keepdims=True), 0)
    exponentials = np.exp(scores - m)
    total = 1 + exponentials.sum(axis=-1, keepdims=True)
    return exponentials / total, (1 / total)[..., 0]


def test_the_example_of_the_bug_is_right_and_so_is_what_the_bug_returns():
    scores = np.log([2.0, 3.0])
    weights, rest = reference("one_not_scaled")(scores)
    np.testing.assert_allclose([*weights, rest], [2 / 6, 3 / 6, 1 / 6])
    weights, rest = as_handed_out(scores)
    np.testing.assert_allclose([*weights, rest], [1 / 4, 3 / 8, 3 / 8])


# The references agree with the package.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_references_agree_with_the_package(seed):
    for case in drawn("window_mask", seed):
        i, j, width, sinks = case.args
        wanted = alignment.sliding_window_mask(i, j, width=width, sinks=sinks)
        np.testing.assert_array_equal(reference("window_mask")(*case.args), wanted)
    for case in drawn("with_sink", seed):
        scores, mask, sink = case.args
        wanted = alignment.softmax_with_sink(scores, mask, sink[:, None, None])
        np.testing.assert_allclose(reference("with_sink")(*case.args), wanted, atol=1e-12)
    for case in drawn("one_not_scaled", seed):
        (scores,) = case.args
        weights, rest = reference("one_not_scaled")(scores)
        wanted = alignment.softmax_off_by_one(np.atleast_2d(scores)).reshape(scores.shape)
        np.testing.assert_allclose(weights, wanted, atol=1e-12)
        np.testing.assert_allclose(rest, 1 - wanted.sum(axis=-1), atol=1e-12)


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_in_every_group_a_key_is_hidden_because_it_is_too_far_back(seed):
    for group in groups_of("window_mask", seed):
        assert any(_hides_the_past(*case.args) for case in group)


def _hides_the_past(i, j, width, sinks):
    mask = reference("window_mask")(i, j, width, sinks)
    past = j[..., None, :] <= i[..., :, None]
    return (past & ~mask).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_are_not_always_places_and_sinks_may_be_still_to_come(seed):
    cases = drawn("window_mask", seed)
    assert any(not np.array_equal(case.args[1], np.arange(len(case.args[1]))) for case in cases)
    hidden_sinks = [
        (j[..., None, :] < sinks) & (j[..., None, :] > i[..., :, None])
        for i, j, _width, sinks in (case.args for case in cases)
    ]
    assert any(one.any() for one in hidden_sinks)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_every_group_heads_have_different_sinks_and_none_is_0(seed):
    for group in groups_of("with_sink", seed):
        sinks = [case.args[2] for case in group]
        assert any(len(set(one)) > 1 for one in sinks)
        assert any((one != 0).all() for one in sinks)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_every_group_a_score_is_above_0(seed):
    for group in groups_of("one_not_scaled", seed):
        assert any((case.args[0] > 0).any() for case in group)
        assert checked("one_not_scaled", as_handed_out, seed).mistake.name == "as_handed_out"


@pytest.mark.parametrize("seed", SEEDS)
def test_an_answer_that_is_right_for_short_texts_only_does_not_pass(seed):
    def causal(query_positions, key_positions, width, sinks):
        return key_positions[..., None, :] <= query_positions[..., :, None]

    assert checked("window_mask", reference("window_mask"), seed).verdict is Verdict.PASSED
    assert checked("window_mask", causal, seed).verdict is not Verdict.PASSED


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("window_mask", (np.arange(2), np.arange(2), 0, 1), "at least 1"),
        ("window_mask", (np.arange(2), np.arange(2), 1, -1), "not negative"),
        ("window_mask", (np.zeros((2, 3), int), np.arange(2), 1, 1), "same texts"),
        ("with_sink", (np.zeros((2, 3, 4)), np.ones((3, 4), bool), np.zeros(3)), "each head"),
        ("with_sink", (np.zeros((3, 4)), np.ones((3, 4), bool), np.zeros(3)), "each head"),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)
