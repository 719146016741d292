"""What is special to the exercises of page 05e; what holds for all is in `tests/course`."""

from functools import cache, partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

chapter = chapters()["05e"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_answers_to_the_prediction_are_these_fractions():
    assert reference("mixed_weights") == pytest.approx([3 / 4, 3 / 4, 3 / 5, 1 / 3, 1, 3 / 5])


def one_word():
    """Return the word of the examples: its embeddings, its mask, the maps and u."""
    embeddings = [np.array([[1.0, 1.0]]), np.array([[2.0]])]
    W = [np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[0.0], [2.0]])]
    b, u = [np.zeros(2)] * 2, np.array([log(3) / 2, 0.0])
    return embeddings, np.ones((1, 2), dtype=bool), W, b, u


def test_the_example_of_the_mixture_is_right():
    x, weights = reference("mix_embeddings")(*one_word())
    np.testing.assert_allclose(weights, [[0.75, 0.25]])
    np.testing.assert_allclose(x, [[1.5, 1.0]])


@pytest.mark.parametrize(
    ("beta", "gates", "vector"),
    [(0.0, [0.75, 0.5], [1.5, 2.0]), (-log(3), [0.5, 0.25], [1.0, 1.0])],
)
def test_the_examples_of_the_gates_are_right(beta, gates, vector):
    x, found = reference("gate_embeddings")(*one_word(), beta)
    np.testing.assert_allclose(found, [gates])
    np.testing.assert_allclose(x, [vector])


def the_text_of_the_example():
    weights = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]])
    mask = np.ones((2, 2, 2), dtype=bool)
    mask[1, 1] = False
    return weights, mask, np.zeros((2, 2), dtype=int), 1


def test_the_example_of_the_preferences_is_right():
    table = reference("preferences")(*the_text_of_the_example())
    np.testing.assert_allclose(table, [[2 / 3, 1 / 3]])


# The stub that learners get to correct.


@cache
def stub():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    answer = next(cell for cell in cells if cell["id"] == "preferences-answer")
    names = {"np": np}
    exec("".join(answer["source"]), names)
    return names["preferences"]


def test_the_example_says_what_the_stub_returns():
    table = stub()(*the_text_of_the_example())
    np.testing.assert_allclose(table, [[0.5, 0.25]])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_table_as_handed_out_is_recognised(seed):
    exercise = chapter.exercises["preferences"]
    result = exercise.check(exercise.local(stub()), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "as_handed_out"


# The cases are never blind.


@pytest.mark.parametrize("name", ["mix_embeddings", "gate_embeddings"])
@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_several_embeddings_and_never_as_many_as_words(name, seed):
    for case in drawn(name, seed):
        embeddings, mask = case.args[:2]
        n, E = mask.shape[-2:]
        assert len(embeddings) == E > 1
        assert n != E
        assert len({embedding.shape[-1] for embedding in embeddings}) == E


@pytest.mark.parametrize("name", ["mix_embeddings", "gate_embeddings"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_type_of_embedding_is_missing_from_a_word_that_has_another(name, seed):
    masks = [case.args[1] for case in drawn(name, seed)]
    words = [mask[mask.any(axis=-1)] for mask in masks]  # each (words, E), without padding
    assert any((~mask).any(axis=0).all() for mask in words)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_weights_of_a_word_in_the_table_sum_to_1(seed):
    for case in drawn("preferences", seed):
        weights, mask = case.args[:2]
        np.testing.assert_allclose(weights.sum(axis=-1), mask.any(axis=-1))
