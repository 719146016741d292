"""A mistake as an edit of the solution: find a piece of a program, put another in its place.

    `axis=-1` everywhere -> `axis=-2`            replace it, wherever it occurs
    `mask.sum` -> `(~mask).sum`                  replace it; it occurs once
    without `np.fill_diagonal(scores, -np.inf)`  delete it; a whole statement becomes `pass`
    insert `first = w` before `for _step`        a new line in front of a statement, or `after` it

Each may end in ``in `name` ``, which looks in the answer to an earlier exercise.

Programs are compared **token by token**: spaces, line breaks and comments do not matter, a string
is one token, and `…` in what is sought stands for anything, as little as possible.
All edits of a mistake apply to the unedited text.
"""

import ast
import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from attn_course.translate import _

ANYTHING = "…"
_TOKEN = re.compile(
    r"""
    (?P<space>  \s+ | \\\n | \#[^\n]* )
  | (?P<string> (?i:[rbuf]{0,2}) (?: \"{3}.*?\"{3} | '{3}.*?'{3}
                                   | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' ) )
  | (?P<number> 0[xXoObB]\w+
              | (?: \d[\d_]*\.?[\d_]* | \.\d[\d_]* ) (?: [eE][+-]?\d+ )? [jJ]? )
  | (?P<name>   [^\W\d]\w* )
  | (?P<sign>   \.\.\. | \*\*= | //= | <<= | >>= | \*\* | // | << | >> | -> | := | [-+*/%@&|^=!<>]=
              | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One token of a program, and its place in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Edit:
    """One edit: `kind` is "replace", "delete", "before" or "after".

    `old` is what is sought, `new` what is put in; `new` is None until the code block that an edit
    was promised has been read. `of` names an earlier exercise, or nothing for one's own.
    """

    kind: str
    old: str
    new: str | None = ""
    everywhere: bool = False
    of: str = ""

    @property
    def code(self) -> str:
        """What is put in."""
        assert self.new is not None, "its code block was not read"
        return self.new


class EditProblem(Exception):  # noqa: N818  (an author's edit has a problem)
    """An edit that can't be made; the text is the sentence for its author."""


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a piece of a program, which need not be valid by itself.

    >>> [token.text for token in tokens_of("x[...,  None] ** 2  # a comment")]
    ['x', '[', '...', ',', 'None', ']', '**', '2']
    """
    found = _TOKEN.finditer(text)
    return [Token(one[0], one.start(), one.end()) for one in found if one.lastgroup != "space"]


def find(old: str, text: str) -> list[tuple[int, int]]:
    """Return where `old` occurs in `text`, from the first character to behind the last.

    >>> find("w", "w * weights ** w")
    [(0, 1), (15, 16)]
    """
    sought = [token.text for token in tokens_of(old)]
    tokens = tokens_of(text)
    texts = [token.text for token in tokens]
    places: list[tuple[int, int]] = []
    at = 0
    while at < len(tokens):
        end = _match(sought, texts, at)
        if end is None or end == at:
            at += 1
        else:
            places.append((tokens[at].start, tokens[end - 1].end))
            at = end
    return places


def matches(pattern: str, text: str) -> bool:
    """Return whether the whole of `text` is `pattern`, in which … stands for anything."""
    sought = [token.text for token in tokens_of(pattern)]
    found = [token.text for token in tokens_of(text)]
    return _matches_whole(sought, found)


def _matches_whole(sought: list[str], tokens: list[str]) -> bool:
    if ANYTHING not in sought:
        return sought == tokens
    at = sought.index(ANYTHING)
    if tokens[:at] != sought[:at]:
        return False
    rest = sought[at + 1 :]
    return any(_matches_whole(rest, tokens[start:]) for start in range(at, len(tokens) + 1))


def _match(sought: list[str], tokens: list[str], at: int) -> int | None:
    """Return behind which token `sought` ends if it begins at `at`, or None where it does not."""
    first, *others = _runs(sought)
    if tokens[at : at + len(first)] != first:
        return None
    at += len(first)
    for run in others:  # each after a …: the next place will do
        starts = range(at, len(tokens) - len(run) + 1)
        start = next((one for one in starts if tokens[one : one + len(run)] == run), None)
        if start is None:
            return None
        at = start + len(run)
    return at


def _runs(sought: list[str]) -> list[list[str]]:
    """Return the tokens between one … and the next."""
    runs: list[list[str]] = [[]]
    for token in sought:
        if token == ANYTHING:
            runs.append([])
        else:
            runs[-1].append(token)
    return runs


def edited(text: str, edits: Iterable[Edit], whose: str) -> str:
    """Return the program `text` with all `edits` made; `whose` names it in an `EditProblem`."""
    changes = [change for edit in edits for change in _changes(text, edit, whose)]
    changes.sort(key=lambda change: (change.start, change.end))
    for one, following in pairwise(changes):
        if following.start < one.end:
            raise EditProblem(
                _("two edits overlap at `{code}`: write them as one").format(
                    code=text[following.start : one.end].strip()
                )
            )
    for change in reversed(changes):
        text = _joined(text[: change.start], change.new, text[change.end :])
    return text


def _joined(*parts: str) -> str:
    """Return pieces of a program one after the other; two words do not become one."""
    text = ""
    for part in parts:
        text += " " + part if re.fullmatch(r"\w\w", text[-1:] + part[:1]) else part
    return text


@dataclass(frozen=True)
class _Change:
    start: int
    end: int
    new: str


def _changes(text: str, edit: Edit, whose: str) -> Iterator[_Change]:
    places = find(edit.old, text)
    if not places:
        raise EditProblem(_not_there(edit.old, text, whose))
    if len(places) > 1 and not edit.everywhere:
        raise EditProblem(
            _(
                "`{old}` occurs {count} times in the solution of {whose!r}: "
                "give more of the line, or say `{old}` everywhere"
            ).format(old=edit.old, count=len(places), whose=whose)
        )
    if len(places) == 1 and edit.everywhere:
        raise EditProblem(
            _(
                "`{old}` occurs only once in the solution of {whose!r}: leave out `everywhere`"
            ).format(old=edit.old, whose=whose)
        )
    for start, end in places:
        if edit.kind in ("before", "after"):
            yield _inserted(text, start, end, edit)
        elif edit.kind == "delete":
            yield _Change(start, end, "pass" if _is_whole_statement(text, start, end) else "")
        else:
            yield _Change(start, end, _in_place(edit.code, _indent(text, start)))


def _in_place(new: str, indent: str) -> str:
    """Return code for a place: its further lines take the place's indentation."""
    lines = textwrap.dedent(new).strip("\n").split("\n")
    return "\n".join([lines[0], *(indent + line if line else line for line in lines[1:])])


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip())]


