"""How mistakes are written down: a definition list, in a cell tagged `mistakes` or `equivalent`.

    sums_to_one_over_the_queries: `axis=-1` everywhere -> `axis=-2`
    : Your weights sum to 1 over the queries; they should sum to 1 over the keys. {ref}`nw-weights`

    contexts_begin: `r_t = words … self.b_rt)` ->
    : The contexts ask the target; it is the target that asks first.

      ```python
      r_l = self.ask(means[0], left, left_mask)
      ```

An entry is a name, its edits (see `edits`), and on the next line, after a colon, the message. An
edit that ends in `->` takes the code block after the message. Two entries need no edit:

    kernels_as_handed_out: the stub
    positions_averaged: `[3.5, 2.5, 3]`           the answer to an exercise of kind "value"

A message may end in a reference to the section of the book to read; without one, that is the
exercise's own.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from attn_course.authoring.edits import Edit
from attn_course.translate import _

STUB, VALUE = "the stub", "a value"
_NAME = re.compile(r"([^\s:]+):(?:\s+(.*))?")
_CODE = r"(?:``\s*(?P<{0}2>(?:(?!``).)+?)\s*``|`(?P<{0}1>[^`]+)`)"
_IN = rf"(?:\s+in\s+{_CODE.format('of')})?"
_FORMS = {
    "replace": re.compile(
        rf"{_CODE.format('old')}(?P<everywhere>\s+everywhere)?\s*->(?:\s*{_CODE.format('new')})?{_IN}"
    ),
    "delete": re.compile(rf"without\s+{_CODE.format('old')}(?P<everywhere>\s+everywhere)?{_IN}"),
    "insert": re.compile(
        rf"insert(?:\s+{_CODE.format('new')})?\s+(?P<side>before|after)\s+{_CODE.format('old')}{_IN}"
    ),
}
_REFERENCE = re.compile(r"\s*\{ref\}`([^`<>]+)`\.?\s*$")
_FENCE = re.compile(r"\s*```(\w*)\s*")


@dataclass(frozen=True)
class Entry:
    """A named change of a solution with what there is to say about it, and its line in the file.

    `whole` is `STUB` or `VALUE` where the entry is no edit; a value is then the only edit's `new`.
    """

    name: str
    message: str
    line: int
    section: str = ""
    edits: tuple[Edit, ...] = ()
    whole: str = ""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a source, and on which line."""

    line: int
    sentence: str


@dataclass
class _Draft:
    """An entry that is being read."""

    name: str
    words: str
    line: int
    message: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)


def read_entries(
    text: str, first_line: int, earlier: Iterable[Entry] = ()
) -> tuple[list[Entry], list[Problem]]:
    """Return the entries of a cell and all that is wrong with it; `earlier` have their names."""
    drafts, problems = _drafts(text.split("\n"), first_line)
    entries: list[Entry] = []
    lines = {entry.name: entry.line for entry in earlier}
    for draft in drafts:
        if not draft.name.isidentifier():
            sentence = _("{name!r} can't be a name: use letters, digits and underscores")
            problems.append(Problem(draft.line, sentence.format(name=draft.name)))
            continue
        if draft.name in lines:
            sentence = _("{name!r} is already the name of the entry on line {line}")
            found = sentence.format(name=draft.name, line=lines[draft.name])
            problems.append(Problem(draft.line, found))
            continue
        lines[draft.name] = draft.line
        made = _entry(draft)
        if isinstance(made, Problem):
            problems.append(made)
        else:
            entries.append(made)
    return entries, sorted(problems, key=lambda problem: problem.line)


def _drafts(lines: list[str], first_line: int) -> tuple[list[_Draft], list[Problem]]:
    """Read the lines of a cell: names, messages and code blocks."""
    drafts: list[_Draft] = []
    problems: list[Problem] = []
    numbered = iter(enumerate(lines, start=first_line))
    current: _Draft | None = None  # what the lines up to the next blank one belong to
    after_blank = True
    for number, line in numbered:
        named = _NAME.fullmatch(line)
        if not line.strip():
            after_blank = True
        elif _FENCE.fullmatch(line):
            block = _block(numbered)
            if block is None:
                problems.append(Problem(number, _("this code block is not closed")))
                del drafts[-1:]
            elif not drafts:
                problems.append(Problem(number, _("a code block before the first name")))
            else:
                drafts[-1].blocks.append(block)
            after_blank = True
        elif after_blank:
            current = None
            if named:
                current = _Draft(named[1], (named[2] or "").strip(), number)
                drafts.append(current)
            else:
                sentence = _(
                    "after a blank line `name: …` or a code block must follow, not {line!r}"
                )
                short = textwrap.shorten(line, 60, placeholder=" …")
                problems.append(Problem(number, sentence.format(line=short)))
            after_blank = False
        elif current is not None:
            problems += _message_line(current, number, line)
    return drafts, problems


