"""Which notebooks were handed in? Found and read without trusting a name, a size or a kind.

Two layouts, also mixed: `SUBMISSIONS/<learner>/<NN_topic>.ipynb`, and flat
`SUBMISSIONS/<learner>__<NN_topic>.ipynb`. Which chapter a file belongs to, `practice.numbers` says:
by its stem, today's or a former one, and else by its number. Whatever is wrong with a file becomes
one sentence about this file; the others are not touched by it. Nothing here follows a link, waits
for a pipe or opens a device.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from attn_course.inside.notebook import Cell, NotebookProblem, notebook_from_bytes
from attn_course.practice.exercise import Chapter
from attn_course.practice.numbers import chapter_of_file, current_stem, number_in
from attn_course.translate import _

LARGEST = 64 * 2**20  # bytes of a notebook; with its outputs cleared it has a few thousand
_MOST_ITEMS = 4_000_000  # of JSON: each takes far more memory than it takes bytes
_MOST_CELLS = 10_000
_MOST_CODE = 8 * 2**20  # characters in all code cells
_MOST_NOTICES = 12  # about the other files of one learner
_ATTEMPTS = 3  # to read a file that somebody is writing

_ENDING = ".ipynb"
_COLLECTED = "collected.csv"  # what `attn-course collect` knows about the notebooks


@dataclass(frozen=True)
class HandedIn:
    """One notebook of one learner for one chapter (by its number); `name` is for messages."""

    learner: str
    chapter: str
    path: Path
    name: str
    file: str = ""  # its name without the learner's
    problem: str = ""  # why it can't be read, where that is known already
    is_there: bool = True  # False where others handed in this chapter, and this learner did not
    note: str = ""  # what the learner should know about the file


@dataclass(frozen=True)
class Intake:
    """What was found, in order, and what was left aside, in sentences."""

    notebooks: tuple[HandedIn, ...]
    notices: tuple[str, ...]


class IntakeProblem(Exception):  # noqa: N818  (the folder has a problem; nothing crashed)
    """A folder of submissions that can't be used: the text says why and what to do."""


class Unreadable(Exception):  # noqa: N818  (it says what is the matter)
    """A notebook that can't be graded: the text says why, for its learner."""


def entries_of(submissions: Path) -> list[os.DirEntry[str]]:
    """Return what is in the folder `submissions`, in order; or raise `IntakeProblem`."""
    if not submissions.is_dir():
        raise IntakeProblem(
            _(
                "{path} is not a folder: name the one with a folder for each learner, "
                "SUBMISSIONS/<learner>/<NN_topic>.ipynb."
            ).format(path=submissions)
        )
    try:
        return _sorted_entries(submissions)
    except OSError as fault:
        raise IntakeProblem(
            _("{path} can't be read ({why}): check its permissions.").format(
                path=submissions, why=fault.strerror
            )
        ) from fault


def find(submissions: Path, chapters: Mapping[str, Chapter]) -> Intake:
    """Return the notebooks for `chapters` below the folder `submissions`."""
    found: list[HandedIn] = []
    folders: list[str] = []
    closed: dict[str, str] = {}  # learners whose whole folder can't be read, and why
    notices: list[str] = []
    for entry in entries_of(submissions):
        name = readable(entry.name)
        learner, file = _taken_apart(name, chapters)
        if entry.name.startswith("."):
            if file:
                notices.append(_("Left aside: {name}, a hidden file.").format(name=name))
        elif name == _COLLECTED:
            continue
        elif file:
            number = _number_of(file, chapters)
            found.append(HandedIn(learner, number, Path(entry.path), name, file))
        elif entry.is_symlink():
            closed[name] = _("{name} is a link, and links are not followed.").format(name=name)
        elif entry.is_dir(follow_symlinks=False):
            folders.append(name)
            try:
                found += _in_folder(Path(entry.path), name, chapters, notices)
            except OSError as fault:
                closed[name] = _("The folder {name} can't be read ({why}).").format(
                    name=name, why=fault.strerror
                )
        else:
            notices.append(_("Left aside: {name}, which names no chapter.").format(name=name))
    known = [one for one in found if one.chapter]
    notices += [_left_aside(one) for one in found if not one.chapter]
    # Who can't be looked at, or has nothing to look at, has a line for every chapter that others
    # handed in: else the tables would have blanks without a reason.
    numbers = sorted({one.chapter for one in known}) or list(chapters)
    handed_in = {(one.learner, one.chapter) for one in known}
    with_folder = set(folders)
    learners = dict.fromkeys([*folders, *(one.learner for one in known)])
    known += [
        HandedIn(learner, number, submissions / learner, learner, "", why)
        for learner, why in closed.items()
        for number in numbers
    ]
    known += [
        _nothing(submissions, learner, number, learner in with_folder)
        for learner in learners
        for number in numbers
        if learner not in closed and (learner, number) not in handed_in
    ]
    return Intake(tuple(_one_each(known, chapters)), tuple(notices))


