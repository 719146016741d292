"""The same figure for a phone: its panels in a column, and letters that can be read.

A figure of the book is 6.6 inches wide. Shrunk to the width of a phone its letters would have five
pixels, so the book also has each figure at the width of a phone, and a phone shows that one.
What makes no good column returns None; such a figure keeps its width and scrolls in a box.
"""

import base64
import io
import itertools
import math
import os
import pickle
import re
import textwrap
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.text import Text

# The build of the book sets this variable; a notebook of your own draws each figure once.
WANTED = "ATTN_COURSE_FIGURES_FOR_PHONES"
MIME = "application/vnd.attn-course.phone+json"

WIDTH = 3.6  # inches, shown on 343 pixels: 9 points are 12 pixels
DPI = 200  # a phone has two or three points for each pixel of a page
LARGEST_LETTERS = 9.0  # points
QUARTERS = 4  # of the width, so that two panels are abreast and one can be in the middle
SHORT = 2  # letters of a label that is never turned
ROOM = 3  # pixels that a text may reach over its edge
BESIDE = 4  # pixels between two texts on a line
NUMBER = "number in a cell"  # the gid of a heat map's numbers, which may be turned


def offer_for_phones() -> None:
    """Have each figure that a cell shows come with one for phones, where the book is built."""
    if WANTED not in os.environ:
        return
    from IPython.core.getipython import get_ipython
    from matplotlib.figure import Figure

    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        shell.display_formatter.mimebundle_formatter.for_type(Figure, bundle)


def bundle(figure: "Figure") -> dict[str, Any]:
    """Return what a page needs of a figure: the height of its letters, and the narrow picture.

    `letters` is the height of the smallest letters in pixels of the picture, and `phone` the
    narrow picture with `phone_letters`, or None.
    """
    # Measured on a copy: drawing a figure once more moves its panels a little.
    letters = _smallest(_copy(figure) or figure) * figure.dpi / 72
    shown: dict[str, Any] = {"letters": letters, "phone": None}
    slim = narrow(figure)
    if slim is not None:
        file = io.BytesIO()
        slim.savefig(file, format="png", dpi=DPI, bbox_inches="tight", facecolor="white")
        shown["phone"] = base64.b64encode(file.getvalue()).decode()
        shown["phone_letters"] = _smallest(slim) * DPI / 72
    return {MIME: shown}


def narrow(figure: "Figure") -> "Figure | None":
    """Return a copy of a figure as wide as a phone, or None where that would not be readable."""
    if figure.get_layout_engine() is None:
        return None  # its maker has put everything where it is
    collisions = len(_collisions(_copy(figure) or figure))
    for stretch in (1.0, 1.3, 1.7):
        slim = _copy(figure)
        if slim is None:
            return None
        _cap_letters(slim)
        _stack(slim, stretch)
        # Each step changes how much room the others have.
        for step in (_narrow_legends, _wrap, _turn_ticks, _turn_numbers, _wrap, _part_notes):
            step(slim)
        _draw(slim)
        if len(_collisions(slim)) <= collisions and not _sticks_out(slim):
            return slim
    return None


def _copy(figure: "Figure") -> "Figure | None":
    """Return a copy that pyplot does not know, or None for a figure that can't be copied."""
    import matplotlib.pyplot as plt

    before = set(plt.get_fignums())
    current = plt.gcf().number if before else None
    try:
        slim = pickle.loads(pickle.dumps(figure))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    for number in set(plt.get_fignums()) - before:
        plt.close(number)
    if current is not None:
        plt.figure(current)
    return slim


