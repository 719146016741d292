"""What is special to the exercises of page 10a; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters
from attn_course.practice.exercises.exact._blocks import in_steps
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["10a"]
SEEDS = range(20)

reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def handed_out():
    """Return `finite_sentinel` with its bugs."""
    mistakes = chapter.exercises["finite_sentinel"].mistakes
    return next(one.answer for one in mistakes if one.name == "as_handed_out")


def checked(name, answer, seed):
    exercise = chapter.exercises[name]
    return exercise.check(exercise.local(answer), seed=seed, closer=True)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_one_pass_is_right():
    contexts = reference("online_softmax")(np.array([0, log(3)]), np.array([[4.0], [8.0]]), 1)
    np.testing.assert_allclose(contexts, [[4], [7]])


def test_the_example_of_the_blocks_is_right():
    keys, values = np.array([[5], [0], [log(3)]]), np.array([[100.0], [4.0], [8.0]])
    mask = np.array([False, True, True])
    contexts = reference("blockwise")(np.array([[1.0]]), keys, values, mask, 1)
    np.testing.assert_allclose(contexts, [[7]])


def test_the_example_of_the_mark_is_right_and_the_function_handed_out_returns_what_the_task_says():
    scores = np.array([[-20000.0, 0.0], [3.0, -7.0]])
    given = scores, np.array([[1.0], [9.0]]), np.array([[True, False], [False, False]]), 2
    np.testing.assert_array_equal(reference("finite_sentinel")(*given), [[1], [0]])
    np.testing.assert_array_equal(handed_out()(*given), [[9], [5]])


# The cases are never blind: a forgotten rescaling shows only where the maximum rises.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n", "block"), [(2, 1), (6, 2), (7, 3), (8, 3)])
def test_scores_in_steps_rise_with_every_block(seed, n, block):
    scores = in_steps(np.random.default_rng(seed), n, block)
    maxima = [scores[start : start + block].max() for start in range(0, n, block)]
    assert (np.diff(maxima) > 0.5).all()


def groups_that_reject(result):
    return [group.failure is not None for group in result.groups]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_one_pass_sees_a_forgotten_rescaling(seed):
    def forgotten(scores, values, block):
        m, total, o, contexts = -np.inf, 0.0, 0.0, []
        for start in range(0, len(scores), block):
            e, v = scores[start : start + block], values[start : start + block]
            m = max(m, e.max())
            total, o = total + np.exp(e - m).sum(), o + np.exp(e - m) @ v
            contexts.append(o / total)
        return np.array(contexts)

    result = checked("online_softmax", forgotten, seed)
    assert result.mistake.name == "no_rescaling"
    assert all(groups_that_reject(result))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_of_the_mark_sees_the_function_handed_out(seed):
    result = checked("finite_sentinel", handed_out(), seed)
    assert result.mistake.name == "as_handed_out"
    assert all(groups_that_reject(result))


# Scores near 1000 are where a maximum is needed, and where single precision is coarse.


def rejected_only_with_high_scores(name, mistake, seed):
    exercise = chapter.exercises[name]
    answer = next(one.answer for one in exercise.mistakes if one.name == mistake)
    result = checked(name, answer, seed)
    assert result.mistake.name == mistake
    return groups_that_reject(result) == [False] * (len(result.groups) - 1) + [True]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_maximum_that_falls_with_its_block_is_unsafe_only_where_scores_fall_far(seed):
    assert rejected_only_with_high_scores("online_softmax", "maximum_of_the_block", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_in_the_maximum_shows_only_where_padding_scores_high(seed):
    assert rejected_only_with_high_scores("blockwise", "padding_in_the_maximum", seed)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("online_softmax", "with_finished_contexts_in_single_precision"),
        ("blockwise", "merged_by_logarithms_in_single_precision"),
    ],
)
@pytest.mark.parametrize("seed", range(100))
def test_logarithms_in_single_precision_are_accepted(name, variant, seed):
    answer = chapter.exercises[name].variants[variant]
    assert checked(name, answer, seed).verdict is Verdict.PASSED


# Rescaling takes any reference, so right answers with an unusual one pass.


def with_reference(reference_of):
    """Return attention in blocks that measures each block from `reference_of(scores)`."""

    def blockwise(queries, keys, values, mask, block):
        m, total, o = -np.inf, 0.0, np.zeros((len(queries), values.shape[1]))
        for start in range(0, len(keys), block):
            here = slice(start, start + block)
            if not mask[here].any():
                continue
            e = queries @ keys[here].T / np.sqrt(keys.shape[1])
            e = np.where(mask[here], e, -np.inf)
            new = reference_of(e)
            total = total * np.exp(m - new) + np.exp(e - new).sum(axis=1, keepdims=True)
            o = o * np.exp(m - new) + np.exp(e - new) @ values[here]
            m = new
        return o / total if mask.any() else o

    return blockwise


@pytest.mark.parametrize(
    "reference_of",
    [
        lambda e: e.max(axis=1, keepdims=True),  # the block's own maximum, which may fall
        lambda e: e.max(axis=1, keepdims=True) + 5,  # a little above
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_any_reference_near_the_scores_passes(reference_of, seed):
    assert checked("blockwise", with_reference(reference_of), seed).verdict is Verdict.PASSED


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_keep_the_bounds_that_the_tasks_state(seed):
    for case in drawn("online_softmax", seed):
        assert -10 <= case.args[0].min() <= case.args[0].max() <= 1100
    for case in drawn("finite_sentinel", seed):
        assert -30000 <= case.args[0].min() <= case.args[0].max() <= 100


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.

ONE = np.ones((1, 1))


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("online_softmax", (np.ones(2), np.ones((2, 1)), 0), "one key at least"),
        ("online_softmax", (np.ones(2), np.ones((3, 1)), 1), "its value"),
        ("online_softmax", (np.ones(0), np.ones((0, 1)), 1), "there is a key"),
        ("blockwise", (ONE, ONE, ONE, np.array([True, True]), 1), "one entry for each key"),
        ("blockwise", (ONE[:0], ONE, ONE, np.array([True]), 1), "there is a query"),
        ("blockwise", (np.ones((1, 2)), ONE, ONE, np.array([True]), 1), "same width"),
        ("finite_sentinel", (ONE, ONE, np.ones((1, 2), dtype=bool), 1), "shape of the scores"),
        ("finite_sentinel", (np.ones((1, 2)), ONE, np.ones((1, 2), dtype=bool), 1), "its value"),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)
