"""Small wrongs, made by machine: every way to change one operator, axis or constant of a program.

`mutants_of` reads a program as a tree, changes one node and writes it back, once for each change.
A check that lets such a mutant pass does not look closely enough, or the change changes nothing.

Read next: `survivors`, which lets the checks loose on the mutants of a solution.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_OTHER_OPERATOR: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.MatMult: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_ONE_SIDED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult, ast.Pow)  # a - b is not b - a
_OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OTHER_AXES = {-1: (-2, 0), -2: (-1, 0), -3: (-1, -2), 0: (1,), 1: (0,), 2: (1,)}
_AXIS_KEYWORDS = ("axis", "dim", "axes", "dims", "dim0", "dim1")
# Functions and methods that take axes without a keyword too.
_ALONG_AXES = (
    *("all", "any", "argmax", "argmin", "argsort", "cumsum", "flip", "log_softmax", "logsumexp"),
    *("amax", "amin", "max", "mean", "min", "prod", "softmax", "sort", "std", "sum", "var"),
    *("cat", "concatenate", "expand_dims", "moveaxis", "size", "squeeze", "stack", "swapaxes"),
    *("transpose", "unbind", "unsqueeze"),
)
_SYMMETRIC = ("add", "allclose", "dot", "isclose", "logaddexp", "max", "maximum", "min", "minimum")
# What these return has the numbers that they were given.
_SAME_NUMBERS = (
    *("array", "as_tensor", "asarray", "clone", "contiguous", "copy", "cpu", "detach", "double"),
    *("item", "numpy", "tolist"),
)
_LIBRARIES = ("F", "functional", "math", "nn", "np", "torch")


@dataclass(frozen=True)
class Mutant:
    """A program with one change: its text, what kind of change it is, and which line became what.

    The change is the text of the statement before and after, laid out by Python itself, so it
    stays the same when a comment or a line break moves.
    """

    source: str
    kind: str
    change: str


Change = tuple[str, ast.AST]  # the kind of change, and what comes in a node's place


@dataclass
class Place:
    """A node in a tree, and where it hangs."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    statement: ast.stmt
    above: "Place | None"

    def put(self, node: ast.AST) -> None:
        """Hang another node there."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(source: str) -> list[Mutant]:
    """Return every program that differs from `source` in one change.

    >>> for mutant in mutants_of("y = 2 * x"):
    ...     print(f"{mutant.kind}: {mutant.change}")
    operator: y = 2 * x -> y = 2 / x
    operand left out: y = 2 * x -> y = 2
    operand left out: y = 2 * x -> y = x
    constant: y = 2 * x -> y = 3 * x
    constant: y = 2 * x -> y = -2 * x
    constant: y = 2 * x -> y = 0 * x
    """
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    found = []
    for place in list(places(tree)):
        statement = place.statement
        before = _first_line(statement)
        for kind, changed in changes(place):
            place.put(changed)
            text = ast.unparse(tree)
            after = _first_line(changed if isinstance(changed, ast.stmt) else statement)
            place.put(place.node)
            if text not in seen:
                seen.add(text)
                found.append(Mutant(text, kind, f"{before} -> {after}"))
    return found


def places(tree: ast.Module) -> Iterator[Place]:
    """Yield every node below `tree` with its place, from top to bottom."""

    def below(node: ast.AST, statement: ast.stmt | None, above: Place | None) -> Iterator[Place]:
        for field, value in ast.iter_fields(node):
            children = enumerate(value) if isinstance(value, list) else [(None, value)]
            for index, child in children:
                if not isinstance(child, ast.AST):
                    continue
                own = child if isinstance(child, ast.stmt) else statement
                assert own is not None  # a module holds statements and nothing else
                place = Place(child, node, field, index, own, above)
                yield place
                if number_at(child) is None:  # -1 is one number, not 1 with a sign
                    yield from below(child, own, place)

    yield from below(tree, None, None)


def _first_line(statement: ast.stmt) -> str:
    """Return a statement as one line: of a loop or a definition the line that begins it."""
    text = ast.unparse(statement)
    return text.split("\n")[0] if hasattr(statement, "body") else text


def changes(place: Place) -> Iterator[Change]:
    """Yield replacements for the code at a place, each with the kind of change."""
    for kind in _KINDS:
        yield from kind(place)


def _other_number(place: Place) -> Iterator[Change]:
    number = number_at(place.node)
    if number is None:
        return
    if is_axis(place):
        for axis in _OTHER_AXES.get(int(number), ()):
            yield "axis", constant_of(axis)
        return
    larger = number - 1 if number < 0 else number + 1
    for other in (larger, -number, 0 * number):
        if other != number:
            yield "constant", constant_of(other)


def _other_truth(place: Place) -> Iterator[Change]:
    node = place.node
    guards = isinstance(place.parent, ast.keyword) and place.parent.arg == "strict"  # zip's
    if isinstance(node, ast.Constant) and isinstance(node.value, bool) and not guards:
        yield "true or false", ast.Constant(not node.value)


def _other_arithmetic(place: Place) -> Iterator[Change]:
    node = place.node
    if not isinstance(node, ast.BinOp):
        return
    other = _OTHER_OPERATOR.get(type(node.op))
    if other:
        yield "operator", ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, _ONE_SIDED):
        yield "operands swapped", ast.BinOp(node.right, node.op, node.left)
    yield "operand left out", node.left
    yield "operand left out", node.right


def _other_update(place: Place) -> Iterator[Change]:
    node = place.node
    other = _OTHER_OPERATOR.get(type(node.op)) if isinstance(node, ast.AugAssign) else None
    if isinstance(node, ast.AugAssign) and other:
        yield "operator", ast.AugAssign(node.target, other(), node.value)


def _without_statement(place: Place) -> Iterator[Change]:
    node = place.node
    does_something = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if does_something or isinstance(node, ast.AugAssign):
        yield "statement left out", ast.Pass()


def _without_sign(place: Place) -> Iterator[Change]:
    if isinstance(place.node, ast.UnaryOp) and number_at(place.node) is None:
        yield "sign or not left out", place.node.operand


def _other_comparison(place: Place) -> Iterator[Change]:
    node = place.node
    if not isinstance(node, ast.Compare):
        return
    for at, operator in enumerate(node.ops):
        for compares in _OTHER_COMPARISONS[type(operator)]:
            operators = [*node.ops[:at], compares(), *node.ops[at + 1 :]]
            yield "comparison", ast.Compare(node.left, operators, node.comparators)


def _other_condition(place: Place) -> Iterator[Change]:
    node = place.node
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and or or", ast.BoolOp(other, node.values)
        for at in range(len(node.values)):
            kept = node.values[:at] + node.values[at + 1 :]
            yield "operand left out", ast.BoolOp(node.op, kept) if len(kept) > 1 else kept[0]
    elif isinstance(node, ast.IfExp):
        yield "branches swapped", ast.IfExp(node.test, node.orelse, node.body)
    elif place.field == "test" and isinstance(node, ast.Name | ast.Call | ast.Attribute):
        yield "condition turned round", ast.UnaryOp(ast.Not(), node)


def _without_transpose(place: Place) -> Iterator[Change]:
    if isinstance(place.node, ast.Attribute) and place.node.attr in ("T", "mT"):
        yield "transpose left out", place.node.value


def _other_new_axis(place: Place) -> Iterator[Change]:
    """Turn `x[..., None, :]` into `x[..., :, None]`: the new axis changes places with another."""
    node = place.node
    if not isinstance(node, ast.Tuple) or not isinstance(place.parent, ast.Subscript):
        return
    for at, (one, following) in enumerate(pairwise(node.elts)):
        if _is_none(one) != _is_none(following):
            order = [*node.elts[:at], following, one, *node.elts[at + 2 :]]
            yield "new axis elsewhere", ast.Tuple(order, node.ctx)


def _other_call(place: Place) -> Iterator[Change]:
    node = place.node
    if not isinstance(node, ast.Call):
        return
    name = _called(node)
    plain = not any(isinstance(argument, ast.Starred) for argument in node.args)
    if plain and name not in _SYMMETRIC and not _takes_axes(node):
        for at, (one, following) in enumerate(pairwise(node.args)):
            swapped = [*node.args[:at], following, one, *node.args[at + 2 :]]
            yield "arguments swapped", ast.Call(node.func, swapped, node.keywords)
    if name in _SAME_NUMBERS:
        return
    if isinstance(node.func, ast.Attribute) and _is_method(node):
        yield "call left out", node.func.value
    elif plain and node.args:
        yield "call left out", node.args[0]


_KINDS = (
    _other_number,
    _other_truth,
    _other_arithmetic,
    _other_update,
    _without_statement,
    _without_sign,
    _other_comparison,
    _other_condition,
    _without_transpose,
    _other_new_axis,
    _other_call,
)


def number_at(node: ast.AST) -> int | float | None:
    """Return the number that a node writes down, with its sign, or None where it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_at(node.operand) if isinstance(node.operand, ast.Constant) else None
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, int | float)
        return node.value
    return None


