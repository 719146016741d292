"""Notebook files: read without trust, written without damage.

`read_notebook` turns a file into cells, and whatever is wrong with the file into one sentence.
`notebook_text` writes a changed notebook in the file's own indentation and key order, so that what
was not changed stays as it was.

Read next: `selection`, which finds a learner's answers among the cells.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_course.translate import _


class NotebookProblem(Exception):  # noqa: N818  (a learner's file has a problem; nothing crashed)
    """A file that is no notebook we can read: the text says what it is and what to do."""


@dataclass(frozen=True)
class Cell:
    """One cell: its place (from 1), its kind ("code", "markdown", "raw"), its text."""

    number: int
    kind: str
    source: str
    id: str | None = None

    @property
    def label(self) -> str:
        """How a message points at the cell: by place and first line, since Jupyter shows no ids."""
        first = next((line.strip() for line in self.source.splitlines() if line.strip()), "")
        short = first if len(first) <= 40 else first[:39] + "…"
        return _("cell {number} (“{first}”)").format(number=self.number, first=short)


@dataclass(frozen=True)
class Notebook:
    """The cells of a file, with the parsed JSON and the text that they came from."""

    path: Path
    cells: tuple[Cell, ...]
    data: dict[str, Any]
    text: str


def read_notebook(path: str | os.PathLike[str]) -> Notebook:
    """Return the notebook in the file `path`, or raise `NotebookProblem`."""
    path = Path(path)
    return notebook_from_bytes(path, _bytes_of(path))


def notebook_from_bytes(path: Path, content: bytes) -> Notebook:
    """Return the notebook that `content` is; `path` is for messages alone."""
    text = _decoded(path, content)
    data = _parsed(path, text)
    _check_format(path, data)
    cells = tuple(_cell(path, number, cell) for number, cell in enumerate(data["cells"], start=1))
    return Notebook(path, cells, data, text)


def notebook_text(data: dict[str, Any], like: str | None = None) -> str:
    """Return `data` as the text of a notebook file, laid out as the text `like`.

    Without `like` the layout is Jupyter's own: one space, no escapes, a newline at the end.
    """
    if like is None:
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    # Half a character (a lone surrogate) can only be written escaped.
    has_halves = re.search(r"\\u[dD][89a-fA-F]", like) is not None
    escaped = has_halves or (like.isascii() and re.search(r"\\u[0-9a-fA-F]{4}", like) is not None)
    indented = re.match(r"\{(?:\r?\n)([ \t]*)\"", like)
    compact = '":' in like and '": ' not in like[:200]
    text = json.dumps(
        data,
        indent=indented[1] if indented else None,
        ensure_ascii=escaped,
        separators=(",", ":") if compact else None,
    )
    text = text.replace("\n", "\r\n") if "\r\n" in like else text
    return text + like[len(like.rstrip()) :]


def source_of(cell: dict[str, Any]) -> str:
    """Return the text of a cell as JSON has it: one string, or a list of lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _bytes_of(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as fault:
        raise NotebookProblem(
            _("There is no file {path}: check the name and the folder you are in.").format(
                path=path
            )
        ) from fault
    except IsADirectoryError as fault:
        raise NotebookProblem(
            _("{path} is a folder, not a notebook: name the .ipynb file in it.").format(path=path)
        ) from fault
    except OSError as fault:
        raise NotebookProblem(
            _("{path} can't be read ({why}): check its permissions.").format(
                path=path, why=fault.strerror
            )
        ) from fault
    if not data.strip():
        raise NotebookProblem(
            _("{path} is empty, so there is no notebook in it: {remedy}.").format(
                path=path, remedy=_start_anew()
            )
        )
    return data


def _decoded(path: Path, data: bytes) -> str:
    marks = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\xef\xbb\xbf": _("UTF-8 with a mark")}
    found = next((name for mark, name in marks.items() if data.startswith(mark)), None)
    if found is None:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            found = _("something else")
    raise NotebookProblem(
        _(
            "{path} is stored as {found}, and a notebook is plain UTF-8: "
            "save it again as UTF-8 without a byte order mark."
        ).format(path=path, found=found)
    )


def _parsed(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as fault:
        raise NotebookProblem(
            _("{path} is nested too deeply to be a notebook: {remedy}.").format(
                path=path, remedy=_start_anew()
            )
        ) from fault
    except ValueError as fault:
        why, remedy = _why_not_json(text), _start_anew()
        line = getattr(fault, "lineno", 1)
        raise NotebookProblem(
            _("{path} is not a notebook: {why} (line {line}). To go on, {remedy}.").format(
                path=path, why=why, line=line, remedy=remedy
            )
        ) from fault


def _why_not_json(text: str) -> str:
    if re.search(r"^<{7} ", text, re.MULTILINE):
        return _("it holds the conflict marks of a git merge, which you have to resolve first")
    if text.lstrip().startswith("{") and not text.rstrip().endswith("}"):
        return _("a notebook is JSON, and this one breaks off before its end")
    return _("a notebook is JSON, and this text is not")


def _check_format(path: Path, data: Any) -> None:
    if not isinstance(data, dict) or "nbformat" not in data:
        raise NotebookProblem(
            _("{path} is JSON but not a notebook, which has an `nbformat`: {remedy}.").format(
                path=path, remedy=_start_anew()
            )
        )
    version = data["nbformat"]
    if version != 4 or isinstance(version, bool):
        remedy = (
            _("open it in Jupyter and save it, or run `jupyter nbconvert --to notebook --inplace`")
            if isinstance(version, int) and version < 4
            else _("save it from the Jupyter that this course installs")
        )
        raise NotebookProblem(
            _("{path} has nbformat {version}, and nbformat 4 is wanted: {remedy}.").format(
                path=path, version=version, remedy=remedy
            )
        )
    if not isinstance(data.get("cells"), list):
        raise NotebookProblem(
            _("{path} has no list of cells, so it is no whole notebook: {remedy}.").format(
                path=path, remedy=_start_anew()
            )
        )


def _cell(path: Path, number: int, cell: Any) -> Cell:
    fields = cell if isinstance(cell, dict) else {}
    kind, source, cell_id = fields.get("cell_type"), fields.get("source", ""), fields.get("id")
    lines = [source] if isinstance(source, str) else source
    is_text = isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    if not isinstance(kind, str) or not is_text:
        raise NotebookProblem(
            _("Cell {number} of {path} is broken, it has no type or no text: {remedy}.").format(
                number=number, path=path, remedy=_start_anew()
            )
        )
    return Cell(number, kind, "".join(lines), cell_id if isinstance(cell_id, str) else None)


def _start_anew() -> str:
    return _("take a copy that still opens in Jupyter, or a fresh one with `attn-course start DIR`")
