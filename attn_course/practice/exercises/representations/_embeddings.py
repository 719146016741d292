"""Sentences whose words have several embeddings, and the mixture of one word in loops."""

import numpy as np

from attn_course.definitions.features import meta_embedding
from attn_course.practice.inputs import padded, readable


def mixed(embeddings, mask, W, b, u, beta=0.0, weighting="softmax"):
    """Return the mixed vectors and the weights, word by word, with the definition in loops."""
    if mask.ndim > 1:
        by_word = zip(mask, *embeddings, strict=True)
        found = [mixed(word, there, W, b, u, beta, weighting) for there, *word in by_word]
        return tuple(np.stack(part) for part in zip(*found, strict=True))
    maps = list(zip(W, b, strict=True))
    x, weights = meta_embedding(embeddings, maps, u, beta, weighting, mask)
    return np.array(x), np.array(weights)


def projected(embeddings, mask, W, b):
    """Return what the embeddings become, (..., E, d_t); the missing ones become b."""
    kept = (padded(x, mask[..., i], 0.0) for i, x in enumerate(embeddings))
    mapped = [x @ W_i.T + b_i for x, W_i, b_i in zip(kept, W, b, strict=True)]
    return np.stack(mapped, axis=-2)


def some_missing(rng, *size):
    """Return a mask (..., n, E): each word lacks one embedding, except for the first word."""
    missing = rng.permuted(np.broadcast_to(np.arange(size[-2]) % size[-1], size[:-1]), axis=-1)
    mask = np.arange(size[-1]) != missing[..., None]
    mask[..., 0, :] = True
    return mask


def sentence(rng, mask, widths, d_t, missing=0.0):
    """Return embeddings, mask, W, b and u of words with these widths of embeddings."""
    embeddings = [
        padded(readable(rng, *mask.shape[:-1], d), mask[..., i], missing)
        for i, d in enumerate(widths)
    ]
    W = [readable(rng, d_t, d) for d in widths]
    b = [readable(rng, d_t) for _d in widths]
    return embeddings, mask, W, b, readable(rng, d_t)
