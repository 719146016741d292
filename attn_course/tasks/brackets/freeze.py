"""How `lines.txt` was made: lines of Python source as tokens, each kind of line once.

The file is frozen: the source of the course changes every week, and results must not change with
it. To make such a file from other source, call `frozen(folder)` and write what it returns.

    python -c 'from attn_course.tasks.brackets.freeze import frozen; print(frozen("attn_course"))'
"""

import io
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from attn_course.tasks.brackets.lines import LONGEST, NAME, OPENERS, kind

NOTE = (
    "# Frozen lines of the course's own source, one statement per line: freeze.py made them. "
    "Do not edit."
)
STRING = '""'
_WRITTEN = {tokenize.NAME, tokenize.OP, tokenize.NUMBER}
# Before Python 3.12 an f-string is one token; from then on it has a start, parts and an end.
_BEGINS = getattr(tokenize, "FSTRING_START", None)
_ENDS = getattr(tokenize, "FSTRING_END", None)


def frozen(folder: Path | str) -> str:
    """Return the statements of the Python files below a folder, one per line, tokens apart.

    Statements have at most `LONGEST` tokens and at least two types of bracket: with one type there
    is nothing to predict. Of those that differ only in names and numbers, the first is kept, so
    that no line for testing is a line for training with other names. Models do not see names, so
    the first letter of each is enough.
    """
    found: dict[tuple[str, ...], str] = {}
    for path in sorted(Path(folder).rglob("*.py")):
        for tokens in statements(path.read_text(encoding="utf-8")):
            if len(tokens) <= LONGEST and len(set(tokens) & set(OPENERS)) > 1:
                kinds = tuple(map(kind, tokens))
                found.setdefault(kinds, " ".join(map(shortened, tokens)))
    return "\n".join([NOTE, *found.values()])


def shortened(token: str) -> str:
    """Return the first letter of a name, and anything else as it is.

    >>> [shortened(token) for token in ("weights", "_words", "for", "[", "12")]
    ['w', 'w', 'for', '[', '12']
    """
    if kind(token) != NAME:
        return token
    return next((letter for letter in token if letter.isalpha()), "_")


def statements(source: str) -> Iterator[Sequence[str]]:
    """Yield the tokens of each statement, without comments; a string is `""`.

    >>> list(statements("x = [f(1),  # one\\n     'two']"))
    [['x', '=', '[', 'f', '(', '1', ')', ',', '""', ']']]
    """
    tokens: list[str] = []
    inside = 0  # f-strings that have begun and not ended
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == _ENDS:
            inside -= 1
        elif token.type in (tokenize.STRING, _BEGINS):
            if not inside:
                tokens.append(STRING)
            inside += token.type == _BEGINS
        elif token.type in _WRITTEN and not inside:
            tokens.append(token.string)
        elif token.type == tokenize.NEWLINE:
            yield tokens
            tokens = []
