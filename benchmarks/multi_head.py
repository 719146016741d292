"""`MultiHeadAttention` without weights against `nn.MultiheadAttention` in `eval`, 8 heads of 32.

Both have the same parameters and the same masks, so they compute the same contexts.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attn_course.alignment import causal_mask
from attn_course.queries import MultiHeadAttention
from benchmarks.measure import Line, compare_times, random

BATCH, D, HEADS = 8, 256, 8
BOUNDS = {32: 1.3, 128: 1.1, 512: 1.05}  # by n: what is fixed per call weighs less in a long one
MASKS = ("no mask", "causal", "padding")
Layer = Callable[[Tensor], Tensor]


def twins(n: int, masks: str) -> tuple[Layer, Layer]:
    """Return our layer and PyTorch's, with the same parameters and masks over `n` keys."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D, HEADS, batch_first=True).eval()
    ours = MultiHeadAttention.from_torch(theirs)
    future = ~causal_mask(n, like=torch.ones(1))
    real = torch.arange(n) < torch.linspace(n // 2, n, BATCH).long()[:, None]
    our_masks = {"no mask": {}, "causal": {"causal": True}, "padding": {"key_mask": real}}[masks]
    their_masks = {
        "no mask": {},
        "causal": {"attn_mask": future, "is_causal": True},
        "padding": {"key_padding_mask": ~real},
    }[masks]
    return (
        lambda x: ours(x, x, x, need_weights=False, **our_masks)[0],
        lambda x: theirs(x, x, x, need_weights=False, **their_masks)[0],
    )


def forward(layer: Layer, x: Tensor) -> Callable[[], object]:
    """Return a pass without gradients, to be measured."""

    def once() -> Tensor:
        with torch.no_grad():
            return layer(x)

    return once


def both_ways(layer: Layer, x: Tensor) -> Callable[[], object]:
    """Return a pass forward and backward, to be measured; gradients add up in both layers."""
    return lambda: layer(x).sum().backward()


def run(repeats: int) -> Iterator[Line]:
    """Yield the times forward, and forward with backward, for each length and mask."""
    for n, bound in BOUNDS.items():
        x = random(BATCH, n, D)
        for masks in MASKS:
            for name, timed in (("forward", forward), ("and backward", both_ways)):
                mine, peer = (timed(layer, x) for layer in twins(n, masks))
                what = f"multi-head, n = {n}, {masks}, {name}: time / PyTorch's"
                yield compare_times(what, mine, peer, bound, min(repeats, 7))
