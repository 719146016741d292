"""Which files a piece of code depends on, and one fingerprint of them all.

A figure, an executed page or a tested exercise remains valid as long as the files behind it are the
same. `files_behind` finds them in the sources, without running anything, and `fingerprint` turns
their content into one word.

What counts is decided on the safe side:

- every import counts, also one inside a function or for type checkers alone;
- a module that imports others by computed names (`import_module`) needs those of its folder that
  its strings name, or else the whole folder;
- every data file next to a module counts, below it too.

Packages here only gather names, so importing `a.b` counts `a/b.py` and not `a/__init__.py`.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

PACKAGE = "attn_course"
ROOT = Path(__file__).parents[1]  # the folder of the package
_BY_NAME = {"import_module", "__import__"}


def files_behind(
    modules: Iterable[str], root: Path = ROOT, without: Iterable[str] = ()
) -> set[Path]:
    """Return the files of the course that these modules need, in the package below `root`.

    `without` names modules that cannot matter, such as drawings where only numbers count.
    """
    found: set[Path] = set()
    ignored = {_file_of(name, root) for name in without}
    pending = [path for name in modules if (path := _file_of(name, root))]
    while pending:
        path = pending.pop()
        if path in found or path in ignored:
            continue
        found.add(path)
        found |= set(_data_next_to(path.parent))
        read = _read(path.read_text(encoding="utf-8"))
        pending += [file for name in read.imports if (file := _file_of(name, root))]
        if read.imports_by_name:
            named = [file for word in read.words if (file := _module_in(path.parent, word))]
            pending += named or path.parent.rglob("*.py")
    return found


def imported_by(source: str) -> set[str]:
    """Return the dotted names of the course that Python source imports."""
    return set(_read(source).imports)


def fingerprint(
    files: Iterable[Path],
    *also: str,
    root: Path = ROOT,
    content_of: Callable[[Path], bytes] = Path.read_bytes,
) -> str:
    """Return one word for the names and contents of files, and for further words such as versions.

    >>> fingerprint([], "torch 2.13.0") == fingerprint([], "torch 2.12.0")
    False
    """
    read = sha256()
    for path in sorted(set(files)):
        content = sha256(content_of(path)).hexdigest()
        read.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    for word in also:
        read.update(f"{word}\n".encode())
    return read.hexdigest()[:16]


def code_without_comments(path: Path) -> bytes:
    """Return what a file does: of Python neither comments nor line breaks, else every byte."""
    if path.suffix != ".py":
        return path.read_bytes()
    return ast.dump(ast.parse(path.read_text(encoding="utf-8"))).encode()


def code_without_words(path: Path) -> bytes:
    """Return what a file computes: `code_without_comments` without docstrings."""
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree).encode()


def _file_of(name: str, root: Path) -> Path | None:
    """Return the file of a module; a name inside a module means that module."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if found := _module_in(root.joinpath(*parts[: length - 1]), parts[length - 1]):
            return found
    return None


def _module_in(folder: Path, word: str) -> Path | None:
    """Return the file of the module or package `word` in a folder."""
    if not word.isidentifier():
        return None
    paths = (folder / word / "__init__.py", folder / f"{word}.py")
    return next((path for path in paths if path.is_file()), None)


class _Read(NamedTuple):
    """What is found in Python source."""

    imports: tuple[str, ...]  # names of the course
    imports_by_name: bool
    words: frozenset[str]  # all strings in it


@cache
def _read(source: str) -> _Read:
    nodes = list(ast.walk(ast.parse(source)))
    names = [name for node in nodes for name in _names_in(node) if name.split(".")[0] == PACKAGE]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
    words = frozenset(word for word in strings if isinstance(word, str))
    return _Read(tuple(names), bool(used & _BY_NAME), words)


def _names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _data_next_to(folder: Path) -> Iterator[Path]:
    """Yield the files in `folder` that are not Python, and those of folders that are no package."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".py":
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not list(path.glob("*.py")):
            yield from _data_next_to(path)
