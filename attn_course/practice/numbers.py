"""Which chapter, which notebook, which exercise? The one place that knows how numbers are read.

- `05` is the whole chapter: every notebook of it, be it 05, 05b or 05c.
- `05b` is one notebook.
- `05.ask` is the exercise `ask` in whichever notebook of chapter 05 has it, and `05b.ask` the one
  in 05b.
- `ask` alone will do where only one chapter has an exercise of that name.

A file is known by its stem first (`05b_rotatory`) and by its number second, so a download called
`05b_rotatory (1).ipynb` or `05b-mine.ipynb` is still recognised. Should a source ever be renamed,
its old stem goes into `RENAMED`: old notebooks, progress and gradebooks then find their way.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Chapter, Exercise

Known = Mapping[str, "Chapter"]  # the notebooks that there are, by their numbers

RENAMED: dict[str, str] = {}  # old stem: stem of today

_NUMBER = re.compile(r"(\d+)([a-z]?)")
_FILE = re.compile(r"(\d\d[a-z]?)(?:[_ .-].*)?", re.DOTALL)


class Misuse(Exception):  # noqa: N818  (the command was used wrongly; the text says how)
    """The user asked for something that does not exist."""


# --- words -----------------------------------------------------------------------------------


def chapters_named(word: str, known: Known) -> list["Chapter"]:
    """Return the notebooks that a number means, or raise `Misuse`."""
    number = _in_full(word)
    meant = [one for name, one in known.items() if name == number or _digits(name) == number]
    if not meant:
        raise Misuse(
            _("There is no chapter {number!r} with exercises; there are: {known}.").format(
                number=number, known=", ".join(known)
            )
        )
    return meant


def _in_full(word: str) -> str:
    """Return a number with two digits: 5b is 05b."""
    found = _NUMBER.fullmatch(word)
    return f"{found[1].zfill(2)}{found[2]}" if found else word


def is_number(word: str) -> bool:
    """Return whether a word is the number of a chapter or notebook: 1, 05, 5b."""
    return _NUMBER.fullmatch(word) is not None


def exercise_named(word: str, known: Known) -> "Exercise":
    """Return the exercise that a learner means, or raise `Misuse` with what exists."""
    number, dot, name = word.partition(".")
    if is_number(word):
        whole = [one.id for chapter in chapters_named(word, known) for one in _exercises([chapter])]
        raise Misuse(
            _("{word!r} is a whole chapter; name one of its exercises: {names}").format(
                word=word, names=", ".join(whole)
            )
        )
    if not dot:
        return _named_alone(word, known)
    meant = chapters_named(number, known)
    found = [chapter.exercises[name] for chapter in meant if name in chapter.exercises]
    if not found:
        names = list(dict.fromkeys(one.name for one in _exercises(meant)))
        raise Misuse(
            _("Chapter {number} has no exercise {name!r}; it has: {known}.{meant}").format(
                number=number, name=name, known=", ".join(names), meant=did_you_mean(name, names)
            )
        )
    if len(found) > 1 and found[0].chapter.number != _in_full(number):
        raise Misuse(
            _("{word!r} is in several notebooks; say which: {meant}").format(
                word=word, meant=_(" or ").join(one.id for one in found)
            )
        )
    return found[0]


def _named_alone(name: str, known: Known) -> "Exercise":
    every = _exercises(known.values())
    found = [one for one in every if one.name == name]
    if len(found) > 1:
        raise Misuse(
            _("{word!r} needs its chapter in front: {meant}").format(
                word=name, meant=_(" or ").join(one.id for one in found)
            )
        )
    if not found:
        raise Misuse(
            _(
                "There is no exercise {name!r}.{meant} `attn-course progress` lists them all."
            ).format(name=name, meant=did_you_mean(name, [one.name for one in every]))
        )
    return found[0]


def ids_and_files(words: Sequence[str], known: Known) -> tuple[list["Exercise"], list[Path]]:
    """Return the exercises and the files that the words name; a folder means its notebooks."""
    wanted: list[Exercise] = []
    files: list[Path] = []
    for word in words:
        if Path(word).is_dir():
            files += _notebooks_in(Path(word), known)
        elif word.endswith(".ipynb") or "/" in word or os.sep in word or Path(word).is_file():
            files.append(Path(word))
        elif is_number(word):
            wanted += _exercises(chapters_named(word, known))
        else:
            wanted.append(exercise_named(word, known))
    return wanted, files


def current_id(exercise_id: str, known: Known) -> str:
    """Return the id that an exercise has today: its notebook may have got another number since."""
    number, _dot, name = exercise_id.partition(".")
    places = [number, *(new for old, new in RENAMED.items() if old.partition("_")[0] == number)]
    for place in places:
        digits = place.partition("_")[0]
        for one in known.values():
            if digits in (one.number, _digits(one.number)) and name in one.exercises:
                return one.exercises[name].id
    return exercise_id


def _exercises(chapters: Iterable["Chapter"]) -> list["Exercise"]:
    return [one for chapter in chapters for one in chapter.exercises.values()]


def _digits(number: str) -> str:
    return number.rstrip("abcdefghijklmnopqrstuvwxyz")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question for who mistyped one of `names`, after a space; or nothing."""
    like = get_close_matches(name, list(names), n=1)
    return _(" Did you mean {like}?").format(like=like[0]) if like else ""


# --- files -----------------------------------------------------------------------------------


def chapter_of_file(name: str, known: Known) -> "Chapter | None":
    """Return the notebook's chapter that a file belongs to by its name, or None.

    By its stem, today's or a former one, and else by its number.
    """
    bare = name.removesuffix(".ipynb")
    stems: dict[str, Chapter | None] = {one.stem: one for one in known.values()}
    for old, new in RENAMED.items():
        stems.setdefault(old, stems.get(new))  # None: it is not what has the old number today
    # The longest first: `05_levels_more` is no copy of `05_levels`.
    for stem in sorted(stems, key=len, reverse=True):
        if re.match(rf"{re.escape(stem)}(?![A-Za-z0-9_])", bare):
            return stems[stem]
    number = number_in(name)
    return known.get(number) if number else None


def number_in(name: str) -> str | None:
    """Return the number at the start of a file's name, or None.

    >>> number_in("01_topic.ipynb"), number_in("05b (2).ipynb"), number_in("notes.ipynb")
    ('01', '05b', None)
    """
    found = _FILE.fullmatch(name.removesuffix(".ipynb"))
    return found[1] if found else None


def current_stem(stem: str) -> str:
    """Return the stem that a source has today."""
    return RENAMED.get(stem, stem)


def _notebooks_in(folder: Path, known: Known) -> list[Path]:
    found = [path for path in sorted(folder.glob("*.ipynb")) if chapter_of_file(path.name, known)]
    if not found:
        raise Misuse(
            _("There is no exercise notebook (NN_topic.ipynb) in {folder}.").format(folder=folder)
        )
    return found
