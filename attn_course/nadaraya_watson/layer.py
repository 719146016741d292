"""Nadaraya–Watson regression as a layer of PyTorch."""

import torch
from torch import Tensor, nn

from attn_course.nadaraya_watson.regression import regress


class NadarayaWatson(nn.Module):
    r"""$f(x) = \sum_i \mathrm{softmax}_i(-\tfrac12 (w(x - x_i))^2)\, y_i$ with a trainable `w`.

    Start above 0: the loss is even in `w`, so at 0 its gradient is 0 and nothing is learned.
    """

    def __init__(self, w: float = 1.0) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(float(w)))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Return the predictions `(..., q)`."""
        return regress(queries, keys, values, self.w, mask)