def _inserted(text: str, start: int, end: int, edit: Edit) -> _Change:
    statement = _statement_on(text, _line(text, start if edit.kind == "before" else end))
    lines = text.split("\n")
    indent = _indent(lines[statement.lineno - 1], 0)
    code = textwrap.indent(textwrap.dedent(edit.code).strip("\n"), indent)
    if edit.kind == "before":
        at = sum(len(line) + 1 for line in lines[: first_line(statement) - 1])
        return _Change(at, at, f"{code}\n")
    at = len("\n".join(lines[: statement.end_lineno]))
    return _Change(at, at, f"\n{code}")


def first_line(statement: ast.stmt) -> int:
    """Return the line on which a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _statement_on(text: str, line: int) -> ast.stmt:
    """Return the innermost statement on a line of a program, the first where there are several."""
    around = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and first_line(node) <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: (first_line(node), -node.col_offset))


def _is_whole_statement(text: str, start: int, end: int) -> bool:
    """Return whether a piece of a program is a statement, or several, and its lines hold no more.

    Comments do not count.
    """
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end:].partition("\n")[0]
    if before.strip() or tokens_of(after):
        return False
    first, last = _line(text, start), _line(text, end)
    begins, ends = _statement_on(text, first), _statement_on(text, last)
    return first_line(begins) == first and ends.end_lineno == last


def _not_there(old: str, text: str, whose: str) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    like = difflib.get_close_matches(old, lines, n=1, cutoff=0.0)
    return _("there is no `{old}` in the solution of {whose!r}; most like it: {like}").format(
        old=old, whose=whose, like=like[0] if like else "–"
    )
