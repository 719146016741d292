r"""Dictionary lookup on a graph: every node that asks needs another neighbour.

A bipartite graph: eight nodes ask, each with a key, and look at eight nodes that each have a key
and a value. Which value belongs to my key? `GAT` ranks the neighbours by $a_2^\top W h_j$, in the
same order for every node that asks, so it can serve at most one of them; `GATv2` lets each node
rank them for itself (Brody et al., 2022).
"""

from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.graphs import GAT, GATv2
from attn_course.tasks.readers import Seen, reader_arms, reader_comparisons
from attn_course.tasks.task import Arm, Comparison, Examples, Split, Task, as_tensor


class GraphLookup(Task):
    """Which value belongs to my key, on one of my neighbours?"""

    name = "graph_lookup"
    question = "Which of its neighbours has the same key as this node, and what is its value?"
    claim = (
        "GATv2 ranks the neighbours for each node, GAT ranks them once for all. A reader that "
        "compares every node with every neighbour is a graph layer too, with another aggregation."
    )
    reader_settings: ClassVar = {"mean": ("deep", (6e-3, 6e-3)), "max": ("deep", (6e-3, 6e-3))}
    reader_tried: ClassVar = (6e-3,)
    steps = 300
    n, symbols, classes = 8, 10, 8
    d_head = 32

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return a graph each: first the nodes that ask, then those that are looked at."""
        keys = rng.random((number, self.symbols)).argsort(axis=-1)[:, : self.n]
        asking = rng.permuted(keys, axis=-1)
        values = rng.integers(self.classes, size=keys.shape)  # repeated: absence says nothing
        right = asking[:, :, None] == keys[:, None, :]  # (number, n, n)
        none = np.zeros((number, self.n, self.classes))
        asking_nodes = np.concatenate([np.eye(self.symbols)[asking], none], axis=-1)
        looked_at = np.concatenate([np.eye(self.symbols)[keys], np.eye(self.classes)[values]], -1)
        return Examples(
            inputs={"nodes": as_tensor(np.concatenate([asking_nodes, looked_at], axis=-2))},
            targets=as_tensor((right * values[:, None, :]).sum(axis=-1)),
            right={"weights": as_tensor(right)},
        )

    def model(self, kind: type[GAT] | type[GATv2], d_head: int) -> "GraphLookupModel":
        """Return the model with that layer of that width."""
        return GraphLookupModel(kind, self.n, self.symbols + self.classes, d_head, self.classes)

    @property
    def arms(self) -> dict[str, Arm]:
        """GATv2, GAT of the same width, and GAT with at least as many parameters."""
        return {
            "GATv2": Arm(partial(self.model, GATv2, self.d_head), 3e-3),
            "GAT": Arm(partial(self.model, GAT, self.d_head), 3e-2),
            "GAT, as many parameters": Arm(partial(self.model, GAT, 2 * self.d_head), 1e-2),
            **reader_arms(self, partial(self.model, GATv2, self.d_head), self.see),
        }

    def see(self, nodes: Tensor) -> Seen:
        """Return the neighbours, with the key of every node that asks for each."""
        return Seen(nodes[:, self.n :], nodes[:, : self.n, : self.symbols])

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """A ranking of one's own against one for all, and against readers."""
        return (
            Comparison("GATv2", "GAT"),
            Comparison("GATv2", "GAT, as many parameters"),
            *reader_comparisons("GATv2"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return what is asked, such as "c?", and what neighbours say, such as "c=5"."""
        keys = examples.inputs["nodes"][place, :, : self.symbols].argmax(dim=-1).tolist()
        values = examples.inputs["nodes"][place, self.n :, self.symbols :].argmax(dim=-1).tolist()
        letters = [chr(ord("a") + key) for key in keys]
        told = [f"{key}={value}" for key, value in zip(letters[self.n :], values, strict=True)]
        return {"weights": ([f"{key}?" for key in letters[: self.n]], told)}


class GraphLookupModel(nn.Module):
    """One graph layer and a linear output; no node is its own neighbour."""

    edges: Tensor

    def __init__(
        self, kind: type[GAT] | type[GATv2], n: int, d_f: int, d_head: int, classes: int
    ) -> None:
        super().__init__()
        self.n = n
        # Row by row, so that the weights of the edges are the matrix (q, k), read in order.
        asks, looked_at = torch.arange(n).repeat_interleave(n), n + torch.arange(n).repeat(n)
        self.register_buffer("edges", torch.stack([asks, looked_at]))
        # No activation behind the mean: a non-linear output could untangle what was mixed.
        self.layer = kind(d_f, d_head, act="identity")
        self.output = nn.Linear(d_head, classes)

    def forward(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return predictions of the nodes that ask, `(batch, n, classes)`, and their weights."""
        contexts, weights = self.layer(nodes, self.edges)
        return self.output(contexts[:, : self.n]), weights[:, 0].unflatten(-1, (self.n, self.n))
