"""The memory of a training step of `GAT` and `GATv2`: it should grow with the edges.

Ten edges a node at every size, so nodes and edges grow together and pairs of nodes as the square:
a layer that built all pairs would be far from a straight line. Times are against PyTorch Geometric.
"""

import warnings

import torch

from attn_course.graphs import GAT, GATv2
from benchmarks.measure import Line, Run, compare_times, memory, random, straight_line

EDGES = (20_000, 40_000, 80_000, 160_000)
EDGES_A_NODE = 10


def step_memory(layer: torch.nn.Module, e: int) -> int:
    """Return the peak memory of one pass forward and backward over `e` edges."""
    n = e // EDGES_A_NODE
    features = random(n, 16)
    edges = torch.randint(n, (2, e), generator=torch.Generator().manual_seed(0))

    def step() -> None:
        layer(features, edges)[0].sum().backward()

    layer.zero_grad()
    return memory(step).peak


def against_geometric(name: str, repeats: int) -> list[Line]:
    """Return the times forward, and forward with backward, at 50,000 edges, 8 heads of 8."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # while it is loaded
        from torch_geometric import nn as geometric
    torch.manual_seed(0)
    ours = {"GAT": GAT, "GATv2": GATv2}[name](64, 8, heads=8, act="identity")
    theirs = getattr(geometric, f"{name}Conv")(64, 8, heads=8, add_self_loops=False)
    features = random(5_000, 64)
    edges = torch.randint(5_000, (2, 50_000), generator=torch.Generator().manual_seed(0))
    flipped = edges.flip(0).contiguous()  # they list (source, target)

    def forward(layer: torch.nn.Module, edges: torch.Tensor) -> Run:
        def once() -> None:
            with torch.no_grad():
                layer(features, edges)

        return once

    def both_ways(layer: torch.nn.Module, edges: torch.Tensor) -> Run:
        def once() -> None:
            layer.zero_grad()
            found = layer(features, edges)
            (found[0] if isinstance(found, tuple) else found).sum().backward()

        return once

    return [
        compare_times(
            f"{name}, {what}: time / PyTorch Geometric",
            run_once(ours, edges),
            run_once(theirs, flipped),
            1.3,
            min(repeats, 7),
        )
        for what, run_once in {"forward": forward, "forward and backward": both_ways}.items()
    ]


def run(repeats: int) -> list[Line]:
    """Return how straight the memory grows over four sizes, and the times."""
    lines = []
    for kind in (GAT, GATv2):
        torch.manual_seed(0)
        layer = kind(16, 8, heads=4)
        measured = [step_memory(layer, e) for e in EDGES]
        what = f"{kind.__name__}, a training step: memory off a line in edges by"
        lines.append(straight_line(what, EDGES, measured))
        lines += against_geometric(kind.__name__, repeats)
    return lines
