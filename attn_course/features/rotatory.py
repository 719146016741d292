r"""Rotatory attention: a target and the contexts to its left and right ask each other in turn."""

from collections.abc import Sequence

from torch import Tensor, nn

from attn_course.activations import Activation
from attn_course.alignment import softmax
from attn_course.attention import Align, mean_feature
from attn_course.features._inputs import ask, joined, make_inputs
from attn_course.learned_scores import make_score


class RotatoryAttention(nn.Module):
    r"""$r = \mathrm{concat}(r^l, r^r, r^{l_t}, r^{r_t})$ of a target and two contexts: (17)–(20).

    One rotation (Zheng & Xia, 2018):

    1. $r^t = \frac{1}{n^t} \sum_i f^t_i$, the mean of the target over its true length;
    2. $r^t$ asks the left context for $r^l$ and the right context for $r^r$;
    3. $r^l$ asks the target for $r^{l_t}$, and $r^r$ asks it for $r^{r_t}$.

    With `hops` above 1 steps 2 and 3 are repeated (Wallaart & Frasincar, 2019): from the second
    time on the left query is $r^{l_t}$ and the right query is $r^{r_t}$. The parameters are the
    same in every hop, but each of the four scores has its own.

    The output is `(..., d_v_left + d_v_right + 2 d_v_target)`. The weights are a list with one
    entry a hop: a dict of `a_l`, `a_r`, `a_lt`, `a_rt`. At the edge of a sentence a context is
    empty: all masked, or of length 0. Then $r^l = 0$, which under the usual score makes all of
    the target equally interesting in step 3. The survey leaves this open.

    - `d_f`: widths of target, left, right. `d_k`, `d_v`: widths of keys and values, or None for
      the features themselves. More than one hop needs `d_v` = `d_f` of the target.
    - `score`: activated general, $\tanh(k^\top W r + b)$, with `W` `(d_k_left, d_f_target)`,
      `(d_k_right, d_f_target)`, `(d_k_target, d_v_left)`, `(d_k_target, d_v_right)`.
    - Parameters: $4 d^2 + 4$ for equal widths. Cost: $8 d^2 + 4 d (n^l + n^r + 2 n^t)$ FLOPs a
      rotation, in two steps that wait for each other.

    The code released with the first paper rotates the other way round (means of the contexts ask
    the target first); here, as in its text and in the survey, the target begins.

    >>> import torch
    >>> layer = RotatoryAttention(d_f=(3, 3, 3), hops=2)
    >>> r, weights = layer(torch.ones(2, 3), left=torch.ones(0, 3), right=torch.ones(5, 3))
    >>> tuple(r.shape), r[:3].tolist(), len(weights)
    ((12,), [0.0, 0.0, 0.0], 2)
    """

    def __init__(
        self,
        d_f: Sequence[int],
        hops: int = 1,
        d_w: int | None = None,
        score: str = "activated_general",
        act: Activation = "tanh",
        align: Align = softmax,
        d_k: Sequence[int] | None = None,
        d_v: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        target, left, right = make_inputs(
            ("target", "left", "right"), d_f, d_k, d_v, may_be_empty=("left", "right")
        )
        if hops < 1:
            raise ValueError(f"hops must be at least 1, but is {hops}.")
        if hops > 1 and target.d_v != target.d_f:
            raise ValueError(
                "from the second hop on values of the target take the place of its mean, so they "
                f"need the width d_f = {target.d_f}, but d_v = {target.d_v}. Give d_v accordingly."
            )
        self.target, self.left, self.right = target, left, right
        self.d_out = left.d_v + right.d_v + 2 * target.d_v
        self.hops = hops
        self.align = align
        self.score_l = make_score(score, d_q=target.d_f, d_k=left.d_k, d_w=d_w, act=act)
        self.score_r = make_score(score, d_q=target.d_f, d_k=right.d_k, d_w=d_w, act=act)
        self.score_lt = make_score(score, d_q=left.d_v, d_k=target.d_k, d_w=d_w, act=act)
        self.score_rt = make_score(score, d_q=right.d_v, d_k=target.d_k, d_w=d_w, act=act)

    def forward(
        self,
        target: Tensor,
        left: Tensor,
        right: Tensor,
        target_mask: Tensor | None = None,
        left_mask: Tensor | None = None,
        right_mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, list[dict[str, Tensor]] | None]:
        """Return the output and, for each hop, the weights `a_l`, `a_r`, `a_lt`, `a_rt`."""
        targets = self.target(target, target_mask)
        lefts, rights = self.left(left, left_mask), self.right(right, right_mask)
        left_query = right_query = mean_feature(targets.features, targets.mask)  # r^t
        weights = []
        for _ in range(self.hops):
            r_l, a_l = ask(left_query, lefts, self.score_l, self.align)
            r_r, a_r = ask(right_query, rights, self.score_r, self.align)
            r_lt, a_lt = ask(r_l, targets, self.score_lt, self.align)
            r_rt, a_rt = ask(r_r, targets, self.score_rt, self.align)
            weights.append({"a_l": a_l, "a_r": a_r, "a_lt": a_lt, "a_rt": a_rt})
            left_query, right_query = r_lt, r_rt
        return joined(r_l, r_r, r_lt, r_rt), weights if need_weights else None
