"""What all tasks about dates share: the examples, and how they are shown."""

import numpy as np
import torch
from torch.nn import functional

from attn_course.tasks.aligned_translation import AlignedTranslation
from attn_course.tasks.dates.material import ISO_SIGNS, START, material, source_signs
from attn_course.tasks.task import Examples, Split
from attn_course.translate import _


class Dates(AlignedTranslation):
    """Which day is it? Dates in 18 languages and four lengths become ISO dates.

    A model gets the written date `source` `(batch, n)`, the ISO date so far `target` `(batch, 10)`
    and `source_mask` `(batch, n)`; it returns logits `(batch, 10, signs)` and alignments
    `(batch, 10, n)`. The two right maps are one alignment seen twice, `possible` and `sure`.
    """

    source_label = _("written date, its language first")
    target_label = _("ISO date")

    def examples(self, split: Split, number: int, rng: np.random.Generator) -> Examples:
        """Return dates of a split, as long as the longest; none twice, if there are enough."""
        rows = material(split)
        chosen = torch.from_numpy(rng.choice(len(rows), number, replace=number > len(rows)))
        lengths, iso = rows.lengths[chosen], rows.iso[chosen]
        longest = int(lengths.max())
        mask = torch.arange(longest) < lengths[:, None]
        seen = mask[:, None, :].expand(-1, iso.shape[-1], -1)
        return Examples(
            inputs={
                "source": rows.source[chosen, :longest],
                "target": functional.pad(iso[:, :-1], (1, 0), value=START),
                "source_mask": mask,
            },
            targets=iso,
            right={
                "possible": rows.possible[chosen, :, :longest],
                "sure": rows.sure[chosen, :, :longest],
            },
            allowed={"possible": seen, "sure": seen},
        )

    def words(self, examples: Examples, place: int) -> dict[str, tuple[list[str], list[str]]]:
        """Return the ISO date as labels of rows and the written date as labels of columns."""
        known = source_signs()
        iso = [ISO_SIGNS[sign] for sign in examples.targets[place].tolist()]
        source = [known[sign] for sign in examples.inputs["source"][place].tolist()]
        return dict.fromkeys(("possible", "sure"), (iso, source))