def constant_of(number: int | float) -> ast.expr:
    """Return a number as Python reads it: a minus sign is an operator."""
    size = ast.Constant(abs(number))
    return ast.UnaryOp(ast.USub(), size) if number < 0 else size


def is_axis(place: Place) -> bool:
    """Return whether a number counts axes: there -1 and 1 may well be the same."""
    parent, above = place.parent, place.above
    if isinstance(parent, ast.Tuple | ast.List) and above is not None:  # axis=(-2, -1)
        return is_axis(above)
    if isinstance(parent, ast.keyword):
        return parent.arg in _AXIS_KEYWORDS
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape"
    if isinstance(parent, ast.Call) and place.field == "args":
        others = 0 if _is_method(parent) else 1
        return _takes_axes(parent) and (place.index or 0) >= others
    return False


def _takes_axes(call: ast.Call) -> bool:
    # np.max counts axes, Python's own max does not.
    return isinstance(call.func, ast.Attribute) and call.func.attr in _ALONG_AXES


def _called(call: ast.Call) -> str | None:
    """Return the last name of what is called: `sum` of `np.sum(x)` and of `x.sum()`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _is_method(call: ast.Call) -> bool:
    """Return whether something is done to an array: `x.sum()`, not `np.sum(x)`."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    if isinstance(owner, ast.Name) and owner.id == "self":  # a learner's own: self.ask(x)
        return False
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return not (isinstance(owner, ast.Name) and owner.id in _LIBRARIES)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
