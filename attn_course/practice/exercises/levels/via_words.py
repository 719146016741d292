"""Attention-via-attention: the words help the query to ask the characters."""

from functools import partial

import numpy as np

from attn_course.definitions.features import via_attention
from attn_course.definitions.scoring import general
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import padded, readable, softmax, some_of
from attn_course.translate import _


@reference
def via_words(query, words, characters, word_mask, character_mask, W_w, W_c):
    if query.ndim > 1:
        batch = zip(query, words, characters, word_mask, character_mask, strict=True)
        return np.stack([via_words.reference(*one, W_w, W_c) for one in batch])
    contexts, _weights = via_attention(
        query,
        (words, words),
        (characters, characters),
        partial(general, W=W_w),
        partial(general, W=W_c),
        word_mask,
        character_mask,
    )
    return np.array([*contexts["c_w"], *contexts["c_c"]])


def _two_levels(rng, n_w, n_c, d_q, d_w, d_c, batch=(), padding=(0.0, 0.0), empty=None):
    masks = [some_of(rng, *batch, n) for n in (n_w, n_c)]
    if empty is not None:
        masks[empty][-1] = False
    words, characters = (
        padded(readable(rng, *batch, n, d), mask, inside)
        for n, d, mask, inside in zip((n_w, n_c), (d_w, d_c), masks, padding, strict=True)
    )
    W_w, W_c = readable(rng, d_w, d_q), readable(rng, d_c, d_q + d_w)
    return Case(readable(rng, *batch, d_q), words, characters, *masks, W_w, W_c)


@via_words.cases(points=2, label=_("one query, both levels padded"))
def one_query(rng):
    yield _two_levels(rng, 2, 3, 2, 2, 2)
    yield _two_levels(rng, 3, 5, 2, 2, 3)


@via_words.cases(points=1, label=_("a batch, with anything in the padding"))
def a_batch(rng):
    yield _two_levels(rng, 3, 5, 2, 2, 3, batch=(2,), padding=(3.0, -2.0))
    yield _two_levels(rng, 3, 5, 7, 2, 3, batch=(2,), padding=(np.nan, 0.0))
    yield _two_levels(rng, 3, 5, 2, 7, 2, batch=(3, 2), padding=(0.0, np.nan))


@via_words.cases(points=1, label=_("no word, or no character: that part is 0"))
def an_empty_level(rng):
    yield _two_levels(rng, 3, 5, 2, 2, 3, batch=(2,), padding=(3.0, -2.0), empty=0)
    yield _two_levels(rng, 3, 5, 2, 2, 3, batch=(2,), padding=(3.0, -2.0), empty=1)


@via_words.variant
def by_einsum(query, words, characters, word_mask, character_mask, W_w, W_c):
    def answer(asking, features, mask, W):
        kept = padded(features, mask, 0.0)
        weights = softmax(np.einsum("...nd,de,...e->...n", kept, W, asking), mask)
        return np.einsum("...n,...nd->...d", weights, kept)

    c_w = answer(query, words, word_mask, W_w)
    c_c = answer(np.concatenate([query, c_w], axis=-1), characters, character_mask, W_c)
    return np.concatenate([c_w, c_c], axis=-1)


@via_words.variant
def with_W_c_in_two_parts(query, words, characters, word_mask, character_mask, W_w, W_c):
    d_q = query.shape[-1]
    words, characters = padded(words, word_mask, 0.0), padded(characters, character_mask, 0.0)
    a_w = softmax((words @ (query @ W_w.T)[..., None])[..., 0], word_mask)
    c_w = (a_w[..., None, :] @ words)[..., 0, :]
    asked = query @ W_c[:, :d_q].T + c_w @ W_c[:, d_q:].T
    a_c = softmax((characters @ asked[..., None])[..., 0], character_mask)
    return np.concatenate([c_w, (a_c[..., None, :] @ characters)[..., 0, :]], axis=-1)


@via_words.variant
def in_torch(query, words, characters, word_mask, character_mask, W_w, W_c):
    import torch

    def answer(asking, features, mask, W):
        features, mask = torch.as_tensor(features), torch.as_tensor(mask)
        kept = features.masked_fill(~mask[..., None], 0.0)
        scores = (kept @ (asking @ torch.as_tensor(W).T)[..., None])[..., 0]
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)
        return (weights[..., None, :] @ kept)[..., 0, :]

    query = torch.as_tensor(query)
    c_w = answer(query, words, word_mask, W_w)
    c_c = answer(torch.cat([query, c_w], dim=-1), characters, character_mask, W_c)
    return torch.cat([c_w, c_c], dim=-1)
