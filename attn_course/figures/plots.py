"""Plots that stand still, all in one style: the heat map of weights.

matplotlib is loaded when something is drawn, so importing this module costs nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_course._arrays import AnyArray
from attn_course.figures._numpy import as_numpy
from attn_course.figures.phone import NUMBER, offer_for_phones
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# White is no weight, dark is much: the order survives every colour vision and grey paper.
COLOUR_MAP = "Blues"
NO_NUMBER = "#d9d9d2"  # NaN, which is not a small weight
RIGHT = "#d99e00"  # gold: far from every blue, and from the orange of queries

# Blue, orange, green, pink, light blue, yellow of Okabe and Ito: told apart by readers of every
# colour vision. Black stays for text.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

STYLE: dict[Any, Any] = {
    "figure.figsize": (6.4, 3.6),
    "figure.dpi": 120,
    # The book puts pictures on a light plate in dark mode, so they bring their own white.
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#54595f",
    "axes.axisbelow": True,
    "grid.color": "#e4e4de",
    "legend.frameon": False,
    "lines.linewidth": 2,
    "xtick.color": "#20242a",
    "ytick.color": "#20242a",
    "image.cmap": COLOUR_MAP,
    "svg.hashsalt": "attn_course",  # the same picture has the same ids at every build
}

MOST_NUMBERED_CELLS = 64
NARROWEST_NUMBERED_CELL = 0.45  # inches: two digits and a point, with room for long labels


def use_style() -> None:
    """Set the course's style for every matplotlib figure drawn from here on."""
    import matplotlib
    from cycler import cycler

    matplotlib.rcParams.update(STYLE | {"axes.prop_cycle": cycler(color=PALETTE)})
    offer_for_phones()


def heat_map(
    weights: AnyArray,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    right: AnyArray | None = None,
    ax: "Axes | None" = None,
    largest: float | None = None,
    bar: bool = True,
) -> "Axes":
    """Draw weights `(q, k)`: a row for each query, a column for each key, darker for more.

    `queries` and `keys` are the words that label rows and columns. `right` `(q, k)`, boolean or
    the weights of a known right answer, outlines the cells that should get weight. Few cells show
    their numbers. Give `ax` to draw into a figure of your own; the axes drawn into are returned.
    Maps side by side share one scale, 0 to `largest` (by default the largest weight), and need
    no colour `bar` each.

    >>> axes = heat_map(np.array([[0.9, 0.1], [0.2, 0.8]]), keys=["warm", "milk"])
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('Keys', 'Queries')
    """
    numbers = _checked(weights, queries, keys)
    outlined = None if right is None else _checked_right(right, numbers)
    ax = _new_axes(numbers.shape) if ax is None else ax

    top = _top(numbers) if largest is None else largest
    image = ax.imshow(numbers, cmap=_colour_map(), vmin=0, vmax=top, aspect="auto")
    if bar:
        ax.figure.colorbar(image, ax=ax, label=_("Weight"))
    ax.set_xlabel(_("Keys"))
    ax.set_ylabel(_("Queries"))
    _label(ax.xaxis, keys, numbers.shape[1])
    _label(ax.yaxis, queries, numbers.shape[0])
    ax.spines[:].set_visible(False)

    if numbers.size <= MOST_NUMBERED_CELLS and _has_room(ax, numbers.shape[1]):
        _print_numbers(ax, image, numbers)
    if outlined is not None:
        _outline(ax, outlined)
    return ax


def _new_axes(shape: tuple[int, ...]) -> "Axes":
    import matplotlib.pyplot as plt

    rows, columns = shape
    size = (min(2.0 + 0.6 * columns, 9.0), min(1.2 + 0.45 * rows, 7.0))
    return plt.subplots(figsize=size, layout="constrained")[1]


def _colour_map() -> Any:
    import matplotlib

    return matplotlib.colormaps[COLOUR_MAP].with_extremes(bad=NO_NUMBER)


def _top(numbers: np.ndarray) -> float:
    """Return the largest weight, or 1 where there is none: a map of zeros is white."""
    finite = numbers[np.isfinite(numbers)]
    largest = float(finite.max(initial=0.0))
    return largest if largest > 0 else 1.0


def _label(axis: Any, words: Sequence[str] | None, n: int) -> None:
    if words is None:
        from matplotlib.ticker import MaxNLocator

        axis.set_major_locator(MaxNLocator(nbins=10, integer=True))
        return
    axis.set_ticks(range(n), labels=[str(word) for word in words])
    if axis.axis_name == "x" and sum(len(str(word)) + 2 for word in words) > 8 * n:
        axis.set_tick_params(rotation=45)


def _has_room(ax: "Axes", columns: int) -> bool:
    """Return whether a number fits into a cell, as far as the size of the axes is known yet."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    return inches / columns > NARROWEST_NUMBERED_CELL


def _print_numbers(ax: "Axes", image: Any, numbers: np.ndarray) -> None:
    for (row, column), number in np.ndenumerate(numbers):
        red, green, blue, _alpha = image.cmap(image.norm(number))
        is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        ax.text(
            column,
            row,
            f"{number:.2f}",
            ha="center",
            va="center",
            fontsize=9,
            color="white" if is_dark else "#20242a",
            gid=NUMBER,
        )


def _outline(ax: "Axes", right: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    for row, column in np.argwhere(right):
        corner = (column - 0.46, row - 0.46)  # inside the cell, so that neighbours do not merge
        ax.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=RIGHT, linewidth=2))


# --- errors that help -------------------------------------------------------------------------


def _checked(
    weights: AnyArray, queries: Sequence[str] | None, keys: Sequence[str] | None
) -> np.ndarray:
    numbers = as_numpy(weights)
    if numbers.ndim != 2:
        raise ValueError(
            f"heat_map draws one matrix of weights (q, k), but weights are {numbers.shape}. "
            "Choose one example and one head first, for example weights[0]."
        )
    if numbers.size == 0:
        raise ValueError(
            f"heat_map needs at least one query and one key, but weights are {numbers.shape}."
        )
    for name, words, n in (
        ("queries", queries, numbers.shape[0]),
        ("keys", keys, numbers.shape[1]),
    ):
        if words is not None and len(words) != n:
            raise ValueError(
                f"heat_map needs one word for each of the {n} {name}, but {name} has {len(words)}. "
                f"Weights are {numbers.shape}: (queries, keys)."
            )
    return numbers


def _checked_right(right: AnyArray, numbers: np.ndarray) -> np.ndarray:
    outlined = as_numpy(right)
    if outlined.shape != numbers.shape:
        raise ValueError(
            f"right must have the shape of the weights, {numbers.shape}, but is {outlined.shape}. "
            "It holds True, or a weight above 0, for each key that a query should attend to."
        )
    return outlined > 0
