"""Files written in one step: whoever looks sees the old file or the new one, never half of it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_file(path: Path, content: str | bytes) -> None:
    """Put `content` into the file `path`, which may be there or not."""
    path = path.resolve()  # behind a link, the file itself is replaced and the link stays
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    with _written_beside(path, content) as name:
        os.chmod(name, mode)
        os.replace(name, path)


def create_file(path: Path, text: str) -> None:
    """Put `text` into the new file `path`; `FileExistsError` if there is one of that name."""
    with _written_beside(path, text) as name:
        os.chmod(name, 0o644)
        path.touch(exist_ok=False)  # claims the name if it is free: a replacement would overwrite
        os.replace(name, path)


@contextmanager
def _written_beside(path: Path, content: str | bytes) -> Iterator[str]:
    """Write `content` to a new file next to `path`; the file is removed if anything fails."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        yield name
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
