"""What each query may see of the values, and NaN that only one query may see."""

import numpy as np

from attn_course.practice.inputs import all_of


def visible(values, mask):
    """Return the values as each query may see them, (..., q, k, d_v): 0 behind its mask."""
    return np.where(mask[..., None], values[..., None, :, :], 0)


def one_may_look(*size):
    """Return a mask (..., q, k) where the first query alone may look at the last key."""
    mask = all_of(*size)
    mask[..., 1:, -1] = False
    return mask


def nan_at_the_last_key(values):
    """Return the values with NaN in place of the last one."""
    return np.concatenate([values[..., :-1, :], np.full_like(values[..., -1:, :], np.nan)], axis=-2)
