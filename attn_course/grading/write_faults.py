"""What to say when a file can't be written: what the system gave as the reason decides."""

import errno
from pathlib import Path

from attn_course.translate import _

_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def not_written(file: Path | str, why: object, number: int | None) -> str:
    """Return what happened to `file` and what to do; `number` is an `errno`, where it is known."""
    fields = {"file": file, "why": why}
    if number in _FULL:
        return _(
            "{file} could not be written ({why}): the disk is full. Make room and run the same "
            "command again. What was graded before is kept."
        ).format(**fields)
    if number in _CLOSED:
        return _(
            "{file} could not be written ({why}): check the permissions of the file and of its "
            "folder, and run the same command again. What was graded before is kept."
        ).format(**fields)
    return _(
        "{file} could not be written ({why}). What was graded before is kept; run the same "
        "command again."
    ).format(**fields)
