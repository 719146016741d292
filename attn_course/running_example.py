"""The tiny example that the whole book carries along: six words, three numbers each.

Small whole numbers, so that every formula can be followed with a pencil. The three numbers say
how much a word is a thing, an action, a quality.

>>> for word, numbers in zip(WORDS, features()):
...     print(f"{word:7}", numbers)
the     [0. 0. 1.]
small   [1. 0. 2.]
cat     [2. 0. 0.]
drinks  [0. 2. 0.]
warm    [0. 1. 2.]
milk    [2. 1. 0.]
"""

import numpy as np

WORDS = ("the", "small", "cat", "drinks", "warm", "milk")
ASPECTS = ("thing", "action", "quality")
_NUMBERS = ((0, 0, 1), (1, 0, 2), (2, 0, 0), (0, 2, 0), (0, 1, 2), (2, 1, 0))


def features() -> np.ndarray:
    """Return the six words as rows of a new `(6, 3)` float64 array."""
    return np.array(_NUMBERS, dtype=np.float64)


def positions() -> np.ndarray:
    """Return the places of the six words in the sentence, 1 to 6, as float64."""
    return np.arange(1.0, len(WORDS) + 1)
