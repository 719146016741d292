"""The folder for results: ours alone, and nothing is ever written outside it.

Files are replaced in one step, so that whoever looks sees the old file or the new one.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from attn_course.grading.gradebook import FILE, SET_ASIDE, Gradebook
from attn_course.translate import _


class FolderProblem(Exception):  # noqa: N818  (the folder has a problem; nothing crashed)
    """A folder to which the results can't be written: the text says why and what to do."""


def prepare(folder: Path, submissions: Path, fresh: bool) -> None:
    """Make sure that `folder` exists, is ours, and (if `fresh`) has no gradebook yet."""
    if folder.is_symlink():
        raise FolderProblem(_("{folder} is a link: name the folder itself.").format(folder=folder))
    if folder.resolve().is_relative_to(submissions.resolve()):
        raise FolderProblem(
            _("{folder} is inside of {submissions}: name a folder outside of it.").format(
                folder=folder, submissions=submissions
            )
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # grades are private
        others = [path.name for path in folder.iterdir()]
    except OSError as fault:
        raise FolderProblem(
            _("The folder {folder} can't be used: {why}.").format(folder=folder, why=fault.strerror)
        ) from fault
    if others and not any(name.startswith("gradebook") for name in others):
        raise FolderProblem(
            _("{folder} has other files in it and no gradebook: name a new folder.").format(
                folder=folder
            )
        )
    if fresh and FILE in others:
        _set_aside(folder)


def write(folder: Path, name: str, content: str | bytes) -> None:
    """Write the file `name` (it may have folders in it) below `folder`, in one step."""
    target = folder / name
    try:
        _write(folder, target, content.encode() if isinstance(content, str) else content)
    except OSError as fault:
        fault.filename = str(target)  # which may not be there: an error in writing names no file
        raise


def _write(folder: Path, target: Path, content: bytes) -> None:
    for parent in reversed(target.relative_to(folder).parents[:-1]):
        inner = folder / parent
        inner.mkdir(mode=0o700, exist_ok=True)
        if inner.is_symlink():
            raise FolderProblem(
                _("{inner} is a link, and nothing is written behind links.").format(inner=inner)
            )
    new = target.with_name(f".{target.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(new, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _set_aside(folder: Path) -> None:
    """Give the gradebook another name: to begin anew is no reason to lose anything."""
    Gradebook(folder).close()  # recovers what a killed run had left next to the file
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    (folder / FILE).rename(folder / SET_ASIDE.format(when=when))
