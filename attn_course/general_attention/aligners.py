r"""Alignments by name, ready for a layer.

Most read the scores alone: `make_align` binds what else they need. Two have parameters and read
queries or features as well: `PredictedWindow` and `LearnedSubset` are bound to each input anew.
"""

from functools import partial

import torch
from torch import Tensor, nn

from attn_course import alignment
from attn_course.attention import Align
from attn_course.attention.context import find_align
from attn_course.attention.mask_policy import seen_keys
from attn_course.general_attention.sizes import Sizes


def make_align(
    kind: str,
    sizes: Sizes,
    half_width: float | None = None,
    rng: torch.Generator | None = None,
) -> "Align | PredictedWindow | LearnedSubset":
    """Return the alignment `kind`.

    `local_monotonic` takes the queries in their order as the steps 1, 2, …; `hard` and
    `reinforced` draw from `rng`, by default PyTorch's own.
    """
    if kind == "local_predictive":
        return PredictedWindow(sizes.d_q, sizes.d_w, half_width)
    if kind == "reinforced":
        return LearnedSubset(sizes.d_f, sizes.d_w, rng)
    if kind == "local_monotonic":
        return partial(_by_step, half_width=require_half_width(half_width))
    if kind == "hard":
        # A generator can't be copied with a layer, so the default is looked up when it is used.
        return lambda scores, mask=None: alignment.hard(scores, _or_default(rng), mask)
    return find_align(kind)


class PredictedWindow(nn.Module):
    r"""$p = S\,\sigma(w_p^\top \tanh(W_p q))$, then `local_predictive` around $p$: (27)–(29).

    $S$ is how many keys the mask leaves to an example; keys are counted from 1, padding comes last.
    """

    def __init__(self, d_q: int, d_p: int, half_width: float | None) -> None:
        super().__init__()
        self.half_width = require_half_width(half_width)
        self.w_p = nn.Parameter(torch.randn(d_p) / d_p**0.5)
        self.W_p = nn.Parameter(torch.randn(d_p, d_q) / d_q**0.5)

    def bound_to(self, queries: Tensor, features: Tensor, mask: Tensor | None) -> Align:
        """Return the alignment for these queries."""
        n = features.shape[-2]
        lengths = torch.tensor(n) if mask is None else real_features(mask, n).sum(-1)
        positions = alignment.predict_positions(queries, self.w_p, self.W_p, lengths)
        return partial(alignment.local_predictive, positions=positions, half_width=self.half_width)


class LearnedSubset(nn.Module):
    r"""$z_l \sim \mathrm{Bernoulli}(\pi_l)$, then softmax over the features with $z_l = 1$.

    The draw passes no gradient on. Train the selector by policy gradient: after a forward pass
    `log_probability` `(...)` is $\log p(z)$ of its draw, to be multiplied by the reward.
    """

    def __init__(self, d_f: int, h: int, rng: torch.Generator | None) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(h, 3 * d_f) / (3 * d_f) ** 0.5)
        self.b = nn.Parameter(torch.zeros(h))
        self.w = nn.Parameter(torch.randn(h) / h**0.5)
        self.b_0 = nn.Parameter(torch.zeros(()))
        self._rng = rng
        self.log_probability: Tensor | None = None

    def bound_to(self, queries: Tensor, features: Tensor, mask: Tensor | None) -> Align:
        """Return the alignment over a subset drawn for these features."""
        present = None
        if mask is not None:
            present = real_features(mask, features.shape[-2]).expand(features.shape[:-1])
        probabilities = alignment.selection_probabilities(
            features, self.w, self.W, self.b, self.b_0, present
        )
        selection = alignment.select(probabilities.detach(), _or_default(self._rng))
        self.log_probability = alignment.selection_log_probability(probabilities, selection)
        return partial(alignment.reinforced, selection=selection)


def require_half_width(half_width: float | None) -> float:
    """Raise unless a half width D was given, which every window needs."""
    if half_width is None or half_width <= 0:
        raise ValueError(
            f"a local alignment needs half_width, the D of its window, above 0, but half_width is "
            f"{half_width}. Luong et al. (2015) use 10."
        )
    return half_width


def real_features(mask: Tensor, n: int) -> Tensor:
    """Return where there is a feature, `(..., n)`: some query may attend to it."""
    seen = seen_keys(mask)
    return seen.expand(*seen.shape[:-1], n)


def _by_step(scores: Tensor, mask: Tensor | None = None, half_width: float = 0.0) -> Tensor:
    steps = torch.arange(1, scores.shape[-2] + 1, device=scores.device)
    return alignment.local_monotonic(scores, steps, half_width, mask)


def _or_default(rng: torch.Generator | None) -> torch.Generator:
    return torch.default_generator if rng is None else rng
