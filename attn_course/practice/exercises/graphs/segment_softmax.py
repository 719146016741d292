"""The softmax over the edges of each node that asks."""

import numpy as np

from attn_course.definitions import graphs as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.graphs._edges import refuse_what_is_no_graph, some_edges
from attn_course.practice.inputs import readable, row_by_row, softmax
from attn_course.translate import _


@reference
def segment_softmax(scores, edges, n):
    refuse_what_is_no_graph(edges, n)
    if np.shape(scores)[-1:] != (np.shape(edges)[1],):
        raise ValueError("there is one score for each edge")  # also made smaller
    return row_by_row(lambda row: definition.segment_softmax(row, edges[0]), scores)


@segment_softmax.cases(points=2, label=_("one score for each edge, the edges in any order"))
def one_head(rng):
    yield Case(readable(rng, 4), some_edges(rng, 4, 4), 4)
    yield Case(readable(rng, 7), some_edges(rng, 5, 7), 5)
    yield Case(readable(rng, 13), some_edges(rng, 7, 13), 7)


@segment_softmax.cases(points=1, label=_("several heads"))
def several_heads(rng):
    yield Case(readable(rng, 2, 5), some_edges(rng, 4, 5), 4)
    yield Case(readable(rng, 2, 3, 11), some_edges(rng, 5, 11), 5)


@segment_softmax.cases(points=1, label=_("large scores, and nodes or heads far apart"))
def large_scores(rng):
    edges = some_edges(rng, 4, 5)
    yield Case(_by_node(rng, edges, 3) + readable(rng, 5), edges, 4)
    yield Case(readable(rng, 5) - 1000, some_edges(rng, 4, 5), 4)  # no node has a score above 0
    heads = np.array([[1000.0], [-1000.0]])  # the same node has both, one in each head
    yield Case(heads + readable(rng, 2, 5), some_edges(rng, 4, 5), 4)
    edges = some_edges(rng, 7, 17)
    yield Case(_by_node(rng, edges, 6) + readable(rng, 3, 17), edges, 7)


def _by_node(rng, edges, n):
    """Return 1000 for some of the nodes that ask and -1000 for others, for each of their edges."""
    nodes = np.unique(edges[0])
    heights = np.zeros(n)
    heights[rng.permutation(nodes)] = 1000.0 * (-1) ** np.arange(len(nodes))
    return heights[edges[0]]


@segment_softmax.variant
def node_by_node(scores, edges, n):
    weights = np.zeros(scores.shape)
    for node in range(n):
        own = np.flatnonzero(edges[0] == node)
        if len(own):
            weights[..., own] = softmax(scores[..., own])
    return weights


@segment_softmax.variant
def as_a_masked_table(scores, edges, n):
    same_node = edges[0][:, None] == edges[0]  # (e, e): the edges that share the denominator
    differences = scores[..., None, :] - scores[..., :, None]
    with np.errstate(over="ignore"):
        return 1 / np.where(same_node, np.exp(differences), 0).sum(axis=-1)


@segment_softmax.variant
def in_torch(scores, edges, n):
    import torch

    scores, asks = torch.as_tensor(scores), torch.as_tensor(edges)[0]
    index = asks.expand(scores.shape)
    largest = torch.full((*scores.shape[:-1], n), -torch.inf, dtype=scores.dtype)
    largest = largest.scatter_reduce(-1, index, scores, "amax")
    exponentials = (scores - largest.gather(-1, index)).exp()
    total = torch.zeros_like(largest).scatter_add(-1, index, exponentials)
    return exponentials / total.gather(-1, index)
