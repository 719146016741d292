r"""Interactive co-attention: the mean of each input asks the other."""

from collections.abc import Sequence

from torch import Tensor, nn

from attn_course.activations import Activation
from attn_course.alignment import softmax
from attn_course.attention import Align, mean_feature
from attn_course.features._inputs import ask, joined, make_inputs
from attn_course.learned_scores import make_score


class InteractiveCoAttention(nn.Module):
    r"""$e^{(1)}_l = \mathrm{score}(\bar k^{(2)}, k^{(1)}_l)$ and the same with 1 and 2 exchanged.

    Survey (10)–(11): $\bar k^{(i)} = \frac{1}{n_i} \sum_l k^{(i)}_l$ is the mean of the keys of
    input $i$, over its true length $n_i$ (Ma et al., 2017). Both sides run side by side. The output
    is $\mathrm{concat}(c^{(1)}, c^{(2)})$, `(..., d_v1 + d_v2)`; the weights are `a_1` `(..., n_1)`
    and `a_2` `(..., n_2)`. An input without a feature has the mean 0.

    - `d_f`: widths of the two inputs. `d_k`, `d_v`: widths of keys and values, or None for the
      features themselves.
    - `score`: the survey says additive here, and credits the same paper with activated general in
      its section on scores; here activated general is the default, as in the paper.
    - Parameters (activated general): $2 d_{k1} d_{k2} + 2$. Cost of each side: $d_k n$ for the
      mean, $2 d_{k1} d_{k2} + 2 d_k n$ FLOPs for the scores.

    >>> import torch
    >>> layer = InteractiveCoAttention(d_f=(3, 5))
    >>> output, weights = layer(torch.ones(7, 3), torch.ones(2, 5))
    >>> tuple(output.shape), weights["a_2"].tolist()
    ((8,), [0.5, 0.5])
    """

    def __init__(
        self,
        d_f: Sequence[int],
        d_w: int | None = None,
        score: str = "activated_general",
        act: Activation = "tanh",
        align: Align = softmax,
        d_k: Sequence[int] | None = None,
        d_v: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        first, second = make_inputs(("features_1", "features_2"), d_f, d_k, d_v)
        self.input_1, self.input_2 = first, second
        self.d_out = first.d_v + second.d_v
        self.align = align
        self.score_1 = make_score(score, d_q=second.d_k, d_k=first.d_k, d_w=d_w, act=act)
        self.score_2 = make_score(score, d_q=first.d_k, d_k=second.d_k, d_w=d_w, act=act)

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
        mean_1 = mean_feature(first.keys, first.mask)  # (..., n_1, d_k1) -> (..., d_k1)
        mean_2 = mean_feature(second.keys, second.mask)  # (..., n_2, d_k2) -> (..., d_k2)
        c_1, a_1 = ask(mean_2, first, self.score_1, self.align)
        c_2, a_2 = ask(mean_1, second, self.score_2, self.align)
        return joined(c_1, c_2), {"a_1": a_1, "a_2": a_2} if need_weights else None
