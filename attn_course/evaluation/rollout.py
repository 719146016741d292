r"""Attention rollout: what deep weights say about the input.  (further reading)

In the second layer a weight points at a mixture, not at a word. Abnar & Zuidema (2020) follow the
mixtures down: with half of every layer passing by, as in a residual connection,

$$\tilde A_i = \tfrac12 A_i + \tfrac12 I, \qquad R = \tilde A_L \cdots \tilde A_2 \tilde A_1.$$

Row $i$ of $R$ says how much of each input reaches position $i$ at the top. It is exact where every
layer is linear and passes values on as they are, and a rough guide elsewhere: value maps,
normalisation and feed-forward layers are not in it.
"""

from collections.abc import Sequence
from functools import reduce

from attn_course._arrays import Array, namespace, require_axes, require_shape, shape


def attention_rollout(layers: Sequence[Array], residual: float = 0.5, heads: bool = False) -> Array:
    r"""Weights `(..., n, n)` of each layer, from the lowest to the highest, to $R$ `(..., n, n)`.

    `residual` is the share that passes by each layer. With `heads` the weights are
    `(..., head, n, n)`, and their mean is taken. A row that attends nowhere passes by whole.

    >>> import numpy as np
    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> attention_rollout([swap, swap], residual=0.25)
    array([[0.625, 0.375],
           [0.375, 0.625]])
    """
    if len(layers) == 0:
        raise ValueError("rollout needs the weights of at least one layer, but there are none.")
    if not 0 <= residual <= 1:
        raise ValueError(f"residual is a share from 0 to 1, but is {residual}.")
    steps = [
        _step(weights, f"weights of layer {number}", shape(layers[0]), residual, heads)
        for number, weights in enumerate(layers, start=1)
    ]
    return reduce(lambda below, layer: layer @ below, steps)


def _step(
    weights: Array, name: str, wanted: tuple[int, ...], residual: float, heads: bool
) -> Array:
    """Return the weights of one layer with what passes by it, rows adding up to 1."""
    layout = "(..., head, n, n)" if heads else "(..., n, n)"
    xp = namespace(**{name: weights})
    require_axes(3 if heads else 2, layout, **{name: weights})
    require_shape(wanted, "as those of layer 1", **{name: weights})
    n = weights.shape[-1]
    if weights.shape[-2] != n:
        raise ValueError(
            f"rollout follows self-attention, so {name} must be {layout}, "
            f"but are {shape(weights)}. Cross-attention has another input."
        )
    mixed = xp.mean(weights, axis=-3) if heads else weights
    layer = (1 - residual) * mixed + residual * xp.eye(n, dtype=mixed.dtype)
    total = xp.sum(layer, axis=-1, keepdims=True)
    return layer / xp.where(total > 0, total, xp.ones_like(total))
