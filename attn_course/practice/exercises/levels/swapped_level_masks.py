"""Find two mistakes in a function that reads a document on two levels."""

from functools import partial

import numpy as np

from attn_course.definitions.features import hierarchical
from attn_course.definitions.scoring import no_query
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.levels._documents import (
    attended_at_once,
    different_lengths,
    level,
    without_sentence,
    words_anywhere,
)
from attn_course.practice.inputs import padded, readable
from attn_course.translate import _


@reference
def swapped_level_masks(words, mask, W_w, b_w, u_w, W_s, b_s, u_s):
    if words.ndim > 3:
        documents = zip(words, mask, strict=True)
        parameters = (W_w, b_w, u_w, W_s, b_s, u_s)
        found = [swapped_level_masks.reference(*one, *parameters) for one in documents]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    as_it_is = np.eye(words.shape[-1])  # keys and values are the sentence vectors themselves
    document, a_w, a_s = hierarchical(
        [(sentence, sentence) for sentence in words],
        partial(no_query, w=u_w, W=W_w, b=b_w),
        partial(no_query, w=u_s, W=W_s, b=b_s),
        as_it_is,
        as_it_is,
        mask,
    )
    return np.array(document), np.array(a_s)[:, None] * np.array(a_w)


def _document(rng, mask, d, d_w, padding=0.0):
    words = padded(readable(rng, *mask.shape, d), mask, padding)
    return Case(words, mask, *level(rng, d, d_w), *level(rng, d, d_w))


@swapped_level_masks.cases(points=1, label=_("one document, sentences of different lengths"))
def different_sentences(rng):
    yield _document(rng, different_lengths(rng, 2, 3), 2, 2)
    yield _document(rng, different_lengths(rng, 3, 5), 2, 7, padding=3.0)
    yield _document(rng, words_anywhere(rng), 2, 7)


@swapped_level_masks.cases(points=1, label=_("documents with an empty sentence"))
def with_an_empty_sentence(rng):
    yield _document(rng, without_sentence(different_lengths(rng, 3, 5), 2), 2, 2)
    mask = without_sentence(different_lengths(rng, 2, 3, 5), 0)
    yield _document(rng, mask, 2, 7, padding=np.nan)


@swapped_level_masks.variant
def levels_by_einsum(words, mask, W_w, b_w, u_w, W_s, b_s, u_s):
    sentences, a_w = attended_at_once(words, mask, W_w, b_w, u_w)
    document, a_s = attended_at_once(sentences, mask.any(axis=-1), W_s, b_s, u_s)
    return document, a_s[..., None] * a_w


@swapped_level_masks.variant
def document_from_the_shares(words, mask, W_w, b_w, u_w, W_s, b_s, u_s):
    sentences, a_w = attended_at_once(words, mask, W_w, b_w, u_w)
    _document, a_s = attended_at_once(sentences, a_w.sum(axis=-1) > 0, W_s, b_s, u_s)
    shares = a_s[..., None] * a_w
    return np.einsum("...sn,...snd->...d", shares, padded(words, mask, 0.0)), shares
