r"""The general attention model: score, align, average.  (chapter 0)

Equations (1)–(5) of the survey, in rows: queries `(..., q, d_q)`, keys `(..., k, d_k)`,
values `(..., k, d_v)`, scores and weights `(..., q, k)`, contexts `(..., q, d_v)`.

- `attend` is equations (2)–(4), for arrays of any library.
- `attend_by_scores` is equations (3)–(4): attention without a query. Everything else calls one of
  the two.
- `masked` states what a mask means in the whole course: what is masked has no effect at all.
- `ALIGNS` are the alignments that every layer accepts by name.
- `mean_feature` is what attention with equal weights gives: the query of several mechanisms.
- `AttentionModel` adds equation (1), the keys and values made from features.
- `TaskModel` puts the four models together: features, query, attention, output.
- `SoftmaxOutput` is equation (5).
"""

from typing import TYPE_CHECKING

from attn_course.attention.context import (
    ALIGNS,
    Align,
    Score,
    attend,
    attend_by_scores,
    mean_feature,
)
from attn_course.attention.mask_policy import with_broken_values

__all__ = [
    "ALIGNS",
    "Align",
    "AttentionModel",
    "Score",
    "SoftmaxOutput",
    "TaskModel",
    "attend",
    "attend_by_scores",
    "mean_feature",
    "with_broken_values",
]

# `attend` needs no PyTorch, so the models that do are loaded when one is first asked for.
if TYPE_CHECKING:
    from attn_course.attention.models import AttentionModel, SoftmaxOutput, TaskModel
else:

    def __getattr__(name):
        if name in ("AttentionModel", "SoftmaxOutput", "TaskModel"):
            from attn_course.attention import models

            return getattr(models, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
