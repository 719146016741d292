"""What a word on the command line means: a chapter, an exercise, a file or a folder."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Chapter, Exercise

_NUMBER = re.compile(r"(\d+)([a-z]?)")


class Misuse(Exception):  # noqa: N818  (the command was used wrongly; the text says how)
    """The user asked for something that does not exist."""


def ids_and_files(words: Sequence[str]) -> tuple[list["Exercise"], list[Path]]:
    """Return the exercises and the files that the words name; a folder means its notebooks."""
    wanted: list[Exercise] = []
    files: list[Path] = []
    for word in words:
        if Path(word).is_dir():
            files += _notebooks_in(Path(word))
        elif word.endswith(".ipynb") or "/" in word or os.sep in word or Path(word).is_file():
            files.append(Path(word))
        elif _NUMBER.fullmatch(word):
            meant = chapters_named(word)
            if not meant:
                _find(f"{_number(word)}.")  # complains, with the chapters that there are
            wanted += [one for chapter in meant for one in chapter.exercises.values()]
        else:
            wanted.append(exercise_named(word))
    return wanted, files


def exercise_named(word: str) -> "Exercise":
    """Return the exercise that a learner means, or raise `Misuse` with what exists."""
    from attn_course.practice.exercises import chapters

    number, dot, name = word.partition(".")
    if not dot:
        meant = [c.exercises[word].id for c in chapters().values() if word in c.exercises]
        if meant:
            raise Misuse(
                _("{word!r} needs its chapter in front: {meant}").format(
                    word=word, meant=_(" or ").join(meant)
                )
            )
        whole = [one.id for chapter in chapters_named(word) for one in chapter.exercises.values()]
        if whole:
            names = ", ".join(whole)
            raise Misuse(
                _("{word!r} is a whole chapter; name one of its exercises: {names}").format(
                    word=word, names=names
                )
            )
    return _find(f"{_number(number)}.{name}" if dot else word)


def chapters_named(word: str) -> "list[Chapter]":
    """Return the chapter of that number, or all pages of it: 05 means 05a, 05b, …"""
    from attn_course.practice.exercises import chapters

    number, known = _number(word), chapters()
    if number in known:
        return [known[number]]
    return [one for name, one in known.items() if _NUMBER.fullmatch(word) and name[:-1] == number]


def _number(word: str) -> str:
    """Return a chapter's number as it is written: 1 is 01, 5b is 05b."""
    found = _NUMBER.fullmatch(word)
    return f"{found[1].zfill(2)}{found[2]}" if found else word


def _find(exercise_id: str) -> "Exercise":
    from attn_course.practice.exercises import find_exercise

    try:
        return find_exercise(exercise_id)
    except KeyError as fault:
        raise Misuse(str(fault.args[0])) from fault


def _notebooks_in(folder: Path) -> list[Path]:
    from attn_course.practice.notebook import chapter_number

    found = [path for path in sorted(folder.glob("*.ipynb")) if chapter_number(path.name)]
    if not found:
        raise Misuse(
            _("There is no exercise notebook (NN_topic.ipynb) in {folder}.").format(folder=folder)
        )
    return found
