"""The lines, as kinds of token, and which opening bracket belongs to which closing one."""

import keyword
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

OPENERS, CLOSERS = "([{", ")]}"
LONGEST = 32  # tokens
HIDDEN, PADDING = "?", ""
NAME, NUMBER = "name", "0"
_FILE = Path(__file__).with_name("lines.txt")


class Lines(NamedTuple):
    """All lines, padded: `tokens` are kinds as numbers `(lines, n)`, closers hidden.

    `types` says which closer is hidden there, and -1 where none is; `opener` is the position of the
    bracket that it closes, and `nearest` that of the last opening bracket before it.
    """

    written: tuple[tuple[str, ...], ...]
    kinds: tuple[str, ...]
    tokens: np.ndarray
    types: np.ndarray
    opener: np.ndarray
    nearest: np.ndarray


def kind(token: str) -> str:
    """Return what a model sees of a token: keywords, operators and strings as they are.

    >>> [kind(token) for token in ("for", "(", "weights", "3.5", '""')]
    ['for', '(', 'name', '0', '""']
    """
    if keyword.iskeyword(token) or not (token[0].isalnum() or token[0] == "_"):
        return token
    return NUMBER if token[0].isdigit() else NAME


def matches(tokens: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Return for the position of each closer its opener and the nearest opener before it.

    >>> matches(["f", "(", "x", "[", "0", "]", ")"])
    {5: (3, 3), 6: (1, 3)}
    """
    found, still_open, nearest = {}, [], -1
    for place, token in enumerate(tokens):
        if token in OPENERS:
            still_open.append(place)
            nearest = place
        elif token in CLOSERS:
            found[place] = (still_open.pop(), nearest)
    return found


def as_written(tokens: np.ndarray) -> tuple[str, ...]:
    """Return the line that these numbers `(n,)` are of: no two lines have the same kinds."""
    lines = frozen_lines()
    (row,) = np.flatnonzero((lines.tokens == tokens).all(axis=-1))
    return lines.written[row]


@cache
def frozen_lines() -> Lines:
    """Return the lines of `lines.txt`."""
    _note, *text = _FILE.read_text(encoding="utf-8").splitlines()
    written = tuple(tuple(line.split()) for line in text)
    shown = [[HIDDEN if token in CLOSERS else kind(token) for token in line] for line in written]
    kinds = (PADDING, HIDDEN, *sorted({kind for line in shown for kind in line} - {HIDDEN}))
    number = {kind: place for place, kind in enumerate(kinds)}
    tokens = np.zeros((len(written), LONGEST), dtype=np.int64)
    types, opener, nearest = (np.full_like(tokens, -1) for _ in range(3))
    for row, line in enumerate(written):
        tokens[row, : len(line)] = [number[kind] for kind in shown[row]]
        for place, (opened, last) in matches(line).items():
            types[row, place] = CLOSERS.index(line[place])
            opener[row, place], nearest[row, place] = opened, last
    return Lines(written, kinds, tokens, types, opener, nearest)
