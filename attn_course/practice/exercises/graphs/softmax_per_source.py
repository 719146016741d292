"""Find two bugs in attention on a graph: sums over the wrong end, and loops that count twice."""

import numpy as np

from attn_course.definitions import graphs as definition
from attn_course.definitions.scoring import dot
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.graphs._edges import (
    refuse_repeated_edges,
    refuse_what_is_no_graph,
    some_edges,
    with_loops,
)
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def softmax_per_source(features, edges):
    n = len(features)
    refuse_what_is_no_graph(edges, n)
    refuse_repeated_edges(edges)
    pairs = [tuple(pair) for pair in np.transpose(edges).tolist()]
    pairs += [(i, i) for i in range(n) if (i, i) not in pairs]
    scores = [dot(features[i], features[j]) for i, j in pairs]
    contexts = [definition.graph_attention(i, scores, pairs, features)[0] for i in range(n)]
    return np.array(contexts)


@softmax_per_source.cases(points=1, label=_("no node looks at itself yet"))
def without_loops(rng):
    yield Case(readable(rng, 4, 2), some_edges(rng, 4, 4))
    yield Case(readable(rng, 7, 3), some_edges(rng, 7, 13))
    # One node asks and is never looked at, one asks and is, one is only looked at, one does neither.
    yield Case(readable(rng, 4, 2), rng.permutation(4)[np.array([[0, 0, 1], [1, 2, 2]])])


@softmax_per_source.cases(points=1, label=_("some nodes look at themselves already"))
def with_some_loops(rng):
    yield Case(readable(rng, 4, 2), with_loops(rng, some_edges(rng, 4, 3), np.array([0])))
    nodes = rng.permutation(6)[:3]
    yield Case(readable(rng, 7, 2), with_loops(rng, some_edges(rng, 7, 11), nodes))


@softmax_per_source.cases(points=1, label=_("all nodes look at themselves already"))
def with_all_loops(rng):
    edges = with_loops(rng, some_edges(rng, 4, 5), np.arange(4))
    yield Case(readable(rng, 4, 3), _from_an_edge_that_goes(1, edges))
    edges = with_loops(rng, some_edges(rng, 5, 7), np.arange(5))
    yield Case(readable(rng, 5, 2), _from_an_edge_that_goes(-1, edges))


def _from_an_edge_that_goes(direction, edges):
    """Return the edges from one on that leads to a larger number (1) or to a smaller one (-1).

    Sorted rows of edges, as after `np.unique(edges, axis=0)`, stay as they are in the first case
    and are exchanged in the second.
    """
    first = np.flatnonzero(np.sign(edges[1] - edges[0]) == direction)[0]
    return np.roll(edges, -first, axis=1)


@softmax_per_source.variant
def as_a_masked_table(features, edges):
    may_attend = np.eye(len(features), dtype=bool)
    may_attend[*edges] = True
    return softmax(features @ features.T, may_attend) @ features


@softmax_per_source.variant
def node_by_node(features, edges):
    contexts = []
    for i in range(len(features)):
        neighbours = sorted({i, *edges[1][edges[0] == i].tolist()})
        keys = features[neighbours]
        contexts.append(softmax(keys @ features[i]) @ keys)
    return contexts


@softmax_per_source.variant
def in_torch(features, edges):
    import torch

    features = torch.as_tensor(features)
    may_attend = torch.eye(len(features), dtype=torch.bool)
    may_attend[edges[0], edges[1]] = True
    scores = (features @ features.mT).masked_fill(~may_attend, -torch.inf)
    return torch.softmax(scores, dim=-1) @ features


@softmax_per_source.misconception(
    _(
        "Pairs without an edge still count in your sums: their score is 0, and its exponential is "
        "1. Give them the score −inf, or an exponential of 0."
    )
)
def missing_edges_score_0(features, edges):
    neighbours = np.eye(len(features))
    neighbours[edges[0], edges[1]] = 1
    return softmax(features @ features.T * neighbours) @ features
