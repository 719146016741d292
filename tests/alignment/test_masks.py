"""The masks, entry by entry, and in the library they are asked for in."""

import numpy as np
import torch

from attn_course import alignment


def test_a_causal_mask_never_looks_ahead_and_a_window_mask_not_far():
    causal = alignment.causal_mask(3, 7)
    window = alignment.window_mask(5, 7, 2)
    for t, l in np.ndindex(3, 7):
        assert causal[t, l] == (l <= t + 4)
    for t, l in np.ndindex(5, 7):
        assert window[t, l] == (abs(t - l) <= 2)


def test_masks_come_in_the_library_of_like():
    assert isinstance(alignment.causal_mask(3, like=torch.ones(1)), torch.Tensor)
    assert isinstance(alignment.padding_mask(torch.tensor([1, 2]), 3), torch.Tensor)
