"""What is special to the exercises of chapter 4; what holds for all is in `tests/course`."""

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from attn_course.practice.compare import same
from attn_course.practice.exercises import chapters, compiled
from attn_course.practice.results import Verdict
from tests.practice import drawn_cases

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "solutions" / "04_dimensionality.md"
chapter = chapters()["04"]
SEEDS = range(20)
LOGS = np.log([[[1.0, 1.0], [2.0, 1.0], [1.0, 3.0]]])  # one query, three keys, two features


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_predicted_shapes_are_those_of_the_package():
    assert reference("predicted_shapes") == [(2, 3, 5, 7), (2, 3, 7), 42]


@pytest.mark.parametrize(
    ("mask", "weights"),
    [
        ([[True, True, True]], [[[1 / 4, 1 / 5], [1 / 2, 1 / 5], [1 / 4, 3 / 5]]]),
        ([[True, False, True]], [[[1 / 2, 1 / 4], [0, 0], [1 / 2, 3 / 4]]]),
    ],
)
def test_the_examples_of_the_weights_are_right(mask, weights):
    np.testing.assert_allclose(reference("multi_weights")(LOGS, np.array(mask)), weights)


def test_the_example_of_the_context_is_right():
    mask = np.ones((1, 3), dtype=bool)
    weights = reference("multi_weights")(LOGS, mask)
    values = np.array([[4.0, 10.0], [8.0, 5.0], [0.0, 5.0]])
    np.testing.assert_allclose(reference("multi_context")(weights, values, mask), [[5.0, 6.0]])


def test_the_example_of_the_summary_is_right():
    words, mask = np.array([[2.0, 0.0], [4.0, 2.0], [9.0, 9.0]]), np.array([True, True, False])
    W_k, b = np.ones((3, 2)), np.ones(3)
    summary = reference("source2token")(words, np.zeros((3, 2)), W_k, b, mask)
    np.testing.assert_allclose(summary, [3.0, 1.0])


def test_the_example_of_the_heads_is_right():
    scores = np.array([[[0.0, 0.0], [0.0, np.log(3)]]])  # one query, two keys, two heads
    values = np.array([[2.0, 4.0, 4.0, 8.0], [4.0, 0.0, 8.0, 0.0]])
    context = reference("heads_context")(scores, values, np.ones((1, 2), dtype=bool))
    np.testing.assert_allclose(context, [[3.0, 2.0, 7.0, 2.0]])


def test_the_example_of_the_training_step_is_right():
    hidden, values = np.array([[[1.0], [0.0]]]), np.array([[[4.0], [0.0]]])
    step = reference("gradient_step")(hidden, values, np.array([[1.0]]), np.zeros((1, 1)), 0.5)
    assert step[0] == 0.5
    assert step[1].tolist() == [[-0.5]]


def test_the_experiment_gives_the_figures_that_the_task_states():
    task = SOURCE.read_text(encoding="utf-8")
    free, tied = drawn("train_and_test", seed=0)[-2:]
    training, test, W_d, learning_rate, steps, _tied = free.args
    assert (steps, learning_rate) == (40, 2.0)
    untrained = reference("train_and_test")(training, test, W_d, learning_rate, 0, False)[1]
    for figure, loss in (
        ("0.0096", reference("train_and_test")(*free.args)[1]),
        ("0.972", reference("train_and_test")(*tied.args)[1]),
        ("1.151", untrained),
    ):
        assert f"{loss:.{len(figure) - 2}f}" == figure
        assert f"`{figure}`" in task


# The sentences that learners get, and the stub that they get to correct.


@cache
def cell_of(cell_id):
    cells = compiled(chapter.stem)["notebook"]["cells"]
    return "".join(next(cell for cell in cells if cell["id"] == cell_id)["source"])


