r"""Alternating co-attention: a summary of one input asks the other, and is asked in return."""

from collections.abc import Sequence

from torch import Tensor, nn

from attn_course.activations import Activation
from attn_course.alignment import softmax
from attn_course.attention import Align
from attn_course.features._inputs import ask, joined, make_inputs, summarise
from attn_course.learned_scores import AdditiveScore, NoQueryScore, make_score


class AlternatingCoAttention(nn.Module):
    r"""$F^{(1)} \to c^{(0)}$, $(c^{(0)}, F^{(2)}) \to c^{(2)}$, $(c^{(2)}, F^{(1)}) \to c^{(1)}$.

    Survey (6)–(9): three attentions in a row (Lu et al., 2016):

    1. no query: $e^{(0)}_l = w^\top \mathrm{act}(W k^{(1)}_l + b)$ summarises input 1 as $c^{(0)}$;
    2. $e^{(2)}_l = \mathrm{score}(c^{(0)}, k^{(2)}_l)$ looks at input 2 and finds $c^{(2)}$;
    3. $e^{(1)}_l = \mathrm{score}(c^{(2)}, k^{(1)}_l)$ looks at input 1 again and finds $c^{(1)}$.

    The output is $\mathrm{concat}(c^{(1)}, c^{(2)})$, `(..., d_v1 + d_v2)`; $c^{(0)}$ is a query
    only. The weights are `a_0` and `a_1` `(..., n_1)`, `a_2` `(..., n_2)`. The inputs don't play
    the same part: exchanging them gives another model.

    - `d_f`: widths of the two inputs. `d_k`, `d_v`: widths of keys and values, or None for the
      features themselves.
    - `score`: of steps 2 and 3. The query of step 2 has width `d_v1`, that of step 3 `d_v2`.
    - `shared`: step 3 uses `w`, `W`, `b` of step 1, with a query added. The survey says so; the
      code released with the paper has weights of its own for each step (`shared=False`).
    - Parameters (additive, shared): $d_w (d_{k1} + d_{v2} + 2) + d_w (d_{k2} + d_{v1} + 2)$.
      Cost: $2 d_w (2 d_{k1} n_1 + d_{k2} n_2)$ FLOPs. With shared weights $W K^{(1)}$ could be kept
      from step 1; here it is computed again, so that both steps stay plain calls of `attend`.

    >>> import torch
    >>> layer = AlternatingCoAttention(d_f=(3, 5))
    >>> output, weights = layer(torch.ones(7, 3), torch.ones(2, 5))
    >>> tuple(output.shape), sorted(weights)
    ((8,), ['a_0', 'a_1', 'a_2'])
    """

    def __init__(
        self,
        d_f: Sequence[int],
        d_w: int | None = None,
        score: str = "additive",
        shared: bool = True,
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
        self.score_0 = NoQueryScore(first.d_k, d_w or first.d_k, act)
        self.score_2 = make_score(score, d_q=first.d_v, d_k=second.d_k, d_w=d_w, act=act)
        self.score_1 = make_score(score, d_q=second.d_v, d_k=first.d_k, d_w=d_w, act=act)
        if shared:
            if not isinstance(self.score_1, AdditiveScore):
                raise ValueError(
                    "shared=True adds a query to the score of step 1, which makes it additive, "
                    f"but score is {score!r}. Use score='additive' or shared=False."
                )
            self.score_0.w = self.score_1.w
            self.score_0.W = self.score_1.W_k
            self.score_0.b = self.score_1.b

    def forward(
        self,
        features_1: Tensor,
        features_2: Tensor,
        mask_1: Tensor | None = None,
        mask_2: Tensor | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """Return the output and the weights `a_0`, `a_1`, `a_2`."""
        first, second = self.input_1(features_1, mask_1), self.input_2(features_2, mask_2)
        c_0, a_0 = summarise(first, self.score_0(first.keys), self.align)  # (..., d_v1)
        c_2, a_2 = ask(c_0, second, self.score_2, self.align)  # (..., d_v2)
        c_1, a_1 = ask(c_2, first, self.score_1, self.align)  # (..., d_v1)
        weights = {"a_0": a_0, "a_1": a_1, "a_2": a_2}
        return joined(c_1, c_2), weights if need_weights else None
