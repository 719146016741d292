r"""Scores with parameters of their own, as layers to be trained.  (chapter 2)

`scoring` has the formulas; here each formula that has parameters becomes an `nn.Module` which owns
them and takes queries and keys alone, so that it can be handed to `attend` and to every layer of
the course. `make_score` builds one by name.
"""

from math import sqrt

import torch
from torch import Tensor, nn

from attn_course import scoring
from attn_course._arrays import require_choice
from attn_course.activations import Activation

SCORE_NAMES = (
    "additive",
    "dot",
    "scaled_dot",
    "general",
    "biased_general",
    "activated_general",
    *scoring.SIMILARITIES,
)


class AdditiveScore(nn.Module):
    r"""$w^\top \mathrm{act}(W_q q + W_k k + b)$ with trainable `w`, `W_q`, `W_k`, `b`."""

    def __init__(
        self, d_q: int, d_k: int, d_w: int, act: Activation = "tanh", bias: bool = True
    ) -> None:
        super().__init__()
        self.w = nn.Parameter(uniform(d_w, fan_in=d_w))
        self.W_q = nn.Parameter(uniform(d_w, d_q, fan_in=d_q))
        self.W_k = nn.Parameter(uniform(d_w, d_k, fan_in=d_k))
        self.b = nn.Parameter(torch.zeros(d_w)) if bias else None
        self.act = act

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        return scoring.additive(queries, keys, self.w, self.W_q, self.W_k, self.b, self.act)


class GeneralScore(nn.Module):
    r"""$k^\top W q$ with a trainable `W` `(d_k, d_q)`."""

    def __init__(self, d_q: int, d_k: int) -> None:
        super().__init__()
        self.W = nn.Parameter(uniform(d_k, d_q, fan_in=d_q))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        return scoring.general(queries, keys, self.W)


class BiasedGeneralScore(nn.Module):
    r"""$k^\top (W q + b)$ with a trainable `W` `(d_k, d_q)` and vector `b` `(d_k,)`."""

    def __init__(self, d_q: int, d_k: int) -> None:
        super().__init__()
        self.W = nn.Parameter(uniform(d_k, d_q, fan_in=d_q))
        self.b = nn.Parameter(torch.zeros(d_k))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        return scoring.biased_general(queries, keys, self.W, self.b)


class ActivatedGeneralScore(nn.Module):
    r"""$\mathrm{act}(k^\top W q + b)$ with a trainable `W` `(d_k, d_q)` and number `b`."""

    def __init__(self, d_q: int, d_k: int, act: Activation = "tanh") -> None:
        super().__init__()
        self.W = nn.Parameter(uniform(d_k, d_q, fan_in=d_q))
        self.b = nn.Parameter(torch.zeros(()))
        self.act = act

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        return scoring.activated_general(queries, keys, self.W, self.b, self.act)


class NoQueryScore(nn.Module):
    r"""$w^\top \mathrm{act}(W k + b)$, survey (33): keys `(..., k, d_k)` to `(..., 1, k)`."""

    def __init__(self, d_k: int, d_w: int, act: Activation = "tanh", bias: bool = True) -> None:
        super().__init__()
        self.w = nn.Parameter(uniform(d_w, fan_in=d_w))
        self.W = nn.Parameter(uniform(d_w, d_k, fan_in=d_k))
        self.b = nn.Parameter(torch.zeros(d_w)) if bias else None
        self.act = act

    def forward(self, keys: Tensor) -> Tensor:
        """Return scores `(..., 1, k)`."""
        return scoring.no_query(keys, self.w, self.W, self.b, self.act)


class FixedScore(nn.Module):
    """A formula without parameters as a layer, so that every score prints and counts alike."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scores `(..., q, k)`."""
        if self.kind in scoring.SIMILARITIES:
            return scoring.similarity(queries, keys, self.kind)
        return (
            scoring.dot(queries, keys) if self.kind == "dot" else scoring.scaled_dot(queries, keys)
        )

    def extra_repr(self) -> str:
        """Name the formula where the layer is printed."""
        return self.kind


def make_score(
    kind: str, d_q: int, d_k: int, d_w: int | None = None, act: Activation = "tanh"
) -> nn.Module:
    """Return the score named `kind` for queries of width `d_q` and keys of width `d_k`.

    `d_w` is the hidden width of the additive score (default: `d_k`).

    >>> sum(p.numel() for p in make_score("general", d_q=3, d_k=5).parameters())
    15
    """
    require_choice("score", kind, SCORE_NAMES)
    if kind == "additive":
        return AdditiveScore(d_q, d_k, d_w or d_k, act)
    if kind == "general":
        return GeneralScore(d_q, d_k)
    if kind == "biased_general":
        return BiasedGeneralScore(d_q, d_k)
    if kind == "activated_general":
        return ActivatedGeneralScore(d_q, d_k, act)
    if d_q != d_k:
        raise ValueError(
            f"the score {kind!r} compares entry by entry and needs d_q = d_k, but d_q = {d_q} and "
            f"d_k = {d_k}. Use additive, general, biased_general or activated_general."
        )
    return FixedScore(kind)


def uniform(*size: int, fan_in: int) -> Tensor:
    """Return numbers small enough that a sum over `fan_in` of them stays of order 1."""
    bound = 1 / sqrt(fan_in)
    return torch.empty(*size).uniform_(-bound, bound)
