"""What the commands share: exit codes, how they read and print, silence while answers run."""

import argparse
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from attn_course.translate import _

GOOD, OPEN, WRONG_USE = 0, 1, 2


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
        print(textwrap.fill(line, width) if is_sentence and len(line) > width else line)


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what answers print or warn of while they are checked."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield
