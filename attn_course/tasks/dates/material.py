"""The dates of each split as tensors, made once and kept: a batch is then a choice of rows.

Days are shared out among the splits, so that no test date was ever trained on, in any language.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import numpy as np
import torch
from torch import Tensor

from attn_course.tasks.dates.gold import ISO_LENGTH, gold_links
from attn_course.tasks.dates.rendering import FIRST_DAY, FORMS, LAST_DAY, alphabet, written
from attn_course.tasks.task import SPLITS, Split

ISO_SIGNS = "0123456789-"
START = len(ISO_SIGNS)  # the sign before the first; as a target it never occurs
TARGET_SIGNS = START + 1
PADDING = 0
SIZES: dict[Split, int] = {"train": 16000, "validation": 2000, "test": 2000}
_SHARES = (0.8, 0.1, 0.1)  # of the days


@dataclass(frozen=True)
class Material:
    """The written dates of a split and their links, a row each."""

    source: Tensor  # (rows, longest)
    lengths: Tensor  # (rows,)
    iso: Tensor  # (rows, 10)
    sure: Tensor  # (rows, 10, longest)
    possible: Tensor  # (rows, 10, longest)

    def __len__(self) -> int:
        return len(self.lengths)


@cache
def source_signs() -> tuple[str, ...]:
    """Return the sign behind each number of a source; `PADDING` has none."""
    return ("", *alphabet())


def days_of(split: Split) -> np.ndarray:
    """Return the days of a split, counted from the first."""
    total = (LAST_DAY - FIRST_DAY).days + 1
    shuffled = np.random.default_rng(0).permutation(total)
    borders = (np.cumsum(_SHARES)[:-1] * total).astype(int)
    return np.split(shuffled, borders)[SPLITS.index(split)]


@cache
def material(split: Split) -> Material:
    """Return the written dates of a split: about a second's work, done once."""
    rng = np.random.default_rng([1, SPLITS.index(split)])
    rows = SIZES[split]
    days = [FIRST_DAY + timedelta(days=int(day)) for day in rng.choice(days_of(split), rows)]
    forms = [FORMS[form] for form in rng.integers(len(FORMS), size=rows)]
    sources = [written(day, *form) for day, form in zip(days, forms, strict=True)]
    number = {sign: place for place, sign in enumerate(source_signs())}
    longest = max(len(source.signs) for source in sources)
    signs = np.full((rows, longest), PADDING)
    sure, possible = np.zeros((2, rows, ISO_LENGTH, longest), dtype=bool)
    for row, source in enumerate(sources):
        signs[row, : len(source.signs)] = [number[sign] for sign in source.signs]
        for links, there in zip(gold_links(source), (sure, possible), strict=True):
            if links:  # a date without any digit has no sure one
                there[row][tuple(zip(*links, strict=True))] = True
    return Material(
        source=torch.from_numpy(signs),
        lengths=torch.tensor([len(source.signs) for source in sources]),
        iso=torch.tensor([[ISO_SIGNS.index(sign) for sign in day.isoformat()] for day in days]),
        sure=torch.from_numpy(sure),
        possible=torch.from_numpy(possible),
    )
