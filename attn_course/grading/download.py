"""What another system gave us to download, a folder or a zip file, read without trusting it.

Nothing is unpacked: files are listed, and those that a reader of `systems` asks for are read, one
by one and each up to the size that the grader's own intake reads. So a path in a zip can't lead out
of a folder, a link is never followed, and a file that says it is small and is not gets no further.
A download with too many files, or a zip whose notebooks are far larger than the zip, is refused
whole.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from attn_course.grading.intake import LARGEST, HandedIn, Unreadable, read, readable
from attn_course.translate import _

_MOST_FILES = 400_000  # of a hundred thousand learners, with what comes along
_DEEPEST = 12  # folders within folders
_MOST_TIMES = 100  # a zip's own size: notebooks get ten times as large, twenty with pictures
_SMALL = 2**28  # bytes in all that do no harm, however well they were packed
_ENCRYPTED = 0x1
_OF_SYSTEMS = ("__MACOSX", ".ipynb_checkpoints")
_REFLOG = (".git", "logs", "HEAD")  # all that is looked at of a clone's own files


class DownloadProblem(Exception):  # noqa: N818  (the download has a problem; nothing crashed)
    """A download that can't be used: the text says why and what to do."""


@dataclass(frozen=True)
class File:
    """A file of a download: its folders and its name, and how to read it."""

    path: tuple[str, ...]
    changed: datetime | None  # what the folder or the zip says, which may be the download's own day
    read: Callable[[], bytes]  # or raises `Unreadable`

    @property
    def name(self) -> str:
        """Its name without its folders."""
        return self.path[-1]

    def __str__(self) -> str:
        return "/".join(self.path)


@dataclass(frozen=True)
class Download:
    """The files of a download, in order, and what was left aside, in sentences."""

    place: Path
    files: tuple[File, ...]
    notices: tuple[str, ...] = ()


@contextmanager
def open_download(place: Path) -> Iterator[Download]:
    """Yield what is in the folder or zip file `place`; or raise `DownloadProblem`.

    Files can be read until it is closed.
    """
    with ExitStack() as opened:
        yield _listed(place, opened)


def _listed(place: Path, opened: ExitStack) -> Download:
    notices: list[str] = []
    try:
        if place.is_dir():
            found = _in_folder(place, (), notices)
        elif zipfile.is_zipfile(place):
            found = _in_zip(place, opened.enter_context(zipfile.ZipFile(place)), notices)
        else:
            raise DownloadProblem(
                _(
                    "{place} is neither a folder nor a zip file: name what your system gave you to "
                    "download."
                ).format(place=place)
            )
        files = sorted(_not_too_many(found, place), key=lambda file: file.path)
    except (OSError, zipfile.BadZipFile) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise DownloadProblem(
            _("{place} can't be read ({why}): download it again.").format(place=place, why=why)
        ) from fault
    return Download(place, tuple(files), tuple(notices))


def _not_too_many(files: Iterator[File], place: Path) -> Iterator[File]:
    for number, file in enumerate(files):
        if number == _MOST_FILES:
            raise DownloadProblem(
                _("{place} has more than {most} files, and is not read: divide it.").format(
                    place=place, most=_MOST_FILES
                )
            )
        yield file


def _in_folder(folder: Path, above: tuple[str, ...], notices: list[str]) -> Iterator[File]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = (*above, readable(entry.name))
            if entry.is_symlink():
                notices.append(_link("/".join(path)))
            elif entry.is_dir(follow_symlinks=False):
                if _is_looked_into(path):
                    yield from _in_folder(Path(entry.path), path, notices)
            elif _is_looked_at(path) and entry.is_file(follow_symlinks=False):
                yield _on_disk(Path(entry.path), path)


def _on_disk(place: Path, path: tuple[str, ...]) -> File:
    """Return a file of a folder; it is read as the grader reads a notebook."""
    one = HandedIn("", "", place, "/".join(path))
    changed = datetime.fromtimestamp(place.lstat().st_mtime, UTC)
    return File(path, changed, partial(read, one))


def _is_looked_into(path: tuple[str, ...]) -> bool:
    if ".git" in path:
        inside = path[path.index(".git") :]
        return inside == _REFLOG[: len(inside)]
    return len(path) < _DEEPEST and path[-1] not in _OF_SYSTEMS


def _is_looked_at(path: tuple[str, ...]) -> bool:
    if ".git" in path:
        return path[path.index(".git") :] == _REFLOG
    return not path[-1].startswith(".") and not set(_OF_SYSTEMS) & set(path)


def _in_zip(place: Path, archive: zipfile.ZipFile, notices: list[str]) -> Iterator[File]:
    allowed = max(_SMALL, _MOST_TIMES * place.stat().st_size)
    for member in archive.infolist():
        path = _inside(member.filename)
        if path is None:
            sentence = _("Left aside: {name}, whose path leads out of the download.")
            notices.append(sentence.format(name=member.filename))
        elif member.is_dir() or not _is_looked_at(path) or len(path) > _DEEPEST:
            continue
        elif stat.S_ISLNK(member.external_attr >> 16):
            notices.append(_link("/".join(path)))
        else:
            if path[-1].endswith(".ipynb"):
                allowed -= member.file_size
            yield File(path, _when(member), partial(_unpacked, archive, member))
    if allowed < 0:
        raise DownloadProblem(
            _(
                "The notebooks in {place} would be more than {most} times as large as the zip file "
                "itself: such a file is made to fill a disk. Nothing of it was read."
            ).format(place=place, most=_MOST_TIMES)
        )


def _inside(name: str) -> tuple[str, ...] | None:
    """Return the folders and the name of a path in a zip, or None where it leads elsewhere.

    >>> _inside("a/b.ipynb"), _inside("/etc/x"), _inside("a/../../x"), _inside("C:/x")
    (('a', 'b.ipynb'), None, None, None)
    """
    parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
    leads_out = ".." in parts or name.startswith(("/", "\\")) or name[1:2] == ":"
    return None if leads_out or not parts else parts


def _when(member: zipfile.ZipInfo) -> datetime | None:
    """Return what a zip says, which knows no time zone: UTC, since most servers have it."""
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        return None


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    name = member.filename
    if member.flag_bits & _ENCRYPTED:
        raise Unreadable(_("{name} needs a password.").format(name=name))
    try:
        with archive.open(member) as file:
            content = file.read(LARGEST + 1)  # whatever size it says it has
    except (OSError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error) as fault:
        raise Unreadable(
            _("{name} can't be unpacked ({why}).").format(name=name, why=fault)
        ) from fault
    if len(content) > LARGEST:
        raise Unreadable(
            _("{name} has more than {most} MB, and no more are read.").format(
                name=name, most=LARGEST // 2**20
            )
        )
    return content


def _link(name: str) -> str:
    return _("Left aside: {name}, a link, and links are not followed.").format(name=name)
