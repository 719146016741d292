"""Where does a wrong answer leave the right ones? At the first number that none of them has.

Every expression of the learner's function notes its value on one failing case, and so does every
expression of the right answers that the course knows. A value whose numbers all occur in a right
answer is known. The first expression that makes unknown numbers out of known ones is where the
answer departs: a fact about the learner's own code, and nearly always the place to look.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_course.practice.compare import as_array
from attn_course.practice.small_changes import code_of, first_line_of
from attn_course.translate import _

_NOTED = (ast.Name, ast.Call, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute, ast.Compare)
_CLOSE = 1e-6  # relative: two ways to the same number differ by less
_MOST_EVENTS = 20_000

Namespace = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """An expression, by its number, and the numbers that it brought."""

    number: int
    value: np.ndarray
    shape: tuple[int, ...]  # its sides longer than 1, in order of length: axes may be elsewhere


def noting(source: str) -> tuple[ast.Module, "Noting"]:
    """Return a program whose expressions note what they bring, and which expressions these are."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []  # of the course's own: they would define an exercise again
    notes = Noting()
    return ast.fix_missing_locations(notes.visit(tree)), notes


class Noting(ast.NodeTransformer):
    """Puts every expression that may bring numbers into a call that notes them."""

    def __init__(self) -> None:
        self.nodes: list[ast.expr] = []
        self.parts: dict[int, list[int]] = {}  # the noted expressions that one is made of
        self.statements: dict[int, ast.stmt] = {}
        self._above: list[int] = []
        self._statement: ast.stmt | None = None

    def whole_is_known(self, number: int, later: Iterable[tuple[int, bool]]) -> bool:
        """Return whether the expression that a part belongs to brings known numbers next."""
        wholes = [whole for whole, parts in self.parts.items() if number in parts]
        return next((is_known for other, is_known in later if other in wholes), False)

    def visit(self, node: ast.AST) -> Any:
        """Return a node with everything noted that is inside it."""
        if isinstance(node, ast.stmt):
            before, self._statement = self._statement, node
            self.generic_visit(node)
            self._statement = before
            return node
        if isinstance(node, ast.Slice | ast.arguments) or _is_index(node):
            return node
        if not isinstance(node, _NOTED) or not isinstance(getattr(node, "ctx", _READ), ast.Load):
            return self.generic_visit(node)
        return self._noted(node)

    def _noted(self, node: Any) -> ast.Call:
        number = len(self.nodes)
        self.nodes.append(node)
        self.parts[number] = []
        if self._above:
            self.parts[self._above[-1]].append(number)
        if self._statement is not None:
            self.statements[number] = self._statement
        self._above.append(number)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):  # what a method is called on
                node.func.value = self.visit(node.func.value)
            node.args = [self.visit(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
        elif isinstance(node, ast.Subscript):
            node.value = self.visit(node.value)
        else:
            self.generic_visit(node)
        self._above.pop()
        called = ast.Call(ast.Name("_note", ast.Load()), [ast.Constant(number), node], [])
        return ast.copy_location(called, node)


_READ = ast.Load()


def _is_index(node: ast.AST) -> bool:
    return isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts)


class Notebook:
    """What the expressions of one program brought, in the order in which they were worked out."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def note(self, number: int, value: Any) -> Any:
        """Keep numbers, and hand the value on."""
        measures = isinstance(value, float) or hasattr(value, "dtype")  # a shape or a size does not
        if measures and len(self.events) < _MOST_EVENTS:
            array = as_array(value)
            if array is not None and array.size:
                sides = tuple(sorted(size for size in array.shape if size > 1))
                self.events.append(Event(number, array.astype(float).ravel(), sides))
        return value


def run_noting(
    tree: ast.Module, name: str, namespace: Namespace, call: Callable[[Any], Any]
) -> list[Event]:
    """Return what the expressions of a program bring while `call` uses what it calls `name`."""
    notebook = Notebook()
    namespace["_note"] = notebook.note
    exec(compile(tree, "<noted>", "exec"), namespace)
    notebook.events.clear()
    try:
        call(namespace[name])
    except Exception:  # what was noted before counts
        return notebook.events
    return notebook.events


def first_departure(
    source: str,
    notes: "Noting",
    events: Iterable[Event],
    right: Sequence[Event],
    by_shape: bool = False,
) -> str | None:
    """Return a sentence about the first expression whose numbers no right answer has.

    An expression inside another whose numbers are known again does not count: `0.2 * x` in
    `np.where(x > 0, x, 0.2 * x)` has numbers that are never used. `by_shape`: the answer has the
    wrong shape, so an array is known only if right answers have one of its shape.
    """
    known, shapes = _Pool(event.value for event in right), {event.shape for event in right}
    brought = [
        (event.number, known.has(event.value) and (not by_shape or event.shape in shapes))
        for event in events
    ]
    last: dict[int, bool] = {}  # whether the numbers that an expression brought last are known
    for at, (number, is_known) in enumerate(brought):
        parts = notes.parts[number]
        departs = not is_known and parts and all(last.get(part, True) for part in parts)
        if departs and not notes.whole_is_known(number, brought[at + 1 :]):
            return _sentence(source, notes, number, was_right=last.get(number, False))
        last[number] = is_known
    return None


def _sentence(source: str, notes: "Noting", number: int, was_right: bool) -> str:
    statement = notes.statements[number]
    sentence = _(
        "Your numbers are those of a right answer until the line `{line}`. "
        "The first number that no right answer has comes from `{code}`."
    )
    if was_right:
        sentence = _(
            "Your numbers are those of a right answer until the line `{line}`. "
            "The first number that no right answer has comes from `{code}`, "
            "although it was right when it ran before."
        )
    return sentence.format(
        line=first_line_of(statement, source), code=code_of(notes.nodes[number], source)
    )


class _Pool:
    """All numbers that right answers bring on the way."""

    def __init__(self, values: Iterable[np.ndarray]) -> None:
        together = np.concatenate([np.array([0.0, 1.0]), *values])
        self._infinite = set(together[np.isinf(together)].tolist())
        self._sorted = np.unique(together[np.isfinite(together)])

    def has(self, value: np.ndarray) -> bool:
        """Return whether each number occurs in a right answer; NaN never counts as known."""
        if np.isnan(value).any() or not self._infinite >= set(value[np.isinf(value)].tolist()):
            return False
        numbers = value[np.isfinite(value)]
        at = np.clip(np.searchsorted(self._sorted, numbers), 1, len(self._sorted) - 1)
        gap = np.minimum(np.abs(self._sorted[at] - numbers), np.abs(self._sorted[at - 1] - numbers))
        return bool((gap <= _CLOSE * np.maximum(np.abs(numbers), 1e-3)).all())
