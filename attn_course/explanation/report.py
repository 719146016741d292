"""The report of the explanation lab: two tables that contrast two tasks, and what they let one say.

What separates the tasks and what does not is computed, and so is each number in the conclusion.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from math import isnan, nan
from statistics import fmean
from typing import Any

from attn_course.evaluation.ablation import Ablation
from attn_course.evaluation.paired_comparison import spread
from attn_course.translate import _

_CLEAR = 3  # spreads between two means before they are called different
_REMARKABLE = 0.1  # of the largest JSD there could be


@dataclass(frozen=True)
class Measured:
    """One number for each seed (or pair of seeds)."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over seeds; NaN where there is none."""
        return fmean(self.values) if self.values else nan

    @property
    def sd(self) -> float:
        """The spread over seeds; NaN for fewer than two."""
        return spread(self.values)

    def differs_from(self, other: "Measured") -> bool:
        """Tell whether two means are three spreads apart; without spread nothing is clear."""
        both = (self.sd**2 + other.sd**2) ** 0.5
        return not isnan(both) and abs(self.mean - other.mean) > _CLEAR * both

    def __str__(self) -> str:
        if isnan(self.mean):
            return "–"
        return f"{self.mean:.3f}" if isnan(self.sd) else f"{self.mean:.3f} ± {self.sd:.3f}"


@dataclass(frozen=True)
class LabReport:
    """What the lab measured on each task, by the name of the test."""

    measured: Mapping[str, Mapping[str, Measured]]
    baselines: Mapping[str, Ablation]

    def jain_and_wallace(self) -> list[tuple[str, ...]]:
        """Return the first table: could the weights be other than they are?"""
        return self._table(
            {
                **_contrasted(),
                "largest_weight": _("largest weight"),
                "jsd_ceiling": _("the most that JSD could be"),
                "found": _("share of examples with an adversary"),
            }
        )

    def wiegreffe_and_pinter(self) -> list[tuple[str, ...]]:
        """Return the second table: are the weights needed, and worth anything elsewhere?"""
        head, *rows = self._table(
            {
                "seed_jsd": _("JSD between two seeds"),
                **self._numbered("imposed_tanh", _("token-wise tanh model, weights: {}")),
                **self._numbered("imposed_linear", _("token-wise linear model, weights: {}")),
                **self._numbered("sweep_tvd", _("adversarial model, lambda {}: TVD")),
                **self._numbered("sweep_jsd", _("adversarial model, lambda {}: JSD of the most")),
            }
        )
        arms = self.baselines.values()
        return [
            head,
            (_("accuracy, learned weights"), *(str(Measured(one.paired.ones)) for one in arms)),
            (_("accuracy, equal weights"), *(str(Measured(one.paired.others)) for one in arms)),
            *rows,
        ]

    def _numbered(self, test: str, label: str) -> dict[str, str]:
        """Return a label for each setting of a test, whose names are `test setting`."""
        names = next(iter(self.measured.values()))
        settings = [name.split(" ", 1)[1] for name in names if name.startswith(test + " ")]
        return {f"{test} {setting}": label.format(setting) for setting in settings}

    def _table(self, labels: Mapping[str, str]) -> list[tuple[str, ...]]:
        rows = [
            (label, *(str(numbers[test]) for numbers in self.measured.values()))
            for test, label in labels.items()
        ]
        return [("", _("needed"), _("not needed")), *rows]

    def conclusion(self) -> list[str]:
        """Return what these numbers allow to say, a sentence each."""
        return [
            _("Is attention needed? Over equal weights, learned ones gain {} and {}.").format(
                *(f"{one.mean_difference:.3f}" for one in self.baselines.values())
            ),
            *self._contrasts(),
            *self._on_the_needed_task(),
            _(
                "So be careful: weights may show a model that looks at the wrong place, and tell a "
                "plausible story; by themselves they do not establish which inputs matter."
            ),
        ]

    def _contrasts(self) -> list[str]:
        needed, not_needed = self.measured["needed"], self.measured["not needed"]
        apart: list[str] = []
        alike: list[str] = []
        for test, label in _contrasted().items():
            one, other = needed[test], not_needed[test]
            said = _("{test} ({one} against {other})").format(test=label, one=one, other=other)
            (apart if one.differs_from(other) else alike).append(said)
        nothing = _("nothing")
        return [
            _("Clearly different on the two tasks: {}.").format("; ".join(apart) or nothing),
            _("Not clearly different: {}.").format("; ".join(alike) or nothing),
        ]

    def _on_the_needed_task(self) -> list[str]:
        needed = self.measured["needed"]
        far = max(needed["relative_jsd"].mean, needed["consistent_jsd"].mean)
        said = _(
            "Where attention is needed, weights at {single} of the largest JSD keep the prediction "
            "of one example, and a whole adversarial model reaches {whole}."
        ).format(single=needed["relative_jsd"], whole=needed["consistent_jsd"])
        imposed = _(
            "Imposed on a linear model of single tokens, equal weights give {equal}, those of the "
            "base {base}, those of the adversarial model {adversary}."
        ).format(
            **{name: needed[f"imposed_linear {name}"] for name in ("equal", "base", "adversary")}
        )
        if far > _REMARKABLE:
            return [said, _("The learned weights are one explanation of several."), imposed]
        return [said, _("No quite different weights were found for them."), imposed]

    def text(self) -> str:
        """Return both tables and the conclusion for a terminal."""
        parts = [
            "Jain & Wallace (2019)",
            *_aligned(self.jain_and_wallace()),
            "",
            "Wiegreffe & Pinter (2019)",
            *_aligned(self.wiegreffe_and_pinter()),
            "",
            *self.conclusion(),
        ]
        return "\n".join(parts)

    __str__ = text

    def _repr_html_(self) -> str:
        tables = (
            f"<h4>{title}</h4>{_html(table)}"
            for title, table in (
                ("Jain &amp; Wallace (2019)", self.jain_and_wallace()),
                ("Wiegreffe &amp; Pinter (2019)", self.wiegreffe_and_pinter()),
            )
        )
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.conclusion())
        return "".join(tables) + said

    def as_dict(self) -> dict[str, Any]:
        """Return every number, for a file."""
        return asdict(self)


def _contrasted() -> dict[str, str]:
    """Return the tests by which the two tasks are compared, with their labels."""
    return {
        "tau_gradient": _("Kendall's tau with gradients"),
        "tau_omission": _("Kendall's tau with leaving one out"),
        "permutation_tvd": _("TVD under permuted weights"),
        "uniform_tvd": _("TVD under equal weights"),
        "adversarial_jsd": _("adversarial JSD"),
        "relative_jsd": _("adversarial JSD of the most"),
    }


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _html(rows: list[tuple[str, ...]]) -> str:
    head, *body = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    lines = "".join(f"<tr>{cells}</tr>" for cells in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
