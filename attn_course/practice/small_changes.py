"""Small changes of a learner's own code, each with the words for it: what `repairs` tries.

A natural mistake is nearly always one small change away from a right program, whichever way that
program is written. `small_changes` makes these changes in place, one at a time: it yields the words
for a change while the tree has it, and takes it back when it is asked for the next one. To the
changes that make mutants (`mutants`) it adds those that only a repair needs: another variable,
another function, a step that is missing, a line in another place.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations

from attn_course.practice.mutants import Place, changes, constant_of, is_axis, number_at, places
from attn_course.translate import _

_LONGEST = 72  # of a line that is quoted
_FAR = 1e280  # a number that is so much larger is larger than all others
_ARITHMETIC = (ast.Mult, ast.Div, ast.Add, ast.Sub, ast.MatMult)
_LOGIC = (ast.BitAnd, ast.BitOr, ast.BitXor)
_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Mult: "*",
    ast.Div: "/",
    ast.Add: "+",
    ast.Sub: "-",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
# Functions and methods that are taken for one another.
_SIBLINGS = (
    ("repeat", "tile"),
    ("max", "min"),
    ("sum", "mean", "prod"),
    ("maximum", "minimum", "add", "fmax"),
    ("argmax", "argmin"),
    ("any", "all"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("cumsum", "sum", "cumprod"),
    ("stack", "concatenate"),
    ("append", "extend"),
    ("exp", "expm1", "exp2"),
    ("log", "log2", "log10", "log1p"),
    ("floor", "ceil", "round"),
    ("std", "var"),
    ("tril", "triu"),
    ("less", "less_equal"),
    ("greater", "greater_equal"),
    ("where", "take"),
)
_COUNTING = ("range", "arange", "slice", "zeros", "ones", "eye", "tri", "tril", "triu", "roll")
_STARTS = ("zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like")
_REDUCTIONS = ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "std", "var")
_WRAPPINGS = ("exp", "log", "sqrt", "abs", "square")


@dataclass(frozen=True)
class SmallChange:
    """What was changed, in words, and the line that it was changed in."""

    words: str
    line: str

    @property
    def sentence(self) -> str:
        """What a learner reads: where to look, and not what to write."""
        sentence = _(
            "With one small change your answer is right in every case of this check. "
            "Look at the line `{line}`: {words}."
        )
        return sentence.format(line=self.line, words=self.words)


def small_changes(source: str, tree: ast.Module) -> Iterator[SmallChange]:
    """Yield each small change while `tree`, which was parsed from `source`, has it.

    >>> text = "def f(x, y):\\n    return x - y"
    >>> tree = ast.parse(text)
    >>> for change in small_changes(text, tree):
    ...     print(change.words, "|", ast.unparse(tree).split("\\n")[1].strip())
    ...     break
    it needs another operator in `x - y` | return x + y
    """
    yield from _special_cases(tree, source)
    # A condition that is never met is no repair: whole cases are left out above.
    found = [place for place in places(tree) if not _is_in_a_condition(place)]
    names = _names(tree)
    for kind in _EXPRESSIONS:
        for place in found:
            for word, node in kind(place, names):
                with _put(place, node):
                    yield SmallChange(_in_words(word, place, source), _line(place, source))
    yield from _statements(tree, names, source)
    yield from _everywhere(found, names, source)
    yield from _with_one_more(found, names, source)


@contextmanager
def _put(place: Place, node: ast.AST) -> Iterator[None]:
    place.put(node)
    try:
        yield
    finally:
        place.put(place.node)


# --- words ------------------------------------------------------------------------------------


def _in_words(kind: str, place: Place, source: str) -> str:
    code = code_of(place.node, source)
    words = {
        "axis": _("it needs another axis than `{code}`"),
        "constant": _("it needs another number than `{code}`"),
        "true or false": _("it needs the other of True and False"),
        "operator": _("it needs another operator in `{code}`"),
        "operands swapped": _("the two sides of `{code}` need to change places"),
        "operand left out": _("it needs only one side of `{code}`"),
        "statement left out": _("it is not needed"),
        "sign or not left out": _("it needs `{code}` without its sign"),
        "comparison": _("it needs another comparison than `{code}`"),
        "and or or": _("it needs another word than the `and` or `or` in `{code}`"),
        "branches swapped": _("the two cases of `{code}` need to change places"),
        "condition turned round": _("it needs the opposite of `{code}`"),
        "transpose left out": _("it needs `{code}` without the transpose"),
        "new axis elsewhere": _("the new axis belongs elsewhere in `[{code}]`"),
        "arguments swapped": _("the arguments of `{code}` need another order"),
        "call left out": _("it needs `{code}` without the call around it"),
    }
    return words.get(kind, kind).format(code=code)


def code_of(node: ast.AST, source: str) -> str:
    """Return a part of the program as the learner wrote it, on one line."""
    text = ast.get_source_segment(source, node) if hasattr(node, "lineno") else None
    return _shortened(text or ast.unparse(node))


def _line(place: Place, source: str) -> str:
    return first_line_of(place.statement, source)


def first_line_of(statement: ast.stmt, source: str) -> str:
    """Return a statement as the learner wrote it; of a loop only the line that begins it."""
    text = ast.get_source_segment(source, statement) or ast.unparse(statement)
    line = text.split("\n")[0] if hasattr(statement, "body") else text
    return _shortened(line.split("#")[0])


def _shortened(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= _LONGEST else f"{short[:_LONGEST]}…"


# --- one expression ---------------------------------------------------------------------------

_Kind = Callable[[Place, Sequence[str]], Iterator[tuple[str, ast.AST]]]


def _names(tree: ast.Module) -> list[str]:
    """Return the parameters and variables of a function, in the order in which they appear."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            found[node.arg] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
    return list(found)


