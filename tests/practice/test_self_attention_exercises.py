"""What is special to the exercises of page 06b; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest
import torch

from attn_course.evaluation.ablation import seeded
from attn_course.practice.exercises import chapters
from attn_course.practice.exercises.self_attention.shuffled_words import SHUFFLED
from attn_course.queries import SelfAttention
from attn_course.running_example import WORDS, features
from tests.practice import drawn_cases

chapter = chapters()["06b"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def checked(name, answer, seed):
    exercise = chapter.exercises[name]
    return exercise.check(exercise.local(answer), seed=seed, closer=True)


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_learned_queries_is_right():
    words, queries = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[log(3), 0.0], [0.0, 0.0]])
    contexts, weights = reference("learned_query_pooling")(words, np.ones(2, dtype=bool), queries)
    np.testing.assert_allclose(weights, [[0.75, 0.25], [0.5, 0.5]])
    np.testing.assert_allclose(contexts, [[0.75, 0.5], [0.5, 1.0]])


def test_the_example_of_the_penalty_is_right():
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(weights @ weights.T, [[1.0, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(reference("redundancy_penalty")(weights), 0.75)


def test_the_example_of_self_attention_is_right():
    W_Q, W_K, W_V = np.full((4, 1), log(3) / 2), np.ones((4, 1)), np.full((1, 1), 4.0)
    words, mask = np.array([[1.0], [0.0]]), np.ones(2, dtype=bool)
    contexts, weights = reference("self_attention")(words, mask, W_Q, W_K, W_V)
    np.testing.assert_allclose(weights, [[0.75, 0.25], [0.5, 0.5]])
    np.testing.assert_allclose(contexts, [[3.0], [2.0]])


def test_the_example_of_the_refined_word_is_right():
    f, c = np.array([3.0, 1.0]), np.array([1.0, 1.0])
    refined = reference("refine")(f, c, np.array([2.0, 2.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(refined, [3.0, -2.0], atol=2e-5)


def test_the_predictions_are_what_the_layer_does():
    with seeded(0):
        layer = SelfAttention(3)
    order = [WORDS.index(word) for word in SHUFFLED]
    words = torch.as_tensor(features(), dtype=torch.float32)
    with torch.no_grad():
        old, old_weights = layer(words)
        new, new_weights = layer(words[order])
        repeated, _weights = layer(words[[0, 1, 2, 3, 0, 5]])
    first, row, column, changed, different = reference("shuffled_words")
    torch.testing.assert_close(new[0], old[first - 1])
    torch.testing.assert_close(new_weights[row - 1, column - 1], old_weights[2, 5])
    pooled, again = (torch.softmax(part[:, 0], 0) @ part for part in (words, words[order]))
    assert (~torch.isclose(pooled, again)).sum() == changed
    assert len({tuple(row) for row in repeated.numpy().round(4).tolist()}) == different


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_always_several_queries_and_never_as_many_as_words(seed):
    for case in drawn("learned_query_pooling", seed):
        words, mask, queries = case.args
        assert 1 < len(queries) != mask.shape[-1]
        assert words.shape[-1] != mask.shape[-1]
    for case in drawn("redundancy_penalty", seed):
        (weights,) = case.args
        r, n = weights.shape[-2:]
        assert 1 < r != n  # the penalty of a square table is that of its transpose


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_are_shares_and_their_rows_overlap(seed):
    *groups, special = groups_of("redundancy_penalty", seed)
    for case in [case for group in groups for case in group]:
        (weights,) = case.args
        np.testing.assert_allclose(weights.sum(axis=-1), 1)
        assert (weights >= 0).all()
        overlaps = weights @ np.swapaxes(weights, -1, -2)
        assert (overlaps > 0).any(axis=(-2, -1)).all()
    apart, equal, _half = reference("redundancy_penalty")(*special[0].args)
    assert (apart, equal) == (0, 6)  # six pairs of three equal one-hot rows


@pytest.mark.parametrize("name", ["learned_query_pooling", "self_attention"])
@pytest.mark.parametrize("seed", SEEDS)
def test_padding_is_between_the_words_too_and_a_sentence_has_two_words(name, seed):
    whole, padded, batch, empty = groups_of(name, seed)
    assert all(case.args[1].all() for case in whole)
    for case in [*padded, *batch]:
        counts = case.args[1].sum(axis=-1)
        assert (counts >= 2).all()  # one word has the weight 1, whatever asks
        assert (counts < case.args[1].shape[-1]).all()
    assert [case.args[1].any(axis=-1).tolist() for case in empty] == [[True, False]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_key_is_wider_than_1_and_matrices_are_not_symmetric(seed):
    widths = set()
    for case in drawn("self_attention", seed):
        words, _mask, W_Q, W_K, W_V = case.args
        assert len(W_K) > 1  # its root is 1 otherwise
        widths.add((words.shape[-1] == len(W_K), words.shape[-1] == len(W_V)))
        assert not np.array_equal(W_Q, W_K)
    # A square matrix lets a transposed one through, another shape tells the widths apart.
    assert {(True, True), (False, False)} <= widths


@pytest.mark.parametrize("seed", SEEDS)
def test_some_words_have_hardly_any_variance_or_none(seed):
    *_others, (nearly, exactly) = groups_of("refine", seed)
    variances = [(case.args[0] + case.args[1]).var(axis=-1) for case in (nearly, exactly)]
    assert (variances[0] > 1e-8).all()
    assert (variances[0] < 1e-3).all()  # a hundred times epsilon
    assert (variances[1] == 0).all()


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.

WORD, REAL = np.ones((3, 2)), np.ones(3, dtype=bool)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("learned_query_pooling", (WORD, REAL, np.ones(2)), "queries"),
        ("learned_query_pooling", (WORD, REAL, np.ones((5, 3))), "queries"),
        ("learned_query_pooling", (WORD, REAL[:2], np.ones((5, 2))), "mask"),
        ("redundancy_penalty", (np.full((2, 3), 0.25),), "sums to 1"),
        ("self_attention", (WORD, REAL[:2], *np.ones((3, 2, 2))), "mask"),
        ("self_attention", (WORD, REAL, np.ones((5, 2)), *np.ones((2, 7, 2))), "W_Q and W_K"),
        ("self_attention", (WORD, REAL, *np.ones((3, 2, 3))), "W_Q, W_K and W_V"),
        ("refine", (WORD, WORD[:1], np.ones(2), np.ones(2)), "contexts"),
        ("refine", (WORD, WORD, np.ones(1), np.ones(2)), "gain"),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)


def test_the_rows_of_an_example_of_weights_sum_to_1():
    result = checked("redundancy_penalty", lambda weights: weights.sum(axis=(-2, -1)), seed=0)
    shown = next(group.failure for group in result.groups if group.failure)
    np.testing.assert_allclose(shown.arguments["weights"].sum(axis=-1), 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_forgotten_keepdims_is_called_by_its_name(seed):
    def refine(features, contexts, gain, bias):
        total = features + contexts
        spread = np.sqrt(total.var(axis=-1) + 1e-5)
        return gain * (total - total.mean(axis=-1, keepdims=True)) / spread + bias

    result = checked("refine", refine, seed)
    assert result.mistake.name == "keepdims_forgotten"
    assert result.observations == ()  # such as that only batches go wrong
