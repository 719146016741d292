"""Attention block by block, without the table of all weights."""

import numpy as np

from attn_course.definitions.attention import attend
from attn_course.definitions.scoring import scaled_dot
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.exact._blocks import refuse_what_has_no_blocks
from attn_course.practice.inputs import all_of, readable, softmax
from attn_course.translate import _


@reference
def blockwise(queries, keys, values, mask, block):
    refuse_what_has_no_blocks(keys, values, block)
    if np.shape(mask) != (len(keys),) or not len(queries):
        raise ValueError("there is a query, and the mask has one entry for each key")
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys have the same width")  # also made smaller
    contexts = [attend(query, keys, values, scaled_dot, mask)[0] for query in queries]
    return np.array(contexts)


def _case(rng, q, k, d, d_v, block, mask=None):
    mask = all_of(k) if mask is None else mask
    return Case(readable(rng, q, d), _rising_keys(rng, k, d), readable(rng, k, d_v), mask, block)


def _rising_keys(rng, k, d):
    """Return keys that grow, so that for some queries the scores rise and for others they fall."""
    return np.round(readable(rng, k, d) * (1 + np.arange(k)[:, None] / k), 1)


def _padded(k, *hidden):
    """Return a mask that hides these keys."""
    return ~np.isin(np.arange(k), hidden)


@blockwise.cases(points=1, label=_("no padding: several blocks, the last one short"))
def without_padding(rng):
    yield _case(rng, 2, 3, 2, 1, 1)
    yield _case(rng, 3, 7, 2, 5, 3)
    yield _case(rng, 5, 11, 3, 2, 4)
    yield _case(rng, 2, 3, 5, 2, 7)  # one block


@blockwise.cases(points=1, label=_("padding inside a block"))
def padding_in_a_block(rng):
    yield _case(rng, 2, 4, 2, 2, 2, _padded(4, 1))
    yield _case(rng, 3, 7, 2, 5, 3, _padded(7, 0, 4, 6))


@blockwise.cases(points=1, label=_("blocks that consist of padding, first, last or all of them"))
def padding_in_whole_blocks(rng):
    yield _case(rng, 2, 4, 2, 2, 2, _padded(4, 0, 1))
    yield _case(rng, 3, 7, 2, 5, 3, _padded(7, 0, 1, 2, 3))
    yield _case(rng, 2, 9, 3, 2, 3, _padded(9, 3, 4, 5, 7, 8))
    yield _case(rng, 2, 5, 2, 3, 2, _padded(5, *range(5)))


@blockwise.cases(points=1, label=_("scores near 1000, where np.exp overflows, also of padding"))
def high_scores(rng):
    yield _high_case(rng, 2, 48 + np.arange(5), _padded(5, 0, 1), 2)
    yield _high_case(rng, 3, 46 + rng.permutation(8), _padded(8, 4), 3)
    # Only padding scores near 1000: measured from there, every other exponential vanishes.
    yield _high_case(rng, 2, np.array([0, 0, 50, 0]), _padded(4, 2), 2)
    # Each query has a maximum of its own: near 1000 and near 0, and where all are near -1000.
    yield _high_case(rng, 2, 48 + rng.permutation(3), all_of(3), 2, first=np.array([40, 0]))
    yield _high_case(rng, 2, 48 + rng.permutation(3), all_of(3), 2, first=-40)
    # A first block of padding must not leave a maximum behind that is above all scores.
    yield _high_case(rng, 2, 48 + rng.permutation(4), _padded(4, 0, 1), 2, first=-40)


def _high_case(rng, q, heights, mask, block, first=40):
    """Return a case whose scores are about the heights times half the `first` feature of a query.

    Scores of different heights are at least 13 apart, so that the logarithm of a sum of their
    exponentials is the largest of them in single precision too.
    """
    k = len(heights)
    # Halves and four features: single precision computes these scores without an error.
    queries, keys = (rng.integers(-3, 4, (n, 4)) / 2 for n in (q, k))
    queries[:, 0], keys[:, 0] = first, heights
    return Case(queries, keys, readable(rng, k, 3), mask, block)


