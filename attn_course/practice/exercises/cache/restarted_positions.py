"""Find two bugs in a text that is written in chunks: both are about positions."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.cache._texts import (
    causal_pass,
    refuse_what_has_no_pairs,
    turn_all,
    turned,
)
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def restarted_positions(queries, keys, values, chunks):
    refuse_what_has_no_pairs(queries, keys)
    lengths = {queries.shape[-2], keys.shape[-2], values.shape[-2], sum(chunks)}
    if len(lengths) > 1 or min(chunks, default=0) < 1:
        raise ValueError("the chunks are the whole text, none of them empty")  # also made smaller
    if queries.ndim > 2:
        texts = zip(queries, keys, values, strict=True)
        return np.stack([restarted_positions.reference(*text, chunks) for text in texts])
    return causal_pass(turned(queries, 0), turned(keys, 0), values)  # whatever the chunks are


def _case(rng, chunks, d, d_v, *batch):
    n = sum(chunks)
    text = readable(rng, *batch, n, d), readable(rng, *batch, n, d), readable(rng, *batch, n, d_v)
    return Case(*text, list(chunks))


@restarted_positions.cases(points=1, label=_("two chunks, and a text in one"))
def two_chunks(rng):
    yield _case(rng, (1, 1), 2, 1)
    yield _case(rng, (2, 1), 2, 2)
    yield _case(rng, (3, 2), 4, 3)
    yield _case(rng, (3,), 2, 3)


@restarted_positions.cases(points=1, label=_("many chunks, word by word too"))
def many_chunks(rng):
    yield _case(rng, (1, 1, 1), 2, 2)
    yield _case(rng, (2, 1, 3), 4, 3)
    yield _case(rng, (1, 5, 2, 3), 6, 2)


@restarted_positions.cases(points=1, label=_("a batch, and a batch of heads"))
def a_batch(rng):
    yield _case(rng, (2, 1, 2), 2, 3, 3)
    yield _case(rng, (3, 2), 4, 5, 2, 3)


@restarted_positions.variant
def in_one_pass(queries, keys, values, chunks):
    places = np.arange(keys.shape[-2])
    return causal_pass(turn_all(queries, places), turn_all(keys, places), values)


@restarted_positions.variant
def rotated_when_read(queries, keys, values, chunks):
    contexts, end = [], 0
    for new in chunks:
        start, end = end, end + new
        places = np.arange(end)
        q = turn_all(queries[..., start:end, :], places[start:])
        contexts.append(causal_pass(q, turn_all(keys[..., :end, :], places), values[..., :end, :]))
    return np.concatenate(contexts, axis=-2)


@restarted_positions.variant
def counted_back_from_now(queries, keys, values, chunks):
    """Scores see distances only, so any common shift of all positions is right."""
    places = np.arange(keys.shape[-2]) - keys.shape[-2] + 1
    return causal_pass(turn_all(queries, places), turn_all(keys, places), values)