def _nothing(submissions: Path, learner: str, number: str, has_folder: bool) -> HandedIn:
    """Return the line of a notebook that is not there."""
    in_folder = _("There is no notebook of this chapter in the folder {name}.")
    flat = _("There is no notebook of this chapter from {name}.")
    why = (in_folder if has_folder else flat).format(name=learner)
    return HandedIn(learner, number, submissions / learner, learner, "", why, is_there=False)


def _taken_apart(name: str, chapters: Mapping[str, Chapter]) -> tuple[str, str]:
    """Return learner and file of `<learner>__<file>`, or nothing where it is no such name.

    A learner's name may have `__` in it too: the last one counts after which a chapter is named.
    """
    for place in range(len(name) - 2, 0, -1):
        file = name[place + 2 :]
        if name.startswith("__", place) and _names_a_chapter(file, chapters):
            return name[:place], file
    return "", ""


def _names_a_chapter(file: str, chapters: Mapping[str, Chapter]) -> bool:
    """Return whether a file is a notebook of a chapter, be it asked for or not."""
    if not file.endswith(_ENDING):
        return False
    return number_in(file) is not None or chapter_of_file(file, chapters) is not None


def _number_of(file: str, chapters: Mapping[str, Chapter]) -> str:
    """Return the number of the chapter that a file belongs to, or nothing: it is not asked for."""
    chapter = chapter_of_file(file, chapters)
    return chapter.number if chapter else ""


def _left_aside(one: HandedIn) -> str:
    number = number_in(current_stem(one.file.removesuffix(_ENDING)))
    return _(
        "Left aside: {name}, since chapter {number} is not asked for or has no exercises."
    ).format(name=one.name, number=number)


def read(handed_in: HandedIn) -> bytes:
    """Return the content of a notebook file, all of it from one moment; or raise `Unreadable`."""
    if handed_in.problem:
        raise Unreadable(handed_in.problem)
    for _attempt in range(_ATTEMPTS):
        content = _read_once(handed_in)
        if content is not None:
            return content
    raise Unreadable(
        _(
            "{name} changed while it was being read: run this again when no program writes to it."
        ).format(name=handed_in.name)
    )


def cells_of(name: str, content: bytes) -> tuple[Cell, ...]:
    """Return the code cells of a notebook; or raise `Unreadable`."""
    items = content.count(b",") + content.count(b"[") + content.count(b"{")
    if items > _MOST_ITEMS:
        raise Unreadable(
            _(
                "{name} contains more than {most} items: clear all outputs in Jupyter and save."
            ).format(name=name, most=_MOST_ITEMS)
        )
    try:
        cells = _cells(Path(name), content)
    except NotebookProblem as fault:
        raise Unreadable(str(fault)) from fault
    code = tuple(
        replace(cell, source=cell.source.encode(errors="replace").decode())  # no half characters
        for cell in cells
        if cell.kind == "code"
    )
    length = sum(len(cell.source) for cell in code)
    if length > _MOST_CODE:
        raise Unreadable(
            _("{name} has {count} characters of code, and {most} are read at most.").format(
                name=name, count=length, most=_MOST_CODE
            )
        )
    return code


