"""Weights laid over what they attend to: the words of a sentence, the patches of an image."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attn_course._arrays import AnyArray
from attn_course.figures._numpy import as_numpy
from attn_course.figures.plots import COLOUR_MAP, RIGHT
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue that is never so strong that dark or light text on it can't be read.
STRONGEST = 0.45
BLUE = "0,114,178"


class Highlighted:
    """Tokens with a weight each: coloured in a notebook or page, printed in a terminal."""

    def __init__(self, tokens: Sequence[str], weights: np.ndarray, right: np.ndarray) -> None:
        self.tokens = tokens
        self.weights = weights
        self.right = right

    def __repr__(self) -> str:
        marks = ("*" if is_right else "" for is_right in self.right)
        parts = zip(self.tokens, self.weights, marks, strict=True)
        return "  ".join(f"{token}{mark} {weight:.2f}" for token, weight, mark in parts)

    def _repr_html_(self) -> str:
        largest = max(float(self.weights.max()), 1e-12)
        spans = []
        for token, weight, is_right in zip(self.tokens, self.weights, self.right, strict=True):
            strength = STRONGEST * max(float(weight), 0.0) / largest
            line = f"3px solid {RIGHT}" if is_right else "3px solid transparent"
            spans.append(
                f'<span style="display:inline-block;margin:0 0.15em 0.3em;padding:0.1em 0.35em;'
                f"border-radius:0.25em;border-bottom:{line};text-align:center;"
                f'background:rgba({BLUE},{strength:.3f})">{escape(str(token))}<br>'
                f'<small style="opacity:0.85">{weight:.2f}</small></span>'
            )
        label = escape(_("Words and their weights"))
        return f'<p role="group" aria-label="{label}">{"".join(spans)}</p>'


def highlight(
    tokens: Sequence[str], weights: AnyArray, right: AnyArray | None = None
) -> Highlighted:
    """Show tokens with their weights `(k,)`: the more weight, the stronger the blue.

    `right` `(k,)`, boolean or weights of a known right answer, underlines the tokens that should
    get weight.

    >>> highlight(["warm", "milk"], np.array([0.25, 0.75]), right=[False, True])
    warm 0.25  milk* 0.75
    """
    numbers = as_numpy(weights)
    marked = np.zeros(len(tokens)) if right is None else as_numpy(right)
    for name, array in (("weights", numbers), ("right", marked)):
        if array.shape != (len(tokens),):
            raise ValueError(
                f"highlight needs one number for each of the {len(tokens)} tokens, but {name} is "
                f"{array.shape}. Choose one example and one query first, for example {name}[0, 0]."
            )
    return Highlighted(tokens, numbers, marked > 0)


def over_image(
    image: AnyArray, weights: AnyArray, right: AnyArray | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw the weights `(rows, columns)` of an image's patches over the image `(h, w)`.

    The image is grey, its patches are tinted by their weights; `right` `(rows, columns)` outlines
    the patches that should get weight. Rows and columns must divide the image's sides.

    >>> axes = over_image(np.zeros((8, 8)), np.eye(2) / 2)
    >>> len(axes.images)
    2
    """
    picture, numbers = as_numpy(image), as_numpy(weights)
    fits = picture.ndim == numbers.ndim == 2 and not (
        picture.shape[0] % numbers.shape[0] or picture.shape[1] % numbers.shape[1]
    )
    if not fits:
        raise ValueError(
            "over_image needs an image (h, w) and weights (rows, columns) that divide it, but the "
            f"image is {picture.shape} and the weights are {numbers.shape}."
        )
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(3.6, 3.6), layout="constrained")[1]
    height, width = (s // n for s, n in zip(picture.shape, numbers.shape, strict=True))
    tint = np.kron(numbers, np.ones((height, width)))
    ax.imshow(picture, cmap="gray")
    strength = 0.75 * tint / max(float(tint.max()), 1e-12)
    ax.imshow(tint, cmap=COLOUR_MAP, vmin=0, alpha=np.clip(strength, 0, 1))
    ax.set_axis_off()
    if right is not None:
        _outline_patches(ax, as_numpy(right), height, width)
    return ax


def _outline_patches(ax: "Axes", right: np.ndarray, height: int, width: int) -> None:
    from matplotlib.patches import Rectangle

    for row, column in np.argwhere(right > 0):
        corner = (column * width - 0.5, row * height - 0.5)
        ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=RIGHT, linewidth=2))
