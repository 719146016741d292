"""What is special to the exercises of page 06f; what holds for all is in `tests/course`."""

from functools import cache, partial
from math import log

import numpy as np
import pytest

from attn_course.definitions.queries import capsule_hinge
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["06f"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_contexts_is_right():
    features = np.array([[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]])
    queries = np.array([[log(3), 0.0], [0.0, 0.0], [0.0, log(3) / 2]])
    mask = np.array([True, True, False])
    contexts, weights = reference("class_contexts")(features, mask, queries)
    np.testing.assert_allclose(contexts, [[0.75, 0.5], [0.5, 1.0], [0.25, 1.5]])
    np.testing.assert_allclose(weights[[0, 2]], [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]])


def test_the_examples_of_the_loss_are_right():
    loss = reference("margin_loss")
    probabilities = np.array([0.9, 0.2, 0.4])
    np.testing.assert_allclose(loss(probabilities, np.array(0)), 0.8 / 3)
    np.testing.assert_allclose(loss(np.array([5.0, 1.0, 4.5]), np.array(0)), 0.5 / 3)
    assert capsule_hinge(probabilities, 0) == pytest.approx(0.7)


def two_classes():
    return np.array([[1.0], [2.0]]), np.array([[log(3)], [0.0]]), np.zeros(2)


def test_the_example_of_the_sigmoids_is_right():
    probabilities, reconstructions = reference("independent_sigmoids")(*two_classes())
    np.testing.assert_allclose(probabilities, [0.75, 0.5])
    np.testing.assert_allclose(reconstructions, [[0.75], [1.0]])


# The stub that learners get to correct.


@cache
def stub():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    names = {"np": np}
    answer = next(cell for cell in cells if cell["id"] == "independent_sigmoids-answer")
    exec("".join(answer["source"]), names)
    return names["independent_sigmoids"]


def test_the_example_says_what_the_stub_returns():
    probabilities, _reconstructions = stub()(*two_classes())
    np.testing.assert_allclose(probabilities, [0.25, 0.75])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sigmoids_as_handed_out_are_recognised(seed):
    exercise = chapter.exercises["independent_sigmoids"]
    result = exercise.check(exercise.local(stub()), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


# What the task excludes is no example either.


def test_the_loss_needs_a_wrong_class():
    with pytest.raises(ValueError, match="two classes at least"):
        reference("margin_loss")(np.array([0.5]), np.array(0))


@pytest.mark.parametrize("known", chapter.exercises["margin_loss"].mistakes, ids=lambda m: m.name)
def test_the_loss_that_is_shown_has_a_wrong_class(known):
    """The loss of one class alone is 0, and a factor or a margin cannot be seen in it."""
    exercise = chapter.exercises["margin_loss"]
    result = exercise.check(exercise.local(known.answer), seed=0, closer=True)
    x, targets = result.failure.arguments.values()
    assert x.shape[-1] > 1
    assert x.shape[:-1] == targets.shape


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_classes_as_features(seed):
    for case in drawn("class_contexts", seed):
        features, _mask, queries = case.args
        assert 1 < len(queries) != features.shape[-2]


@pytest.mark.parametrize("seed", SEEDS)
def test_some_classes_are_beyond_the_margin_and_some_within(seed):
    """Probabilities alone never are: there a loss without its maximum is right."""
    signs = set()
    for case in drawn("margin_loss", seed):
        x, targets = case.args
        right = np.take_along_axis(x, targets[..., None], axis=-1)
        signs |= set(np.sign(1 - right + x).ravel().tolist())
    assert {-1.0, 1.0} <= signs


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wrong_class_is_once_equal_to_the_right_one(seed):
    """Otherwise an answer could recognise the right class by its number."""
    _few, any_numbers, _batch = chapter.exercises["margin_loss"].groups
    x, target = next(iter(any_numbers.generate(np.random.default_rng(seed)))).args
    assert (x == x[target]).sum() > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_more_than_two_classes_somewhere(seed):
    """For two classes the forms of paper and code differ by a factor alone."""
    assert any(case.args[0].shape[-1] > 2 for case in drawn("margin_loss", seed))
