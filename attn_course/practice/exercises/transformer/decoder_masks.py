"""The three masks of an encoder and a decoder, from what is a word and what is padding."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import ragged_mask, some_of
from attn_course.translate import _


@reference
def decoder_masks(source_words, target_words):
    if len(source_words) != len(target_words) or not source_words.size * target_words.size:
        raise ValueError("each sentence has a source and a target")  # also made smaller
    batch, n = source_words.shape
    m = target_words.shape[1]
    encoder, decoder, cross = (np.zeros((batch, 1, *size)) for size in ((n, n), (m, m), (m, n)))
    for b in range(batch):
        for query, key in np.ndindex(n, n):
            encoder[b, 0, query, key] = source_words[b, key]
        for query, key in np.ndindex(m, m):
            decoder[b, 0, query, key] = target_words[b, key] and key <= query
        for query, key in np.ndindex(m, n):
            cross[b, 0, query, key] = source_words[b, key]
    return tuple(part.astype(bool) for part in (encoder, decoder, cross))


def _words(rng, batch, n, m):
    """Return sentences with padding at their ends, sources and targets of different lengths."""
    return ragged_mask(rng, batch, n), ragged_mask(rng, batch, m)


@decoder_masks.cases(points=1, label=_("one sentence and its translation"))
def one_sentence(rng):
    yield Case(np.array([[True, False]]), np.array([[True, True, False]]))
    yield Case(*_words(rng, 1, 5, 3))


@decoder_masks.cases(points=1, label=_("a batch of sentences with different lengths"))
def a_batch(rng):
    source = np.array([[True, False, False], [True, True, False]])
    target = np.array([[True, True, True, True, False], [True, True, False, False, False]])
    yield Case(source, target)
    yield Case(*_words(rng, 3, 7, 5))
    yield Case(*_words(rng, 5, 3, 7))


@decoder_masks.cases(points=1, label=_("padding in front or in the middle"))
def padding_anywhere(rng):
    in_front = np.array([[False, True, True], [False, False, True]])
    yield Case(in_front, np.array([[False, True], [True, True]]))
    yield Case(some_of(rng, 3, 5), some_of(rng, 3, 7))


@decoder_masks.variant
def by_comparing_positions(source_words, target_words):
    n, m = source_words.shape[1], target_words.shape[1]
    later = np.arange(m) > np.arange(m)[:, None]
    encoder = np.tile(source_words[:, None, None], (1, 1, n, 1))
    decoder = np.tile(target_words[:, None, None], (1, 1, m, 1))
    decoder[:, :, later] = False
    return encoder, decoder, np.tile(source_words[:, None, None], (1, 1, m, 1))


@decoder_masks.variant
def sentence_by_sentence(source_words, target_words):
    masks = []
    for source, target in zip(source_words, target_words, strict=True):
        n, m = len(source), len(target)
        causal = [[target[j] and j <= i for j in range(m)] for i in range(m)]
        masks.append(([[source] * n], [causal], [[source] * m]))
    return tuple(np.array(part) for part in zip(*masks, strict=True))


@decoder_masks.variant
def in_torch(source_words, target_words):
    import torch

    source, target = torch.as_tensor(source_words), torch.as_tensor(target_words)
    (batch, n), m = source.shape, target.shape[1]
    causal = torch.ones(m, m, dtype=torch.bool).tril()
    keys = source[:, None, None]
    return keys.expand(batch, 1, n, n), target[:, None, None] & causal, keys.expand(-1, 1, m, n)
