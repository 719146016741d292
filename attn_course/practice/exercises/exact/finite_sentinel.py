"""Find why masked values come back: the mark for "masked" is a score that can win."""

import numpy as np

from attn_course.definitions import scale as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.exact._blocks import in_steps, refuse_what_has_no_blocks
from attn_course.practice.inputs import readable, softmax, some_of
from attn_course.translate import _

VERY_LOW = 20_000.0  # below the mark of the stub
LOWEST = 30_000.0  # as low as the task allows: no mark may be there


@reference
def finite_sentinel(scores, values, mask, block):
    refuse_what_has_no_blocks(values, values, block)
    if np.ndim(scores) != 2 or not len(scores) or np.shape(scores) != np.shape(mask):
        raise ValueError("there is a query, and the mask has the shape of the scores")
    if scores.shape[-1] != len(values):
        raise ValueError("each key has its value")  # also made smaller
    rows = zip(scores, mask, strict=True)
    return np.array([definition.online_softmax(row, values, may) for row, may in rows])


def _low(rng, q, k):
    """Return scores near -20000, in quarters, which single precision represents."""
    return rng.integers(-6, 7, (q, k)) / 4 - VERY_LOW


def _mask(rng, q, k, *hidden):
    """Return a mask that hides these keys from all queries, and some of the others from each."""
    mask = np.zeros((q, k), dtype=bool)
    rest = [l for l in range(k) if l not in hidden]
    mask[:, rest] = some_of(rng, q, len(rest))
    return mask


@finite_sentinel.cases(points=1, label=_("scores of every size, some keys hidden"))
def of_every_size(rng):
    yield Case(_low(rng, 1, 2), readable(rng, 2, 1), np.array([[True, False]]), 2)
    # A hidden score far above the visible ones must not become the maximum.
    scores, mask = _low(rng, 2, 3), np.array([[True, False, True], [False, True, True]])
    yield Case(np.where(mask, scores, readable(rng, 2, 3)), readable(rng, 3, 1), mask, 2)
    scores = np.stack([in_steps(rng, 6, 2), in_steps(rng, 6, 2)[::-1]])
    yield Case(scores, readable(rng, 6, 2), some_of(rng, 2, 6), 2)
    yield Case(_low(rng, 3, 7), readable(rng, 7, 2), some_of(rng, 3, 7), 3)
    lowest = rng.integers(0, 7, (2, 5)) / 4 - LOWEST
    yield Case(lowest, readable(rng, 5, 2), some_of(rng, 2, 5), 2)
    # One row near 0 and one far below: a mark that suits one of them is wrong for the other.
    scores = np.concatenate([readable(rng, 1, 5), _low(rng, 1, 5)])
    yield Case(scores, readable(rng, 5, 3), some_of(rng, 2, 5), 2)


@finite_sentinel.cases(points=1, label=_("a query that sees nothing of the first block"))
def nothing_at_first(rng):
    yield Case(readable(rng, 1, 3), readable(rng, 3, 1), np.array([[False, False, True]]), 2)
    yield Case(_low(rng, 2, 5), readable(rng, 5, 2), _mask(rng, 2, 5, 0, 1), 2)
    mask = _mask(rng, 3, 7, 0, 1, 2)
    mask[1] = some_of(rng, 7)
    yield Case(readable(rng, 3, 7), readable(rng, 7, 2), mask, 3)


@finite_sentinel.cases(points=1, label=_("a query that sees nothing at all: context 0"))
def nothing_at_all(rng):
    yield Case(readable(rng, 1, 2), readable(rng, 2, 1), np.array([[False, False]]), 1)
    for scores in (readable(rng, 3, 5), _low(rng, 3, 5)):
        mask = some_of(rng, 3, 5)
        mask[rng.integers(3)] = False
        yield Case(scores, readable(rng, 5, 2), mask, 2)


@finite_sentinel.variant
def all_at_once(scores, values, mask, block):
    return softmax(scores, mask) @ values


@finite_sentinel.variant
def hidden_keys_left_out(scores, values, mask, block):
    contexts = np.zeros((len(scores), values.shape[-1]))
    for i, may in enumerate(mask):
        if may.any():
            contexts[i] = softmax(scores[i, may]) @ values[may]
    return contexts


@finite_sentinel.variant
def weights_of_hidden_keys_set_to_0(scores, values, mask, block):
    """A finite mark is safe if no score can be below it and hidden keys are set to 0 as well."""
    m = np.full((len(scores), 1), -1e30)
    total, o = np.zeros((len(scores), 1)), np.zeros((len(scores), values.shape[-1]))
    for start in range(0, scores.shape[-1], block):
        here = slice(start, start + block)
        e = np.where(mask[:, here], scores[:, here], -1e30)
        higher = np.maximum(m, e.max(axis=-1, keepdims=True))
        a = np.where(mask[:, here], np.exp(e - higher), 0)
        scale = np.exp(m - higher)
        total, o = total * scale + a.sum(-1, keepdims=True), o * scale + a @ values[here]
        m = higher
    return np.divide(o, total, out=np.zeros_like(o), where=total > 0)


@finite_sentinel.variant
def in_torch(scores, values, mask, block):
    import torch

    hidden = torch.as_tensor(scores).masked_fill(~torch.as_tensor(mask), -torch.inf)
    return hidden.softmax(dim=-1).nan_to_num(0.0).double() @ torch.as_tensor(values).double()
