"""Average in one pass over blocks of keys, with an answer after every block."""

import numpy as np

from attn_course.definitions import scale as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.exact._blocks import (
    high,
    in_steps,
    parts,
    refuse_what_has_no_blocks,
)
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def online_softmax(scores, values, block):
    refuse_what_has_no_blocks(scores, values, block)
    ends = [min(start + block, len(scores)) for start in range(0, len(scores), block)]
    return np.array([definition.online_softmax(scores[:end], values[:end]) for end in ends])


@online_softmax.cases(points=1, label=_("the largest score rises from block to block"))
def rising(rng):
    yield Case(in_steps(rng, 2, 1), readable(rng, 2, 1), 1)
    yield Case(in_steps(rng, 6, 2), readable(rng, 6, 2), 2)
    yield Case(in_steps(rng, 7, 3), readable(rng, 7, 3), 3)  # the last block is short


@online_softmax.cases(points=1, label=_("scores in any order, blocks of any size"))
def in_any_order(rng):
    yield Case(in_steps(rng, 3, 1)[::-1].copy(), readable(rng, 3, 1), 1)
    yield Case(readable(rng, 5), readable(rng, 5, 3), 2)
    yield Case(in_steps(rng, 7, 2), readable(rng, 7, 2), 2)
    yield Case(readable(rng, 11), readable(rng, 11, 3), 5)
    yield Case(readable(rng, 3), readable(rng, 3, 2), 7)  # one block, which is not full


@online_softmax.cases(points=1, label=_("scores near 1000, where np.exp overflows"))
def high_scores(rng):
    yield Case(high(rng, 3, 1), readable(rng, 3, 2), 1)
    yield Case(high(rng, 8, 3), readable(rng, 8, 3), 3)
    # One block far above the first: what came before it counts for nothing.
    rise = np.concatenate([readable(rng, 2), high(rng, 3, 2)])
    yield Case(rise, readable(rng, 5, 2), 2)
    # And far below: a maximum that falls with its block makes the factor overflow.
    fall = np.concatenate([high(rng, 2, 2), readable(rng, 3)])
    yield Case(fall, readable(rng, 5, 2), 2)


@online_softmax.variant
def each_prefix_at_once(scores, values, block):
    ends = range(block, len(scores) + block, block)
    return np.array([softmax(scores[:end]) @ values[:end] for end in ends])


@online_softmax.variant
def from_a_maximum_of_0(scores, values, block):
    m, total, o, contexts = 0.0, 0.0, 0.0, []
    for e, v in parts(scores, values, block):
        higher = max(m, e.max())
        a, scale = np.exp(e - higher), np.exp(m - higher)
        total, o, m = total * scale + a.sum(), o * scale + a @ v, higher
        contexts.append(o / total)
    return np.array(contexts)


@online_softmax.variant
def with_finished_contexts(scores, values, block):
    """Keep the average so far and the logarithm of its denominator; mix in each block's own."""
    log_total, context, contexts = -np.inf, 0.0, []
    for e, v in parts(scores, values, block):
        own = np.logaddexp.reduce(e)
        both = np.logaddexp(log_total, own)
        context = np.exp(log_total - both) * context + np.exp(own - both) * (softmax(e) @ v)
        log_total = both
        contexts.append(context)
    return np.array(contexts)


@online_softmax.variant
def with_finished_contexts_in_single_precision(scores, values, block):
    return with_finished_contexts(scores.astype(np.float32), values.astype(np.float32), block)


@online_softmax.variant
def in_torch(scores, values, block):
    import torch

    scores, values = torch.as_tensor(scores), torch.as_tensor(values)
    ends = range(block, len(scores) + block, block)
    return torch.stack([scores[:end].softmax(dim=0) @ values[:end] for end in ends])
