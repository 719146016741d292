"""Other right ways to write an answer: the variants of an exercise, for a learner to read.

The checks know them so that no right answer is refused. Only functions that need nothing else are
shown: they call libraries and themselves, and nothing of the course that a notebook does not have.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from attn_course.practice.exercise import Exercise

_MOST = 3


def other_ways(exercise: Exercise) -> tuple[str, ...]:
    """Return the source of at most three right answers that were written in another way.

    The shortest comes first. Of values there is nothing to read, and classes are long.
    """
    if exercise.kind != "function":
        return ()
    variants = exercise.definition.variants.values()
    found = [source for one in variants if (source := _source(one))]
    return tuple(sorted(found, key=lambda source: (source.count("\n"), len(source)))[:_MOST])


def _source(variant: Any) -> str:
    """Return the text of a function that needs nothing else, or nothing."""
    function = inspect.unwrap(variant)
    if not isinstance(function, FunctionType):
        return ""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except OSError:  # there is no file: it was typed somewhere
        return ""
    (tree,) = ast.parse(text).body
    if not isinstance(tree, ast.FunctionDef) or not _stands_alone(function, tree):
        return ""
    lines = text.rstrip().split("\n")
    for decorator in reversed(tree.decorator_list):
        if isinstance(decorator, ast.Attribute) and decorator.attr == "variant":
            del lines[decorator.lineno - 1 : decorator.end_lineno]
    return "\n".join(lines)


def _stands_alone(function: FunctionType, tree: ast.FunctionDef) -> bool:
    """Return whether all that it uses from outside is a library or itself."""
    if function.__closure__:
        return False
    written = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    outside = written & set(_names(function.__code__)) & set(function.__globals__)
    values = [function.__globals__[name] for name in outside - {function.__name__}]
    return all(isinstance(one, ModuleType) and not _is_ours(one) for one in values)


def _is_ours(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "attn_course"


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code looks up outside itself, and the attributes it uses."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
