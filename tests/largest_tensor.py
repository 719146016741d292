"""How large is the largest tensor of a computation? For tests that something is never built."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LargestTensor(TorchDispatchMode):
    """Within its `with` block: the bytes of the largest tensor that any operation returned."""

    nbytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple) else (result,):
            if isinstance(tensor, torch.Tensor) and tensor.device.type != "meta":
                self.nbytes = max(self.nbytes, tensor.untyped_storage().nbytes())
        return result
