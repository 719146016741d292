"""Names that strangers chose, made safe for a file name, a spreadsheet and a terminal."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_LONGEST = 60  # characters: four bytes each still fit into a file name
_LONGEST_LINE = 300  # of a terminal: more is in the results
# At the start of a cell, or behind a `;`, where some spreadsheets divide cells whatever we say.
# Some read the wide letters alike.
_FORMULA = re.compile(r"(^|;)(?=[\s\"']*[=+\-@＝＋－＠])")
_MARK = 16  # hexadecimal digits: more than anybody can try out to make another's mark
_LOOKS_MARKED = re.compile(rf"(.*-)?[0-9a-f]{{{_MARK}}}")


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name for every name: itself where that is safe, no two the same.

    >>> file_names(["ann", "../../etc"])
    {'ann': 'ann', '../../etc': 'etc-74ccf3c5b4c19a81'}
    """
    names = list(dict.fromkeys(names))
    # `Ann` and `ann` are one file on many disks, and so are two ways of writing é.
    folded = Counter(_folded(name) for name in names)
    made = {
        name: name if _is_safe(name) and folded[_folded(name)] == 1 else _marked(name)
        for name in names
    }
    assert len({_folded(name) for name in made.values()}) == len(names)
    return made


def cell(text: str) -> str:
    """Return text for a spreadsheet, which takes what begins with = for a formula to run.

    >>> cell("=1+1")
    "'=1+1"
    """
    return _FORMULA.sub(r"\1'", shown(text))


def shown(text: str) -> str:
    r"""Return text for a terminal: what would move the cursor or turn the line is escaped.

    >>> shown("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def line(text: str) -> str:
    """Return text as one line of a terminal, not longer than one can read."""
    text = shown(text[: _LONGEST_LINE + 1]).rstrip()  # what is escaped grows
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1] + "…"


def _is_safe(name: str) -> bool:
    """Return whether a name may be a file's: short and harmless, and like none that we mark."""
    if len(name) > _LONGEST or _LOOKS_MARKED.fullmatch(_folded(name)):
        return False
    return re.fullmatch(r"\w[\w .@+-]*(?<![ .])", name) is not None


def _marked(name: str) -> str:
    """Return what is harmless in a name, with a mark that only this name has."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    harmless = re.sub(r"\W+", "-", name).strip("-_")[:40]
    return f"{harmless}-{mark}" if harmless else mark


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
