"""Names that strangers chose, made safe for a file name, a spreadsheet and a terminal."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_LONGEST = 60  # characters: four bytes each still fit into a file name
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name for every name: itself where that is safe, no two the same.

    >>> file_names(["ann", "../../etc"])
    {'ann': 'ann', '../../etc': 'etc-74ccf3c5'}
    """
    names = list(dict.fromkeys(names))
    # `Ann` and `ann` are one file on many disks, and so are two ways of writing é.
    folded = Counter(_folded(name) for name in names)
    return {
        name: name if _is_safe(name) and folded[_folded(name)] == 1 else _marked(name)
        for name in names
    }


def cell(text: str) -> str:
    """Return text for a spreadsheet, which takes what begins with = for a formula to run.

    >>> cell("=1+1")
    "'=1+1"
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def shown(text: str) -> str:
    r"""Return text for a terminal: what would move the cursor or turn the line is escaped.

    >>> shown("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _is_safe(name: str) -> bool:
    return len(name) <= _LONGEST and re.fullmatch(r"\w[\w .@+-]*(?<![ .])", name) is not None


def _marked(name: str) -> str:
    """Return what is harmless in a name, with a mark that only this name has."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    harmless = re.sub(r"\W+", "-", name).strip("-_")[:40]
    return f"{harmless}-{mark}" if harmless else mark


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
