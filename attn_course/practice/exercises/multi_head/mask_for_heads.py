"""Find two bugs in a mask for heads: it reaches the wrong sentence, and it allows too much."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, softmax, some_of
from attn_course.translate import _


@reference
def mask_for_heads(scores, key_mask, pair_mask):
    weights = np.zeros(scores.shape)
    for sentence, head, query in np.ndindex(scores.shape[:-1]):
        allowed = key_mask[sentence] & pair_mask[sentence, query]
        weights[sentence, head, query] = softmax(scores[sentence, head, query], allowed)
    return weights


def _masks(rng, batch, q, k):
    """Return key masks that differ between the sentences, and pair masks that allow some keys.

    Sentence i has k - 1 - i % (k - 1) keys, so neighbours always differ, and all are padded.
    """
    lengths = k - 1 - np.arange(batch) % (k - 1)
    key_mask = rng.permuted(np.arange(k) < lengths[:, None], axis=1)
    return key_mask, some_of(rng, batch, q, k)


@mask_for_heads.cases(points=1, label=_("two sentences, and key masks that differ"))
def all_pairs_allowed(rng):
    key_mask = np.array([[True, True], [True, False]])
    yield Case(readable(rng, 2, 2, 1, 2), key_mask, np.ones((2, 1, 2), dtype=bool))
    key_mask, _pairs = _masks(rng, 3, 2, 5)
    yield Case(readable(rng, 3, 2, 2, 5), key_mask, np.ones((3, 2, 5), dtype=bool))


@mask_for_heads.cases(points=1, label=_("both masks, and queries that may see nothing"))
def both_masks(rng):
    key_mask, pair_mask = _masks(rng, 2, 3, 5)
    yield Case(readable(rng, 2, 3, 3, 5), key_mask, pair_mask)
    key_mask, pair_mask = _masks(rng, 5, 2, 3)
    yield Case(readable(rng, 5, 3, 2, 3), key_mask, pair_mask)
    key_mask, pair_mask = _masks(rng, 3, 5, 7)
    pair_mask[1, 2] = ~key_mask[1]  # each mask allows a key, and none is allowed by both
    yield Case(readable(rng, 3, 2, 5, 7), key_mask, pair_mask)


@mask_for_heads.variant
def an_axis_for_the_heads(scores, key_mask, pair_mask):
    return softmax(scores, key_mask[:, None, None, :] & pair_mask[:, None, :, :])


@mask_for_heads.variant
def heads_before_the_batch(scores, key_mask, pair_mask):
    """Tiling is right if the heads are folded first."""
    batch, heads, q, k = scores.shape
    folded = scores.swapaxes(0, 1).reshape(heads * batch, q, k)
    mask = np.tile(key_mask[:, None, :] & pair_mask, (heads, 1, 1))
    return softmax(folded, mask).reshape(heads, batch, q, k).swapaxes(0, 1)


@mask_for_heads.variant
def sentence_by_sentence(scores, key_mask, pair_mask):
    triples = zip(scores, key_mask, pair_mask, strict=True)
    return np.stack([softmax(one, keys & pairs) for one, keys, pairs in triples])
