"""The same program in another hand: changes to Python that change nothing in what it computes.

Two learners who solve an exercise on their own do not write the same lines. `rewritten` makes such
differences: a part of a formula gets a name, a name that is used once goes, factors and keyword
arguments change places, `x.sum()` becomes `np.sum(x)`. `disguised` does what someone does who
hands in another's work: other names, other comments, the same tokens.
"""

import ast
import builtins
import io
import keyword
import tokenize
from collections import Counter
from random import Random

_NAMES = """alpha amount answer best block both chunk colsum cur data delta denom dist first flat
fraction gap grid guess high hits inner kept largest left limit low mid most norm numer offset one
other out packed part picked place pos raw rest right row scaled second shifted side slot small
step sub tab temp term top total used val vec whole width work"""
_COMMENTS = ("works now", "as on the slides", "TODO tidy up", "shape checked", "see the hint")
_REDUCTIONS = ("sum", "max", "min", "mean")
# What is computed at once, whatever the rest of the statement does.
_STRAIGHT = (ast.BinOp, ast.Call, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.keyword)


def rewritten(source: str, rng: Random) -> str:
    """Return a program that computes the same, written in a hand that `rng` chooses."""
    tree = ast.parse(source)
    has_numpy_only = "torch" not in source and "np." in source
    for _round in range(2):
        tree = _Habits(rng, has_numpy_only).visit(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.body = _without_single_use(node.body, rng)
                node.body = _with_names_for_parts(node.body, rng)
    return _renamed(ast.unparse(ast.fix_missing_locations(tree)), rng) + "\n"


def disguised(source: str, rng: Random) -> str:
    """Return a program with other local names and comments, and otherwise the same tokens."""
    lines = _renamed(source, rng).splitlines()
    commented = [
        f"{line}  # {rng.choice(_COMMENTS)}" if _may_have_comment(lines, place, rng) else line
        for place, line in enumerate(lines)
    ]
    return "\n".join(commented) + "\n"


class _Habits(ast.NodeTransformer):
    """Small habits of writing, each followed or not."""

    def __init__(self, rng: Random, has_numpy_only: bool) -> None:
        self._rng = rng
        self._has_numpy_only = has_numpy_only

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and self._often():
            node.left, node.right = node.right, node.left
        is_square = isinstance(node.op, ast.Pow) and ast.unparse(node.right) == "2"
        if is_square and isinstance(node.left, ast.Name) and self._often():
            return ast.BinOp(node.left, ast.Mult(), node.left)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self._often():
            node.keywords.reverse()
        found = node.func
        if not (self._has_numpy_only and isinstance(found, ast.Attribute) and self._often()):
            return node
        base = found.value
        if found.attr in _REDUCTIONS and not _is_module(base):
            function = ast.Attribute(ast.Name("np", ast.Load()), found.attr, ast.Load())
            return ast.Call(function, [base, *node.args], node.keywords)
        return node

    def _often(self) -> bool:
        return self._rng.random() < 0.4


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "math", "torch", "F", "self")


def _without_single_use(body: list[ast.stmt], rng: Random) -> list[ast.stmt]:
    """Put what is computed for the next line alone into that line, now and then."""
    uses = Counter(node.id for one in body for node in ast.walk(one) if isinstance(node, ast.Name))
    kept = list(body)
    for place in range(len(kept) - 2, -1, -1):
        one, following = kept[place], kept[place + 1]
        if not (isinstance(one, ast.Assign) and isinstance(following, ast.Assign | ast.Return)):
            continue
        target = one.targets[0]
        if not isinstance(target, ast.Name) or uses[target.id] != 2 or rng.random() < 0.6:
            continue
        swap = _Swap(target.id, one.value)
        if following.value is not None and swap.can_be_done(following.value):
            following.value = swap.visit(following.value)
            del kept[place]
    return kept


class _Swap(ast.NodeTransformer):
    """Replace one name by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name = name
        self._value = value

    def can_be_done(self, where: ast.expr) -> bool:
        return any(isinstance(n, ast.Name) and n.id == self._name for n in _computed_at_once(where))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value if node.id == self._name else node


def _with_names_for_parts(body: list[ast.stmt], rng: Random) -> list[ast.stmt]:
    """Give a part of a formula a line and a name of its own, now and then."""
    made: list[ast.stmt] = []
    for one in body:
        if isinstance(one, ast.Assign | ast.Return) and one.value is not None:
            parts = [n for n in _computed_at_once(one.value) if _is_worth_a_name(n, one.value)]
            if parts and rng.random() < 0.5:
                part = rng.choice(parts)
                name = f"part_{rng.randrange(10**6)}"
                made.append(ast.Assign([ast.Name(name, ast.Store())], part))
                one.value = _Part(part, name).visit(one.value)
        made.append(one)
    return made


class _Part(ast.NodeTransformer):
    def __init__(self, part: ast.expr, name: str) -> None:
        self._part = part
        self._name = name

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.Name(self._name, ast.Load()) if node is self._part else super().visit(node)


def _is_worth_a_name(node: ast.AST, whole: ast.expr) -> bool:
    return node is not whole and isinstance(node, ast.BinOp | ast.Call) and not _has_walrus(node)


def _has_walrus(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.NamedExpr | ast.Starred) for inner in ast.walk(node))


def _computed_at_once(node: ast.AST) -> list[ast.AST]:
    """Return the parts of an expression that are computed once, whatever the others give."""
    if not isinstance(node, _STRAIGHT):
        return [node]
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.Call):  # a module's function is no value to be named
        inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        children = iter([*inner, *node.args, *node.keywords])
    return [node, *(deep for child in children for deep in _computed_at_once(child))]


# --- names -----------------------------------------------------------------------------------


def _renamed(source: str, rng: Random) -> str:
    """Return the source with other names for what its functions assign."""
    tree = ast.parse(source)
    own = _local_names(tree)
    free = [name for name in _NAMES.split() if name not in source]
    rng.shuffle(free)
    names = dict(zip(sorted(own), free, strict=False))
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    lines = source.splitlines(keepends=True)
    for place in range(len(tokens) - 1, -1, -1):  # from the end, so that places stay right
        token = tokens[place]
        before = tokens[place - 1].string if place else ""
        if token.type != tokenize.NAME or before == "." or token.string not in names:
            continue
        row, start, end = token.start[0] - 1, token.start[1], token.end[1]
        lines[row] = lines[row][:start] + names[token.string] + lines[row][end:]
    return "".join(lines)


def _local_names(tree: ast.Module) -> set[str]:
    """Return the names that functions assign and that mean nothing outside of them."""
    inside, elsewhere = set(), set(dir(builtins)) | set(keyword.kwlist)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.keyword):
            elsewhere.add(node.arg or "")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            elsewhere.add(node.name)
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        stored = (n for n in ast.walk(function) if isinstance(n, ast.Name))
        inside |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    top = (n for one in tree.body for n in _top_names(one))
    return inside - elsewhere - set(top)


def _top_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return []
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [one.asname or one.name for one in node.names]
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def _may_have_comment(lines: list[str], place: int, rng: Random) -> bool:
    """Return whether a comment may go to the end of a line: a whole statement, and by chance."""
    line = lines[place]
    if rng.random() > 0.3 or "#" in line or '"' in line or "'" in line:
        return False
    try:
        ast.parse(line.strip())
    except SyntaxError:
        return False
    return bool(line.strip())
