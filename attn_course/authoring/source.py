"""A file of `solutions/`: everything that a person reads about the exercises of a chapter.

A source is a MyST notebook. The cells of an exercise, in this order:

    +++ {"exercise": "name", "difficulty": 1, "minutes": 10, "section": "label"}

a prose cell with the title as its heading, `**Goal:** …` in one sentence, and the task; a code cell
whose answer is between `### BEGIN SOLUTION` and `### END SOLUTION`; a cell with
`practice.check("NN.name", name)`; then prose cells with the tag `hints` (a numbered list of
three), `mistakes` and `equivalent` (see `entries`) and `solution` (the explanation). The metadata
may also say `kind`, `task`, `without` and `uses`, as `practice.exercise` describes them.

`read_chapter` reads a whole file. It raises `SourceProblems` with all problems of the file at
once, each as `path:line: sentence`.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from keyword import iskeyword
from pathlib import Path
from typing import Any

from attn_course.authoring.edits import ANYTHING, EditProblem, edited, first_line, matches
from attn_course.authoring.entries import STUB, VALUE, Entry, Problem, read_entries
from attn_course.inside.notebook import Cell
from attn_course.inside.selection import defined_names, select
from attn_course.practice.exercise import KINDS, TASKS
from attn_course.translate import _

BEGIN, END, STUB_LINE = "### BEGIN SOLUTION", "### END SOLUTION", "### STUB:"
_TITLE = re.compile(r"## (?P<title>[^\n]+)\n\n\*\*Goal:\*\* (?P<goal>[^\n]+)(?:\n\n|$)")
_FOR_AUTHORS = ("hints", "mistakes", "equivalent", "solution")
_HINT = re.compile(r"\d+\. ")
_HINTS = 3
_WANTED = {"difficulty": int, "minutes": int, "section": str}
_OPTIONAL = {"kind": str, "task": str, "without": list, "uses": list}
_ANYTHING_NAME = "ANYTHING_AT_ALL"  # stands for … while Python reads a program


class SourceProblems(Exception):  # noqa: N818  (an author's source has problems)
    """All that is wrong with a source, a line each."""


@dataclass(frozen=True)
class SourceCell:
    """One cell of a source, and the line of the file on which its text begins."""

    kind: str
    text: str
    line: int
    metadata: dict[str, Any]

    @property
    def tags(self) -> list[str]:
        """The tags of the cell."""
        return list(self.metadata.get("tags", []))

    @property
    def is_for_authors(self) -> bool:
        """Whether the cell is left out of the exercise notebook."""
        return not set(_FOR_AUTHORS).isdisjoint(self.tags)


@dataclass
class SourceExercise:
    """What a source says about one exercise."""

    name: str
    line: int
    metadata: dict[str, Any]
    title: str = ""
    goal: str = ""
    task_text: str = ""
    answer_line: int = 0
    answer: str = ""  # the solution, without the marks
    stub: str = ""  # what is handed out in its place
    check_line: int = 0
    hints_line: int = 0
    hints: tuple[str, ...] = ()
    mistakes: list[Entry] = field(default_factory=list)
    equivalents: list[Entry] = field(default_factory=list)
    explanation: str = ""

    @property
    def kind(self) -> str:
        """The kind of answer: "function", "value" or "module"."""
        return str(self.metadata.get("kind", "function"))


@dataclass(frozen=True)
class SourceChapter:
    """A whole source, read without a problem."""

    path: Path
    cells: list[SourceCell]
    exercises: dict[str, SourceExercise]

    @property
    def stem(self) -> str:
        """The name of the file: `01_nadaraya_watson`."""
        return self.path.stem

    def program(self, name: str, answers: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Return the statements that the answer `name` needs, in order.

        `answers` replaces the answers of some exercises by other programs.
        """
        cells = self._cells_with(answers or {})
        return tuple(part.source for part in select(cells, [name]).statements)

    def programs_with(self, name: str, answers: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Yield the program of each of many answers that define the same names in the same order.

        Their statements take the places of the solution's: the other cells are read only once.
        """
        number = next(
            number
            for number, cell in enumerate(self.cells, start=1)
            if cell.line == self.exercises[name].answer_line
        )
        statements = select(self._cells_with({}), [name]).statements
        lines = [first_line(node) for node in ast.parse(self.exercises[name].answer).body]
        for answer in answers:
            body = [ast.unparse(node) for node in ast.parse(answer).body]
            assert len(body) == len(lines), "an answer with other statements"
            yield tuple(
                body[lines.index(part.line)] if part.cell.number == number else part.source
                for part in statements
            )

    def _cells_with(self, answers: Mapping[str, str]) -> list[Cell]:
        texts = {
            one.answer_line: answers.get(name, one.answer) for name, one in self.exercises.items()
        }
        return [
            Cell(number, cell.kind, texts.get(cell.line, cell.text))
            for number, cell in enumerate(self.cells, start=1)
        ]

    def answers_of(self, exercise: SourceExercise, entry: Entry) -> dict[str, str]:
        """Return the answers that an entry changes, by exercise; raises `EditProblem`."""
        if entry.whole == STUB:
            return {exercise.name: exercise.stub}
        if entry.whole == VALUE:
            return {exercise.name: f"{exercise.name} = {entry.edits[0].new}"}
        changed: dict[str, str] = {}
        names = list(self.exercises)
        for name in dict.fromkeys(edit.of or exercise.name for edit in entry.edits):
            if name not in names[: names.index(exercise.name) + 1]:
                sentence = _("`in` names an earlier exercise of this file, and {name!r} is none")
                raise EditProblem(sentence.format(name=name))
            edits = [edit for edit in entry.edits if (edit.of or exercise.name) == name]
            changed[name] = edited(self.exercises[name].answer, edits, name)
        return changed

    def is_equivalent(self, exercise: SourceExercise, entry: Entry, mutant: str) -> bool:
        """Return whether the answer `mutant` is what an entry of a cell `equivalent` describes."""
        pattern = self._pattern(exercise, entry)
        return matches(pattern, _laid_out(mutant))

    def _pattern(self, exercise: SourceExercise, entry: Entry) -> str:
        answer = self.answers_of(exercise, entry).get(exercise.name, exercise.answer)
        return _laid_out(answer.replace(ANYTHING, _ANYTHING_NAME)).replace(_ANYTHING_NAME, ANYTHING)


def _laid_out(program: str) -> str:
    """Return a program as Python itself writes it."""
    return ast.unparse(ast.parse(program))


def read_chapter(path: Path, sections: Mapping[str, Any]) -> SourceChapter:
    """Return what a source says; `sections` are the labels that its messages may point to."""
    reader = _Reader(path, sections)
    chapter = reader.read()
    if reader.problems:
        found = sorted(dict.fromkeys(reader.problems), key=lambda problem: problem.line)
        raise SourceProblems(
            "\n".join(f"{path}:{problem.line}: {problem.sentence}" for problem in found)
        )
    return chapter


class _Reader:
    """Goes through a source from top to bottom and collects exercises and problems."""

    def __init__(self, path: Path, sections: Mapping[str, Any]) -> None:
        self.path = path
        self.sections = sections
        self.problems: list[Problem] = []
        self.exercises: dict[str, SourceExercise] = {}
        self._current: SourceExercise | None = None

    @cached_property
    def number(self) -> str:
        return self.path.stem.partition("_")[0]

    def read(self) -> SourceChapter:
        cells = read_cells(self.path)
        for cell in cells:
            self._read_cell(cell)
        for exercise in self.exercises.values():
            self._finish(exercise)
        chapter = SourceChapter(self.path, cells, self.exercises)
        for exercise in self.exercises.values():
            self._try_entries(chapter, exercise)
        return chapter

    def _problem(self, line: int, sentence: str) -> None:
        self.problems.append(Problem(line, sentence))

    # --- cells --------------------------------------------------------------------------------

    def _read_cell(self, cell: SourceCell) -> None:
        of_an_exercise = {
            "hints": self._read_hints,
            "mistakes": self._read_mistakes,
            "equivalent": self._read_equivalents,
        }
        self._require_known_tags(cell)
        tag = next((tag for tag in cell.tags if tag in of_an_exercise), None)
        if "exercise" in cell.metadata:
            self._read_task(cell)
        elif tag is not None:
            if self._current is None:
                sentence = _("a cell tagged {tag!r} before the first exercise")
                self._problem(cell.line, sentence.format(tag=tag))
            else:
                of_an_exercise[tag](cell, self._current)
        elif "solution" in cell.tags:
            if self._current is not None and cell.kind == "markdown":
                before = self._current.explanation
                self._current.explanation = "\n\n".join(filter(None, [before, cell.text.strip()]))
        elif cell.kind == "code" and (BEGIN in cell.text or END in cell.text):
            self._read_answer(cell)
        elif cell.kind == "code" and "practice.check(" in cell.text:
            self._read_check(cell)

    def _require_known_tags(self, cell: SourceCell) -> None:
        """Notice a tag with a slip in it: learners would get the cell."""
        for tag in cell.tags:
            like = get_close_matches(tag, _FOR_AUTHORS, n=1, cutoff=0.8)
            if like and tag not in _FOR_AUTHORS:
                sentence = _("there is no tag {tag!r}; did you mean {like!r}?")
                self._problem(cell.line, sentence.format(tag=tag, like=like[0]))

    def _read_task(self, cell: SourceCell) -> None:
        name = str(cell.metadata["exercise"])
        first = self.exercises.get(name)
        self._current = SourceExercise(name, cell.line, cell.metadata)
        if first is not None:
            sentence = _("exercise {name!r} is here a second time; the first is on line {line}")
            self._problem(cell.line, sentence.format(name=name, line=first.line))
            return
        self.exercises[name] = self._current
        if not name.isidentifier() or iskeyword(name):
            self._problem(cell.line, _("{name!r} can't be a name in Python").format(name=name))
        self._read_metadata(cell)
        found = _TITLE.match(cell.text)
        if not found:
            self._problem(
                cell.line,
                _(
                    "the task of {name!r} must begin with its title and its goal: "
                    "`## …`, a blank line, `**Goal:** …`, a blank line"
                ).format(name=name),
            )
            return
        self._current.title, self._current.goal = found["title"].strip(), found["goal"].strip()
        self._current.task_text = cell.text[found.end() :].strip()

    def _read_metadata(self, cell: SourceCell) -> None:
        known = {"exercise": str, **_WANTED, **_OPTIONAL}
        for key, kind in _WANTED.items():
            if not _is_a(kind, cell.metadata.get(key)):
                sentence = _('the metadata need "{key}", {kind}')
                kinds = {int: _("a whole number"), str: _("a text in quotes")}
                self._problem(cell.line, sentence.format(key=key, kind=kinds[kind]))
        for key, value in cell.metadata.items():
            if key not in known:
                like = get_close_matches(key, known, n=1)
                meant = _("; did you mean {like!r}?").format(like=like[0]) if like else ""
                sentence = _("the metadata have an unknown key {key!r}{meant}")
                self._problem(cell.line, sentence.format(key=key, meant=meant))
            elif key in _OPTIONAL and not _is_a(_OPTIONAL[key], value):
                sentence = _("{key!r} in the metadata must be {kind}")
                kinds = {str: _("a text in quotes"), list: _("a list of texts")}
                found = sentence.format(key=key, kind=kinds[_OPTIONAL[key]])
                self._problem(cell.line, found)
        difficulty = cell.metadata.get("difficulty")
        if _is_a(int, difficulty) and difficulty not in (1, 2, 3):
            self._problem(cell.line, _('"difficulty" is 1 (easy), 2 (medium) or 3 (hard)'))
        self._require_one_of(cell, "kind", KINDS)
        self._require_one_of(cell, "task", TASKS)
        self._require_section(cell.line, cell.metadata.get("section"))
        uses = cell.metadata.get("uses", [])
        for name in uses if _is_a(list, uses) else []:
            if name not in self.exercises or name == cell.metadata["exercise"]:
                sentence = _('"uses" names earlier exercises, and {name!r} is none')
                self._problem(cell.line, sentence.format(name=name))

    def _require_one_of(self, cell: SourceCell, key: str, allowed: tuple[str, ...]) -> None:
        value = cell.metadata.get(key, allowed[0])
        if isinstance(value, str) and value not in allowed:
            sentence = _("{key!r} must be one of {allowed}, not {value!r}")
            found = sentence.format(key=key, allowed=", ".join(allowed), value=value)
            self._problem(cell.line, found)

    def _require_section(self, line: int, label: Any) -> None:
        if isinstance(label, str) and label not in self.sections:
            like = get_close_matches(label, self.sections, n=1, cutoff=0.0)
            sentence = _(
                "no page of the book has a section with the label {label!r}; most like it: {like}"
            )
            self._problem(line, sentence.format(label=label, like=like[0] if like else "–"))

    def _read_answer(self, cell: SourceCell) -> None:
        exercise = self._current
        if exercise is None:
            self._problem(
                cell.line, _("a solution before the first task: to which exercise does it belong?")
            )
            return
        if exercise.answer_line:
            sentence = _("exercise {name!r} has a second answer cell; put its code into one cell")
            self._problem(cell.line, sentence.format(name=exercise.name))
            return
        exercise.answer_line = cell.line
        problems = list(_misplaced_marks(cell))
        self.problems += problems
        if problems:
            return
        exercise.answer = "\n".join(_without_marks(cell.text))
        exercise.stub = "\n".join(_with_stubs(cell.text, exercise))
        what = _("the solution of {name!r}")
        reads = self._require_python(cell.line, exercise.answer, what, exercise)
        if not reads:
            exercise.answer = ""  # there is nothing to edit
            return
        reads = self._require_python(cell.line, exercise.stub, _("the stub of {name!r}"), exercise)
        if reads and exercise.name not in defined_names(Cell(0, "code", exercise.stub)):
            sentence = _("the stub does not define {name!r}; keep its first line outside {region}")
            self._problem(cell.line, sentence.format(name=exercise.name, region=BEGIN))

    def _require_python(self, line: int, code: str, what: str, exercise: SourceExercise) -> bool:
        fault = _syntax_fault(code)
        if fault:
            self._problem(
                line,
                _("{what} is not valid Python ({why})").format(
                    what=what.format(name=exercise.name), why=fault
                ),
            )
        return not fault

    def _read_check(self, cell: SourceCell) -> None:
        named = re.search(r"practice\.check\(\s*[\"']([^\"']*)[\"']", cell.text)
        asked = named[1] if named else "?"
        current = self._current
        wanted = f"{self.number}.{current.name if current else '?'}"
        if current is None or asked != wanted:
            sentence = _("this cell checks {asked!r}, but the task before it is {wanted!r}")
            self._problem(cell.line, sentence.format(asked=asked, wanted=wanted))
        if current is not None:
            current.check_line = cell.line

    # --- hints, mistakes, equivalents ---------------------------------------------------------

    def _read_hints(self, cell: SourceCell, exercise: SourceExercise) -> None:
        exercise.hints_line = cell.line
        lines = cell.text.strip().split("\n")
        hints: list[str] = []
        for line in lines:
            if _HINT.match(line):
                hints.append(_HINT.sub("", line, count=1))
            elif hints:
                hints[-1] += f"\n{line.removeprefix('   ')}"
        exercise.hints = tuple(hint.strip() for hint in hints)
        if len(hints) != _HINTS:
            sentence = _("{name!r} needs {wanted} hints, numbered `1. …`, and has {count}")
            found = sentence.format(name=exercise.name, wanted=_HINTS, count=len(hints))
            self._problem(cell.line, found)

    def _read_mistakes(self, cell: SourceCell, exercise: SourceExercise) -> None:
        entries, problems = read_entries(cell.text, cell.line, exercise.mistakes)
        self.problems += problems
        exercise.mistakes += entries
        for entry in entries:
            if entry.section:
                self._require_section(entry.line, entry.section)

    def _read_equivalents(self, cell: SourceCell, exercise: SourceExercise) -> None:
        entries, problems = read_entries(cell.text, cell.line, exercise.equivalents)
        self.problems += problems
        exercise.equivalents += entries

    # --- at the end ---------------------------------------------------------------------------

    def _finish(self, exercise: SourceExercise) -> None:
        remedies = {
            "answer": _("add a code cell with {begin} and {end}").format(begin=BEGIN, end=END),
            "check": _("add one: {code}").format(
                code=f'`practice.check("{self.number}.{exercise.name}", {exercise.name})`'
            ),
            "hints": _('add one with `+++ {"tags": ["hints"]}`'),
        }
        missing = {
            "answer": not exercise.answer_line,
            "check": not exercise.check_line,
            "hints": not exercise.hints_line,
        }
        for part, is_missing in missing.items():
            if is_missing:
                sentence = _("exercise {name!r} has no {part} cell after its task; {remedy}")
                self._problem(
                    exercise.line,
                    sentence.format(name=exercise.name, part=part, remedy=remedies[part]),
                )

    def _try_entries(self, chapter: SourceChapter, exercise: SourceExercise) -> None:
        """Make every edit once: each must give another program that Python can read."""
        seen: dict[tuple[tuple[str, str], ...], int] = {}
        for entry in exercise.mistakes:
            if entry.whole == VALUE and exercise.kind != "value":
                sentence = _("{name!r} is a value, and {exercise!r} asks for a {kind}")
                self._problem(
                    entry.line,
                    sentence.format(name=entry.name, exercise=exercise.name, kind=exercise.kind),
                )
                continue
            answers = self._tried(chapter, exercise, entry)
            if answers is None:
                continue
            tree = _tree(answers)
            if tree == _tree({name: self.exercises[name].answer for name in answers}):
                self._problem(entry.line, _("after this edit the solution is what it was"))
            elif tree in seen:
                sentence = _("the same program as the mistake on line {line}")
                self._problem(entry.line, sentence.format(line=seen[tree]))
            else:
                seen[tree] = entry.line
        for entry in exercise.equivalents:
            self._tried(chapter, exercise, entry, anything=_ANYTHING_NAME)

    def _tried(
        self,
        chapter: SourceChapter,
        exercise: SourceExercise,
        entry: Entry,
        anything: str = ANYTHING,
    ) -> dict[str, str] | None:
        """Return the answers that an entry makes, or None after a problem."""
        names = {exercise.name, *(edit.of for edit in entry.edits if edit.of in self.exercises)}
        if not all(self.exercises[name].answer for name in names):
            return None  # the answer itself has a problem
        try:
            answers = chapter.answers_of(exercise, entry)
        except EditProblem as problem:
            self._problem(entry.line, str(problem))
            return None
        for answer in answers.values():
            fault = _syntax_fault(answer.replace(ANYTHING, anything))
            if fault:
                sentence = _("after this edit the solution is not valid Python ({why})")
                self._problem(entry.line, sentence.format(why=fault.replace(anything, ANYTHING)))
                return None
        return answers


def _is_a(kind: type, value: Any) -> bool:
    """Return whether a value of the metadata is a whole number, a text or a list of texts."""
    if isinstance(value, list):
        return kind is list and all(isinstance(one, str) for one in value)
    return type(value) is kind


def _tree(answers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, ast.dump(ast.parse(text))) for name, text in answers.items()))


def _syntax_fault(code: str) -> str:
    """Return what Python has against a program, with the line at fault, or nothing."""
    try:
        ast.parse(code)
    except SyntaxError as fault:
        line = (fault.text or "").strip()
        return f"{fault.msg}: {line}" if line else str(fault.msg)
    return ""


# --- marks and stubs -------------------------------------------------------------------------


def _misplaced_marks(cell: SourceCell) -> Iterator[Problem]:
    begun: int | None = None
    for line, text in enumerate(cell.text.split("\n"), start=cell.line):
        mark = text.strip()
        if mark == BEGIN and begun is not None:
            sentence = _("{begin} inside the region that line {line} begins")
            yield Problem(line, sentence.format(begin=BEGIN, line=begun))
        elif mark == BEGIN:
            begun = line
        elif mark == END and begun is None:
            sentence = _("{end} without {begin} before it")
            yield Problem(line, sentence.format(end=END, begin=BEGIN))
        elif mark == END:
            begun = None
        elif mark.startswith(STUB_LINE) and begun is None:
            sentence = _("{stub} is only for the lines between {begin} and {end}")
            yield Problem(line, sentence.format(stub=STUB_LINE, begin=BEGIN, end=END))
    if begun is not None:
        sentence = _("the region that begins here is not closed by {end}")
        yield Problem(begun, sentence.format(end=END))


def _without_marks(text: str) -> Iterator[str]:
    """Yield the lines of an answer cell as a learner could have written them."""
    for line in text.split("\n"):
        if not line.strip().startswith((BEGIN, END, STUB_LINE)):
            yield line


def _with_stubs(text: str, exercise: SourceExercise) -> Iterator[str]:
    """Yield the lines of an answer cell with every region replaced by its stub."""
    indent: str | None = None
    given: list[str] = []
    for line in text.split("\n"):
        mark = line.strip()
        if mark == BEGIN:
            indent, given = line[: line.index("#")], []
        elif mark == END:
            stubs = given or [_default_stub(exercise)]
            yield from ((indent or "") + stub if stub else "" for stub in stubs)
            indent = None
        elif indent is None:
            yield line
        elif mark.startswith(STUB_LINE):
            given.append(mark.removeprefix(STUB_LINE).removeprefix(" "))


def _default_stub(exercise: SourceExercise) -> str:
    """Return the line that replaces the answer in the exercise."""
    if exercise.kind == "value":
        return f"{exercise.name} = None  # " + _("your answer")
    return f'raise NotImplementedError("{_("Your answer goes here, instead of this line.")}")'


# --- files -----------------------------------------------------------------------------------


def read_cells(path: Path) -> list[SourceCell]:
    """Return the cells of a MyST notebook with the lines on which their texts begin."""
    # Needed by authors alone, so it is no dependency of the package.
    import jupytext  # type: ignore[import-untyped]

    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    broken = [
        f"{path}:{number}: {fault}"
        for number, line in enumerate(lines, start=1)
        if line.startswith("+++ {") and (fault := _metadata_fault(line.removeprefix("+++ ")))
    ]
    if broken:
        raise SourceProblems("\n".join(broken))
    try:
        found = jupytext.reads(text, fmt="md:myst").cells
    except Exception as fault:  # of jupytext, nbformat or yaml
        at = re.search(r"line (\d+)", str(fault))
        why = str(fault).strip().split("\n")[0]
        sentence = _("jupytext can't read this file: {why}").format(why=why)
        raise SourceProblems(f"{path}:{at[1] if at else 1}: {sentence}") from fault
    front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    cursor = front[0].count("\n") if front else 0
    cells = []
    for cell in found:
        source = cell.source.split("\n")
        cursor = next(
            (at for at in range(cursor, len(lines)) if lines[at : at + len(source)] == source),
            cursor,
        )
        cells.append(SourceCell(cell.cell_type, cell.source, cursor + 1, dict(cell.metadata)))
        cursor += len(source)
    return cells


def _metadata_fault(written: str) -> str:
    """Return what is wrong with the metadata of a prose cell, or nothing."""
    try:
        tags = json.loads(written).get("tags", [])
    except json.JSONDecodeError as fault:
        if not written.rstrip().endswith("}"):
            return _("the metadata of a cell must be on one line: `+++ {{…}}`").format()
        sentence = _("the metadata of this cell are not valid JSON ({why} at `{rest}`)")
        return sentence.format(why=fault.msg, rest=written[fault.pos :])
    return "" if _is_a(list, tags) else _('"tags" in the metadata must be a list of texts')


def book_sections(pages: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Return every labelled heading of some pages by its label: the heading, and its page."""
    found: dict[str, tuple[str, str]] = {}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for label, heading in re.findall(r"^\(([^)\s]+)\)=\n#+ (.+)$", text, re.MULTILINE):
            found[label] = (heading.strip(), page.stem)
    return found


def page_title(page: Path) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].strip() if found else page.stem
