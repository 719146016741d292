"""Affinity matrices to be scored, with anything at the padding."""

import numpy as np

from attn_course.practice.inputs import readable


def affinities_for(rng, mask_1, mask_2, padding, low=-0.9, high=0.9):
    """Return a table (..., n_1, n_2) for two masks, with `padding` where either is False."""
    A = readable(rng, *mask_1.shape, mask_2.shape[-1], low=low, high=high)
    return np.where(mask_1[..., :, None] & mask_2[..., None, :], A, padding)
