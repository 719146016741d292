r"""The recurrent cell of Bahdanau's decoder, which reads a context together with the last word."""

import torch
from torch import Tensor, nn

from attn_course.learned_scores import uniform


class GatedUpdate(nn.Module):
    r"""$s_i = (1 - z_i) \circ s_{i-1} + z_i \circ \tilde s_i$, with

    $z_i = \sigma(W_z y + U_z s_{i-1} + C_z c_i)$, $r_i = \sigma(W_r y + U_r s_{i-1} + C_r c_i)$,
    $\tilde s_i = \tanh(W y + U (r_i \circ s_{i-1}) + C c_i)$.

    `y` `(..., d_e)` is the embedded word before. `nn.GRU` is another cell: it applies the gate $r$
    after $U$, and its $z$ keeps the old state where this one takes the new.
    """

    def __init__(self, n: int, d_e: int, d_c: int) -> None:
        super().__init__()
        self.W_z, self.W_r, self.W = (nn.Parameter(uniform(n, d_e, fan_in=d_e)) for _ in range(3))
        self.U_z, self.U_r, self.U = (nn.Parameter(uniform(n, n, fan_in=n)) for _ in range(3))
        self.C_z, self.C_r, self.C = (nn.Parameter(uniform(n, d_c, fan_in=d_c)) for _ in range(3))

    def forward(self, s: Tensor, y: Tensor, c: Tensor) -> Tensor:
        """Return the new state `(..., n)`."""
        z = torch.sigmoid(y @ self.W_z.mT + s @ self.U_z.mT + c @ self.C_z.mT)
        r = torch.sigmoid(y @ self.W_r.mT + s @ self.U_r.mT + c @ self.C_r.mT)
        proposal = torch.tanh(y @ self.W.mT + (r * s) @ self.U.mT + c @ self.C.mT)
        return (1 - z) * s + z * proposal
