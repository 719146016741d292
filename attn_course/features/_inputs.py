r"""What the layers over whole feature sets share: checked inputs, one query.

An `Input` turns features and a mask into a `FeatureSet` whose padding is 0, so that nothing that
is masked can reach a mean, a score, or the gradient of a parameter: see `attention.mask_policy`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attn_course._arrays import shape
from attn_course.attention import Align, Score, attend, attend_by_scores


class FeatureSet(NamedTuple):
    """Features `(..., n, d_f)`, keys, values, and the mask `(..., n)`, True where one is real."""

    features: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor | None


class Input(nn.Module):
    r"""$K = W_K F$, $V = W_V F$ for one input: survey (1).

    A width of None leaves that map out: the features themselves are the keys, or the values.
    """

    def __init__(
        self,
        name: str,
        d_f: int,
        d_k: int | None = None,
        d_v: int | None = None,
        may_be_empty: bool = False,
    ) -> None:
        super().__init__()
        self.name = name
        self.d_f = d_f
        self.d_k = d_f if d_k is None else d_k
        self.d_v = d_f if d_v is None else d_v
        self.may_be_empty = may_be_empty
        # Without bias: what is padded with 0 stays 0.
        self.key_map = nn.Identity() if d_k is None else nn.Linear(d_f, d_k, bias=False)
        self.value_map = nn.Identity() if d_v is None else nn.Linear(d_f, d_v, bias=False)

    def forward(self, features: Tensor, mask: Tensor | None = None) -> FeatureSet:
        """Return the features with their keys, values and mask."""
        self._require_features(features)
        if mask is not None:
            require_feature_mask(mask, shape(features)[:-1], self.name)
            mask = mask.expand(features.shape[:-1])
            features = features.masked_fill(~mask[..., None], 0.0)
        return FeatureSet(features, self.key_map(features), self.value_map(features), mask)

    def _require_features(self, features: Tensor) -> None:
        if features.ndim < 2 or features.shape[-1] != self.d_f:
            raise ValueError(
                f"{self.name} must be (..., n, d_f) with d_f = {self.d_f}, "
                f"but came as {shape(features)}. "
                "Check the order of the inputs and the widths the layer was made with."
            )
        if features.shape[-2] == 0 and not self.may_be_empty:
            raise ValueError(
                f"{self.name} has no features to attend to: it is {shape(features)}. "
                "Give at least one, or mask features out instead of removing them."
            )


def require_feature_mask(mask: Tensor, wanted: tuple[int, ...], name: str) -> None:
    """Raise unless the mask of the input `name` is boolean and broadcasts to `wanted`."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"the mask of {name} must be boolean with True where there is a feature, "
            f"but has dtype {mask.dtype}. Write mask > 0 or mask.bool()."
        )
    missing = len(wanted) - mask.ndim
    fits = mask.ndim > 0 and missing >= 0
    if not fits or any(m not in (1, w) for m, w in zip(mask.shape, wanted[missing:], strict=True)):
        raise ValueError(
            f"the mask of {name} must broadcast to {wanted}, one truth value a feature, "
            f"but is {shape(mask)}. It has no axis of queries: layers add that themselves."
        )


def look(queries: Tensor, at: FeatureSet, score: Score, align: Align) -> tuple[Tensor, Tensor]:
    """Attend with queries `(..., q, d_q)`: contexts `(..., q, d_v)`, weights `(..., q, n)`."""
    return attend(queries, at.keys, at.values, score, align, _for_every_query(at.mask))


def ask(query: Tensor, at: FeatureSet, score: Score, align: Align) -> tuple[Tensor, Tensor]:
    """Attend with one query `(..., d_q)`: context `(..., d_v)`, weights `(..., n)`.

    Where there are no features at all the context is 0, as if all of them were masked.
    """
    if at.keys.shape[-2] == 0:
        batch = torch.broadcast_shapes(query.shape[:-1], at.keys.shape[:-2])
        return query.new_zeros(*batch, at.values.shape[-1]), query.new_zeros(*batch, 0)
    context, weights = look(query[..., None, :], at, score, align)
    return context[..., 0, :], weights[..., 0, :]


def summarise(at: FeatureSet, scores: Tensor, align: Align) -> tuple[Tensor, Tensor]:
    """Attend without a query, by scores `(..., 1, n)`: context `(..., d_v)`, weights `(..., n)`."""
    context, weights = attend_by_scores(scores, at.values, align, _for_every_query(at.mask))
    return context[..., 0, :], weights[..., 0, :]


def _for_every_query(mask: Tensor | None) -> Tensor | None:
    """Return the mask of features with an axis of queries: it is the same for each of them."""
    return None if mask is None else mask[..., None, :]


def joined(*vectors: Tensor) -> Tensor:
    """Concatenate vectors `(..., d_i)` whose batch axes broadcast: `(..., sum of d_i)`."""
    batch = torch.broadcast_shapes(*(vector.shape[:-1] for vector in vectors))
    return torch.cat([vector.expand(*batch, vector.shape[-1]) for vector in vectors], dim=-1)


def widths(name: str, given: Sequence[int] | None, inputs: Sequence[str]) -> list[int | None]:
    """Return one width for each of the `inputs`; None means None everywhere."""
    if given is None:
        return [None] * len(inputs)
    if isinstance(given, int) or len(given) != len(inputs):
        raise ValueError(
            f"{name} must be {len(inputs)} widths, for {', '.join(inputs)}, but is {given!r}."
        )
    return list(given)


def make_inputs(
    names: Sequence[str],
    d_f: Sequence[int],
    d_k: Sequence[int] | None,
    d_v: Sequence[int] | None,
    may_be_empty: Sequence[str] = (),
) -> list[Input]:
    """Return one `Input` a name, with the widths that belong to it."""
    widths("d_f", d_f, names)
    each = zip(names, d_f, widths("d_k", d_k, names), widths("d_v", d_v, names), strict=True)
    return [Input(name, f, k, v, name in may_be_empty) for name, f, k, v in each]
