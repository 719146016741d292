"""The scores of GAT: one number for each edge, with the activation outside."""

import numpy as np

from attn_course.definitions import graphs as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.graphs._edges import (
    refuse_what_is_no_graph,
    some_edges,
    with_loops,
)
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def gat_scores(features, edges, W, a):
    refuse_what_is_no_graph(edges, len(features))
    if W.shape[-1:] != features.shape[-1:] or a.shape != (2 * len(W),):
        raise ValueError("W fits the features, and a is twice as long as W h")  # also made smaller
    pairs = np.transpose(edges)
    return np.array([definition.gat_score(features[i], features[j], W, a) for i, j in pairs])


def _layer(rng, d, d_head):
    return readable(rng, d_head, d), readable(rng, 2 * d_head)


@gat_scores.cases(points=2, label=_("a directed graph"))
def a_directed_graph(rng):
    yield Case(readable(rng, 4, 2), some_edges(rng, 4, 3), *_layer(rng, 2, 1))
    yield Case(readable(rng, 4, 2), some_edges(rng, 4, 5), *_layer(rng, 2, 2))
    yield Case(readable(rng, 7, 3), some_edges(rng, 7, 11), *_layer(rng, 3, 5))


@gat_scores.cases(points=1, label=_("a graph with self-loops, and more edges"))
def with_self_loops(rng):
    edges = with_loops(rng, some_edges(rng, 4, 5), np.array([0, 3]))
    yield Case(readable(rng, 4, 3), edges, *_layer(rng, 3, 2))
    edges = with_loops(rng, some_edges(rng, 6, 17), np.arange(6))
    yield Case(readable(rng, 6, 5), edges, *_layer(rng, 5, 3))


@gat_scores.variant
def pair_by_pair(features, edges, W, a):
    scores = []
    for i, j in zip(*edges, strict=True):
        score = a @ np.concatenate([W @ features[i], W @ features[j]])
        scores.append(max(score, 0.2 * score))
    return scores


@gat_scores.variant
def from_the_whole_table(features, edges, W, a):
    hidden = features @ W.T
    d_head = len(W)
    table = (hidden @ a[:d_head])[:, None] + (hidden @ a[d_head:])[None, :]
    return np.maximum(table, 0)[*edges] + 0.2 * np.minimum(table, 0)[*edges]


@gat_scores.variant
def in_torch(features, edges, W, a):
    import torch

    features, edges, W, a = (torch.as_tensor(part) for part in (features, edges, W, a))
    pairs = (features @ W.T)[edges]  # (2, e, d_head)
    joined = torch.cat([pairs[0], pairs[1]], dim=-1)
    return torch.nn.functional.leaky_relu(joined @ a, 0.2)