def _draw(figure: "Figure") -> None:
    """Lay the figure out, so that texts know where they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a layout that failed is seen by its collisions
        figure.draw_without_rendering()


# --- letters ------------------------------------------------------------------------------------


def _texts(figure: "Figure") -> "list[Text]":
    """Return the texts that are seen, once the figure is laid out."""
    from matplotlib.text import Text

    unseen = {text for ax in figure.axes for text in _unseen(ax)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen
    ]


def _unseen(ax: "Axes") -> "set[Text]":
    """Return the texts of axes that are switched off, and the ticks beyond their ends."""
    from matplotlib.text import Text

    if not ax.get_visible():
        return set(ax.findobj(Text))
    unseen = set()
    for axis in (ax.xaxis, ax.yaxis):
        labels = _labels(_all_ticks(axis))
        if ax.axison and axis.get_visible():
            low, high = sorted(axis.get_view_interval())
            beyond = (high - low) * 1e-9
            ticks = [t for t in _all_ticks(axis) if low - beyond <= t.get_loc() <= high + beyond]
            unseen |= labels - _labels(ticks)
        else:
            unseen |= labels | {axis.label, axis.offsetText}
    return unseen


def _labels(ticks: list[Any]) -> "set[Text]":
    return {label for tick in ticks for label in (tick.label1, tick.label2)}


def _all_ticks(axis: Any) -> list[Any]:
    return [*axis.majorTicks, *axis.minorTicks]


def _smallest(figure: "Figure") -> float:
    """Return the size of the smallest letters in points."""
    _draw(figure)
    return min((float(text.get_fontsize()) for text in _texts(figure)), default=LARGEST_LETTERS)


def _cap_letters(figure: "Figure") -> None:
    """Make large letters smaller, but none smaller than it has to be."""
    from matplotlib.text import Text

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            sizes = [tick.label1.get_fontsize() for tick in _all_ticks(axis)]
            axis.set_tick_params(which="both", labelsize=min([LARGEST_LETTERS, *sizes]))
    for text in figure.findobj(Text):
        text.set_fontsize(min(float(text.get_fontsize()), LARGEST_LETTERS))


# --- panels -------------------------------------------------------------------------------------


def _panels(figure: "Figure") -> "list[Axes]":
    """Return the axes in the order of reading, without colour bars."""
    return [
        ax
        for ax in figure.axes
        if ax.get_subplotspec() is not None and not hasattr(ax, "_colorbar")
    ]


def _stack(figure: "Figure", stretch: float) -> None:
    """Put the panels one below the other, and small ones two abreast."""
    width, height = figure.get_size_inches()
    panels = _panels(figure)
    is_grid = len(panels) > 1 and len({_top_grid(ax) for ax in panels}) == 1
    if not is_grid or width <= WIDTH:
        figure.set_size_inches(min(width, WIDTH), height * stretch)
        return
    sizes = {ax: _share(ax, figure) for ax in panels}
    neighbours = {ax: _neighbour(ax, panels, figure) for ax in panels}
    rows = _rows(sizes)
    columns = [_columns(rows, number) for number in range(len(rows))]
    heights = [
        max(
            _new_height(ax, end - first, *sizes[ax])
            for ax, (first, end) in zip(row, places, strict=True)
        )
        for row, places in zip(rows, columns, strict=True)
    ]
    figure.set_size_inches(WIDTH, sum(heights) * stretch)
    grid = figure.add_gridspec(len(rows), QUARTERS, height_ratios=heights)
    for number, row in enumerate(rows):
        for ax, (first, end) in zip(row, columns[number], strict=True):
            _label_again(ax, neighbours[ax], is_first=ax is row[0])
            ax.set_subplotspec(grid[number, first:end])


def _columns(rows: "list[list[Axes]]", number: int) -> list[tuple[int, int]]:
    """Return the quarters of the width that each panel of a row gets."""
    if len(rows[number]) == 2:
        return [(0, 2), (2, 4)]
    # The last of some small panels is as large as those that it is compared with.
    is_left_over = number == len(rows) - 1 and all(len(row) == 2 for row in rows[:-1])
    return [(1, 3)] if is_left_over and number else [(0, 4)]


def _rows(sizes: "dict[Axes, tuple[float, float]]") -> "list[list[Axes]]":
    """Return the panels of each row; a picture bears to be made a little smaller."""
    rows: list[list[Axes]] = []
    waits = 0.0  # the height of a small panel that has room beside it
    for ax, (width, height) in sizes.items():
        is_small = width <= WIDTH / 2 * (1.35 if _keeps_its_shape(ax) else 1.0)
        if is_small and math.isclose(waits, height, rel_tol=0.1):
            rows[-1].append(ax)
            waits = 0.0
        else:
            rows.append([ax])
            waits = height if is_small else 0.0
    return rows


def _new_height(ax: "Axes", quarters: int, width: float, height: float) -> float:
    """Return the height of a panel: as before, or larger with its width if it keeps its shape."""
    grows = WIDTH * quarters / QUARTERS / width if _keeps_its_shape(ax) else 1.0
    return height * min(grows, 1.3)


def _spec(ax: "Axes") -> "SubplotSpec":
    spec = ax.get_subplotspec()
    assert spec is not None  # for every panel
    return spec


def _top_grid(ax: "Axes") -> int:
    return id(_spec(ax).get_topmost_subplotspec().get_gridspec())


def _share(ax: "Axes", figure: "Figure") -> tuple[float, float]:
    """Return the inches that the grid gives to a panel with its labels."""
    width, height = figure.get_size_inches()
    box = _spec(ax).get_position(figure)
    whole = _spec(ax).get_topmost_subplotspec().get_gridspec().get_subplot_params(figure)
    across, down = box.width / (whole.right - whole.left), box.height / (whole.top - whole.bottom)
    return across * width, down * height


def _keeps_its_shape(ax: "Axes") -> bool:
    return ax.get_aspect() != "auto"


def _neighbour(ax: "Axes", panels: "list[Axes]", figure: "Figure") -> "Axes":
    """Return the leftmost panel of the row, which often has the labels of all."""
    bottom = _spec(ax).get_position(figure).y0
    for other in panels:
        is_beside = math.isclose(_spec(other).get_position(figure).y0, bottom, abs_tol=0.01)
        if is_beside and other.get_ylim() == ax.get_ylim():
            return other
    return ax


def _label_again(ax: "Axes", neighbour: "Axes", is_first: bool) -> None:
    """Show the labels that a panel had left to its neighbour, who is no longer beside it."""
    ax.tick_params(axis="x", labelbottom=True)
    if not is_first:
        return
    ax.tick_params(axis="y", labelleft=True)
    if neighbour is ax:
        return
    if not ax.get_ylabel():
        ax.set_ylabel(neighbour.get_ylabel(), fontsize=LARGEST_LETTERS)
    if not len(ax.get_yticks()):
        words = [label.get_text() for label in neighbour.get_yticklabels()]
        ax.set_yticks(neighbour.get_yticks(), labels=words)
        ax.tick_params(axis="y", labelsize=LARGEST_LETTERS)


# --- texts --------------------------------------------------------------------------------------


def _narrow_legends(figure: "Figure") -> None:
    """Give legends fewer columns, and put those below their panel that would hide something."""
    from matplotlib.legend import Legend

    _draw(figure)
    legends: list[Any] = figure.findobj(Legend)
    for legend in legends:
        columns = legend._ncols
        while columns > 1 and _width(legend) > figure.bbox.width:
            columns -= 1
            _set_columns(legend, columns)
            _draw(figure)
        if legend.axes is not None and _hides_data(legend, legend.axes):
            _put_below(legend, legend.axes, figure)
            _draw(figure)


def _hides_data(legend: Any, ax: "Axes") -> bool:
    box = legend.get_window_extent()
    lines = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
    dots = [dots.get_offset_transform().transform(dots.get_offsets()) for dots in ax.collections]
    return (
        any(path.intersects_bbox(box, filled=False) for path in lines)
        or any(box.count_contains(places) for places in dots)
        or any(box.overlaps(patch.get_window_extent()) for patch in ax.patches)
    )


def _put_below(legend: Any, ax: "Axes", figure: "Figure") -> None:
    from matplotlib.transforms import ScaledTranslation

    axis = ax.xaxis.get_tightbbox()
    used = (ax.bbox.y0 - axis.y0) / figure.dpi if axis is not None else 0.0
    down = ScaledTranslation(0, -used - 0.05, figure.dpi_scale_trans)
    legend.set_loc("upper center")
    legend.set_bbox_to_anchor((0.5, 0.0), transform=ax.transAxes + down)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + legend.get_window_extent().height / figure.dpi)


def _width(artist: Any) -> float:
    return float(artist.get_window_extent().width)


def _set_columns(legend: Any, columns: int) -> None:
    title = legend.get_title()
    words, size = title.get_text(), title.get_fontsize()
    handles = zip(legend.legend_handles, legend.texts, strict=True)
    known = [(handle, text.get_text()) for handle, text in handles]
    legend.set_ncols(columns)
    legend._init_legend_box([handle for handle, _ in known], [label for _, label in known])
    legend._legend_box.set_offset(legend._findoffset)
    if words:
        legend.set_title(words, prop={"size": size})


def _wrap(figure: "Figure") -> None:
    """Break the lines of texts that reach over the edge of the figure or of their panel."""
    _draw(figure)
    in_legends = _texts_of_legends(figure)
    ticks = {
        label
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for label in _labels(_all_ticks(axis))
    }
    for text in _texts(figure):
        if text not in in_legends and text not in ticks and text.get_gid() != NUMBER:
            _wrap_one(text, figure)


def _texts_of_legends(figure: "Figure") -> "set[Text]":
    from matplotlib.legend import Legend

    return {text for legend in figure.findobj(Legend) for text in legend.get_texts()}


def _wrap_one(text: "Text", figure: "Figure") -> None:
    box = text.get_window_extent()
    page = figure.bbox
    if text.get_rotation() % 180 == 90:
        room = text.axes.bbox.height if text.axes is not None else page.height
        length = box.height
    else:
        left, right = box.x0 - page.x0, page.x1 - box.x1
        if min(left, right) >= -ROOM:
            return
        over = -min(left, right)
        room = box.width - over * (2 if text.get_horizontalalignment() == "center" else 1)
        length = box.width
    if length <= room + ROOM or room <= 0:
        return
    text.set_text(wrapped(text.get_text(), room / length))


def wrapped(words: str, share: float) -> str:
    """Break each line so that it takes about this share of its length; formulas stay whole.

    >>> wrapped("one weight $a b$ per key", 0.7).split("\\n")
    ['one weight $a b$', 'per key']
    """
    whole = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", "\0"), words)
    longest = max(len(line) for line in whole.split("\n"))
    limit = max(8, math.floor(longest * share))
    lines = [
        part
        for line in whole.split("\n")
        for part in textwrap.wrap(line, limit, break_long_words=False, break_on_hyphens=False)
    ]
    return "\n".join(lines).replace("\0", " ")


def _turn_ticks(figure: "Figure") -> None:
    """Make words below a panel smaller, or turn them, where they would run into each other."""
    _draw(figure)
    for ax in figure.axes:
        for change in (_smaller(8.0), _smaller(7.5), _turned(45.0), _turned(90.0)):
            if not _run_into_each_other(ax, figure.dpi):
                break
            change(ax)
            _draw(figure)


def _smaller(points: float) -> "Callable[[Axes], None]":
    return lambda ax: ax.tick_params(axis="x", labelsize=points)


def _turned(angle: float) -> "Callable[[Axes], None]":
    def turn(ax: "Axes") -> None:
        for label in ax.get_xticklabels():
            if len(label.get_text()) > SHORT:  # a bracket that is turned is another sign
                mode, side = ("anchor", "right") if angle < 90 else ("default", "center")
                label.set(rotation=angle, rotation_mode=mode)
                label.set(horizontalalignment=side, verticalalignment="top")

    return turn


def _run_into_each_other(ax: "Axes", dpi: float) -> bool:
    """Return whether labels below a panel overlap, also those that are turned."""
    unseen = _unseen(ax)
    labels = [label for label in ax.get_xticklabels() if label.get_text().strip()]
    labels = [label for label in labels if label.get_visible() and label not in unseen]
    places = sorted(((_across(label), label) for label in labels), key=lambda pair: pair[0])
    for (one, left), (two, right) in itertools.pairwise(places):
        if two - one < (_needs(left, dpi) + _needs(right, dpi)) / 2:
            return True
    return False


def _across(label: "Text") -> float:
    return float(label.get_transform().transform(label.get_position())[0])


def _needs(label: "Text", dpi: float) -> float:
    """Return the pixels that a label takes from the one beside it."""
    angle = math.radians(label.get_rotation() % 180)
    if not angle:
        return float(label.get_window_extent().width) + BESIDE
    height = float(label.get_fontsize()) * dpi / 72
    return min(height * 0.6 * len(label.get_text()), height / math.sin(angle))


def _turn_numbers(figure: "Figure") -> None:
    """Make the numbers of a heat map smaller, or turn them, where a cell has no room for them."""
    _draw(figure)
    for ax in figure.axes:
        numbers = [text for text in ax.texts if text.get_gid() == NUMBER]
        for change in ({"fontsize": 8.0}, {"fontsize": 7.5}, {"rotation": 90.0}):
            if any(_touch(one, two) for one, two in itertools.pairwise(numbers)):
                for number in numbers:
                    number.set(**change)


def _part_notes(figure: "Figure") -> None:
    """Break the line of a note that runs into another text."""
    for pair in _collisions(figure):
        notes = [text for text in pair if text.axes is not None and text in text.axes.texts]
        notes = [note for note in notes if note.get_gid() != NUMBER and " " in note.get_text()]
        if notes:
            longest = max(notes, key=lambda note: len(note.get_text()))
            longest.set_text(wrapped(longest.get_text(), 0.6))


# --- what can't be read -------------------------------------------------------------------------


def _touch(one: "Text", two: "Text") -> bool:
    a, b = one.get_window_extent(), two.get_window_extent()
    return bool(a.x0 < b.x1 + 1 and b.x0 < a.x1 + 1 and a.y0 < b.y1 and b.y0 < a.y1)


def _collisions(figure: "Figure") -> "list[tuple[Text, Text]]":
    """Return the pairs of texts of which one is over the other, or too close beside it."""
    _draw(figure)
    boxes = [(text, text.get_window_extent()) for text in _texts(figure)]
    found = []
    for (one, a), (two, b) in itertools.combinations(boxes, 2):
        turned = one.get_rotation() or two.get_rotation()
        if turned % 90 and one.get_rotation() == two.get_rotation():
            continue  # parallel, and the box around each is mostly empty
        if one.get_gid() == two.get_gid() == NUMBER:
            continue  # made smaller or turned before
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > (0 if turned else -BESIDE) and height > 0.35 * min(a.height, b.height):
            found.append((one, two))
    return found


def _sticks_out(figure: "Figure") -> bool:
    """Return whether a text is so far outside that the picture would be much wider."""
    widest = 0.12 * figure.bbox.width
    boxes = [text.get_window_extent() for text in _texts(figure)]
    return any(box.x0 < -widest or box.x1 > figure.bbox.x1 + widest for box in boxes)
