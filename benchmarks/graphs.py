"""The memory of a training step of `GAT` and `GATv2`: it should grow with the edges.

Ten edges a node at every size, so nodes and edges grow together and pairs of nodes as the square:
a layer that built all pairs would be far from a straight line.
"""

import torch

from attn_course.graphs import GAT, GATv2
from benchmarks.measure import Line, memory, random, straight_line

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


def run(repeats: int) -> list[Line]:
    """Return how straight the memory grows over four sizes; nothing is timed."""
    lines = []
    for kind in (GAT, GATv2):
        torch.manual_seed(0)
        layer = kind(16, 8, heads=4)
        measured = [step_memory(layer, e) for e in EDGES]
        what = f"{kind.__name__}, a training step: memory off a line in edges by"
        lines.append(straight_line(what, EDGES, measured))
    return lines
