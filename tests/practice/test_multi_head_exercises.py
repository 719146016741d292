"""What is special to the exercises of page 06d; what holds for all is in `tests/course`."""

from functools import cache, partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["06d"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.

WHOLE = np.arange(1.0, 13.0).reshape(3, 4)
HEADS = np.array([[[1, 2], [5, 6], [9, 10]], [[3, 4], [7, 8], [11, 12]]])


def test_the_example_of_the_split_is_right():
    np.testing.assert_array_equal(reference("split_heads")(WHOLE, 2), HEADS)


def test_the_example_of_the_merge_is_right():
    np.testing.assert_array_equal(reference("merge_heads")(HEADS), WHOLE)


def test_the_example_of_two_heads_is_right():
    words = np.array([[2.0, 0.0], [0.0, 2.0]])
    one = np.eye(2)
    contexts, weights = reference("multi_head")(
        np.ones((1, 2)), words, words, np.ones(2, dtype=bool),
        log(3) * one, 0.5 * one, one, np.array([[1.0, 10.0]]), 2,
    )  # fmt: skip
    np.testing.assert_allclose(weights, [[[0.75, 0.25]], [[0.25, 0.75]]])
    np.testing.assert_allclose(contexts, [[16.5]])


def two_sentences():
    key_mask = np.array([[True, True], [True, False]])
    return np.zeros((2, 2, 1, 2)), key_mask, np.ones((2, 1, 2), dtype=bool)


def test_the_example_of_the_mask_is_right():
    weights = reference("mask_for_heads")(*two_sentences())
    np.testing.assert_allclose(weights[:, :, 0], [[[0.5, 0.5]] * 2, [[1.0, 0.0]] * 2])


# The stub that learners get to correct.


@cache
def stub():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    names = {"practice": None}
    setup = next(cell for cell in cells if "def softmax" in "".join(cell["source"]))
    answer = next(cell for cell in cells if cell["id"] == "mask_for_heads-answer")
    definitions = "".join(setup["source"]).split("# The table shows")[0]
    exec(definitions.replace("from attn_course import practice", ""), names)
    exec("".join(answer["source"]), names)
    return names["mask_for_heads"]


def test_the_example_says_what_the_stub_returns():
    np.testing.assert_allclose(stub()(*two_sentences()), 0.5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mask_as_handed_out_is_recognised(seed):
    exercise = chapter.exercises["mask_for_heads"]
    result = exercise.check(exercise.local(stub()), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


# What the tasks exclude is no example either.


def test_a_split_needs_a_number_of_heads_that_divides_the_columns():
    for heads in (0, 3, 8):
        with pytest.raises(ValueError, match="must divide the 4 columns"):
            reference("split_heads")(WHOLE, heads)


@pytest.mark.parametrize("known", chapter.exercises["split_heads"].mistakes, ids=lambda m: m.name)
def test_the_heads_divide_the_columns_of_the_example_that_is_shown(known):
    exercise = chapter.exercises["split_heads"]
    result = exercise.check(exercise.local(known.answer), seed=0, closer=True)
    x, heads = result.failure.arguments.values()
    assert x.shape[-1] % heads == 0


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_every_group_has_a_case_that_sees_a_reshape_without_a_transpose(seed):
    """With one head, or one row, both are the same."""
    for group in groups_of("split_heads", seed):
        splits = [(x.shape[-2], heads) for x, heads in (case.args for case in group)]
        assert any(n > 1 < heads and n != heads for n, heads in splits)
    for group in groups_of("merge_heads", seed):
        shapes = [case.args[0].shape for case in group]
        assert any(n > 1 < heads and n != heads for *_batch, heads, n, _size in shapes)


def test_one_split_has_rows_that_can_be_dealt_out_to_the_heads():
    """Elsewhere a split of the rows raises, as many other mistakes do."""
    splits = [case.args for case in groups_of("split_heads", 0)[0]]
    assert any(x.shape[-2] % heads == 0 and heads < x.shape[-2] for x, heads in splits)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_case_of_multi_head_has_a_single_head(seed):
    assert all(case.args[-1] > 1 for case in drawn("multi_head", seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_is_once_as_large_as_the_number_of_heads(seed):
    """There a mask without an axis for the heads broadcasts, and masks the wrong thing."""
    fitting = [case for case in drawn("multi_head", seed) if case.args[3].shape[:-1] == (2,)]
    assert any(case.args[-1] == 2 for case in fitting)
    assert all((case.args[3][0] != case.args[3][1]).any() for case in fitting)


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbouring_sentences_never_have_the_same_keys(seed):
    for case in drawn("mask_for_heads", seed):
        key_mask = case.args[1]
        assert len(key_mask) > 1 < case.args[0].shape[1]
        assert (key_mask[1:].sum(axis=-1) != key_mask[:-1].sum(axis=-1)).all()
