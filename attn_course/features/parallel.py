r"""Parallel co-attention: every feature of one input meets every feature of the other."""

from collections.abc import Sequence
from math import inf

from torch import Tensor, nn

from attn_course._arrays import require_choice
from attn_course.activations import Activation, activation
from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.features._inputs import FeatureSet, joined, make_inputs, summarise
from attn_course.learned_scores import uniform

AFFINITIES = ("bilinear", "concat")
READINGS = ("projected", "max")
COMBINATIONS = ("concat", "add")


class ParallelCoAttention(nn.Module):
    r"""$A_{ij}$, how well $k^{(1)}_i$ and $k^{(2)}_j$ go together, scores both: survey (12)–(16).

    `affinity`, the matrix $A$ `(..., n_1, n_2)`:

    - `"bilinear"` (12): $A = \mathrm{act}(K^{(1)\top} W_A K^{(2)})$ with `W_A` `(d_k1, d_k2)`
      (Lu et al., 2016);
    - `"concat"` (13): $A_{ij} = w_A^\top [k^{(1)}_i; k^{(2)}_j; k^{(1)}_i \circ k^{(2)}_j]$ with
      `w_A` `(3 d_k,)`, keys of equal width (Seo et al., 2017).

    `reading`, how the scores are read from the matrix:

    - `"projected"` (14)–(15): $e^{(1)} = w_1^\top \mathrm{act}(W_2 K^{(2)} A^\top + W_1 K^{(1)})$
      and $e^{(2)} = w_2^\top \mathrm{act}(W_1 K^{(1)} A + W_2 K^{(2)})$. Both share `W_1`
      `(d_w, d_k1)` and `W_2` `(d_w, d_k2)`. The survey writes $w_i$ without the transpose.
    - `"max"` (16): $e^{(1)}_i = \max_j A_{ij}$, $e^{(2)}_j = \max_i A_{ij}$. The gradient of a
      maximum goes to one entry; of several equal ones to one of them. In the paper behind (13)
      only one side takes the maximum; here, as in the survey, both do. A feature that meets an
      empty input scores 0.

    `combine`: `"concat"` gives $\mathrm{concat}(c^{(1)}, c^{(2)})$, `"add"` gives
    $c^{(1)} + c^{(2)}$, for values of equal width. The weights are `a_1` `(..., n_1)`, `a_2`
    `(..., n_2)`. Contrary to what is sometimes said, (14) does not contain the additive score:
    that would need $n_2 = 1$ and $A = 1$, and $A$ is computed.

    - `d_f`: widths of the two inputs. `d_k`, `d_v`: widths of keys and values, or None for the
      features themselves. `d_w` defaults to the width of the first keys.
    - Parameters: $d_{k1} d_{k2}$ or $3 d_k$ for $A$; $d_w (d_{k1} + d_{k2} + 2)$ for (14)–(15).
    - Cost in FLOPs: (12) $2 d_{k1} d_{k2} n_2 + 2 d_{k1} n_1 n_2$; (13) $2 d_k n_1 n_2$, a third of
      what its formula says, see `affinity_matrix`; (14) and (15)
      $2 d_w (d_{k1} n_1 + d_{k2} n_2) + 4 d_w n_1 n_2$. Memory $n_1 n_2$.

    >>> import torch
    >>> layer = ParallelCoAttention(d_f=(3, 3), affinity="concat", reading="max")
    >>> output, weights = layer(torch.ones(7, 3), torch.ones(2, 3))
    >>> tuple(output.shape), weights["a_2"].tolist()
    ((6,), [0.5, 0.5])
    """

    def __init__(
        self,
        d_f: Sequence[int],
        affinity: str = "bilinear",
        reading: str = "projected",
        combine: str = "concat",
        d_w: int | None = None,
        act: Activation = "tanh",
        align: Align = softmax,
        d_k: Sequence[int] | None = None,
        d_v: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        require_choice("affinity", affinity, AFFINITIES)
        require_choice("reading", reading, READINGS)
        require_choice("combine", combine, COMBINATIONS)
        self.input_1, self.input_2 = make_inputs(("features_1", "features_2"), d_f, d_k, d_v)
        d_k1, d_k2, d_v1, d_v2 = (
            self.input_1.d_k,
            self.input_2.d_k,
            self.input_1.d_v,
            self.input_2.d_v,
        )
        if affinity == "concat" and d_k1 != d_k2:
            raise ValueError(
                "affinity='concat' multiplies keys entry by entry, so they need the same width, "
                f"but are {d_k1} and {d_k2} wide. Give d_k, for example d_k=({d_k1}, {d_k1})."
            )
        if combine == "add" and d_v1 != d_v2:
            raise ValueError(
                "combine='add' adds the two contexts, so values need the same width, "
                f"but are {d_v1} and {d_v2} wide. Give d_v, for example d_v=({d_v1}, {d_v1})."
            )
        self.affinity, self.reading, self.combine = affinity, reading, combine
        self.d_out = d_v1 if combine == "add" else d_v1 + d_v2
        self.act = activation(act)
        self.align = align
        if affinity == "bilinear":
            self.W_A = nn.Parameter(uniform(d_k1, d_k2, fan_in=d_k2))
        else:
            self.w_A = nn.Parameter(uniform(3 * d_k1, fan_in=3 * d_k1))
        if reading == "projected":
            d_w = d_w or d_k1
            self.W_1 = nn.Parameter(uniform(d_w, d_k1, fan_in=d_k1))
            self.W_2 = nn.Parameter(uniform(d_w, d_k2, fan_in=d_k2))
            self.w_1 = nn.Parameter(uniform(d_w, fan_in=d_w))
            self.w_2 = nn.Parameter(uniform(d_w, fan_in=d_w))

    def forward(
        self,
        features_1: Tensor,
        features_2: Tensor,
        mask_1: Tensor | None = None,
        mask_2: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Return the output and the weights `a_1`, `a_2`."""
        first, second = self.input_1(features_1, mask_1), self.input_2(features_2, mask_2)
        A = self.affinity_matrix(first.keys, second.keys)  # (..., n_1, n_2)
        read = self._projected if self.reading == "projected" else _best
        e_1, e_2 = read(A, first, second)
        c_1, a_1 = summarise(first, e_1[..., None, :], self.align)
        c_2, a_2 = summarise(second, e_2[..., None, :], self.align)
        output = c_1 + c_2 if self.combine == "add" else joined(c_1, c_2)
        return output, {"a_1": a_1, "a_2": a_2} if need_weights else None

    def affinity_matrix(self, keys_1: Tensor, keys_2: Tensor) -> Tensor:
        r"""Return $A$ `(..., n_1, n_2)`: (12) or (13).

        With $w_A = [u; v; z]$, (13) is $u^\top k_i + v^\top k_j + (z \circ k_i)^\top k_j$: two
        products with a vector and one with a matrix, so the $n_1 n_2$ concatenated vectors of
        width $3 d_k$ are never built.
        """
        if self.affinity == "bilinear":
            mapped = self.W_A @ keys_2.mT  # (d_k1, d_k2) @ (..., d_k2, n_2) -> (..., d_k1, n_2)
            return self.act(keys_1 @ mapped)  # (..., n_1, d_k1) @ (..., d_k1, n_2)
        u, v, z = self.w_A.chunk(3)
        return (keys_1 @ u)[..., :, None] + (keys_2 @ v)[..., None, :] + (keys_1 * z) @ keys_2.mT

    def _projected(self, A: Tensor, first: FeatureSet, second: FeatureSet) -> tuple[Tensor, Tensor]:
        # Padded keys are 0, so their columns and rows of A are multiplied by 0.
        from_1 = first.keys @ self.W_1.mT  # (..., n_1, d_k1) -> (..., n_1, d_w)
        from_2 = second.keys @ self.W_2.mT  # (..., n_2, d_k2) -> (..., n_2, d_w)
        e_1 = self.act(A @ from_2 + from_1) @ self.w_1  # (n_1, n_2) (n_2, d_w) -> (..., n_1)
        e_2 = self.act(A.mT @ from_1 + from_2) @ self.w_2  # (n_2, n_1) (n_1, d_w) -> (..., n_2)
        return e_1, e_2


def _best(A: Tensor, first: FeatureSet, second: FeatureSet) -> tuple[Tensor, Tensor]:
    """Return the largest affinity of each feature with a real feature of the other input: (16)."""
    return _largest(A, second.mask), _largest(A.mT, first.mask)


def _largest(A: Tensor, mask: Tensor | None) -> Tensor:
    if mask is not None:  # before the maximum: afterwards padding could already have won
        A = A.masked_fill(~mask[..., None, :], -inf)
    best = A.max(dim=-1).values
    if mask is not None:
        best = best.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return best
