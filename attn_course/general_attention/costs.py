r"""What an attention costs: parameters, FLOPs and memory, by the formulas of the course.

One multiply-add is 2 FLOPs. Biases, activations and softmax are left out: they are of lower order.
Memory is in numbers, not bytes. All of it is what this code does: a window, say, saves nothing
here, as all scores are made before it is cut out.
"""

from typing import NamedTuple

from attn_course.general_attention.choices import ENTRY_BY_ENTRY, Choices
from attn_course.general_attention.sizes import Sizes


class Cost(NamedTuple):
    """Numbers to learn, FLOPs of a forward pass, numbers held for the backward pass.

    It holds keys, values and weights, and the hidden layer of scores that have one.
    """

    parameters: int
    flops: int
    memory: int


def score_flops(kind: str, d_q: int, d_k: int, d_w: int, q: int, n: int) -> int:
    """Return the FLOPs of the scores of q queries and n keys."""
    if kind == "additive":
        # For each pair W_q q + W_k k is added up, then multiplied by w and summed; without a query
        # there is nothing to add.
        per_pair = 3 * d_w if d_q else 2 * d_w
        return 2 * d_w * d_q * q + 2 * d_w * d_k * n + per_pair * n * q
    if kind == "cosine":
        return 2 * d_k * n * q + 2 * d_k * n  # the norms of the keys
    if kind.endswith("euclidean"):
        return 3 * d_k * n * q  # difference, square, sum
    if kind in ENTRY_BY_ENTRY:
        return 2 * d_k * n * q
    return 2 * d_k * d_q * q + 2 * d_k * n * q  # the general family: W q once a query


def singular(choices: Choices, sizes: Sizes, n: int, q: int) -> tuple[int, int]:
    """Return FLOPs and memory of one attention, q queries over n features."""
    d_f, d_q, d_k, d_v, d_w = sizes.d_f, sizes.d_q, sizes.d_k, sizes.d_v, sizes.d_w
    flops = 2 * d_f * n * (d_k * sizes.key_map + d_v * sizes.value_map)  # survey (1)
    if choices.query == "self":
        flops += 2 * d_f * d_q * n  # survey (35)
    if choices.dimension == "multi":  # survey (30)
        added = 0 if choices.query == "removed" else d_w  # W_q q + W_k k; d_q is 0 without a query
        flops += 2 * d_w * d_q * q + 2 * d_w * d_k * n + (added + 2 * d_w * d_v) * n * q
    else:
        flops += score_flops(choices.score, d_q, d_k, d_w, q, n)
    if choices.align == "local_predictive":
        flops += 2 * d_w * d_q * q + 2 * d_w * q  # survey (28)
    if choices.align == "reinforced":
        flops += 2 * d_w * 3 * d_f * n + 2 * d_w * n  # the selector
    flops += 2 * d_v * n * q  # survey (4)
    weights = q * n * (d_v if choices.dimension == "multi" else 1)
    hidden = q * n * d_w if choices.score == "additive" else 0
    # Where neither has a map, keys and values are one and the same.
    kept = d_k * n + d_v * n * (sizes.key_map or sizes.value_map)
    return flops, kept + weights + hidden


def multi_head(choices: Choices, sizes: Sizes, n: int, q: int) -> tuple[int, int]:
    """Return FLOPs and memory of all heads, and of all hops if there are several."""
    h, d_f, d_q, d, d_h = choices.heads, sizes.d_f, sizes.d_q, sizes.d_k, sizes.d_v
    flops = 2 * h * (d_q * d * q + d_f * d * n + d_f * d_h * n)  # survey (38)
    flops += h * score_flops(choices.score, d, d, d, q, n) + 2 * h * d_h * n * q
    flops += 2 * h * d_h * sizes.d_out * q  # survey (40)
    hidden = q * n * d if choices.score == "additive" else 0
    memory = h * ((d + d_h) * n + q * n + hidden)
    return choices.hops * flops, choices.hops * memory


def multi_hop(choices: Choices, sizes: Sizes, n: int, m: int) -> tuple[int, int]:
    """Return FLOPs and memory of all hops; m vectors is the query made of."""
    d_f, d_q, kind = sizes.d_f, sizes.d_q, choices.score
    d_u = d_q + d_f  # a hop asks with query and context joined
    flops = score_flops(kind, d_u, d_q, d_q, 1, m) + 2 * d_q * m  # survey (41)
    flops += score_flops(kind, d_u, d_f, d_f, 1, n) + 2 * d_f * n  # survey (42)
    hidden = d_q * m + d_f * n if kind == "additive" else 0
    # Features are keys and values alike, and the same in every hop.
    return choices.hops * flops, d_f * n + d_q * m + choices.hops * (m + n + hidden)
