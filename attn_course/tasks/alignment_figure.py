"""The picture of a translation: the gold alignment above those that models found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attn_course.figures import heat_map
from attn_course.tasks.task import IGNORED
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attn_course.tasks.aligned_translation import AlignedTranslation
    from attn_course.tasks.training import Trained


def alignment_figure(
    task: "AlignedTranslation", trained: "Sequence[Trained]", place: int = 0
) -> "Figure":
    """Draw a map below the other: sources are long, and their signs should line up."""
    import matplotlib.pyplot as plt

    example = task.held_out()[place : place + 1]
    n = int(example.inputs["source_mask"].sum())  # without the padding
    rows = int((example.targets != IGNORED).sum())
    written, source = task.words(example, 0)["possible"]
    possible = example.right["possible"][0, :rows, :n]
    maps: dict[str, tuple[Tensor, Tensor | None]] = {}
    if "sure" in example.right:
        sure = example.right["sure"][0, :rows, :n]
        title = _("right: sure links dark, possible ones light")
        maps[title] = (0.4 * possible + 0.6 * sure, None)
    else:
        maps[_("right: any of the letters that say a digit")] = (0.7 * possible, None)
    for one in trained:
        with torch.no_grad():
            _logits, weights = one.model(**example.inputs)
        maps[one.arm] = (weights[0, :rows, :n], possible)
    figure, axes = plt.subplots(
        len(maps),
        figsize=(max(5.0, 0.27 * n + 1.6), (0.2 * rows + 0.9) * len(maps)),
        squeeze=False,
        layout="constrained",
    )
    for ax, (title, (weights, outlined)) in zip(axes[:, 0], maps.items(), strict=True):
        heat_map(weights, written[:rows], [_shown(sign) for sign in source[:n]], outlined, ax=ax)
        ax.set_title(title)
        ax.set_xlabel(task.source_label)
        ax.set_ylabel(task.target_label)
    return figure


def _shown(sign: str) -> str:
    return "␣" if sign.isspace() else sign
