"""The figure of a task: where attention belongs, next to where the arms put it.

A map with one query is a row, so the rows of all arms are below each other. Maps with several
queries are side by side. Padding is left out, and the scale is the same everywhere: 0 to 1.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attn_course.figures import heat_map
from attn_course.tasks.task import Examples, Task
from attn_course.tasks.training import Trained
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDEST = 6.6  # inches: the text of a page is not wider
_MANY_KEYS = 12  # more words than this need the whole width, and upright labels


def attention_figure(task: Task, trained: Sequence[Trained], place: int = 0) -> "Figure":
    """Draw the maps of test example `place`: what is right first, then each arm."""
    example = task.held_out()[place : place + 1]
    maps = {name: [(_("correct"), right[0].double())] for name, right in example.right.items()}
    for one in trained:
        with torch.no_grad():
            _predictions, weights = one.model(**example.inputs)
        if weights is None:
            continue  # a reader without attention has no map
        for name, found in task.named_weights(weights).items():
            # An arm without this map (its ablation has another shape) is not shown there.
            if name in maps and found.shape[-2:] == example.right[name].shape[-2:]:
                maps[name].append((one.arm, found[0]))
    words = {name: _words(task, example, name) for name in maps}
    if all(right.shape[-2] == 1 for right in example.right.values()):
        return _rows(example, maps, words)
    return _side_by_side(example, maps, words)


Maps = dict[str, list[tuple[str, Tensor]]]
Words = dict[str, tuple[list[str] | None, list[str] | None]]


def _words(task: Task, example: Examples, name: str) -> tuple[list[str] | None, list[str] | None]:
    return task.words(example, 0).get(name, (None, None))


def _rows(example: Examples, maps: Maps, words: Words) -> "Figure":
    """Draw a panel per map, below each other, with a row per variant."""
    import matplotlib.pyplot as plt

    shown = [name for name in maps if _real(example, name)[1].any()]  # none of it padding
    height = 0.8 + 0.35 * max(len(found) for found in maps.values())
    figure, axes = plt.subplots(
        len(shown), figsize=(_WIDEST, height * len(shown)), squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes.flat, shown, strict=True):
        _row_real, keys_real = _real(example, name)
        matrix = torch.cat([found for _arm, found in maps[name]])[:, keys_real]
        right = maps[name][0][1][:, keys_real].expand(matrix.shape)
        queries, keys = words[name]
        _draw(ax, matrix, [arm for arm, _found in maps[name]], _chosen(keys, keys_real), right)
        ax.set_title((queries[0] if queries else name) if len(maps) > 1 else "")
        ax.set_ylabel("")
        if keys:
            ax.set_xlabel("")  # the words say what the columns are
    return figure


def _side_by_side(example: Examples, maps: Maps, words: Words) -> "Figure":
    """Draw a row per map: what is right, then each variant; a wide map's variants in a column."""
    import matplotlib.pyplot as plt

    columns = max(len(found) for found in maps.values())
    real = {name: _real(example, name) for name in maps}
    heights = [max(4, int(rows.sum())) for rows, _keys in real.values()]
    wide = len(maps) == 1 and any(keys.sum() > _MANY_KEYS for _rows, keys in real.values())
    how_high = sum(0.9 + 0.2 * height for height in heights) * (columns if wide else 1)
    figure, axes = plt.subplots(
        *((columns, 1) if wide else (len(maps), columns)),
        figsize=(_WIDEST, how_high),
        height_ratios=None if wide else heights,
        squeeze=False,
        layout="constrained",
    )
    axes = axes.T if wide else axes
    for line, name in zip(axes, maps, strict=True):
        rows, keys = real[name]
        right = maps[name][0][1][rows][:, keys]
        for ax in line[len(maps[name]) :]:
            ax.axis("off")
        for ax, (arm, found) in zip(line, maps[name], strict=False):
            queries, places = words[name]
            beside = _chosen(queries, rows), _chosen(places, keys)
            _draw(ax, found[rows][:, keys], *beside, right)
            ax.set_title(arm if len(maps) == 1 else f"{name}, {arm}")
        if queries or rows.sum() == 1:
            line[0].set_ylabel("")  # the words say what the rows are
        for ax in line[1:]:
            ax.set_ylabel("")
            if not wide:
                ax.set_yticks([])  # the rows are those of the first map
    return figure


def _draw(
    ax: "Axes",
    matrix: Tensor,
    queries: list[str] | None,
    keys: list[str] | None,
    right: Tensor,
) -> None:
    heat_map(matrix, queries, keys, right=right, ax=ax, largest=1.0, bar=False)
    if keys is None or max(map(len, keys)) <= 2:
        return
    if len(keys) > _MANY_KEYS:
        mostly_signs = sum(len(key) <= 2 for key in keys) > len(keys) / 2
        angle = 0 if mostly_signs else 90
        ax.set_xticks(ax.get_xticks(), labels=keys, rotation=angle, fontsize=8)
    else:
        ax.set_xticks(ax.get_xticks(), labels=keys, rotation=35, ha="right")


def _real(example: Examples, name: str) -> tuple[Tensor, Tensor]:
    """Return which rows and which columns of a map are not padding."""
    right = example.right[name]
    allowed = example.allowed.get(name, torch.ones_like(right)).expand(right.shape)[0]
    return allowed.any(dim=-1), allowed.any(dim=-2)


def _chosen(words: list[str] | None, mask: Tensor) -> list[str] | None:
    if words is None:
        return None
    return [word for word, real in zip(words, mask.tolist(), strict=True) if real]
