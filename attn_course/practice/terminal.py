"""What the commands share: exit codes, how they read and print, silence while answers run."""

import argparse
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from attn_course.translate import _

GOOD, OPEN, WRONG_USE = 0, 1, 2

Paint = Callable[[str, str], str]  # words and "green", "red" or "grey" to the words as shown
_COLOURS = {"green": 32, "red": 31, "grey": 90}
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def count(word: str) -> int:
    """Read a number of things from the command line."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(
            _("{word!r} is not a number of at least 1").format(word=word)
        )
    return int(word)


def seconds(word: str) -> float:
    """Read a number of seconds from the command line."""
    try:
        number = float(word)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(
            _("{word!r} is not a number of seconds above 0").format(word=word)
        )
    return number


def complain(sentence: str, code: int) -> int:
    """Print a sentence to the standard error and return the exit code."""
    print(sentence, file=sys.stderr)
    return code


def unwritable(folder: Path, fault: OSError) -> str:
    """Return the sentence for a folder in which nothing can be written."""
    return _("Nothing could be written to {folder}: {why}.").format(
        folder=folder, why=fault.strerror
    )


def show(text: str) -> None:
    """Print a text; in a terminal, sentences longer than a line are broken between words."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else len(text)
    for line in text.splitlines():
        is_sentence = not line.startswith(" ")  # what is indented is a table or an array
        is_long = len(unpainted(line)) > width
        print(textwrap.fill(line, width) if is_sentence and is_long else line)


def plain(words: str, _colour: str) -> str:
    """Return the words as they are."""
    return words


def paint(words: str, colour: str) -> str:
    """Return the words in colour, unless the terminal has none or the user turned them off."""
    if os.environ.get("NO_COLOR") or not _is_screen():
        return words
    return f"\x1b[{_COLOURS[colour]}m{words}\x1b[0m"


def unpainted(text: str) -> str:
    """Return a text without its colours."""
    return _ESCAPES.sub("", text)


def clear() -> None:
    """Empty the screen, where there is one."""
    if _is_screen():
        print("\x1b[2J\x1b[H", end="")


def _is_screen() -> bool:
    """Return whether the standard output understands escapes: the old Windows console does not."""
    is_terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return is_terminal and (os.name != "nt" or "WT_SESSION" in os.environ)


def in_quotes(path: Path | str) -> str:
    """Return a path as one types it."""
    return f'"{path}"' if " " in str(path) else str(path)


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what answers print or warn of while they are checked."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield
