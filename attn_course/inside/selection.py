"""Which lines of a notebook are a learner's answers? Found by what they define, and nothing run.

A notebook mixes answers with plots, training, checks and notes. `select` reads the statements of
all code cells (by `ast` and `symtable`, without running them) and keeps those that the wanted
names need: their definitions, and what these use, in an order that works even where cells were
moved. The rest (checks, plots, training that no answer uses) is left out. Lines for IPython
(`%magic`, `!shell`, `help?`) are taken out and never run.

`answers_from` runs such a selection in a fresh namespace: for one's own file only. The grader
runs it in a sandbox.
"""

import ast
import builtins
import codeop
import linecache
import re
import symtable
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

from attn_course.inside.notebook import Cell, read_notebook
from attn_course.inside.submission import message_of
from attn_course.translate import _

# Calls on a module that change how later code behaves: `torch.manual_seed(0)`, `np.seterr(…)`.
_SETTINGS = re.compile(r"(set|seed|manual_seed|use_deterministic|filterwarnings|simplefilter)")
# Cell magics whose body is ordinary Python; the body of any other is not ours to run.
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%python3")
_MOST_MAGIC_LINES = 200
# What a name means for the whole notebook once it is defined; a variable may change on the way.
_FIXED = ("definition", "import", "setting")
_NOT_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)


@dataclass(frozen=True)
class Statement:
    """One top-level statement: what it binds, may change and uses (now, or later when called)."""

    place: int
    cell: Cell
    line: int
    source: str
    binds: frozenset[str]
    changes: frozenset[str]
    uses_now: frozenset[str]
    uses_later: frozenset[str]
    kind: str  # "definition" (def, class), "assignment", "import", "setting", "other"
    unanswered: bool

    @property
    def padded(self) -> str:
        """The source, moved down so that a traceback counts lines as the cell does."""
        return "\n" * (self.line - 1) + self.source


@dataclass(frozen=True)
class BrokenCell:
    """A cell that is no valid Python, and the names that it would define."""

    cell: Cell
    names: frozenset[str]
    line: int
    why: str


@dataclass(frozen=True)
class Problem:
    """Something a learner should know, and the wanted names that it touches.

    `is_undefined`: there is no definition of these names at all.
    """

    names: frozenset[str]
    sentence: str
    is_undefined: bool = False


@dataclass(frozen=True)
class Selection:
    """What to run, in order; which statements each wanted name needs; what was noticed."""

    statements: tuple[Statement, ...]
    needs: dict[str, frozenset[int]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def source(self) -> str:
        """All of it as one program."""
        return "".join(f"# {part.cell.label}\n{part.source}\n" for part in self.statements)


@dataclass(frozen=True)
class Answers:
    """What a learner's file defines, ready for a `LocalSubmission`, and what was noticed."""

    values: dict[str, Any]
    problems: tuple[Problem, ...]

    @property
    def undefined(self) -> frozenset[str]:
        """The names that no cell defines."""
        return frozenset().union(*(one.names for one in self.problems if one.is_undefined))

    def problems_of(self, name: str) -> list[str]:
        """Return the sentences that touch `name`."""
        return [problem.sentence for problem in self.problems if name in problem.names]


def select(cells: Iterable[Cell], names: Iterable[str]) -> Selection:
    """Return what of `cells` has to run so that `names` are defined."""
    statements, broken = read_statements(cells)
    graph = _Graph(statements)
    roots = [part.place for part in statements if graph.sets_up(part)]
    needs: dict[str, frozenset[int]] = {}
    problems: list[Problem] = []
    for name in names:
        chosen = graph.sources_of(name, user=None)
        reached = graph.reach(chosen)
        needs[name] = frozenset(reached)
        roots += chosen
        problems += _problems_with(name, graph, reached, broken)
    order = graph.in_order(sorted(set(roots)))
    return Selection(tuple(statements[place] for place in order), needs, tuple(problems))


def answers_from(path: str | Path, names: Iterable[str]) -> Answers:
    """Run what the notebook at `path` needs for `names`, and return the values of `names`.

    A statement that raises costs only the names that need it. What cells print is dropped.
    Raises `NotebookProblem` where the file is no notebook.
    """
    return answers_in(read_notebook(path).cells, names, Path(path).name)


def answers_in(cells: Iterable[Cell], names: Iterable[str], file: str = "notebook") -> Answers:
    """Run what `cells` need for `names`, as `answers_from` does; `file` is for tracebacks."""
    names = list(names)
    selection = select(cells, names)
    namespace: dict[str, Any] = {"__name__": "__main__", "display": lambda *_args, **_kw: None}
    problems = list(selection.problems)
    compiler = codeop.Compile()  # remembers `from __future__ import …` as a notebook does
    for part in selection.statements:
        fault = _run(part, compiler, namespace, file)
        touched = frozenset(name for name in names if part.place in selection.needs[name])
        if fault is not None and touched:
            problems.append(Problem(touched, _raised(part, fault)))
    values = {name: namespace[name] for name in names if name in namespace}
    return Answers(values, tuple(problems))


def defined_names(cell: Cell) -> frozenset[str]:
    """Return the names that a code cell defines or, where it is no valid Python, would define."""
    statements, broken = read_statements([cell])
    found = [part.binds for part in statements] + [part.names for part in broken]
    return frozenset().union(*found)


def read_statements(cells: Iterable[Cell]) -> tuple[list[Statement], list[BrokenCell]]:
    """Return the statements of all code cells in order, and the cells that are no valid Python."""
    statements: list[Statement] = []
    broken: list[BrokenCell] = []
    for cell in cells:
        if cell.kind != "code":
            continue
        source = without_magics(cell.source)
        try:
            found = list(_statements_of(cell, source, first_place=len(statements)))
        except _NOT_PYTHON as fault:
            broken.append(_broken(cell, fault))
        else:
            statements += found
    return statements, broken


def without_magics(source: str) -> str:
    """Return `source` with the lines that only IPython understands taken out.

    >>> without_magics("%matplotlib inline\\nx = 1")
    'pass  # %matplotlib inline\\nx = 1'
    """
    lines = re.split(r"\r\n|\r|\n", source)
    first = next((place for place, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        if lines[first].split()[0] not in _PYTHON_MAGICS:
            return "\n".join(f"# {line}" for line in lines)
        lines[first] = f"# {lines[first]}"
    for _attempt in range(_MOST_MAGIC_LINES):
        try:
            _parse("\n".join(lines))
            break
        except SyntaxError as fault:
            # Only where Python stumbles: a `%` may also begin a line inside brackets or a string.
            if not _take_out(lines, (fault.lineno or 0) - 1):
                break
        except _NOT_PYTHON:
            break
    return "\n".join(lines)


def _take_out(lines: list[str], place: int) -> bool:
    """Replace the IPython line at `place`, and what it continues on; False where it is none."""
    if not 0 <= place < len(lines):
        return False
    line = lines[place]
    indent, text = line[: len(line) - len(line.lstrip())], line.strip()
    assigned = re.match(r"([A-Za-z_]\w*)\s*=\s*[!%]", text)
    if not (assigned or text.startswith(("%", "!", "?")) or text.endswith("?")):
        return False
    harmless = f"{assigned[1]} = None" if assigned else "pass"
    continues = line.endswith("\\")
    lines[place] = f"{indent}{harmless}  # {text}".rstrip("\\")
    while continues and place + 1 < len(lines):
        place += 1
        continues = lines[place].endswith("\\")
        lines[place] = f"{indent}# {lines[place].strip()}".rstrip("\\")
    return True


@lru_cache(maxsize=64)  # a cell is parsed to find its magics, and then for its statements
def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in a string is no business of ours
        tree = ast.parse(source)
        compile(tree, "<cell>", "exec", dont_inherit=True)  # finds a `return` outside a function
    return tree


def _statements_of(cell: Cell, source: str, first_place: int) -> Iterator[Statement]:
    lines = source.encode().split(b"\n")
    for place, node in enumerate(_parse(source).body, start=first_place):
        line, text = _text_of(node, lines)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(text, "<cell>", "exec")
        now, later = _uses(table)
        changes = _changes(node)
        deleted = isinstance(node, ast.Delete)
        yield Statement(
            place=place,
            cell=cell,
            line=line,
            source=text,
            binds=frozenset() if deleted else _binds(table),
            changes=changes,
            uses_now=now | changes,
            uses_later=later - now,
            kind=_kind(node),
            unanswered=_is_unanswered(node),
        )


def _text_of(node: ast.stmt, lines: list[bytes]) -> tuple[int, str]:
    """Return the first line of a statement and its text, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    start = 0 if decorators else node.col_offset  # columns count bytes
    text = lines[first - 1 : node.end_lineno]
    text[-1] = text[-1][: node.end_col_offset]
    text[0] = text[0][start:]
    return first, b"\n".join(text).decode()


def _binds(table: symtable.SymbolTable) -> frozenset[str]:
    symbols = table.get_symbols()
    return frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported())


def _uses(table: symtable.SymbolTable) -> tuple[frozenset[str], frozenset[str]]:
    """Return the global names used when the statement runs, and when its functions are called."""
    now = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    later: set[str] = set()
    pending = [(child, False) for child in table.get_children()]
    comprehensions = ("listcomp", "setcomp", "dictcomp", "genexpr")
    while pending:
        inner, called_later = pending.pop()
        is_function = inner.get_type() == "function" and inner.get_name() not in comprehensions
        called_later = called_later or is_function
        names = {s.get_name() for s in inner.get_symbols() if s.is_global() and s.is_referenced()}
        (later if called_later else now).update(names)
        pending += [(child, called_later) for child in inner.get_children()]
    return frozenset(now), frozenset(later)


def _changes(node: ast.stmt) -> frozenset[str]:
    """Return the variables that a statement may change without binding them.

    `x[0] = …`, `x.a = …`, `x += …`, `x.append(…)`, `train(x)`; and a loop or block, which may do
    anything, every variable that it mentions (a training loop changes the model it mentions).
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset()
    parts = list(ast.walk(node))
    if isinstance(node, ast.For | ast.While | ast.With | ast.If | ast.Try):
        return frozenset(part.id for part in parts if isinstance(part, ast.Name))
    changed: set[str | None] = set()
    if isinstance(node, ast.AugAssign):
        changed.add(_root(node.target))
    calls = [part for part in parts if isinstance(part, ast.Call)]
    for call in calls:
        if isinstance(call.func, ast.Name) and not _is_builtin(call.func.id):
            changed.update(arg.id for arg in call.args if isinstance(arg, ast.Name))
        elif isinstance(node, ast.Expr) and call is node.value:
            changed.add(_root(call.func))
    for part in parts:
        if isinstance(part, ast.Subscript | ast.Attribute) and not isinstance(part.ctx, ast.Load):
            changed.add(_root(part))
    return frozenset(name for name in changed if name)


def _is_builtin(name: str) -> bool:
    return hasattr(builtins, name) or name == "display"


def _root(node: ast.AST) -> str | None:
    """Return the name at the start of `name.a[0].b`, if there is one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return "definition"
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        sets_attributes = all(isinstance(target, ast.Attribute) for target in targets)
        return "setting" if sets_attributes else "assignment"
    if isinstance(node, ast.Import | ast.ImportFrom):
        star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        return "setting" if star or future else "import"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and _SETTINGS.match(function.attr):
            return "setting"
    return "other"


def _is_unanswered(node: ast.AST) -> bool:
    """Return whether a definition is still a stub: it raises `NotImplementedError`, or is None."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return isinstance(node.value, ast.Constant) and node.value.value is None
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return any(_is_unanswered(method) for method in methods)
    if isinstance(node, ast.FunctionDef):
        raised = [ast.unparse(part) for part in node.body if isinstance(part, ast.Raise)]
        return any("NotImplementedError" in line for line in raised)
    return False


def _position(statements: Sequence[Statement], place: int) -> int:
    """Return how many of `statements`, which are in order, come before `place`."""
    return bisect_left(statements, place, key=lambda part: part.place)


def _best(statements: Iterable[Statement]) -> Statement | None:
    """Return the first that is a proper and answered definition, else the next best."""
    proper: Statement | None = None
    anything: Statement | None = None
    for part in statements:
        anything = anything or part
        if part.kind in ("definition", "assignment"):
            proper = proper or part
            if not part.unanswered:
                return part
    return proper or anything


class _Graph:
    """Which statements need which."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = statements
        self._binders: dict[str, list[Statement]] = {}
        self._changers: dict[str, list[Statement]] = {}
        for part in statements:
            for name in part.binds:
                self._binders.setdefault(name, []).append(part)
            for name in part.changes:
                self._changers.setdefault(name, []).append(part)
        self._needs: dict[int, list[int]] = {}

    def binders(self, name: str) -> list[Statement]:
        """Return the statements that define `name`, in order."""
        return self._binders.get(name, [])

    def sources_of(self, name: str, user: Statement | None, later: bool = True) -> list[int]:
        """Return the statements that make `name` what it is for `user` (None: for a check)."""
        origin = self.origin(name, user)
        if origin is None:
            return []
        if origin.kind in _FIXED:
            return [origin.place]
        steps = self._steps_before(origin) if user is None else []
        return [*steps, origin.place, *self._changes_of(name, origin, user, later)]

    def origin(self, name: str, user: Statement | None) -> Statement | None:
        """Return the statement that defines `name` for `user`: the latest that is answered."""
        found = self.binders(name)
        if user is not None and name in user.binds:  # `f = jit(f)`: the f before this one
            found = found[: _position(found, user.place)]
        latest = _best(reversed(found))
        if latest is None or user is None or latest.kind in _FIXED:
            return latest
        # A variable is often re-used further down, for a plot: its first value counts.
        position = _position(found, user.place)
        return _best(reversed(found[:position])) or _best(iter(found[position:]))

    def _changes_of(
        self, name: str, origin: Statement, user: Statement | None, later: bool
    ) -> Iterator[int]:
        binders = self.binders(name)
        after = binders[_position(binders, origin.place + 1) :]
        rebound = (part.place for part in after if name not in part.changes)
        end = next(rebound, len(self.statements))
        if user is not None and not later and user.place > origin.place:
            end = min(end, user.place)
        changers = self._changers.get(name, [])
        for part in changers[_position(changers, origin.place + 1) : _position(changers, end)]:
            if part is not user and (user is not None or part.cell == origin.cell):
                yield part.place

    def _steps_before(self, origin: Statement) -> list[int]:
        """Return what a learner did in the same cell on the way to a value, plots left out.

        Names alone don't show all of it: `optimiser.step()` changes the model, not the optimiser.
        """
        return [
            part.place
            for part in self.statements
            if part.cell == origin.cell
            and part.place < origin.place
            and any(not self.is_module(name) for name in part.changes)
        ]

    def is_module(self, name: str) -> bool:
        """Return whether `name` is something imported, and nothing else."""
        found = self.binders(name)
        return bool(found) and all(part.kind == "import" for part in found)

    def sets_up(self, part: Statement) -> bool:
        """Return whether a statement sets something for all that follows: only modules do."""
        return part.kind == "setting" and all(self.is_module(name) for name in part.changes)

    def needs_of(self, place: int) -> list[int]:
        """Return the statements that the one at `place` needs."""
        if place not in self._needs:
            user = self.statements[place]
            found: list[int] = []
            for names, later in ((user.uses_now, False), (user.uses_later, True)):
                for name in sorted(names):
                    found += self.sources_of(name, user, later)
            self._needs[place] = sorted(set(found) - {place})
        return self._needs[place]

    def reach(self, places: Iterable[int]) -> set[int]:
        """Return `places` and everything they need."""
        pending, reached = list(places), set()
        while pending:
            place = pending.pop()
            if place not in reached:
                reached.add(place)
                pending += self.needs_of(place)
        return reached

    def in_order(self, roots: Iterable[int]) -> list[int]:
        """Return everything that `roots` need, each after what it needs, else as in the file."""
        order: list[int] = []
        seen: set[int] = set()
        for root in roots:
            pending = [(root, False)]
            while pending:
                place, needs_are_done = pending.pop()
                if needs_are_done:
                    order.append(place)
                elif place not in seen:
                    seen.add(place)
                    pending.append((place, True))
                    pending += [(need, False) for need in reversed(self.needs_of(place))]
        future = [p for p in order if "__future__" in self.statements[p].source[:15]]
        return future + [place for place in order if place not in future]


def _problems_with(
    name: str, graph: _Graph, reached: set[int], broken: list[BrokenCell]
) -> Iterator[Problem]:
    used = {name}.union(
        *(graph.statements[p].uses_now | graph.statements[p].uses_later for p in reached)
    )
    for bad in broken:
        touched = sorted(used & bad.names)
        if touched:
            sentence = _("{cell} is not valid Python, so {names} in it could not be read: {why}")
            yield Problem(
                frozenset({name}),
                sentence.format(
                    cell=_capital(bad.cell.label),
                    names=", ".join(f"`{n}`" for n in touched),
                    why=bad.why,
                ),
            )
    places = [part for part in graph.binders(name) if part.kind in ("definition", "assignment")]
    cells = list(dict.fromkeys(part.cell for part in places))
    if len(cells) > 1:
        origin = graph.origin(name, user=None)
        assert origin is not None  # there are definitions, so one of them is chosen
        sentence = _("`{name}` is defined in cells {numbers}; the one in {chosen} counts.")
        numbers = _(" and ").join(str(cell.number) for cell in cells)
        yield Problem(
            frozenset({name}), sentence.format(name=name, numbers=numbers, chosen=origin.cell.label)
        )
    if not graph.binders(name) and not any(name in bad.names for bad in broken):
        sentence = _("No cell defines `{name}`.").format(name=name)
        yield Problem(frozenset({name}), sentence, is_undefined=True)


def _broken(cell: Cell, fault: BaseException) -> BrokenCell:
    pattern = r"^(?:(?:async\s+)?def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]+)?=(?!=)"
    found = re.findall(pattern, cell.source, re.MULTILINE)
    line = getattr(fault, "lineno", None) or 1
    why = getattr(fault, "msg", None) or type(fault).__name__
    why = _("{message}, at its line {line}").format(message=why, line=line)
    lines = cell.source.splitlines()
    if 0 < line <= len(lines):
        why += f": {lines[line - 1].strip()[:80]}"
    return BrokenCell(cell, frozenset(first or second for first, second in found), line, why)


def _run(
    part: Statement, compiler: codeop.Compile, namespace: dict[str, Any], file: str
) -> BaseException | None:
    """Run one statement; return what it raised, if it did."""
    filename = f"<{file}, cell {part.cell.number}, line {part.line}>"
    lines = part.padded.splitlines(keepends=True)
    linecache.cache[filename] = (len(part.padded), None, lines, filename)  # tracebacks quote it
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            exec(compiler(part.padded, filename, "exec"), namespace)
    except KeyboardInterrupt:  # Ctrl-C of whoever checks a file of their own
        raise
    except BaseException as fault:  # any other costs the names that need this statement
        return fault
    return None


def _raised(part: Statement, fault: BaseException) -> str:
    return _("{cell} raised {type}: {message}").format(
        cell=_capital(part.cell.label),
        type=type(fault).__name__[:200],
        message=message_of(fault)[:300],
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
