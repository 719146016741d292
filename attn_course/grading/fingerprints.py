"""What code looks like when names, comments and layout are taken out of it: fingerprints.

Code becomes a sequence of tokens in which every name that its author may choose is the same token.
What a library fixes stays: `x / x.sum(axis=-1)`, whatever x is called. Each run of `GRAM` tokens
has a hash, and *winnowing* keeps the smallest hash of every `WINDOW` neighbours: a passage of
`GRAM + WINDOW - 1` tokens or more that is in two texts has a kept hash in common, wherever it is,
and nothing shorter than `GRAM` tokens ever counts.

S. Schleimer, D. S. Wilkerson and A. Aiken (2003): Winnowing: local algorithms for document
fingerprinting. Proceedings of SIGMOD, 76–85.
"""

import builtins
import hashlib
import io
import keyword
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

GRAM = 15
WINDOW = 6
PASSAGE = GRAM + WINDOW - 1  # tokens: what is at least so long is found

_FIXED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins)} - {"_"})
_LAYOUT = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING),
    tokenize.ENDMARKER,
)
_MAGIC = ("%", "!", "?")  # how lines begin that are IPython's
_LONGEST = 100_000  # characters of a cell that are read
_OPEN, _CLOSE = "([{", ")]}"
_NAME, _TEXT = "name", "text"


@dataclass(frozen=True)
class Print:
    """A fingerprint and the lines (from 1) from which it comes."""

    hash: int
    first: int
    last: int


def prints(source: str) -> list[Print]:
    """Return the fingerprints of a cell, in order: those that winnowing keeps."""
    return _winnowed(grams(source))


def grams(source: str) -> list[Print]:
    """Return the hash of every run of `GRAM` tokens, in order.

    >>> [one.hash for one in grams("a = " + "b + " * 9 + "c")] == [
    ...     one.hash for one in grams("mine = " + "x + " * 9 + "y  # all my own")
    ... ]
    True
    """
    found = list(_normal(source))
    return [
        Print(_hash(word for word, _line in run), run[0][1], run[-1][1])
        for start in range(len(found) - GRAM + 1)
        if (run := found[start : start + GRAM])
    ]


def _winnowed(every: Sequence[Print]) -> list[Print]:
    """Return the smallest of every `WINDOW` neighbours, the rightmost where there are several."""
    windows = max(len(every) - WINDOW + 1, min(len(every), 1))
    kept = dict.fromkeys(
        min(
            range(start, min(start + WINDOW, len(every))),
            key=lambda place: (every[place].hash, -place),
        )
        for start in range(windows)
    )
    return [every[place] for place in kept]


def _hash(words: Iterable[str]) -> int:
    digest = hashlib.blake2b("\n".join(words).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _normal(source: str) -> Iterator[tuple[str, int]]:
    """Yield the tokens of a cell with their lines; names that are the author's own are alike."""
    before, earlier, depth = "", "", 0
    heads_a_definition = False
    every = list(_tokens(source))
    for place, token in enumerate(every):
        word = token.string
        if token.type == tokenize.NEWLINE:
            before = earlier = ""
            heads_a_definition = False
            continue
        if not before:  # the first word of a statement
            heads_a_definition = word in ("def", "class", "async")
            if token.type == tokenize.STRING and _ends_statement(every, place):
                continue  # a docstring says what a comment says
        depth += (word in _OPEN) - (word in _CLOSE) if token.type == tokenize.OP else 0
        after = every[place + 1].string if place + 1 < len(every) else ""
        is_argument = after == "=" and depth > 0 and not heads_a_definition
        is_member = before == "." and earlier != "self"
        kind = word
        if token.type == tokenize.STRING or word[:1] in "\"'":
            kind = _TEXT
        elif token.type == tokenize.NAME and not (word in _FIXED or is_member or is_argument):
            kind = _NAME
        yield kind, token.start[0]
        before, earlier = word, before


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens without layout; of broken code, those before the break.

    The code is a stranger's: it is cut into tokens and never parsed, which needs no recursion.
    """
    lines = source[:_LONGEST].splitlines()
    text = "\n".join("" if line.lstrip().startswith(_MAGIC) else line for line in lines)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _LAYOUT:
                yield token
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _ends_statement(tokens: Sequence[tokenize.TokenInfo], place: int) -> bool:
    return place + 1 == len(tokens) or tokens[place + 1].type == tokenize.NEWLINE
