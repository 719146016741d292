"""What is special to the exercises of page 10d; what holds for all is in `tests/course`."""

from functools import partial

import numpy as np
import pytest
import torch

from attn_course.practice.exercises import chapters
from attn_course.practice.results import Verdict
from attn_course.scale import LinearState
from attn_course.scale import linear_attention as of_the_package
from tests.practice import drawn_cases

chapter = chapters()["10d"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def checked(name, answer, seed):
    exercise = chapter.exercises[name]
    return exercise.check(exercise.local(answer), seed=seed, closer=True)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_features_is_right():
    features = reference("feature_map")(np.array([2.0, 0.0, -np.log(2)]))
    np.testing.assert_allclose(features, [3, 1, 0.5])


def test_the_example_in_half_precision_is_right():
    x = np.float16(-8)
    assert round(float(reference("feature_map")(x)), 6) == 0.000335
    assert round(float(np.expm1(x) + 1), 6) == 0.000488


def test_the_example_of_the_sums_is_right():
    keys, values = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[1.0], [12.0]])
    contexts = reference("linear_attention")(
        np.array([[0.0, 1.0]]), keys, values, np.array([True] * 2)
    )
    np.testing.assert_allclose(contexts, [[9]])
    np.testing.assert_array_equal((keys + 1).T @ values, [[25], [37]])


def test_the_example_of_the_recurrence_is_right():
    phi_q, phi_k = np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 2.0], [3.0, 1.0]])
    values = np.array([[4.0], [15.0]])
    contexts, S, z = reference("recurrent_form")(
        phi_q, phi_k, values, np.zeros((2, 1)), np.zeros(2)
    )
    np.testing.assert_allclose(contexts, [[4], [11]])
    np.testing.assert_array_equal(S, [[49], [23]])
    np.testing.assert_array_equal(z, [4, 3])


# The references are the package's mechanism.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_package_has_the_contexts_that_are_asked_for(seed):
    for case in drawn("linear_attention", seed):
        queries, keys, values, mask = map(torch.from_numpy, case.args)
        contexts = of_the_package(queries, keys, values, mask)
        np.testing.assert_allclose(contexts, reference("linear_attention")(*case.args))


def test_the_recurrence_that_is_asked_for_is_that_of_the_package():
    rng = np.random.default_rng(0)
    queries, keys, values = (rng.normal(size=(2, 7, d)) for d in (3, 3, 5))
    phi_q, phi_k = (reference("feature_map")(x) for x in (queries, keys))
    empty = np.zeros((2, 3, 5)), np.zeros((2, 3))
    contexts, S, z = reference("recurrent_form")(phi_q, phi_k, values, *empty)
    state = LinearState()
    wanted = state.attend(*map(torch.from_numpy, (queries, keys, values)))
    np.testing.assert_allclose(contexts, wanted)
    np.testing.assert_allclose(S, state.S)
    np.testing.assert_allclose(z, state.z[..., 0])


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_features_that_cancel_do_not_pass_in_any_order_of_precision(seed):
    def cancels(x):
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + 1

    def in_double_precision(queries, keys, values, mask):
        phi_q, phi_k = cancels(queries), cancels(keys) * mask[..., None]
        return phi_q @ (phi_k.mT @ values) / (phi_q @ phi_k.sum(axis=-2)[..., None])

    found = checked("feature_map", cancels, seed)
    assert found.mistake.name == "one_subtracted_and_added"
    assert checked("linear_attention", in_double_precision, seed).verdict is Verdict.FAILED


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_has_one_key_or_equal_features(seed):
    for case in drawn("linear_attention", seed):
        _queries, keys, _values, _mask = case.args
        assert keys.shape[-2] > 1
        assert np.ptp(keys, axis=-2).max() > 0
    sizes = [case.args[0].shape[-2] for case in drawn("recurrent_form", seed)]
    assert max(sizes) > 2
    assert sizes.count(1) == 1  # the next word alone, after others


@pytest.mark.parametrize("seed", SEEDS)
def test_a_state_is_empty_at_the_beginning_and_full_later(seed):
    states = [case.args[3] for case in drawn("recurrent_form", seed)]
    assert any((S == 0).all() for S in states)
    assert any((S != 0).any() for S in states)


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("linear_attention", (*np.ones((3, 2, 4)), np.array([False, False])), "real"),
        ("linear_attention", (*np.ones((3, 2, 4)), np.array([True])), "entry of the mask"),
        ("linear_attention", (np.ones((2, 3)), *np.ones((2, 2, 4)), np.ones(2, bool)), "width"),
        ("recurrent_form", (*np.ones((3, 2, 4)), np.ones((4, 3)), np.ones(4)), "one row"),
        (
            "recurrent_form",
            (np.ones((3, 4)), *np.ones((2, 2, 4)), np.ones((4, 4)), np.ones(4)),
            "query",
        ),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)
