r"""Capsule-based attention: one query for each class.  (chapter 6)"""

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attn_course.alignment import softmax
from attn_course.attention import Align, attend, mean_feature
from attn_course.attention.context import find_align
from attn_course.scoring import dot


class Capsules(NamedTuple):
    """What the capsules of an input say."""

    probabilities: Tensor  # (..., classes)
    reconstructions: Tensor  # (..., classes, d_f)
    contexts: Tensor  # (..., classes, d_f)


class CapsuleAttention(nn.Module):
    r"""$c_c = \mathrm{att}(q_c, F)$, $p_c = \sigma(w_c^\top c_c + b_c)$, $r_c = p_c c_c$.

    Survey (43)–(45). Features `(..., n, d_f)` are keys and values of **every** class; a class
    owns only its query $q_c$, $w_c$ and $b_c$. The probabilities are independent and need not add
    up to 1; the class with the largest is the prediction. `mask` `(..., n)` is True where there
    is a feature.

    Train with `classification_loss` and `reconstruction_loss`, added up. Parameters:
    $d_y(2 d_f + 1)$.
    """

    def __init__(self, d_f: int, classes: int, align: Align | str = softmax) -> None:
        super().__init__()
        self.q = nn.Parameter(torch.randn(classes, d_f) / sqrt(d_f))
        self.w = nn.Parameter(torch.randn(classes, d_f) / sqrt(d_f))
        self.b = nn.Parameter(torch.zeros(classes))
        self.align = find_align(align)

    def forward(
        self, features: Tensor, mask: Tensor | None = None, need_weights: bool = True
    ) -> tuple[Capsules, Tensor | None]:
        """Return the capsules and their weights `(..., classes, n)`."""
        pair_mask = None if mask is None else mask[..., None, :]
        contexts, weights = attend(self.q, features, features, dot, self.align, pair_mask)
        probabilities = torch.sigmoid((contexts * self.w).sum(-1) + self.b)  # (..., classes)
        capsules = Capsules(probabilities, probabilities[..., None] * contexts, contexts)
        return capsules, weights if need_weights else None

    @staticmethod
    def classification_loss(probabilities: Tensor, targets: Tensor, form: str = "paper") -> Tensor:
        r"""$J = \max(0,\, 1 + \sum_c y_c p_c)$, $y_c = -1$ for the true class, $+1$ otherwise.

        Probabilities `(..., classes)`, targets `(...)` the true classes. `form="code"` is what the
        authors released: $\frac{1}{d_y} \sum_{c \ne y} \max(0,\, 1 - p_y + p_c)$. For two classes
        it is half of the paper's; for more they differ.
        """
        return _hinge(probabilities, targets, form)

    @staticmethod
    def reconstruction_loss(
        reconstructions: Tensor,
        features: Tensor,
        targets: Tensor,
        mask: Tensor | None = None,
        form: str = "paper",
    ) -> Tensor:
        r"""The same hinge on $\bar f^\top r_c$: the true reconstruction should be like $\bar f$.

        $\bar f$ is the mean of the features that are there.
        """
        mean = mean_feature(features, mask)[..., None, :]  # (..., 1, d_f)
        return _hinge((reconstructions * mean).sum(-1), targets, form)


def _hinge(per_class: Tensor, targets: Tensor, form: str) -> Tensor:
    if form not in ("paper", "code"):
        raise ValueError(f"form must be 'paper' or 'code', but is {form!r}.")
    true = nn.functional.one_hot(targets, per_class.shape[-1]).bool()
    if form == "paper":
        signed = torch.where(true, -per_class, per_class)
        return (1 + signed.sum(-1)).clamp(min=0)
    of_true = per_class.gather(-1, targets[..., None])
    margins = (1 - of_true + per_class).clamp(min=0).masked_fill(true, 0)
    return margins.sum(-1) / per_class.shape[-1]
