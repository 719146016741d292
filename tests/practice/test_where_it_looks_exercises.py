"""What is special to the exercises of page 08e; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.evaluation import attention_correctness, correctness_by_row, links_from_weights
from attn_course.evaluation.supervision import SupervisedAttention
from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["08e"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
groups_of = partial(drawn_cases.groups_of, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def linked(shape, *pairs):
    links = np.zeros(shape, dtype=bool)
    for pair in pairs:
        links[pair] = True
    return links


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_links_is_right():
    weights = np.array([[0.2, 0.4, 0.4], [0.5, 0.3, 0.2]])
    links = reference("links_from_weights")(weights, np.ones(2, bool), np.ones(3, bool))
    assert links.tolist() == [[False, True, False], [True, False, False]]


def test_the_example_of_the_error_rate_is_right():
    sure = linked((3, 3), (0, 0), (1, 1))
    possible = sure | linked((3, 3), (1, 2), (2, 2))
    predicted = linked((3, 3), (0, 0), (1, 2), (2, 1))
    np.testing.assert_allclose(reference("alignment_error_rate")(predicted, sure, possible), 0.4)


def test_the_example_of_the_correctness_is_right():
    weights, mask = np.array([0.1, 0.3, 0.1, 0.5]), np.arange(4) < 3
    region = np.array([False, True, False, True])
    share, baseline = reference("attention_correctness")(weights, region, mask)
    np.testing.assert_allclose([share, baseline], [0.6, 1 / 3])


def test_the_example_of_the_supervised_loss_is_right():
    weights = np.array([[0.5, 0.5], [0.2, 0.8], [0.75, 0.25]])
    marked = np.array([[True, True], [False, False], [False, True]])
    loss = reference("supervised_loss")(weights, marked, np.ones((3, 2), bool))
    np.testing.assert_allclose(loss, 1.5 * log(2))
    assert round(loss, 4) == 1.0397


def test_the_example_of_the_rollout_is_right():
    weights = np.array([[[[1.0, 0.0], [1.0, 0.0]]], [[[0.0, 1.0], [1.0, 0.0]]]])
    np.testing.assert_allclose(reference("rollout")(weights), [[0.75, 0.25], [0.75, 0.25]])


# What a learner writes is what the package computes.


@pytest.mark.parametrize("seed", SEEDS)
def test_links_are_those_of_the_package(seed):
    for case in drawn("links_from_weights", seed):
        weights, targets, sources = case.args
        if weights.ndim > 2 or np.isnan(weights).any():
            continue
        mask = targets[:, None] & sources
        found = {tuple(pair) for pair in np.argwhere(reference("links_from_weights")(*case.args))}
        assert found == links_from_weights(weights, mask=mask)


@pytest.mark.parametrize("seed", SEEDS)
def test_correctness_is_that_of_the_package(seed):
    for group in groups_of("attention_correctness", seed)[:4]:
        for weights, region, mask in (case.args for case in group):
            share, baseline = reference("attention_correctness")(weights, region, mask)
            weights = np.nan_to_num(weights)
            np.testing.assert_allclose(share, correctness_by_row(weights, region, mask))
            np.testing.assert_allclose(
                baseline.mean(), attention_correctness(np.ones_like(weights), region, mask)
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_supervised_loss_is_that_of_the_package(seed):
    for case in drawn("supervised_loss", seed):
        weights, marked, mask = case.args
        loss = SupervisedAttention()(np.where(mask, weights, 0.0), marked, mask)
        np.testing.assert_allclose(reference("supervised_loss")(*case.args), loss, atol=1e-12)


# The cases are never blind.


@pytest.mark.parametrize("seed", SEEDS)
def test_sure_links_are_possible_and_some_possible_ones_are_not_sure(seed):
    """With S = P the rate is symmetric in predicted and sure links."""
    for group in groups_of("alignment_error_rate", seed):
        for _predicted, sure, possible in (case.args for case in group):
            assert (possible | ~sure).all()
            assert (possible & ~sure).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_exchanged_arguments_have_another_error_rate(seed):
    rate = reference("alignment_error_rate")
    for group in groups_of("alignment_error_rate", seed)[:1]:
        for predicted, sure, possible in (case.args for case in group):
            right = rate(predicted, sure, possible)
            exchanged = 1 - ((sure & predicted).sum() + sure.sum()) / (predicted.sum() + sure.sum())
            assert abs(exchanged - right) > 0.01


@pytest.mark.parametrize("seed", SEEDS)
def test_pooled_counts_differ_from_the_mean_of_the_rates(seed):
    rate = reference("alignment_error_rate")
    for case in groups_of("alignment_error_rate", seed)[1]:
        q, k = case.args[0].shape[-2:]
        by_sentence = zip(*(part.reshape(-1, q, k) for part in case.args), strict=True)
        assert abs(np.mean([rate(*one) for one in by_sentence]) - rate(*case.args)) > 0.01


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_never_as_many_targets_as_sources(seed):
    for name in ("links_from_weights", "alignment_error_rate", "supervised_loss"):
        assert all(case.args[0].shape[-2] != case.args[0].shape[-1] for case in drawn(name, seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_in_each_group_a_query_has_gold_on_several_keys(seed):
    """With a single marked key the gold distribution need not be normalised."""
    for group in groups_of("supervised_loss", seed):
        counts = [(marked & mask).sum(axis=-1) for _w, marked, mask in (c.args for c in group)]
        assert max(count.max() for count in counts) >= 2


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_is_marked_in_a_batch_too(seed):
    for group in groups_of("supervised_loss", seed)[2:4]:
        for _weights, marked, mask in (case.args for case in group):
            assert (marked & ~mask).any()
            assert (~(marked & mask).any(axis=-1) & marked.any(axis=-1)).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_links_are_missing_in_every_way(seed):
    found = {
        (bool(predicted.any()), bool(sure.any()), bool((predicted & possible).any()))
        for predicted, sure, possible in (
            case.args for case in groups_of("alignment_error_rate", seed)[-1]
        )
    }
    assert {(False, True, False), (False, False, False), (True, True, False)} <= found
    assert any(predicted and not sure for predicted, sure, _hit in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_layers_heads_and_positions_differ_in_number_and_rarely_are_one(seed):
    for group in groups_of("rollout", seed):
        shapes = [case.args[0].shape[-4:-1] for case in group]
        assert all(len(set(shape)) == 3 for shape in shapes)
        assert max(layers for layers, _heads, _n in shapes) >= 2
        assert max(heads for _layers, heads, _n in shapes) >= 2


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_the_layers_matters(seed):
    for case in groups_of("rollout", seed)[0]:
        (weights,) = case.args
        turned = reference("rollout")(weights[::-1])
        assert np.abs(reference("rollout")(weights) - turned).max() > 1e-3
