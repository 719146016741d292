"""What is special to the exercises of page 09; what holds for all is in `tests/course`."""

from functools import partial
from math import log

import numpy as np
import pytest

from attn_course.practice.exercises import chapters
from tests.practice import drawn_cases

chapter = chapters()["09"]
SEEDS = range(20)


reference = partial(drawn_cases.reference, chapter)
drawn = partial(drawn_cases.drawn, chapter)


def edges_of(name, case):
    """Return the edges of a case, and the number of nodes."""
    if name == "segment_softmax":
        return case.args[1], case.args[2]
    return case.args[1], len(case.args[0])


# The examples that the tasks work out by hand, with the numbers printed there.


def test_the_example_of_the_softmax_is_right():
    edges = np.array([[0, 1, 0], [1, 2, 2]])
    weights = reference("segment_softmax")(np.array([log(3), 5, 0]), edges, 3)
    np.testing.assert_allclose(weights, [0.75, 1, 0.25])


def test_the_example_of_gat_is_right():
    features, edges = np.array([[1.0], [3.0]]), np.array([[0, 1], [1, 0]])
    scores = reference("gat_scores")(features, edges, np.array([[2.0]]), np.array([1.0, -1.0]))
    np.testing.assert_allclose(scores, [-0.8, 4])


def test_the_example_of_gatv2_is_right():
    features, edges = np.array([[1.0], [3.0]]), np.array([[0, 1], [1, 0]])
    W, a = np.array([[[1.0, -1.0], [-1.0, 1.0]]]), np.array([[-1.0, -2.0]])
    np.testing.assert_allclose(reference("gatv2_scores")(features, edges, W, a), [[-3.6, -1.2]])


def test_the_explanation_of_gatv2_is_right():
    features = np.array([[1.0], [3.0], [-0.5]])
    edges = np.ones((3, 3)).nonzero()
    W, a = np.array([[[1.0, -1.0], [-1.0, 1.0]]]), np.array([[-1.0, -1.0]])
    distances = np.abs(features[edges[0]] - features[edges[1]])[:, 0]
    scores = reference("gatv2_scores")(features, np.array(edges), W, a)
    np.testing.assert_allclose(scores[0], -0.8 * distances)


@pytest.mark.parametrize("edges", [[[0, 0], [1, 2]], [[0, 0, 0], [1, 2, 0]]])
def test_the_example_of_the_two_bugs_is_right(edges):
    features = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0]])
    contexts = reference("softmax_per_source")(features, np.array(edges))
    np.testing.assert_allclose(contexts, [[1, 2], [3, 0], [0, 6]])


# The cases are never blind.


@pytest.mark.parametrize("name", list(chapter.exercises))
@pytest.mark.parametrize("seed", SEEDS)
def test_graphs_are_directed_and_nodes_differ_in_their_number_of_neighbours(name, seed):
    for case in drawn(name, seed):
        edges, n = edges_of(name, case)
        asks, looked_at = (np.bincount(end, minlength=n) for end in edges)
        assert (asks != looked_at).any()
        assert asks.max() > 1
        assert looked_at.max() > 1
        assert len(set(asks.tolist())) > 1
        assert np.unique(edges, axis=1).shape == edges.shape


@pytest.mark.parametrize("seed", SEEDS)
def test_the_edges_of_a_node_are_never_all_next_to_each_other(seed):
    for case in drawn("segment_softmax", seed):
        edges, _n = edges_of("segment_softmax", case)
        assert (np.diff(edges[0]) < 0).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_node_without_an_edge_is_among_the_nodes_of_each_softmax(seed):
    for case in drawn("segment_softmax", seed):
        edges, n = edges_of("segment_softmax", case)
        assert n - 1 not in edges


@pytest.mark.parametrize("name", ["gat_scores", "gatv2_scores"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_activation_meets_both_signs(name, seed):
    scores = [reference(name)(*case.args) for case in drawn(name, seed)]
    assert min(one.min() for one in scores) < 0 < max(one.max() for one in scores)


@pytest.mark.parametrize("seed", SEEDS)
def test_some_nodes_look_at_themselves_some_do_not_and_sometimes_all(seed):
    shares = set()
    for case in drawn("softmax_per_source", seed):
        edges, n = edges_of("softmax_per_source", case)
        loops = int((edges[0] == edges[1]).sum())
        shares.add("none" if loops == 0 else "all" if loops == n else "some")
    assert shares == {"none", "some", "all"}


@pytest.mark.parametrize("seed", SEEDS)
def test_two_heads_of_a_node_are_so_far_apart_that_they_cannot_share_a_maximum(seed):
    scores = [case.args[0] for case in drawn("segment_softmax", seed)]
    assert any(one.ndim > 1 and np.ptp(one, axis=0).min() > 1900 for one in scores)


@pytest.mark.parametrize("seed", SEEDS)
def test_sorting_the_two_rows_of_edges_exchanges_them_in_some_graphs_but_not_in_all(seed):
    exchanged = set()
    for case in drawn("softmax_per_source", seed):
        edges, _n = edges_of("softmax_per_source", case)
        if (edges[0] == edges[1]).any():
            exchanged.add(edges[0].tolist() > edges[1].tolist())
    assert exchanged == {True, False}


# The references refuse what the tasks exclude, so no example is made smaller than a task allows.

PAIR = np.array([[0], [1]])


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("segment_softmax", (np.ones(1), PAIR, 1), "from 0 to 0"),
        ("segment_softmax", (np.ones(2), PAIR, 2), "one score for each edge"),
        ("segment_softmax", (np.ones(1), PAIR[:1], 2), "two rows"),
        ("gat_scores", (np.ones((1, 2)), PAIR, np.ones((3, 2)), np.ones(6)), "from 0 to 0"),
        ("gat_scores", (np.ones((2, 2)), PAIR, np.ones((3, 2)), np.ones(5)), "twice as long"),
        ("gatv2_scores", (np.ones((2, 2)), PAIR, np.ones((1, 3, 3)), np.ones((1, 3))), "two nodes"),
        ("gatv2_scores", (np.ones((2, 2)), PAIR, np.ones((1, 3, 4)), np.ones((2, 3))), "per row"),
        ("softmax_per_source", (np.ones((2, 2)), np.array([[0, 0], [1, 1]])), "twice"),
    ],
)
def test_the_references_refuse_what_the_tasks_exclude(name, arguments, reason):
    with pytest.raises(ValueError, match=reason):
        reference(name)(*arguments)
