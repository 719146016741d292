r"""Supervised attention: a second loss that teaches where to look.

$L = L_{\text{task}} + \lambda L_{\text{att}}$, where $L_{\text{att}}$ compares the weights
`(..., q, k)` with gold ones that broadcast to them. In a training loop it is one line:

    supervision = SupervisedAttention(weight=0.3)
    …
    loss = task_loss(predictions, targets) + supervision(weights, gold)

Gold is boolean (True at marked keys) or a distribution. A row without gold is left out, so steps
without annotation teach nothing, and a batch without any adds 0.
"""

from dataclasses import dataclass
from typing import Any

from attn_course._arrays import Array, namespace, require_choice, require_mask, require_shape, shape

# log 0 is no loss one can learn from. A gold key of weight 0 (outside a window, or dropped by
# sparsemax) counts as this, and its gradient is 0.
SMALLEST = 1e-12


def gold_distribution(right: Array, mask: Array | None = None, smoothing: float = 0.0) -> Array:
    r"""$a^\star_l = 1 / |G|$ on the marked keys $G$, and 0 elsewhere.

    `smoothing` $s$ gives the share $s$ to all keys of the mask alike:
    $(1 - s) [l \in G] / |G| + s / n$. A row without a marked key is 0.

    >>> import numpy as np
    >>> gold_distribution(np.array([True, False, True, False]), smoothing=0.2)
    array([0.45, 0.05, 0.45, 0.05])
    """
    xp = namespace(right=right, mask=mask)
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is a share from 0 to below 1, but is {smoothing}.")
    keys = xp.ones_like(right) if mask is None else mask
    right = right & keys
    marked = xp.astype(right, xp.float64)
    count = xp.sum(marked, axis=-1, keepdims=True)
    at_gold = marked / xp.where(count > 0, count, xp.ones_like(count))
    if smoothing == 0:
        return at_gold
    allowed = xp.astype(xp.broadcast_to(keys, right.shape), xp.float64)
    n = xp.sum(allowed, axis=-1, keepdims=True)
    everywhere = allowed / xp.where(n > 0, n, xp.ones_like(n))
    return xp.where(count > 0, (1 - smoothing) * at_gold + smoothing * everywhere, at_gold)


def cross_entropy_loss(weights: Array, gold: Array, mask: Array | None = None) -> Array:
    r"""$-\sum_l a^\star_l \log a_l$, the mean over rows with gold.

    Through softmax its gradient with respect to the scores is $a - a^\star$.
    """
    xp, weights, gold = _prepared(weights, gold, mask)
    return _mean_over_gold(xp, xp.sum(-gold * _log(xp, weights), axis=-1), gold)


def squared_loss(weights: Array, gold: Array, mask: Array | None = None) -> Array:
    r"""$\sum_l (a^\star_l - a_l)^2$, the mean over rows with gold."""
    xp, weights, gold = _prepared(weights, gold, mask)
    return _mean_over_gold(xp, xp.sum((gold - weights) ** 2, axis=-1), gold)


def kl_loss(weights: Array, gold: Array, mask: Array | None = None) -> Array:
    r"""$\mathrm{KL}(a^\star \Vert a) = L^{\text{CE}} - H(a^\star)$, the mean over rows with gold.

    It has the gradient of the cross-entropy, and is 0 where the weights are right.
    """
    xp, weights, gold = _prepared(weights, gold, mask)
    return _mean_over_gold(xp, xp.sum(gold * (_log(xp, gold) - _log(xp, weights)), axis=-1), gold)


LOSSES = {"cross_entropy": cross_entropy_loss, "squared": squared_loss, "kl": kl_loss}


@dataclass(frozen=True)
class SupervisedAttention:
    r"""$\lambda L_{\text{att}}$, to be added to the loss of a task.

    `weight` is $\lambda$, `kind` one of `cross_entropy`, `squared`, `kl`; `smoothing` is for gold
    that comes as booleans.

    >>> import numpy as np
    >>> supervision = SupervisedAttention(weight=0.5, kind="squared")
    >>> float(supervision(np.array([[0.5, 0.5]]), np.array([[True, False]])))
    0.25
    """

    weight: float = 1.0
    kind: str = "cross_entropy"
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, LOSSES)
        if self.weight < 0:
            raise ValueError(f"weight must not be negative, but is {self.weight}.")

    def __call__(self, weights: Array, gold: Array, mask: Array | None = None) -> Array:
        """Return the loss, one number with its gradient; gold boolean or a distribution."""
        if "bool" in str(gold.dtype):
            gold = gold_distribution(gold, mask, self.smoothing)
        return self.weight * LOSSES[self.kind](weights, gold, mask)


def _prepared(weights: Array, gold: Array, mask: Array | None) -> tuple[Any, Array, Array]:
    """Return the library, and weights and gold with 0 behind the mask, of the weights' dtype."""
    xp = namespace(weights=weights, gold=gold, mask=mask)
    try:
        gold = xp.broadcast_to(gold, weights.shape)  # (batch, 1, q, k) teaches every head
    except (ValueError, RuntimeError):
        require_shape(shape(weights), "the shape of the weights", gold=gold)
    if "bool" in str(gold.dtype):
        raise ValueError(
            "gold must be a distribution over keys here, but is boolean. "
            "Write gold_distribution(gold), or use SupervisedAttention, which does."
        )
    gold = xp.astype(gold, weights.dtype)
    if mask is None:
        return xp, weights, gold
    require_mask(mask, weights)
    zeros = xp.zeros_like(weights)
    return xp, xp.where(mask, weights, zeros), xp.where(mask, gold, zeros)


def _log(xp: Any, numbers: Array) -> Array:
    return xp.log(xp.where(numbers > SMALLEST, numbers, xp.full_like(numbers, SMALLEST)))


def _mean_over_gold(xp: Any, losses: Array, gold: Array) -> Array:
    counts = xp.any(gold > 0, axis=-1)
    rows = xp.sum(xp.astype(counts, losses.dtype))
    total = xp.sum(xp.where(counts, losses, xp.zeros_like(losses)))
    return total / xp.where(rows > 0, rows, xp.ones_like(rows))