def test_the_notebook_draws_the_sentences_that_the_check_uses():
    cells = compiled(chapter.stem)["notebook"]["cells"]
    code = next(text for cell in cells if "def told_by_roles" in (text := "".join(cell["source"])))
    names = {"np": np}
    exec(code, names)
    training, test, *_rest = drawn("train_and_test", seed=0)[-1].args
    for ours, theirs in ((training, names["training"]), (test, names["test"])):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_summary_as_handed_out_is_recognised(seed):
    names = {"np": np}
    exec(cell_of("source2token-answer"), names)
    exercise = chapter.exercises["source2token"]
    result = exercise.check(exercise.local(names["source2token"]), seed=seed)
    assert result.verdict is Verdict.FAILED
    assert result.mistake.name == "summary_as_handed_out"


# The cases leave nothing to chance.


@pytest.mark.parametrize("seed", SEEDS)
def test_every_query_of_the_weights_has_a_key_but_where_the_group_says_otherwise(seed):
    for group in chapter.exercises["multi_weights"].groups:
        cases = list(group.generate(np.random.default_rng(seed)))
        empty = [not case.args[1].any(axis=-1).all() for case in cases]
        assert any(empty) == ("attend nowhere" in group.label)


@pytest.mark.parametrize(
    ("name", "axes_of_one"),
    [("multi_weights", 3), ("multi_context", 3), ("source2token", 2), ("heads_context", 3)],
)
def test_there_is_no_batch_and_one_along_two_axes(name, axes_of_one):
    dimensions = {case.args[0].ndim for case in drawn(name, seed=0)}
    assert {axes_of_one, axes_of_one + 1, axes_of_one + 2} <= dimensions


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_that_scores_best_leaves_nothing_for_the_words_whatever_the_seed(seed):
    group = chapter.exercises["source2token"].groups[-1]
    features, W_d, W_k, b, mask = next(iter(group.generate(np.random.default_rng(seed)))).args
    scores = np.tanh(features @ W_k.T + b) @ W_d
    gap = scores[~mask].min(axis=0) - scores[mask].max(axis=0)
    assert np.exp(-gap).max() == 0


@pytest.mark.parametrize("name", ["multi_context", "heads_context"])
@pytest.mark.parametrize("seed", SEEDS)
def test_in_some_case_one_query_may_see_a_nan_and_another_may_not(name, seed):
    def is_one(_weights, values, mask):
        if values.ndim > 2:
            return False
        may_see_it = mask[:, np.isnan(values).any(axis=-1)].any(axis=-1)
        return may_see_it.any() and not may_see_it.all()

    cases = [case for case in drawn(name, seed) if is_one(*case.args)]
    assert cases
    for case in cases:
        assert np.isnan(reference(name)(*case.args)).any(axis=-1).tolist() == [True, False]


@pytest.mark.parametrize("seed", SEEDS)
def test_in_some_case_a_query_may_see_a_nan_whose_weight_is_zero(seed):
    def is_one(weights, values, mask):
        return values.ndim == 2 and (mask[..., None] & (weights == 0) & np.isnan(values)).any()

    def weighed(scores, values, mask):
        weights = reference("multi_weights")(scores, mask)
        return np.repeat(weights, values.shape[-1] // scores.shape[-1], axis=-1), values, mask

    contexts = [case.args for case in drawn("multi_context", seed)]
    heads = [weighed(*case.args) for case in drawn("heads_context", seed)]
    assert any(is_one(*args) for args in contexts)
    assert any(is_one(*args) for args in heads)


def test_the_summary_refuses_a_sentence_without_a_word_so_no_example_has_one():
    numbers = np.ones((1, 1))
    with pytest.raises(ValueError, match="one word"):
        reference("source2token")(numbers, numbers, numbers, np.ones(1), np.array([False]))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_training_step_of_the_cases_moves_the_matrix(seed):
    for case in drawn("gradient_step", seed)[:-1]:  # in the last one the softmax is saturated
        W_d = case.args[3]
        assert not same(reference("gradient_step")(*case.args)[1], W_d)


@pytest.mark.parametrize("seed", SEEDS)
def test_large_scores_of_the_cases_would_overflow(seed):
    *_, case = drawn("gradient_step", seed)
    hidden, _values, _targets, W_d, _rate = case.args
    assert np.abs(hidden @ W_d).max() > 710  # exp(710) is infinite in double precision
