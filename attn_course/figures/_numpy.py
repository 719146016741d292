"""Pictures are drawn from NumPy arrays, whatever library the numbers come from."""

import numpy as np

from attn_course._arrays import AnyArray


def as_numpy(array: AnyArray) -> np.ndarray:
    """Return float64 numbers: tensors leave their graph, device and half precision behind."""
    if hasattr(array, "detach"):
        array = array.detach().cpu().double()
    return np.asarray(array, dtype=np.float64)