def _is_value(place: Place) -> bool:
    """Return whether a node is an expression whose value is used, and not the target of one."""
    node = place.node
    is_read = isinstance(getattr(node, "ctx", None), ast.Load) or not hasattr(node, "ctx")
    return isinstance(node, ast.expr) and is_read and place.field not in ("func", "annotation")


def _as_in_mutants(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    yield from changes(place)


def _other_name(place: Place, names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    node = place.node
    if isinstance(node, ast.Name) and node.id in names and _is_value(place):
        for name in names:
            if name != node.id:
                words = _("it needs another variable than `{code}`")
                yield words, ast.Name(name, ast.Load())


def _a_variable_instead(place: Place, names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    node = place.node
    if isinstance(node, ast.Call | ast.Subscript | ast.Attribute) and _is_value(place):
        used = {one.id for one in ast.walk(place.statement) if isinstance(one, ast.Name)}
        for name in names:
            if name not in used:  # one that is there already is left when a call is left out
                words = _("a variable that you have already belongs there instead of `{code}`")
                yield words, ast.Name(name, ast.Load())


def _other_operator(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    node = place.node
    if not isinstance(node, ast.BinOp):
        return
    family = _LOGIC if isinstance(node.op, _LOGIC) else _ARITHMETIC
    for operator in family:
        if not isinstance(node.op, operator):
            yield "operator", ast.BinOp(node.left, operator(), node.right)


def _other_brackets(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    """Turn (a ∘ b) ∙ c into a ∘ (b ∙ c), and back."""
    node, words = place.node, _("the brackets belong elsewhere in `{code}`")
    if not isinstance(node, ast.BinOp):
        return
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp):
        yield words, ast.BinOp(left.left, left.op, ast.BinOp(left.right, node.op, right))
    if isinstance(right, ast.BinOp):
        yield words, ast.BinOp(ast.BinOp(left, node.op, right.left), right.op, right.right)


def _one_more_or_less(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    node = place.node
    parent, called = place.parent, ""
    if isinstance(parent, ast.Call) and place.field == "args":
        called = getattr(parent.func, "attr", getattr(parent.func, "id", ""))
    counts = isinstance(parent, ast.Slice | ast.Compare) or called in _COUNTING
    if not counts or not isinstance(node, ast.expr) or isinstance(node, ast.Constant):
        return
    if not _is_value(place):
        return
    for operator in (ast.Add(), ast.Sub()):
        words = _("it needs one more or one less than `{code}`")
        yield words, ast.BinOp(node, operator, ast.Constant(1))


def _other_size(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    """Turn `len(x)` into `x.shape[-2]`, a number of many into another, and an end into none."""
    node, number = place.node, number_at(place.node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        for axis in (-1, -2, -3):
            shape = ast.Attribute(node.args[0], "shape", ast.Load())
            words = _("it needs the length of another axis than `{code}` has")
            yield words, ast.Subscript(shape, constant_of(axis), ast.Load())
    if number is not None:
        for other in (number - 1, number + 2, number - 2, 2 * number, number / 2, number * _FAR):
            if other != number:
                yield "axis" if is_axis(place) else "constant", constant_of(other)
    if isinstance(node, ast.Slice):
        words = _("it needs another range than `[{code}]`")
        for lower, upper in ((None, node.upper), (node.lower, None)):
            if (lower, upper) != (node.lower, node.upper):
                yield words, ast.Slice(lower, upper, node.step)


def _other_function(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    node = place.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    for family in _SIBLINGS:
        if node.func.attr in family:
            for name in family:
                if name != node.func.attr:
                    function = ast.Attribute(node.func.value, name, ast.Load())
                    words = _("it needs another function than `{name}`").format(name=node.func.attr)
                    if name in _STARTS:
                        words = _("the numbers that `{code}` starts with are wrong")
                    yield words, ast.Call(function, node.args, node.keywords)


def _other_reduction(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    """Give a sum or a maximum another axis, none, or keepdims."""
    node = place.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr not in _REDUCTIONS:
        return
    given = {keyword.arg: keyword for keyword in node.keywords}
    words = _("it needs another axis, or another keepdims, in `{code}`")
    for axis in (None, -1, -2, 0, 1, -3):
        for keeps in (False, True):
            keywords = [k for name, k in given.items() if name not in ("axis", "keepdims")]
            if axis is not None:
                keywords.append(ast.keyword("axis", constant_of(axis)))
            if keeps:
                keywords.append(ast.keyword("keepdims", ast.Constant(True)))
            yield words, ast.Call(node.func, node.args, keywords)


def _done_to_the_parts(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    """Turn f(a ∘ b) into f(a) ∘ f(b), f(a) ∘ b and a ∘ f(b), and f(a) ∘ f(b) into f(a ∘ b)."""
    node = place.node
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.BinOp):
        inner = node.args[0]
        words = _("`{function}` belongs elsewhere in `{{code}}`").format(
            function=ast.unparse(node.func)
        )
        left, right = _called(node, inner.left), _called(node, inner.right)
        for one, other in ((left, right), (left, inner.right), (inner.left, right)):
            yield words, ast.BinOp(one, inner.op, other)
    if isinstance(node, ast.BinOp):
        one, other = node.left, node.right
        for called, rest in ((one, other), (other, one)):
            if not isinstance(called, ast.Call) or len(called.args) != 1:
                continue
            same = isinstance(rest, ast.Call) and ast.dump(rest.func) == ast.dump(called.func)
            within = rest.args[0] if same and isinstance(rest, ast.Call) and rest.args else rest
            parts = (called.args[0], within) if called is one else (within, called.args[0])
            words = _("`{function}` belongs elsewhere in `{{code}}`").format(
                function=ast.unparse(called.func)
            )
            yield words, _called(called, ast.BinOp(parts[0], node.op, parts[1]))


def _called(like: ast.Call, argument: ast.expr) -> ast.Call:
    return ast.Call(like.func, [argument], like.keywords)


def _with_a_step(place: Place, _names: Sequence[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may have been forgotten: a sign, a transpose, a new axis, a function, a copy."""
    node = place.node
    if not isinstance(node, ast.expr) or isinstance(node, ast.Constant | ast.Slice | ast.Tuple):
        return
    if not _is_value(place):
        return
    words = _("a step is missing at `{code}`")
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _STARTS:
        words = _("the numbers that `{code}` starts with are wrong")
    if isinstance(place.parent, ast.Call | ast.Assign | ast.Return | ast.keyword):
        kept = _("`{code}` is changed later, so it needs a copy here")
        yield kept, ast.Call(ast.Attribute(node, "copy", ast.Load()), [], [])
    yield _("it needs the opposite sign of `{code}`"), ast.UnaryOp(ast.USub(), node)
    yield _("it needs the opposite of `{code}`"), ast.UnaryOp(ast.Invert(), node)
    axes = [constant_of(-1), constant_of(-2)]
    turned = _("it needs `{code}` transposed")
    yield turned, ast.Call(ast.Attribute(node, "swapaxes", ast.Load()), axes, [])
    for index in ("..., None", "..., None, :", ":, None", "None"):
        at = ast.parse(f"_[{index}]", mode="eval").body
        assert isinstance(at, ast.Subscript)
        yield _("it needs a new axis at `{code}`"), ast.Subscript(node, at.slice, ast.Load())
    for name in _WRAPPINGS:
        function = ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
        yield words, ast.Call(function, [node], [])


_EXPRESSIONS: tuple[_Kind, ...] = (
    _as_in_mutants,
    _other_operator,
    _other_size,
    _one_more_or_less,
    _other_reduction,
    _other_function,
    _other_brackets,
    _other_name,
    _a_variable_instead,
    _done_to_the_parts,
    _with_a_step,
)


# --- the same change everywhere ---------------------------------------------------------------


def _everywhere(found: list[Place], names: Sequence[str], source: str) -> Iterator[SmallChange]:
    """Yield one change made wherever the same code occurs: who errs, errs twice."""
    alike: dict[str, list[Place]] = {}
    for place in found:
        is_range = isinstance(place.node, ast.Slice)
        if isinstance(place.node, ast.expr) and _is_value(place) and not is_range:
            alike.setdefault(_role(place), []).append(place)
    for same in alike.values():
        if len(same) < 2:
            continue
        first = same[0]
        for kind in _EXPRESSIONS:
            for word, node in kind(first, names):
                for place in same:
                    place.put(node)
                words = _in_words(word, first, source)
                yield SmallChange(
                    _("{words}, here and wherever else you wrote that").format(words=words),
                    _line(first, source),
                )
                for place in same:
                    place.put(place.node)


def _role(place: Place) -> str:
    """Return what tells one use of the same code from another: an axis is no index."""
    keyword = place.parent.arg if isinstance(place.parent, ast.keyword) else ""
    return f"{ast.dump(place.node)} {type(place.parent).__name__} {place.field} {keyword}"


# --- special cases ----------------------------------------------------------------------------


def _is_in_a_condition(place: Place) -> bool:
    above: Place | None = place
    while above is not None:
        if above.field == "test" and isinstance(above.parent, ast.If | ast.IfExp):
            return True
        above = above.above
    return False


def _special_cases(tree: ast.Module, source: str) -> Iterator[SmallChange]:
    """Yield each `if` without its special case, without the ordinary one, and turned round."""
    not_needed = _("without a special case for this, your answer is right")
    always = _("what it does is needed in every case")
    for block in list(_blocks(tree)):
        before = list(block)
        for at, statement in enumerate(before):
            if not isinstance(statement, ast.If):
                continue
            line = first_line_of(statement, source)
            for words, kept in ((not_needed, statement.orelse), (always, statement.body)):
                block[at : at + 1] = kept or [ast.Pass()]
                yield SmallChange(words, line)
                block[:] = before
    for place in list(places(tree)):
        if isinstance(place.node, ast.IfExp):
            for words, value in ((not_needed, place.node.orelse), (always, place.node.body)):
                with _put(place, value):
                    yield SmallChange(words, _line(place, source))
    for place in [place for place in places(tree) if _is_in_a_condition(place)]:
        if isinstance(place.node, ast.Compare | ast.BoolOp):
            for _kind, node in changes(place):
                with _put(place, node):
                    words = _("its condition is not the right one")
                    yield SmallChange(words, _line(place, source))


# --- whole lines ------------------------------------------------------------------------------


def _statements(tree: ast.Module, names: Sequence[str], source: str) -> Iterator[SmallChange]:
    """Yield lines left out, moved, put elsewhere, and variables that were not passed on."""
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    for block in list(_blocks(function)):
        before = list(block)
        for at, statement in enumerate(before):
            line = first_line_of(statement, source)
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
                block[at] = ast.Pass()
                yield SmallChange(_("it is not needed"), line)
                block[at] = statement
            for replaced in _other_updates(statement):
                block[at] = replaced
                yield SmallChange(_("it needs another way to update its variable"), line)
                block[at] = statement
            for to in range(len(before)):
                if to != at and not isinstance(statement, ast.Return):
                    block[:] = [*before[:at], *before[at + 1 :]]
                    block.insert(to, statement)
                    yield SmallChange(_("it belongs earlier or later"), line)
                    block[:] = before
            yield from _in_or_out(block, at, source)
        for loop in (node for node in _loops(function) if node.body is block):
            for target, value in permutations(names, 2):
                block.append(
                    ast.Assign([ast.Name(target, ast.Store())], ast.Name(value, ast.Load()))
                )
                words = _("at its end `{name}` has to get its new value for the next round")
                yield SmallChange(words.format(name=target), first_line_of(loop, source))
                block[:] = before


def _other_updates(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield `x = x + y` for `x += y`, and `x += y` for `x = y`."""
    if isinstance(statement, ast.AugAssign):
        target = statement.target
        read = ast.parse(ast.unparse(target), mode="eval").body
        yield ast.Assign([target], ast.BinOp(read, statement.op, statement.value))
        yield ast.Assign([target], statement.value)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        target = statement.targets[0]
        for operator in (ast.Add(), ast.Mult(), ast.BitOr(), ast.BitAnd()):
            yield ast.AugAssign(target, operator, statement.value)


def _in_or_out(block: list[ast.stmt], at: int, source: str) -> Iterator[SmallChange]:
    """Yield a line of a loop moved before or after the loop, and a line moved into it."""
    statement, before = block[at], list(block)
    inner = getattr(statement, "body", None)
    if isinstance(statement, ast.For | ast.While | ast.If) and isinstance(inner, list):
        lines = list(inner)
        for number, line in enumerate(lines):
            rest = [*lines[:number], *lines[number + 1 :]] or [ast.Pass()]
            for place in (at, at + 1):
                inner[:] = rest
                block.insert(place, line)
                words = _("it belongs outside the block that it is in")
                yield SmallChange(words, first_line_of(line, source))
                block[:], inner[:] = before, lines
        for other in (at - 1, at + 1):
            if 0 <= other < len(before):
                moved = before[other]
                for place in (0, len(lines)):
                    block[:] = [*before[:other], *before[other + 1 :]]
                    inner.insert(place, moved)
                    words = _("it belongs inside the block next to it")
                    yield SmallChange(words, first_line_of(moved, source))
                    block[:], inner[:] = before, lines


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for child in ast.walk(node):
        for field in ("body", "orelse"):
            block = getattr(child, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _loops(node: ast.AST) -> list[ast.For | ast.While]:
    return [child for child in ast.walk(node) if isinstance(child, ast.For | ast.While)]


# --- something that is missing ----------------------------------------------------------------


def _with_one_more(found: list[Place], names: Sequence[str], source: str) -> Iterator[SmallChange]:
    """Yield an expression combined with one more variable: what was forgotten may be just that."""
    for place in found:
        node = place.node
        is_whole = place.field in ("value", "args") and isinstance(
            place.parent, ast.Assign | ast.AugAssign | ast.Return | ast.Call
        )
        is_part = isinstance(place.parent, ast.BinOp)
        is_number = number_at(node) is not None
        if not (is_whole or is_part) or is_number or not isinstance(node, ast.expr):
            continue
        for name in names:
            for operator in (*_ARITHMETIC[:4], *_LOGIC[:2]) if is_whole else _ARITHMETIC[:2]:
                with _put(place, ast.BinOp(node, operator(), ast.Name(name, ast.Load()))):
                    words = _("a step with `{name}` is missing at `{code}`")
                    yield SmallChange(
                        words.format(name=name, code=code_of(node, source)), _line(place, source)
                    )
