"""`MultiHeadAttention` without weights against `nn.MultiheadAttention`, (8, 128, 256), 8 heads."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_course.queries import MultiHeadAttention
from benchmarks.measure import Line, compare_times, random


def run(repeats: int) -> list[Line]:
    """Return the times forward, and forward with backward."""
    torch.manual_seed(0)
    x = random(8, 128, 256)
    ours = MultiHeadAttention(256, heads=8)
    theirs = nn.MultiheadAttention(256, 8, batch_first=True)
    layers: list[Callable[[Tensor], Tensor]] = [
        lambda x: ours(x, x, x, need_weights=False)[0],
        lambda x: theirs(x, x, x, need_weights=False)[0],
    ]

    def forward(layer: Callable[[Tensor], Tensor]) -> Callable[[], object]:
        def once() -> Tensor:
            with torch.no_grad():
                return layer(x)

        return once

    def both_ways(layer: Callable[[Tensor], Tensor]) -> Callable[[], object]:
        def once() -> None:
            ours.zero_grad()
            theirs.zero_grad()
            layer(x).sum().backward()

        return once

    return [
        compare_times(f"multi-head, {name}: time / nn.MultiheadAttention", mine, peer, 1.1, repeats)
        for name, (mine, peer) in {
            "forward": [forward(layer) for layer in layers],
            "forward and backward": [both_ways(layer) for layer in layers],
        }.items()
    ]
