"""German number words become digits: with attention, and through one fixed vector."""

from functools import partial

import numpy as np
import torch
from torch import nn

from attn_course.general_attention import BahdanauSeq2Seq
from attn_course.tasks.aligned_translation import AlignedTranslation
from attn_course.tasks.fixed_vector import UniformContext
from attn_course.tasks.numerals.material import (
    SOURCE_SIGNS,
    START,
    STOP,
    TARGET_SIGNS,
    material,
)
from attn_course.tasks.readers import parameters, width_for
from attn_course.tasks.task import IGNORED, Arm, Comparison, Examples, Split
from attn_course.translate import _


class Numerals(AlignedTranslation):
    """Which number is it? Written by a decoder that looks back at the letters each time.

    No single letter says a digit, so no link is sure, and all links to the letters of its morpheme
    are possible. The error rate is then the share of digits, other than zeros, whose largest
    weight is elsewhere.
    """

    name = "numerals"
    question = "Which number is it, from ten to 999,999, written out in German?"
    claim = (
        "A decoder that looks back loses little from two digits to six. One that gets a fixed "
        "vector writes few numbers of six digits right, even with four times the parameters. "
        "More training narrows the gap."
    )
    no_readers = "the variant `uniform context` is one: its decoder sees one fixed vector"
    steps = 300
    learning_rates = (1e-2, 3e-2, 1e-1)
    d_e, n = 16, 16
    source_label = _("number in words")
    target_label = _("digits")

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return numbers of a split, those of two to six digits with equal probability."""
        groups = material(split).groups
        drawn = [groups[group] for group in rng.integers(len(groups), size=number)]
        return self.of_rows(split, [rows[rng.integers(len(rows))] for rows in drawn])

    def of_rows(self, split: Split, rows: list[int]) -> Examples:
        """Return chosen rows of a split's material, no longer than their longest word."""
        kept, chosen = material(split), torch.tensor(rows)
        lengths, targets = kept.lengths[chosen], kept.targets[chosen]
        longest = int(lengths.max())
        mask = torch.arange(longest) < lengths[:, None]
        before = targets.masked_fill(targets == IGNORED, STOP)[:, :-1]
        start = torch.full((len(rows), 1), START)
        return Examples(
            inputs={
                "source": kept.source[chosen, :longest],
                "target": torch.cat([start, before], dim=-1),
                "source_mask": mask,
            },
            targets=targets,
            right={"possible": kept.possible[chosen, :, :longest]},
            allowed={"possible": mask[:, None, :].expand(-1, targets.shape[-1], -1)},
        )

    def model(
        self, kind: type[BahdanauSeq2Seq] = BahdanauSeq2Seq, n: int | None = None
    ) -> nn.Module:
        """Return a model that reads numbers, with states of the usual width or of width `n`."""
        return kind(len(SOURCE_SIGNS), TARGET_SIGNS, self.d_e, n or self.n)

    def wide_fixed_vector(self) -> nn.Module:
        """Return the model without attention that has four times the parameters."""
        build = partial(self.model, UniformContext)
        return build(width_for(build, 4 * parameters(self.model())))

    @property
    def arms(self) -> dict[str, Arm]:
        """A decoder that looks back, and two that can't choose where."""
        return {
            "Bahdanau": Arm(self.model, 3e-2),
            "uniform context": Arm(partial(self.model, UniformContext), 3e-2, attends=False),
            "fixed vector, 4 × parameters": Arm(self.wide_fixed_vector, 3e-2, attends=False),
        }

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Attention against none, of equal and of larger width."""
        return (
            Comparison("Bahdanau", "uniform context"),
            Comparison("Bahdanau", "fixed vector, 4 × parameters"),
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the digits as labels of rows and the letters as labels of columns."""
        signs = {STOP: _("stop"), IGNORED: ""}
        digits = [signs.get(sign, str(sign)) for sign in examples.targets[place].tolist()]
        letters = [SOURCE_SIGNS[sign] for sign in examples.inputs["source"][place].tolist()]
        return {"possible": (digits, letters)}
