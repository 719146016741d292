"""Find two bugs in interactive co-attention: the tokens are lost, and padding is counted."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.coattention._pairs import average, padded_pair, whole_pair
from attn_course.practice.exercises.coattention.interactive import interactive
from attn_course.practice.inputs import padded, readable, softmax
from attn_course.translate import _


@reference
def overwritten_tokens(sentence, aspect, sentence_mask, aspect_mask, W_s, W_a):
    if not (sentence_mask.any(axis=-1).all() and aspect_mask.any(axis=-1).all()):
        raise ValueError("sentence and aspect have one word each at least")  # also made smaller
    return interactive.reference(
        sentence, aspect, sentence_mask, aspect_mask, W_s, 0.0, W_a, 0.0
    )


def _matrices(rng, d):
    return readable(rng, d, d), readable(rng, d, d)


@overwritten_tokens.cases(points=1, label=_("a sentence and an aspect without padding"))
def without_padding(rng):
    yield Case(*whole_pair(rng, 3, 2, 2, 2), *_matrices(rng, 2))
    yield Case(*whole_pair(rng, 5, 3, 2, 2), *_matrices(rng, 2))


@overwritten_tokens.cases(points=1, label=_("padded sentences and aspects, and a batch of them"))
def with_padding(rng):
    yield Case(*padded_pair(rng, 5, 3, 2, 2), *_matrices(rng, 2))
    yield Case(*padded_pair(rng, 7, 5, 3, 3, batch=(2,)), *_matrices(rng, 3))
    yield Case(*_with_a_word_of_zeros(padded_pair(rng, 5, 3, 2, 2)), *_matrices(rng, 2))


def _with_a_word_of_zeros(pair):
    """Return a pair whose first real words are 0: only the mask knows that they are there.

    They were real before, so the padding of both inputs stays as it is.
    """
    sentence, aspect, sentence_mask, aspect_mask = pair
    for words, mask in ((sentence, sentence_mask), (aspect, aspect_mask)):
        words[mask.argmax()] = 0.0
    return sentence, aspect, sentence_mask, aspect_mask


@overwritten_tokens.variant
def both_sides_by_one_loop(sentence, aspect, sentence_mask, aspect_mask, W_s, W_a):
    contexts, weights = [], []
    sides = [(sentence, sentence_mask, W_s), (aspect, aspect_mask, W_a)]
    for (words, mask, W), (others, others_mask, _W) in (sides, sides[::-1]):
        mean = others.sum(axis=-2) / others_mask.sum(axis=-1, keepdims=True)
        weights.append(softmax(np.tanh(words @ (mean @ W.T)[..., None])[..., 0], mask))
        contexts.append(average(weights[-1], words, mask))
    return (*contexts, *weights)


@overwritten_tokens.variant
def means_as_weighted_sums(sentence, aspect, sentence_mask, aspect_mask, W_s, W_a):
    def mean(words, mask):
        return average(mask / mask.sum(axis=-1, keepdims=True), words, mask)

    def attended(query, words, mask, W):
        weights = softmax(np.tanh(np.einsum("...nd,de,...e->...n", words, W, query)), mask)
        return np.einsum("...n,...nd->...d", weights, padded(words, mask, 0.0)), weights

    c_s, a_s = attended(mean(aspect, aspect_mask), sentence, sentence_mask, W_s)
    c_a, a_a = attended(mean(sentence, sentence_mask), aspect, aspect_mask, W_a)
    return c_s, c_a, a_s, a_a
