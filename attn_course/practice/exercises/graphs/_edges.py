"""Graphs for cases: directed, in no order, with nodes that have several neighbours or none."""

import numpy as np


def some_edges(rng, n, e):
    """Return `e` directed edges `(2, e)` among `n` nodes, without self-loops.

    The last node neither asks nor is looked at. Another one asks twice or more, another one is
    looked at twice or more, and both ends are counted differently: a sum over the wrong end shows.
    """
    pairs = np.array([(i, j) for i in range(n - 1) for j in range(n - 1) if i != j])
    assert e < len(pairs), f"among {n - 1} nodes only {len(pairs)} edges could be chosen"
    while True:
        edges = rng.permutation(pairs)[:e].T
        asks, looked_at = (np.bincount(end, minlength=n) for end in edges)
        in_order = (np.diff(edges[0]) >= 0).all()  # then edges of a node are next to each other
        if asks.max() > 1 and looked_at.max() > 1 and (asks != looked_at).any() and not in_order:
            return edges


def with_loops(rng, edges, nodes):
    """Return the edges with a self-loop at each of these nodes, in a new order."""
    together = np.concatenate([edges, np.stack([nodes, nodes])], axis=1)
    return rng.permutation(together, axis=1)


def refuse_what_is_no_graph(edges, n):
    """Raise where no graph is left: an input may be made smaller by too much."""
    if np.ndim(edges) != 2 or len(edges) != 2:
        raise ValueError("edges have two rows: who asks, and who is looked at")
    if np.size(edges) and not 0 <= np.min(edges) <= np.max(edges) < n:
        raise ValueError(f"edges are pairs of nodes from 0 to {n - 1}")


def refuse_repeated_edges(edges):
    """Raise where an edge is listed twice."""
    if np.unique(edges, axis=1).shape != np.shape(edges):
        raise ValueError("no edge is listed twice")
