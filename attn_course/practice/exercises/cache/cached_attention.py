"""A step of causal attention with rotated keys, of which the old ones are in a cache."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.cache._texts import (
    causal_pass,
    refuse_what_has_no_pairs,
    turn_all,
    turned,
)
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def cached_attention(queries, keys, values, old_keys, old_values):
    refuse_what_has_no_pairs(queries, keys, old_keys)
    lengths = {queries.shape[-2], keys.shape[-2], values.shape[-2]}
    if len(lengths) > 1 or 0 in lengths or old_keys.shape[-2] != old_values.shape[-2]:
        raise ValueError("each word has its query, its key and its value")  # also made smaller
    if queries.ndim > 2:
        texts = zip(queries, keys, values, old_keys, old_values, strict=True)
        answers = [cached_attention.reference(*text) for text in texts]
        return tuple(np.stack(part) for part in zip(*answers, strict=True))
    past = len(old_keys)
    queries, keys = turned(queries, past), turned(keys, past)
    contexts = []
    for query, key, value in zip(queries, keys, values, strict=True):  # one word at a time
        old_keys, old_values = np.vstack([old_keys, key]), np.vstack([old_values, value])
        weights = softmax(old_keys @ query / np.sqrt(len(query)))
        contexts.append(weights @ old_values)
    return np.array(contexts), old_keys, old_values


def _case(rng, past, new, d, d_v, *batch):
    step = (
        readable(rng, *batch, new, d),
        readable(rng, *batch, new, d),
        readable(rng, *batch, new, d_v),
    )
    return Case(*step, readable(rng, *batch, past, d), readable(rng, *batch, past, d_v))


@cached_attention.cases(points=1, label=_("one new word after a few others, and two of them"))
def a_few_words(rng):
    yield _case(rng, 2, 1, 2, 2)
    yield _case(rng, 3, 2, 2, 3)
    yield _case(rng, 5, 1, 4, 2)


@cached_attention.cases(points=1, label=_("chunks of several words, and a prompt, which has an empty cache"))
def chunks(rng):
    yield _case(rng, 2, 3, 4, 5)
    yield _case(rng, 0, 3, 2, 3)  # the prompt: nothing is in the cache
    yield _case(rng, 5, 7, 6, 3)


@cached_attention.cases(points=1, label=_("a batch, and a batch of heads"))
def a_batch(rng):
    yield _case(rng, 2, 3, 4, 5, 2)
    yield _case(rng, 7, 2, 6, 3, 2, 3)
    yield _case(rng, 3, 5, 2, 2, 3)


@cached_attention.variant
def by_comparing_positions(queries, keys, values, old_keys, old_values):
    positions = np.arange(old_keys.shape[-2] + keys.shape[-2])
    now = positions[old_keys.shape[-2] :]
    all_keys = np.concatenate([old_keys, turn_all(keys, now)], axis=-2)
    all_values = np.concatenate([old_values, values], axis=-2)
    return causal_pass(turn_all(queries, now), all_keys, all_values), all_keys, all_values


@cached_attention.variant
def word_by_word(queries, keys, values, old_keys, old_values):
    contexts = []
    for i in range(keys.shape[-2]):
        here = np.array([old_keys.shape[-2]])
        query, key = turn_all(queries[..., [i], :], here), turn_all(keys[..., [i], :], here)
        old_keys = np.concatenate([old_keys, key], axis=-2)
        old_values = np.concatenate([old_values, values[..., [i], :]], axis=-2)
        contexts.append(causal_pass(query, old_keys, old_values))
    return np.concatenate(contexts, axis=-2), old_keys, old_values


@cached_attention.variant
def in_torch(queries, keys, values, old_keys, old_values):
    import torch
    from torch.nn import functional

    from attn_course.positions import rotate

    queries, keys, values, old_keys, old_values = (
        torch.as_tensor(part) for part in (queries, keys, values, old_keys, old_values)
    )
    past, new = old_keys.shape[-2], keys.shape[-2]
    now = range(past, past + new)
    all_keys = torch.cat([old_keys, rotate(keys, now)], dim=-2)
    all_values = torch.cat([old_values, values], dim=-2)
    visible = torch.ones(new, past + new, dtype=torch.bool).tril(past)
    contexts = functional.scaled_dot_product_attention(
        rotate(queries, now), all_keys, all_values, visible
    )
    return contexts, all_keys, all_values
