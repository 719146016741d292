"""The picture of a date: the gold alignment above those that models found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attn_course.figures import heat_map
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.task import Task
    from attn_course.tasks.training import Trained


def alignment_figure(task: "Task", trained: "Sequence[Trained]", place: int = 0) -> "Figure":
    """Draw a map below the other: written dates are long, and their signs should line up."""
    import matplotlib.pyplot as plt

    example = task.held_out()[place : place + 1]
    n = int(example.inputs["source_mask"].sum())  # without the padding
    iso, source = task.words(example, 0)["possible"]
    possible, sure = (example.right[name][0, :, :n] for name in ("possible", "sure"))
    maps: dict[str, tuple[Tensor, Tensor | None]] = {
        _("right: sure links dark, possible ones light"): (0.4 * possible + 0.6 * sure, None)
    }
    for one in trained:
        with torch.no_grad():
            _logits, weights = one.model(**example.inputs)
        maps[one.arm] = (weights[0, :, :n], possible)
    figure, axes = plt.subplots(
        len(maps),
        figsize=(max(5.0, 0.27 * n + 1.6), 2.9 * len(maps)),
        squeeze=False,
        layout="constrained",
    )
    for ax, (title, (weights, outlined)) in zip(axes[:, 0], maps.items(), strict=True):
        heat_map(weights, iso, [_shown(sign) for sign in source[:n]], outlined, ax=ax)
        ax.set_title(title)
        ax.set_xlabel(_("written date, its language first"))
        ax.set_ylabel(_("ISO date"))
    return figure


def _shown(sign: str) -> str:
    return "␣" if sign.isspace() else sign
