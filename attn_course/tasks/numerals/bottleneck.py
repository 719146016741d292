"""The bottleneck: how many numbers a model gets right, by the number of their digits.

The longer a number, the more has to pass through a fixed vector, while a decoder with attention
looks back. `exact_by_digits` measures it for a trained model. `stated_bottleneck` returns what the
book states, and `bottleneck_figure` draws that. The stated file is written by

    python -m attn_course.tasks.numerals.bottleneck book/_data/bottleneck.json

which trains every arm of the task `numerals` from the seeds of the table, in some minutes.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from attn_course._files import replace_file
from attn_course._progress_bar import ProgressBar
from attn_course.tasks.aligned_translation import exact
from attn_course.tasks.numerals.material import DIGITS, material
from attn_course.tasks.numerals.task import Numerals
from attn_course.tasks.table import compared
from attn_course.tasks.task import Split
from attn_course.tasks.training import train
from attn_course.translate import _

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = range(5)
_PACKAGED = Path(__file__).with_name("bottleneck.json")  # filled when the package is built
_KEPT = Path(__file__).parents[3] / "book" / "_data" / "bottleneck.json"


@dataclass(frozen=True)
class ByDigits:
    """One training: the share of test numbers of two digits that are right, of three, …"""

    arm: str
    seed: int
    exact: tuple[float, ...]


def exact_by_digits(model: nn.Module, split: Split = "test") -> dict[int, float]:
    """Return for each number of digits the share of held-out numbers that are exactly right.

    These are all numbers of the split's material, each once: `numbers_by_digits` counts them.
    """
    task, shares = Numerals(), {}
    for digits, rows in zip(DIGITS, material(split).groups, strict=True):
        examples = task.of_rows(split, list(rows))
        with torch.no_grad():
            predictions, _weights = model(**examples.inputs)
        shares[digits] = exact(predictions, examples).double().mean().item()
    return shares


def numbers_by_digits(split: Split = "test") -> dict[int, int]:
    """Return of how many numbers the shares of `exact_by_digits` are."""
    return {d: len(rows) for d, rows in zip(DIGITS, material(split).groups, strict=True)}


def letters_by_digits(split: Split = "test") -> dict[int, float]:
    """Return how many letters the words for these numbers have on average."""
    kept = material(split)
    means = (kept.lengths[rows.start : rows.stop].double().mean() for rows in kept.groups)
    return {digits: mean.item() for digits, mean in zip(DIGITS, means, strict=True)}


def measured(arm: str, seed: int, steps: int | None = None) -> ByDigits:
    """Train an arm from a seed and measure it, after the task's own number of steps or `steps`."""
    trained = train(Numerals(), arm, seed, steps=steps)
    return ByDigits(arm, seed, tuple(exact_by_digits(trained.model).values()))


def stated_bottleneck() -> list[ByDigits]:
    """Return what the book states: every arm of the task, from five seeds each."""
    path = _PACKAGED if _PACKAGED.is_file() else _KEPT
    kept = json.loads(path.read_text(encoding="utf-8"))
    return [ByDigits(one["arm"], one["seed"], tuple(one["exact"])) for one in kept["trainings"]]


def bottleneck_figure(found: Sequence[ByDigits]) -> "Figure":
    """Draw a line for each arm, its mean over seeds, and a dot for each seed."""
    import matplotlib.pyplot as plt

    from attn_course.figures import PALETTE

    figure, ax = plt.subplots(figsize=(6.6, 3.0), layout="constrained")
    for place, arm in enumerate(dict.fromkeys(one.arm for one in found)):
        shares = [one.exact for one in found if one.arm == arm]
        means = [sum(column) / len(column) for column in zip(*shares, strict=True)]
        line = ax.plot(DIGITS, means, color=PALETTE[place], marker="os^"[place % 3], label=arm)
        for one in shares:
            ax.scatter(DIGITS, one, s=8, color=line[0].get_color(), alpha=0.5, zorder=3)
    ax.set_xticks(DIGITS)
    ax.set_ylim(-0.04, 1.04)
    ax.set_xlabel(_("digits of the number"))
    ax.set_ylabel(_("exactly right"))
    ax.legend(frameon=False)
    return figure


def main(path: Path) -> None:
    """Train every arm from every seed, and write what came out."""
    torch.set_num_threads(1)
    task = Numerals()
    wanted = [(arm, task.first_seed + seed) for arm in compared(task) for seed in SEEDS]
    trainings = []
    with ProgressBar(len(wanted), task.name, unit=_("models")) as shown:
        for arm, seed in wanted:
            trainings.append(asdict(measured(arm, seed)))
            shown.advance()
    record = {
        "digits": list(DIGITS),
        "numbers": list(numbers_by_digits().values()),
        "letters": [round(mean, 1) for mean in letters_by_digits().values()],
        "trainings": trainings,
    }
    replace_file(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