def _cells(path: Path, content: bytes) -> tuple[Cell, ...]:
    if not content.strip():
        raise Unreadable(_("{name} is empty.").format(name=path))
    cells = notebook_from_bytes(path, content).cells
    if len(cells) > _MOST_CELLS:
        raise Unreadable(
            _("{name} has {count} cells, and {most} are read at most.").format(
                name=path, count=len(cells), most=_MOST_CELLS
            )
        )
    return cells


def readable(name: str) -> str:
    """Return a file's name as text: bytes that are no text are written out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _in_folder(
    folder: Path, learner: str, chapters: Mapping[str, Chapter], notices: list[str]
) -> list[HandedIn]:
    found = []
    others = []
    for entry in _sorted_entries(folder):
        name = readable(entry.name)
        if entry.name.startswith("."):  # Jupyter's checkpoints, a system's own files
            continue
        if _names_a_chapter(name, chapters):
            whole = f"{learner}/{name}"
            number = _number_of(name, chapters)
            found.append(HandedIn(learner, number, Path(entry.path), whole, name))
        else:
            others.append(name)
    for name in others[:_MOST_NOTICES]:
        sentence = _("Left aside: {learner}/{name}, which names no chapter.")
        notices.append(sentence.format(learner=learner, name=name))
    if len(others) > _MOST_NOTICES:
        sentence = _("Left aside: {count} more files in {learner}.")
        notices.append(sentence.format(count=len(others) - _MOST_NOTICES, learner=learner))
    return found


def _sorted_entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _one_each(found: Iterable[HandedIn], chapters: Mapping[str, Chapter]) -> list[HandedIn]:
    """Return one notebook for each learner and chapter, with a note where there were several."""
    together: dict[tuple[str, str], list[HandedIn]] = defaultdict(list)
    for one in found:
        together[one.learner, one.chapter].append(one)
    chosen = []
    for (_learner, number), several in sorted(together.items()):
        stem = chapters[number].stem

        def order(one: HandedIn, stem: str = stem) -> tuple[bool, bool, bool, bool, str]:
            named = one.file.removesuffix(_ENDING)
            former = current_stem(named) == stem  # or today's, which comes first
            flat = one.name != f"{one.learner}/{one.file}"
            return bool(one.problem), named != stem, not former, flat, one.name

        first, *others = sorted(several, key=order)
        if others:
            note = _("There are several notebooks for this chapter; {first} counts, not {others}.")
            names = ", ".join(one.name for one in others)
            first = replace(first, note=note.format(first=first.name, others=names))
        chosen.append(first)
    return chosen


def _read_once(handed_in: HandedIn) -> bytes | None:
    """Return the content, or None where it changed on the way."""
    name = handed_in.name
    # Not to follow a link, not to wait for the other end of a pipe, not to pass it on to anybody.
    flags = os.O_RDONLY
    for wish in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOCTTY"):
        flags |= getattr(os, wish, 0)
    try:
        if stat.S_ISLNK(os.lstat(handed_in.path).st_mode):
            raise Unreadable(_("{name} is a link, and links are not followed.").format(name=name))
        descriptor = os.open(handed_in.path, flags)
    except OSError as fault:
        raise _unreadable(name, fault) from fault
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Unreadable(
                _("{name} is not a file but {kind}.").format(name=name, kind=_kind(before.st_mode))
            )
        if before.st_size > LARGEST:
            raise Unreadable(
                _(
                    "{name} has {size} MB, and {most} MB are read at most: "
                    "clear all outputs in Jupyter and save."
                ).format(name=name, size=before.st_size // 2**20, most=LARGEST // 2**20)
            )
        content = _all_bytes(descriptor, before.st_size + 1)
        after = os.fstat(descriptor)
    except OSError as fault:
        raise _unreadable(name, fault) from fault
    finally:
        os.close(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return content if same and len(content) == before.st_size else None


def _all_bytes(descriptor: int, most: int) -> bytes:
    parts = []
    while most > 0 and (part := os.read(descriptor, min(most, 2**20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _unreadable(name: str, fault: OSError) -> Unreadable:
    return Unreadable(
        _("{name} can't be read ({why}).").format(name=name, why=fault.strerror or fault)
    )


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return _("a folder")
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return _("a pipe to another program")
    return _("a device")
