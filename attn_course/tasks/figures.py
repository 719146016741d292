"""The figure of a task: where attention belongs, beside where the arms put it.

A map with one query is a row, so the rows of all arms stand under each other. Maps with several
queries stand side by side. Padding is left out, and the scale is the same everywhere: 0 to 1.
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

_WIDEST = 9.0  # inches: the text of a page is not wider


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
    """Draw a panel a map, the arms under each other, two panels abreast."""
    import matplotlib.pyplot as plt

    shown = [name for name in maps if _real(example, name)[1].any()]  # none of it padding
    columns = min(2, len(shown))
    height = 1.3 + 0.32 * max(len(found) for found in maps.values())
    figure, axes = plt.subplots(
        -(-len(shown) // columns),
        columns,
        figsize=(_WIDEST if columns > 1 else 6.0, height * -(-len(shown) // columns)),
        squeeze=False,
    )
    for ax in axes.flat[len(shown) :]:
        ax.axis("off")
    for ax, name in zip(axes.flat, shown, strict=False):
        _row_real, keys_real = _real(example, name)
        matrix = torch.cat([found for _arm, found in maps[name]])[:, keys_real]
        right = maps[name][0][1][:, keys_real].expand(matrix.shape)
        queries, keys = words[name]
        _draw(ax, matrix, [arm for arm, _found in maps[name]], _chosen(keys, keys_real), right)
        ax.set_title((queries[0] if queries else name) if len(maps) > 1 else "")
        ax.set_ylabel("")
    return figure


def _side_by_side(example: Examples, maps: Maps, words: Words) -> "Figure":
    """Draw a row a map: what is right, then each arm."""
    import matplotlib.pyplot as plt

    columns = max(len(found) for found in maps.values())
    real = {name: _real(example, name) for name in maps}
    heights = [max(4, int(rows.sum())) for rows, _keys in real.values()]
    figure, axes = plt.subplots(
        len(maps),
        columns,
        figsize=(_WIDEST, sum(1.1 + 0.2 * height for height in heights)),
        height_ratios=heights,
        squeeze=False,
    )
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
        for ax in line if queries else line[1:]:
            ax.set_ylabel("")  # words say what the rows are, and once is enough
    return figure


def _draw(
    ax: "Axes",
    matrix: Tensor,
    queries: list[str] | None,
    keys: list[str] | None,
    right: Tensor,
) -> None:
    heat_map(matrix, queries, keys, right=right, ax=ax, largest=1.0, bar=False)
    if keys is not None and max(map(len, keys)) > 2:
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
