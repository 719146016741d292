"""What the exercises of page 10b share: texts to rotate, and one causal pass over a whole text."""

import numpy as np

from attn_course.definitions.positions import rotate
from attn_course.practice.inputs import softmax


def turned(rows, first):
    """Return the rows `(n, d)`, each rotated by its position, the first of them at `first`."""
    return np.array([rotate(row, first + i) for i, row in enumerate(rows)]).reshape(rows.shape)


def turn_all(x, positions):
    """Return features `(..., n, d)` rotated by positions `(n,)`, as complex numbers."""
    d = x.shape[-1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


def causal_pass(queries, keys, values):
    """Return the contexts of the queries, which are the last of the keys; all are rotated."""
    new, total = queries.shape[-2], keys.shape[-2]
    scores = queries @ np.swapaxes(keys, -1, -2) / np.sqrt(keys.shape[-1])
    positions = np.arange(total)
    return softmax(scores, positions <= positions[total - new :, None]) @ values


def refuse_what_has_no_pairs(*features):
    """Raise unless all features can be rotated: an input may be made smaller by too much."""
    widths = {x.shape[-1] for x in features}
    if len(widths) > 1 or any(d % 2 for d in widths) or 0 in widths:
        raise ValueError("queries and keys have the same even width")