@blockwise.variant
def all_at_once(queries, keys, values, mask, block):
    scores = queries @ keys.T / np.sqrt(keys.shape[-1])
    return softmax(scores, np.broadcast_to(mask, scores.shape)) @ values


@blockwise.variant
def one_query_at_a_time(queries, keys, values, mask, block):
    keys, values = keys[mask], values[mask]  # without padding there is nothing to hide
    contexts = np.zeros((len(queries), values.shape[-1]))
    for i, query in enumerate(queries):
        m, total, o = -np.inf, 0.0, 0.0
        for start in range(0, len(keys), block):
            e = keys[start : start + block] @ query / np.sqrt(len(query))
            higher = max(m, e.max())
            a, scale = np.exp(e - higher), np.exp(m - higher)
            total, o = total * scale + a.sum(), o * scale + a @ values[start : start + block]
            m = higher
        if len(keys):
            contexts[i] = o / total
    return contexts


@blockwise.variant
def by_the_maximum_of_the_block(queries, keys, values, mask, block):
    """Rescaling takes any reference: here the latest block's own maximum, which may fall."""
    m, total, o = -np.inf, 0.0, np.zeros((len(queries), values.shape[-1]))
    for start in range(0, len(keys), block):
        here = slice(start, start + block)
        if not mask[here].any():
            continue
        e = np.where(mask[here], queries @ keys[here].T / np.sqrt(keys.shape[-1]), -np.inf)
        own = e.max(axis=-1, keepdims=True)
        a, scale = np.exp(e - own), np.exp(m - own)
        total, o, m = total * scale + a.sum(-1, keepdims=True), o * scale + a @ values[here], own
    return o / total if mask.any() else o


@blockwise.variant
def with_the_lowest_float(queries, keys, values, mask, block):
    """The lowest number of all is safe where the weights of hidden keys are set to 0 as well."""
    lowest = np.finfo(float).min
    m, total, o = lowest, 0.0, 0.0
    for start in range(0, len(keys), block):
        here = slice(start, start + block)
        e = np.where(mask[here], queries @ keys[here].T / np.sqrt(keys.shape[-1]), lowest)
        higher = np.maximum(m, e.max(axis=-1, keepdims=True))
        a, scale = np.exp(e - higher) * mask[here], np.exp(m - higher)
        total, o = total * scale + a.sum(-1, keepdims=True), o * scale + a @ values[here]
        m = higher
    return o / np.where(total == 0, 1, total)


@blockwise.variant
def merged_by_logarithms_in_single_precision(queries, keys, values, mask, block):
    """Each block has its own context and the logarithm of its denominator."""
    queries, keys, values = (x.astype(np.float32) for x in (queries, keys, values))
    contexts = np.zeros((len(queries), values.shape[-1]), dtype=np.float32)
    total = np.full((len(queries), 1), -np.inf, dtype=np.float32)
    for start in range(0, len(keys), block):
        here = np.flatnonzero(mask[start : start + block]) + start
        if not len(here):
            continue
        e = queries @ keys[here].T / np.sqrt(np.float32(keys.shape[-1]))
        own = np.logaddexp.reduce(e, axis=1, keepdims=True)
        both = np.logaddexp(total, own)
        new = np.exp(own - both) * (softmax(e) @ values[here])
        contexts = np.exp(total - both) * contexts + new
        total = both
    return contexts


@blockwise.variant
def in_torch(queries, keys, values, mask, block):
    import torch

    scores = torch.as_tensor(queries @ keys.T) / keys.shape[-1] ** 0.5
    weights = scores.masked_fill(~torch.as_tensor(mask), -torch.inf).softmax(dim=-1)
    return weights.nan_to_num(0.0).to(torch.float64) @ torch.as_tensor(values).double()
