r"""Self-attention: the features ask about themselves.  (chapter 6)

Two ways to use it. Pooling *summarises*: `(..., n, d_f)` becomes one context, or a few. Relating
gives a context to every feature: `(..., n, d_f)` stays `(..., n, d_v)`.
"""

from collections.abc import Callable
from math import sqrt

import torch
from torch import Tensor, nn

from attn_course._arrays import require_choice
from attn_course.alignment import softmax
from attn_course.attention import Align, attend, attend_by_scores
from attn_course.attention.context import find_align
from attn_course.attention.mask_policy import mapped_for, pair_mask, without_unseen
from attn_course.learned_scores import NoQueryScore, make_score
from attn_course.scoring import dot

POOLINGS = ("removed", "learned", "structured")


class SelfAttentivePooling(nn.Module):
    r"""Features `(..., n, d_f)` to `r` contexts `(..., r, d_f)`, with no query from outside.

    - `form="removed"`: $\mathrm{score}(k) = w^\top \mathrm{act}(W k + b)$, survey (33), $r = 1$
    - `form="learned"`: $\mathrm{score}(k) = q^\top k$ with a trainable $q$, survey (34), $r = 1$
    - `form="structured"`: $A = \mathrm{softmax}(W_{s2} \tanh(W_{s1} F))$,
      any $r$ (Lin et al., 2017); `penalty` keeps its rows apart

    `mask` `(..., n)` is True where there is a feature.
    """

    def __init__(self, d_f: int, form: str = "removed", d_w: int | None = None, r: int = 1) -> None:
        super().__init__()
        require_choice("form", form, POOLINGS)
        if r < 1 or (r > 1 and form != "structured"):
            raise ValueError(
                f"r must be 1, or above 1 with form='structured', but is {r} with form={form!r}."
            )
        self.form = form
        d_w = d_w or d_f
        if form == "removed":
            self.score = NoQueryScore(d_f, d_w)
        elif form == "learned":
            self.q = nn.Parameter(torch.randn(1, d_f) / sqrt(d_f))
        else:
            self.W_s1 = nn.Linear(d_f, d_w, bias=False)
            self.W_s2 = nn.Linear(d_w, r, bias=False)

    def forward(
        self, features: Tensor, mask: Tensor | None = None, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Return contexts `(..., r, d_f)` and weights `(..., r, n)`."""
        row_mask = None if mask is None else mask[..., None, :]
        features = without_unseen(features, row_mask)
        contexts, weights = attend_by_scores(self._scores(features), features, mask=row_mask)
        return contexts, weights if need_weights else None

    def _scores(self, keys: Tensor) -> Tensor:
        if self.form == "removed":
            return self.score(keys)
        if self.form == "learned":
            return dot(self.q, keys)
        return self.W_s2(torch.tanh(self.W_s1(keys))).mT  # (..., n, r) -> (..., r, n)

    @staticmethod
    def penalty(weights: Tensor) -> Tensor:
        r"""$P = \lVert A A^\top - I \rVert_F^2$ of weights `(..., r, n)`, one number each: `(...)`.

        It is 0 exactly where the rows are one-hot on different features.
        """
        overlaps = weights @ weights.mT  # (..., r, r)
        identity = torch.eye(weights.shape[-2], dtype=weights.dtype, device=weights.device)
        return (overlaps - identity).square().sum(dim=(-2, -1))


class SelfAttention(nn.Module):
    r"""$Q = W_Q F$, $K = W_K F$, $V = W_V F$, survey (35) and (1): a context for every feature.

    Features `(..., n, d_f)` to contexts `(..., n, d_v)`. It does not see the order of the features:
    permute them and the contexts are permuted alike. `mask` broadcasts to `(..., n, n)`,
    `key_mask` `(..., n)` is True where there is a feature, `causal` hides the features that follow.
    """

    def __init__(
        self,
        d_f: int,
        d_k: int | None = None,
        d_v: int | None = None,
        score: str = "scaled_dot",
        align: Align | str = softmax,
    ) -> None:
        super().__init__()
        d_k, d_v = d_k or d_f, d_v or d_f
        self.W_Q = nn.Linear(d_f, d_k, bias=False)
        self.W_K = nn.Linear(d_f, d_k, bias=False)
        self.W_V = nn.Linear(d_f, d_v, bias=False)
        self.score = make_score(score, d_k, d_k)
        self.align = find_align(align)

    def forward(
        self,
        features: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = True,
        *,
        key_mask: Tensor | None = None,
        causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return contexts `(..., n, d_v)` and weights `(..., n, n)`."""
        mask = pair_mask(mask, key_mask, causal, features, features)
        features = without_unseen(features, mask)
        queries, keys, values = mapped_for(mask, features, self.W_Q, self.W_K, self.W_V)
        contexts, weights = attend(queries, keys, values, self.score, self.align, mask)
        return contexts, weights if need_weights else None


def refine(
    features: Tensor, contexts: Tensor, normalise: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    r"""$f^{new} = c$, survey (36), or $f^{new} = \mathrm{Normalize}(f^{old} + c)$, survey (37).

    Without `normalise` the contexts replace the features. With it (an `nn.LayerNorm`, say) they
    are added, which needs contexts as wide as the features.

    >>> refine(torch.zeros(2, 3), torch.ones(2, 3)).sum().item()
    6.0
    """
    if normalise is None:
        return contexts
    if features.shape != contexts.shape:
        raise ValueError(
            "adding contexts to features needs equal shapes, but "
            f"features are {tuple(features.shape)} and contexts are {tuple(contexts.shape)}. "
            "Choose d_v = d_f or project the contexts first."
        )
    return normalise(features + contexts)
