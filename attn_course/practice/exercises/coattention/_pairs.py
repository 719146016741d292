"""Two padded inputs, and references for one example that become references for a batch."""

import numpy as np

from attn_course.practice.inputs import all_of, padded, readable


def partly_real(rng, *size):
    """Return a mask (..., n) with two real features at least in each row, and padding anywhere."""
    ranks = rng.random(size).argsort(axis=-1)  # a random order of the positions in each row
    return ranks < rng.integers(2, size[-1], (*size[:-1], 1))  # n itself is left out


def whole_pair(rng, n_1, n_2, d_1, d_2, batch=()):
    """Return two inputs without padding, and their masks."""
    features = [readable(rng, *batch, *size) for size in ((n_1, d_1), (n_2, d_2))]
    return (*features, all_of(*batch, n_1), all_of(*batch, n_2))


def padded_pair(rng, n_1, n_2, d_1, d_2, batch=(), padding=0.0):
    """Return two inputs with padding in each, and their masks."""
    *features, _mask_1, _mask_2 = whole_pair(rng, n_1, n_2, d_1, d_2, batch)
    masks = [partly_real(rng, *batch, n) for n in (n_1, n_2)]
    filled = [padded(one, mask, padding) for one, mask in zip(features, masks, strict=True)]
    return (*filled, *masks)


def empty_pair(rng, n_1, n_2, d_1, d_2):
    """Return a batch of three: input 1 is empty, then input 2, then input 1 has one feature.

    One feature is its own mean, and input 2 has two, so that its weights show what asked.
    """
    features_1, features_2, _mask_1, _mask_2 = whole_pair(rng, n_1, n_2, d_1, d_2, batch=(3,))
    mask_1, mask_2 = np.zeros((3, n_1), dtype=bool), np.zeros((3, n_2), dtype=bool)
    mask_1[1, :2] = mask_2[0, 1:3] = True
    mask_1[2, 0] = True
    mask_2[2, [0, 2]] = True
    return features_1, features_2, mask_1, mask_2


def matrix(rng, rows, columns, low=-2.0, high=2.0):
    """Return a matrix that is not symmetric, so that its transpose is another one."""
    W = readable(rng, rows, columns, low=low, high=high)
    while rows == columns > 1 and np.allclose(W, W.T):
        W = readable(rng, rows, columns, low=low, high=high)
    return W


def example_by_example(one_example, features_1, features_2, mask_1, mask_2):
    """Return what a function of one example returns, a tuple of vectors, for a batch of examples."""
    if mask_1.ndim == 1:
        return tuple(np.array(part) for part in one_example(features_1, features_2, mask_1, mask_2))
    examples = zip(features_1, features_2, mask_1, mask_2, strict=True)
    parts = [example_by_example(one_example, *example) for example in examples]
    return tuple(np.stack(same) for same in zip(*parts, strict=True))


def average(weights, features, mask):
    """Return the weighted sum of the features, with nothing of the padding in it."""
    return (weights[..., None, :] @ padded(features, mask, 0.0))[..., 0, :]
