"""The numbers of each split as tensors, made once and kept: a batch is then a choice of rows.

Numbers are shared out among the splits, so that no tested number was ever trained on. Numbers of
two digits are few and those of six are many, so rows are grouped by their digits, and examples are
drawn from all groups equally: a model that is bad at long words should not be so for want of them.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from attn_course.tasks.numerals.words import spelled
from attn_course.tasks.task import IGNORED, SPLITS, Split

DIGITS = (2, 3, 4, 5, 6)  # of one digit there are too few numbers to hold any out
STOP = 10  # the sign after the last digit
START = 11  # the sign before the first; as a target it never occurs
TARGET_SIGNS = 12
TARGET_LENGTH = DIGITS[-1] + 1  # and the stop
PADDING = 0
SOURCE_SIGNS = ("", *"abcdefghilnrstuvwzßöü")  # all letters of number words; padding has none
LARGEST_GROUP: dict[Split, int] = {"train": 3000, "validation": 300, "test": 300}
_SHARES = (0.6, 0.2, 0.2)  # of the numbers


@dataclass(frozen=True)
class Material:
    """The numbers of a split in words and digits, a row each."""

    numbers: Tensor  # (rows,)
    source: Tensor  # (rows, longest)
    lengths: Tensor  # (rows,)
    targets: Tensor  # (rows, 7): digits, the stop, and then what is ignored
    possible: Tensor  # (rows, 7, longest)
    groups: tuple[range, ...]  # the rows with two digits, with three, …


def numbers_of(split: Split, digits: int) -> np.ndarray:
    """Return the numbers of so many digits that belong to a split."""
    first, end = 10 ** (digits - 1), 10**digits
    shuffled = np.random.default_rng([2, digits]).permutation(np.arange(first, end))
    borders = (np.cumsum(_SHARES)[:-1] * len(shuffled)).astype(int)
    return np.split(shuffled, borders)[SPLITS.index(split)]


@cache
def material(split: Split) -> Material:
    """Return the numbers of a split: a second's work, done once."""
    kept = [numbers_of(split, digits)[: LARGEST_GROUP[split]] for digits in DIGITS]
    ends = np.cumsum([len(group) for group in kept]).tolist()
    groups = tuple(range(end - len(group), end) for end, group in zip(ends, kept, strict=True))
    numbers = np.concatenate(kept)
    words = [spelled(int(number)) for number in numbers]
    sign_of = {sign: place for place, sign in enumerate(SOURCE_SIGNS)}
    lengths = [len(word.text) for word in words]
    source = np.full((len(words), max(lengths)), PADDING)
    targets = np.full((len(words), TARGET_LENGTH), IGNORED)
    possible = np.zeros((len(words), TARGET_LENGTH, max(lengths)), dtype=bool)
    for row, (number, word) in enumerate(zip(numbers, words, strict=True)):
        source[row, : len(word.text)] = [sign_of[letter] for letter in word.text]
        digits = [int(digit) for digit in str(number)]
        targets[row, : len(digits) + 1] = [*digits, STOP]
        for target, letters in enumerate(word.places):
            possible[row, target, list(letters)] = True
    return Material(
        numbers=torch.from_numpy(numbers),
        source=torch.from_numpy(source),
        lengths=torch.tensor(lengths),
        targets=torch.from_numpy(targets),
        possible=torch.from_numpy(possible),
        groups=groups,
    )
