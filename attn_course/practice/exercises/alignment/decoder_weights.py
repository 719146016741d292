"""Find three mistakes where a causal mask and a padding mask meet."""

import numpy as np
import torch

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax
from attn_course.translate import _


@reference
def decoder_weights(scores, is_padding):
    q, k = scores.shape[-2:]
    causal = alignment.causal_mask(q, k, like=scores)
    return alignment.softmax(scores, causal & ~is_padding[..., None, :])


def _decoder_case(rng, q, is_padding):
    is_padding = np.array(is_padding)
    scores = readable(rng, *is_padding.shape[:-1], q, is_padding.shape[-1])
    return Case(torch.tensor(scores, dtype=torch.float32), torch.tensor(is_padding))


def _padding_after(lengths, k):
    return np.arange(k) >= np.array(lengths)[..., None]


@decoder_weights.cases(points=1, label=_("one sentence, padded at its end"))
def one_padded_sentence(rng):
    yield _decoder_case(rng, 3, [False, False, True])
    yield _decoder_case(rng, 3, _padding_after(rng.integers(3, 5), 5))


@decoder_weights.cases(points=1, label=_("a batch of sentences of different lengths"))
def a_padded_batch(rng):
    yield _decoder_case(rng, 3, _padding_after([1, 2], 3))
    yield _decoder_case(rng, 2, _padding_after([3, 4, 5], 5))
    yield _decoder_case(rng, 5, _padding_after([7, 4, 6], 7))
    yield _decoder_case(rng, 2, _padding_after([[3, 5, 4], [4, 3, 5]], 5))


@decoder_weights.cases(points=1, label=_("padding in front: the first words see nothing"))
def padded_in_front(rng):
    yield _decoder_case(rng, 3, [[True, False, False], [False, False, False]])
    yield _decoder_case(rng, 5, [[True] * n + [False] * (5 - n) for n in (2, 0, 3)])


@decoder_weights.variant
def decoder_in_loops(scores, is_padding):
    scores, is_padding = np.asarray(scores), np.asarray(is_padding)
    if scores.ndim > 2:
        return [decoder_in_loops(*pair) for pair in zip(scores, is_padding, strict=True)]
    q, k = scores.shape
    return [
        definition.softmax(
            [float(e) for e in scores[i]],
            [place <= i + k - q and not is_padding[place] for place in range(k)],
        )
        for i in range(q)
    ]


@decoder_weights.variant
def decoder_in_numpy(scores, is_padding):
    scores, is_padding = np.asarray(scores), np.asarray(is_padding)
    q, k = scores.shape[-2:]
    last = np.arange(q)[:, None] + k - q
    return softmax(scores, (np.arange(k) <= last) & ~is_padding[..., None, :])


@decoder_weights.variant
def decoder_with_the_masks_of_a_library(scores, is_padding):
    # True where a key is left out, as `nn.MultiheadAttention` wants both masks.
    q, k = scores.shape[-2:]
    later = torch.ones(q, k, dtype=torch.bool).triu(k - q + 1)
    left_out = later | is_padding.unsqueeze(-2)
    weights = scores.double().masked_fill(left_out, -1e9).softmax(dim=-1)
    return weights * ~left_out
