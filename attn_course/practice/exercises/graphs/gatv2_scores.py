"""The scores of GATv2: the activation moves inside, before the product with a."""

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
def gatv2_scores(features, edges, W, a):
    refuse_what_is_no_graph(edges, len(features))
    if W.shape[-1] != 2 * features.shape[-1] or a.shape != W.shape[:2]:
        raise ValueError("W fits two nodes, and a has one number per row of W")  # also made smaller
    return np.array(
        [
            [definition.gatv2_score(features[i], features[j], W_h, a_h) for i, j in edges.T]
            for W_h, a_h in zip(W, a, strict=True)
        ]
    )


def _layer(rng, d, d_head, heads):
    return readable(rng, heads, d_head, 2 * d), readable(rng, heads, d_head)


@gatv2_scores.cases(points=2, label=_("one head, a directed graph"))
def one_head(rng):
    yield Case(readable(rng, 4, 1), some_edges(rng, 4, 3), *_layer(rng, 1, 2, 1))
    yield Case(readable(rng, 4, 2), some_edges(rng, 4, 5), *_layer(rng, 2, 3, 1))
    yield Case(readable(rng, 7, 3), some_edges(rng, 7, 11), *_layer(rng, 3, 5, 1))


@gatv2_scores.cases(points=1, label=_("several heads, each with its own W and a"))
def several_heads(rng):
    yield Case(readable(rng, 4, 2), some_edges(rng, 4, 5), *_layer(rng, 2, 3, 2))
    yield Case(readable(rng, 6, 5), some_edges(rng, 6, 7), *_layer(rng, 5, 2, 3))


@gatv2_scores.cases(points=1, label=_("a graph with self-loops"))
def with_self_loops(rng):
    edges = with_loops(rng, some_edges(rng, 4, 5), np.array([0, 3]))
    yield Case(readable(rng, 4, 3), edges, *_layer(rng, 3, 2, 3))
    edges = with_loops(rng, some_edges(rng, 5, 11), np.arange(5))
    yield Case(readable(rng, 5, 2), edges, *_layer(rng, 2, 7, 2))


@gatv2_scores.variant
def pair_by_pair(features, edges, W, a):
    rows = []
    for W_h, a_h in zip(W, a, strict=True):
        inside = [W_h @ np.concatenate([features[i], features[j]]) for i, j in edges.T]
        rows.append([a_h @ np.maximum(x, 0.2 * x) for x in inside])
    return rows


@gatv2_scores.variant
def by_einsum(features, edges, W, a):
    inside = np.einsum("hfd,ed->hef", W, np.concatenate(features[edges], axis=-1))
    return np.einsum("hef,hf->he", np.maximum(inside, 0) + 0.2 * np.minimum(inside, 0), a)


@gatv2_scores.variant
def in_torch(features, edges, W, a):
    import torch

    features, edges, W, a = (torch.as_tensor(part) for part in (features, edges, W, a))
    both = features[edges].movedim(0, 1).flatten(1)  # (e, 2 d)
    inside = torch.nn.functional.leaky_relu(both @ W.mT, 0.2)  # (heads, e, d_head)
    return (inside @ a[..., None])[..., 0]
