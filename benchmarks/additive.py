"""The additive score on 2,048 × 2,048, d_w = 64, against the version that builds every pair."""

import torch
from torch import Tensor

from attn_course.scoring import BLOCK_BYTES, additive
from benchmarks.measure import MIB, Line, compare_times, memory, random

N, D_W = 2_048, 64


def naive(queries: Tensor, keys: Tensor, w: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    """Return the scores by way of one (q, k, d_w) tensor."""
    hidden = (queries @ W_q.mT)[:, None, :] + (keys @ W_k.mT)[None, :, :]
    return torch.tanh(hidden) @ w


@torch.no_grad()
def run(repeats: int) -> list[Line]:
    """Return the largest tensor against the stated budget, the memory and the time."""
    W_q, W_k = random(2, D_W, D_W) / 8
    arrays = random(N, D_W), random(N, D_W, seed=1), random(D_W), W_q, W_k
    mine, theirs = memory(lambda: additive(*arrays)), memory(lambda: naive(*arrays))
    return [
        Line(
            "additive, 2,048 x 2,048: largest tensor / BLOCK_BYTES",
            mine.largest / BLOCK_BYTES,
            1,
            f"{mine.largest / MIB:.0f} MiB of {BLOCK_BYTES / MIB:.0f} MiB; "
            f"naive {theirs.largest / MIB:.0f} MiB",
        ),
        Line(
            "additive, 2,048 x 2,048: peak memory / naive",
            mine.peak / theirs.peak,
            None,
            f"{mine.peak / MIB:.0f} MiB against {theirs.peak / MIB:.0f} MiB",
        ),
        compare_times(
            "additive, 2,048 x 2,048: time / naive",
            lambda: additive(*arrays),
            lambda: naive(*arrays),
            1.2,
            min(repeats, 7),
        ),
    ]
