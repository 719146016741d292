"""Find the bug: a head is removed after the projection, where all heads are mixed already."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def sliced_after_projection(heads, W_O, b, head):
    if heads.ndim > 3:
        found = [sliced_after_projection.reference(one, W_O, b, head) for one in heads]
        return np.stack(found)
    h, n, width = heads.shape
    if len(W_O) != h * width or not 0 <= head < h:
        raise ValueError("W_O has a row for each entry of a head")  # also in a smaller example
    output = np.tile(b, (n, 1))
    for other in range(h):
        if other != head:
            output += heads[other] @ W_O[other * width : (other + 1) * width]
    return output


def _heads(rng, h, n, width, d, head, batch=()):
    W_O = readable(rng, h * width, d, low=-1.0, high=1.0)
    return Case(readable(rng, *batch, h, n, width), W_O, readable(rng, d), head)


@sliced_after_projection.cases(points=2, label=_("an output as wide as all heads together"))
def as_wide_as_the_heads(rng):
    yield _heads(rng, 2, 3, 1, 2, head=int(rng.integers(0, 2)))
    yield _heads(rng, 3, 5, 2, 6, head=1)


@sliced_after_projection.cases(points=1, label=_("an output of another width"))
def of_another_width(rng):
    yield _heads(rng, 3, 4, 2, 5, head=1)
    yield _heads(rng, 2, 5, 3, 4, head=1)
    yield _heads(rng, 4, 2, 3, 7, head=2)


@sliced_after_projection.cases(points=1, label=_("the first head and the last one"))
def first_and_last(rng):
    yield _heads(rng, 3, 4, 2, 6, head=0)
    yield _heads(rng, 3, 4, 2, 6, head=2)


@sliced_after_projection.cases(points=1, label=_("a batch"))
def batches(rng):
    yield _heads(rng, 3, 5, 2, 6, head=1, batch=(2,))
    yield _heads(rng, 4, 5, 3, 7, head=2, batch=(6, 2))


@sliced_after_projection.variant
def rows_of_the_matrix(heads, W_O, b, head):
    *_batch, h, _n, width = heads.shape
    rows = W_O.reshape(h, width, -1).copy()
    rows[head] = 0.0
    return np.einsum("...hnw,hwd->...nd", heads, rows) + b


@sliced_after_projection.variant
def its_share_subtracted(heads, W_O, b, head):
    *batch, h, n, width = heads.shape
    joined = np.swapaxes(heads, -3, -2).reshape(*batch, n, h * width)
    rows = W_O[head * width : (head + 1) * width]
    return joined @ W_O + b - heads[..., head, :, :] @ rows


@sliced_after_projection.variant
def gates_in_torch(heads, W_O, b, head):
    import torch

    heads, W_O, b = (torch.as_tensor(part) for part in (heads, W_O, b))
    gates = torch.ones(heads.shape[-3], dtype=heads.dtype)
    gates[head] = 0.0
    joined = (gates[:, None, None] * heads).transpose(-3, -2).flatten(start_dim=-2)
    return torch.nn.functional.linear(joined, W_O.T, b)
