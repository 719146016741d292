"""Results with one dot per seed: a figure, and the same numbers as a table.

A mean hides what matters most here, whether every training ends well or only some do. So a row of
the figure is a variant, a dot is a training, and a line marks the score from which on the task
counts as solved. Give both functions the stated rows of one task:

    rows = rows_of("bids")
    seed_dots(rows)
    seed_table(rows)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from attn_course.tasks.stated_table import stated_figures
from attn_course.tasks.table import Row
from attn_course.tasks.verdicts import is_mixed, number_solved, told
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 4.8  # inches: still readable when a phone shrinks it
TEXT = 9  # points
ROW = 0.42  # inches per variant: its name, and below it its dots
WITHOUT_ATTENTION = "#8a8f98"  # grey; weights are blue everywhere in the book
SOLVED = "#54595f"
BAND = "#f1f3f5"
_NEAR = 0.012  # of the axis: dots closer than this are drawn one above the other


@dataclass(frozen=True)
class Variant:
    """One trained model of a task, with the scores of its seeds."""

    name: str
    scores: tuple[float, ...]
    parameters: int
    is_mechanism: bool
    attends: bool
    verdicts: tuple[str, ...] = ()  # of the mechanisms that it was compared with


def rows_of(task: str) -> list[Row]:
    """Return the stated rows of a task."""
    return [row for row in stated_figures().values() if row.task == task]


def mean_of(task: str, variant: str) -> float:
    """Return the stated mean of a variant over its seeds, to three decimals."""
    for row in rows_of(task):
        if row.mechanism == variant:
            return round(row.mechanism_mean, 3)
        if row.ablation == variant:
            return round(row.ablation_mean, 3)
    raise KeyError(f"no variant {variant!r} of {task} is stated")


def verdict_of(task: str, mechanism: str, rival: str) -> str:
    """Return the stated verdict on a mechanism, compared with a rival."""
    for row in rows_of(task):
        if (row.mechanism, row.ablation) == (mechanism, rival):
            return row.verdict
    raise KeyError(f"{mechanism!r} and {rival!r} of {task} are not compared in the stated table")


def variants(rows: Iterable[Row]) -> list[Variant]:
    """Return every model of the rows once: mechanisms first, readers without attention last."""
    found: dict[str, Variant] = {}
    for row in rows:
        found.setdefault(
            row.mechanism,
            Variant(
                row.mechanism, tuple(row.mechanism_scores), row.mechanism_parameters, True, True
            ),
        )
    for row in rows:
        said = f"{row.mechanism} {row.verdict}"
        if row.ablation in found:
            known = found[row.ablation]
            verdicts = (*known.verdicts, said)
            found[row.ablation] = Variant(
                *(known.name, known.scores, known.parameters),
                *(known.is_mechanism, known.attends, verdicts),
            )
            continue
        found[row.ablation] = Variant(
            *(row.ablation, tuple(row.ablation_scores), row.ablation_parameters),
            *(False, row.ablation_attends, (said,)),
        )
    return sorted(found.values(), key=lambda one: (not one.is_mechanism, not one.attends))


def seed_dots(rows: Sequence[Row]) -> "Figure":
    """Draw one row per variant and one dot per seed, with a line where a task counts as solved."""
    import matplotlib.pyplot as plt

    shown = variants(rows)
    with plt.rc_context({"font.size": TEXT, "axes.labelsize": TEXT, "axes.titlesize": TEXT}):
        figure, ax = plt.subplots(figsize=(WIDTH, 0.75 + ROW * len(shown)), layout="constrained")
        solved_at = rows[0].solved_at
        ax.axvline(solved_at, color=SOLVED, lw=1, ls="--", zorder=1)
        scores = [score for one in shown for score in one.scores]
        low, high = min([0.0, *scores]), max([1.0 if rows[0].higher_is_better else 0.0, *scores])
        low = max(low, -1.0)  # an R² may be far below 0, where it says nothing more
        room = 0.04 * (high - low)
        ax.set_xlim(low - room, high + room)
        for place, one in enumerate(shown):
            if place % 2 == 0:  # a band joins a name with the dots below it
                ax.axhspan(place - 0.74, place + 0.26, color=BAND, lw=0, zorder=0)
            blue = _blue() if one.attends else WITHOUT_ATTENTION
            heights = [place + shift for shift in _shifts(one.scores, _NEAR * (high - low))]
            ax.scatter(
                [max(score, low) for score in one.scores],
                heights,
                s=18,
                facecolors=blue if one.is_mechanism or not one.attends else "white",
                edgecolors=blue,
                linewidths=1.2,
                zorder=3,
            )
            ax.annotate(
                f"{one.name}  ({one.parameters:,})",
                (0, place),
                xycoords=("axes fraction", "data"),
                xytext=(2, 15),
                textcoords="offset points",
                va="center",
                zorder=4,
            )
        ax.set_yticks(range(len(shown)), [])
        ax.tick_params(labelsize=TEXT, length=0)
        ax.set_ylim(len(shown) - 0.74, -0.74)
        ax.set_xlabel(rows[0].metric)
        ax.grid(axis="y", visible=False)
        ax.grid(axis="x", visible=False)
        ax.annotate(
            _("solved"),
            (solved_at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=SOLVED,
        )
    return figure


def seed_table(rows: Sequence[Row]) -> "SeedTable":
    """Return the numbers of `seed_dots` as a table."""
    return SeedTable(tuple(rows))


@dataclass(frozen=True)
class SeedTable:
    """A table of variants, as HTML in a notebook and as text elsewhere."""

    rows: tuple[Row, ...]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The head and a line for each variant."""
        first = self.rows[0]
        solved_at, higher = first.solved_at, first.higher_is_better
        head = (_("variant"), _("parameters"), first.metric, _("solved"), _("verdict"))
        lines = [
            (
                one.name,
                f"{one.parameters:,}",
                _reached(one.scores, solved_at, higher),
                _("{solved} of {seeds}").format(
                    solved=number_solved(one.scores, solved_at, higher), seeds=len(one.scores)
                ),
                "; ".join(one.verdicts),
            )
            for one in variants(self.rows)
        ]
        return [head, *lines]

    def _repr_html_(self) -> str:
        head, *lines = self.cells
        heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        unbroken = '<td style="white-space: nowrap">'  # "0.955 ± 0.024" stays in one line
        body = "".join(
            f"<tr><td>{escape(name)}</td>"
            + "".join(f"{unbroken}{escape(number)}</td>" for number in numbers)
            + f"<td>{escape(verdicts)}</td></tr>"
            for name, *numbers, verdicts in lines
        )
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def __str__(self) -> str:
        """Return the table for a terminal."""
        cells = self.cells
        widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        )


def _reached(scores: Sequence[float], solved_at: float, higher: bool) -> str:
    """Return mean and standard deviation, or the range where only some seeds solved the task."""
    if is_mixed(scores, solved_at, higher):
        return _("{low:.3f} to {high:.3f}").format(low=min(scores), high=max(scores))
    return told(scores, solved_at, higher)


def _blue() -> str:
    from attn_course.figures import PALETTE

    return PALETTE[0]


def _shifts(scores: Sequence[float], near: float) -> list[float]:
    """Return how far each dot is moved up or down, so that equal scores are all seen."""
    shifts = []
    for place, score in enumerate(scores):
        before = sum(abs(score - other) < near for other in scores[:place])
        shifts.append(0.09 * ((before + 1) // 2) * (-1) ** before)
    return shifts
