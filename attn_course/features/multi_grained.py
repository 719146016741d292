r"""Multi-grained co-attention: a coarse and a fine mechanism on the same pair of inputs."""

from collections.abc import Sequence

from torch import Tensor, nn

from attn_course.features._inputs import joined
from attn_course.features.interactive import InteractiveCoAttention
from attn_course.features.parallel import ParallelCoAttention


class MultiGrainedCoAttention(nn.Module):
    r"""$[c^{(1)}; c^{(2)}]$ of a coarse mechanism, then $[c^{(1)}; c^{(2)}]$ of a fine one.

    `coarse` and `fine` are co-attention layers over inputs of widths `d_f`. By default they are
    those of the paper (Fan et al., 2018): the mean of each input with the general score
    $k^\top W \bar k$, and the concat affinity (13) with the maximum (16). The paper may average
    instead of taking the maximum in one direction; here, as in the survey, both take it. Inputs of
    different widths need a `fine` of your own that maps their keys to one width.

    The weights carry the grain behind their name: `a_1_coarse`, `a_1_fine`, and so on. The paper's
    loss that keeps aspects apart is not part of the mechanism.

    Parameters and cost are the sums of the two layers'.

    >>> import torch
    >>> layer = MultiGrainedCoAttention(d_f=(3, 3))
    >>> output, weights = layer(torch.ones(7, 3), torch.ones(2, 3))
    >>> tuple(output.shape), sorted(weights)
    ((12,), ['a_1_coarse', 'a_1_fine', 'a_2_coarse', 'a_2_fine'])
    """

    def __init__(
        self,
        d_f: Sequence[int],
        coarse: nn.Module | None = None,
        fine: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.coarse = coarse or InteractiveCoAttention(d_f, score="general")
        self.fine = fine or ParallelCoAttention(d_f, affinity="concat", reading="max")

    def forward(
        self,
        features_1: Tensor,
        features_2: Tensor,
        mask_1: Tensor | None = None,
        mask_2: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Return the output and the weights of both grains."""
        inputs = features_1, features_2, mask_1, mask_2, need_weights
        coarse, coarse_weights = self.coarse(*inputs)
        fine, fine_weights = self.fine(*inputs)
        output = joined(coarse, fine)
        if not need_weights:
            return output, None
        weights = {f"{name}_coarse": a for name, a in coarse_weights.items()}
        return output, weights | {f"{name}_fine": a for name, a in fine_weights.items()}
