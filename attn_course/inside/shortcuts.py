"""Did an answer use what its exercise asks to do without? Found by reading, and only a note.

An exercise may say `without=("torch.softmax", "torch.nn.functional")`: the point is to write that
oneself. Whoever uses it all the same gets the points, since the outputs are right, and a note
that the instructor sees too. Reading can be fooled (`getattr`, a name put together), so it must
never decide about points.
"""

import ast
from collections.abc import Iterable, Sequence

from attn_course.inside.notebook import Cell
from attn_course.inside.selection import select


def shortcuts(cells: Iterable[Cell], name: str, avoided: Sequence[str]) -> list[str]:
    """Return which of the `avoided` dotted names the answer `name` uses, as it wrote them out.

    >>> cell = Cell(1, "code", "import torch.nn.functional as F\\ndef f(x): return F.softmax(x, 0)")
    >>> shortcuts([cell], "f", ["torch.nn.functional"])
    ['torch.nn.functional.softmax']
    """
    selection = select(cells, [name])
    needed = [part for part in selection.statements if part.place in selection.needs[name]]
    nodes = [node for part in needed for node in ast.walk(ast.parse(part.source))]
    meanings = _imported(nodes)
    used = {_meaning(node, meanings) for node in nodes}
    found = {word for word in used if any(_is_within(word, one) for one in avoided)}
    methods = {one.rpartition(".")[2] for one in avoided}
    called = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in methods]
    # `scores.softmax(-1)`: a tensor brings such functions along as methods.
    found |= {f".{node.attr}" for node in called if not _meaning(node, meanings)}
    return sorted(word for word in found if not any(_is_longer(other, word) for other in found))


def _imported(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return what the imported names stand for: `F` for `torch.nn.functional`."""
    meanings: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                meanings[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            meanings |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return meanings


def _meaning(node: ast.AST, meanings: dict[str, str]) -> str:
    """Return the dotted name that `F.softmax` stands for, or nothing for any other expression."""
    if isinstance(node, ast.Name):
        return meanings.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = _meaning(node.value, meanings)
        return f"{before}.{node.attr}" if before else ""
    return ""


def _is_within(word: str, name: str) -> bool:
    return word == name or word.startswith(name + ".")


def _is_longer(other: str, word: str) -> bool:
    return other != word and _is_within(other, word)