def _message_line(draft: _Draft, number: int, line: str) -> Iterator[Problem]:
    """Add a line to the message of a draft."""
    if not draft.message and not line.startswith(": "):
        sentence = _("the message of {name!r} must follow here, after a colon: `: …`")
        yield Problem(number, sentence.format(name=draft.name))
    elif draft.message and line.startswith(": "):
        sentence = _("a second message for {name!r}: leave a blank line before the next name")
        yield Problem(number, sentence.format(name=draft.name))
    draft.message.append(line.removeprefix(": ").strip())


def _block(numbered: Iterator[tuple[int, str]]) -> str | None:
    """Return the code up to the end of a block, or None where it has none."""
    code: list[str] = []
    for _number, line in numbered:
        if _FENCE.fullmatch(line):
            return textwrap.dedent("\n".join(code))
        code.append(line)
    return None


def _entry(draft: _Draft) -> Entry | Problem:
    """Return what a draft says, or what is wrong with it."""
    message = " ".join(draft.message)
    reference = _REFERENCE.search(message)
    entry = Entry(
        draft.name,
        message[: reference.start()] if reference else message,
        draft.line,
        reference[1] if reference else "",
    )
    if not entry.message:
        sentence = _("{name!r} has no message: it follows on the next line, after a colon")
        return Problem(draft.line, sentence.format(name=draft.name))
    if "{ref}" in entry.message:
        sentence = _("a reference may only end the message of {name!r}: {{ref}}`label`")
        return Problem(draft.line, sentence.format(name=draft.name))
    value = re.fullmatch(_CODE.format("new"), draft.words)
    if draft.words == STUB or value:
        if draft.blocks:
            return Problem(draft.line, _extra_block(draft.name))
        if not value:
            return replace(entry, whole=STUB)
        return replace(entry, whole=VALUE, edits=(Edit("replace", "", _group(value, "new")),))
    edits = _edits(draft.words)
    if edits is None:
        sentence = _(
            "the edits of {name!r} are not understood: `{words}`. Write `old` -> `new`, "
            "without `old`, insert `new` before `old` (or after), the stub, or one `value`"
        )
        return Problem(draft.line, sentence.format(name=draft.name, words=draft.words))
    blocks = iter(draft.blocks)
    filled = tuple(
        replace(edit, new=next(blocks, None)) if edit.new is None else edit for edit in edits
    )
    if any(edit.new is None for edit in filled):
        sentence = _("{name!r} wants a code block after its message: an edit has no new code")
        return Problem(draft.line, sentence.format(name=draft.name))
    if next(blocks, None) is not None:
        return Problem(draft.line, _extra_block(draft.name))
    return replace(entry, edits=filled)


def _extra_block(name: str) -> str:
    return _("no edit of {name!r} wants a code block: end one in ->").format(name=name)


def _edits(words: str) -> list[Edit] | None:
    """Return the edits that words describe, one after the other, or None where they do not."""
    edits: list[Edit] = []
    while words:
        kind, found = next(
            ((kind, match) for kind, form in _FORMS.items() if (match := form.match(words))),
            ("", None),
        )
        if found is None:
            return None
        edits.append(_edit(kind, found))
        rest = words[found.end() :].lstrip()
        if rest and not rest.startswith(","):
            return None
        words = rest.removeprefix(",").lstrip()
    return edits or None


def _edit(kind: str, found: re.Match[str]) -> Edit:
    parts = found.groupdict()
    if kind == "insert":
        kind = parts["side"]
    return Edit(
        kind,
        old=_group(found, "old") or "",
        new="" if kind == "delete" else _group(found, "new"),
        everywhere=bool(parts.get("everywhere")),
        of=_group(found, "of") or "",
    )


def _group(found: re.Match[str], name: str) -> str | None:
    parts = found.groupdict()
    return parts.get(f"{name}1") or parts.get(f"{name}2")
