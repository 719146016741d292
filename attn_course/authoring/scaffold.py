"""The beginning of an exercise: cells for `solutions/`, a Python file, mutants as ready edits.

What `begin` writes is a whole exercise that passes all checks, to be changed line by line.
"""

import ast
import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from attn_course._files import create_file, replace_file
from attn_course.authoring.edits import Edit, EditProblem, Token, edited, first_line, tokens_of
from attn_course.authoring.release import COMPILED, released_from, source_files
from attn_course.authoring.source import book_sections, read_chapter
from attn_course.practice.exercise import Exercise, run_program
from attn_course.practice.exercises import chapter_from
from attn_course.practice.mutants import Mutant, mutants_of
from attn_course.practice.numbers import number_in
from attn_course.practice.results import Verdict
from attn_course.practice.terminal import quiet
from attn_course.translate import _

_MOST_SUGGESTED = 10
_SECONDS = 5.0  # for one mutant: it may never end
_SEED = 0

_HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Exercises for {number}: {topic}

Run the next cell first.

```{{code-cell}} python3
:tags: [nbval-ignore-output]
import numpy as np
import torch
from torch import nn

from attn_course import practice

# The table shows your progress, so it differs from run to run.
practice.overview("{number}")
```
"""

_CELLS = """
+++ {metadata}

## {title}

**Goal:** Say in one sentence what the learner can do afterwards.

Say what is given, what is wanted, and the shapes.

{signature}

An example to check by hand: …

```{{code-cell}} python3
{answer}
```

```{{code-cell}} python3
practice.check("{number}.{name}", {name})
```

+++ {{"tags": ["hints"]}}

1. A gentle hint.
2. A clearer one.
3. Nearly the answer.

+++ {{"tags": ["mistakes"]}}

{mistake}

+++ {{"tags": ["solution"]}}

**Why.** Explain the solution, for after the exercise.
"""

_ANSWERS = {
    "function": """\
def {name}(queries, keys):
    ### BEGIN SOLUTION
    return queries @ np.swapaxes(keys, -2, -1)
    ### END SOLUTION""",
    "value": """\
### BEGIN SOLUTION
{name} = [2 * 3, 5]
### END SOLUTION""",
    "module": """\
class {name}(nn.Module):
    def __init__(self, d):
        super().__init__()
        ### BEGIN SOLUTION
        self.W = nn.Parameter(torch.randn(d, d) / d**0.5)
        ### END SOLUTION

    def forward(self, queries, keys):
        ### BEGIN SOLUTION
        return queries @ self.W @ keys.mT
        ### END SOLUTION""",
}
_MISTAKES = {
    "function": "scaled_by_the_width: `np.swapaxes(keys, -2, -1)` -> "
    "`np.swapaxes(keys, -2, -1) / keys.shape[-1]`\n: You divide by the width of the keys.",
    "value": "multiplied_by_two: `[2 * 3, 10]`\n: You doubled the second number.",
    "module": "matrix_turned_round: `self.W @` -> `self.W.T @`\n: You transpose the matrix.",
}
_SIGNATURES = {
    "function": "`{name}(queries, keys)`\n\n- `queries`: array of shape `(..., q, d)`\n"
    "- `keys`: array of shape `(..., k, d)`\n- returns the scores, shape `(..., q, k)`",
    "value": "`{name}`: a list of two numbers.",
    "module": "`{name}(d)`, and then `(queries, keys)`\n\n"
    "- `queries`: tensor of shape `(..., q, d)`\n- `keys`: tensor of shape `(..., k, d)`\n"
    "- returns the scores, shape `(..., q, k)`",
}
_PYTHON = {
    "function": '''\
"""{number}.{name}: say in a few words what is asked."""

import numpy as np

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable, table_by_table
from attn_course.translate import _


@reference
def {name}(queries, keys):
    return np.einsum("...qd,...kd->...qk", queries, keys)


@{name}.cases(points=1, label=_("a few vectors"))
def a_few_vectors(rng):
    yield Case(readable(rng, 1, 2), readable(rng, 3, 2))
    yield Case(readable(rng, 5, 3), readable(rng, 2, 3))


@{name}.cases(points=1, label=_("a batch"))
def a_batch(rng):
    yield Case(readable(rng, 2, 3, 5), readable(rng, 2, 7, 5))


@{name}.variant
def in_loops(queries, keys):
    return table_by_table(lambda query, key: sum(query * key), queries, keys)
''',
    "value": '''\
"""{number}.{name}: say in a few words what is asked."""

from attn_course.practice.definition import Case, reference
from attn_course.translate import _


@reference
def {name}():
    return [6, 5]


@{name}.cases(points=1, label=_("two numbers"))
def two_numbers(rng):
    yield Case()


@{name}.variant
def as_a_tuple():
    return (6.0, 5.0)
''',
    "module": '''\
"""{number}.{name}: say in a few words what is asked."""

import torch
from torch import nn

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
class {name}(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W = nn.Parameter(torch.zeros(d, d))

    def forward(self, queries, keys):
        return torch.einsum("...qd,de,...ke->...qk", queries, self.W, keys)


def _pair(rng, *shapes):
    return [torch.tensor(readable(rng, *shape), dtype=torch.float32) for shape in shapes]


@{name}.cases(points=2, label=_("output and gradient"))
def output_and_gradient(rng):
    yield Case(*_pair(rng, (1, 2), (3, 2)), d=2)
    yield Case(*_pair(rng, (2, 5, 3), (2, 7, 3)), d=3)
''',
}


class CannotBegin(Exception):  # noqa: N818  (the command was used wrongly; the text says how)
    """An exercise that can't be begun; the text says why."""


def begin(root: Path, exercise_id: str, kind: str) -> list[Path]:
    """Write the cells and the Python of a new exercise; return the files written."""
    place, _dot, name = exercise_id.rpartition(".")
    if not place or not name.isidentifier():
        raise CannotBegin(
            _("Give notebook and name, such as 01.boxcar_weights, not {word!r}.").format(
                word=exercise_id
            )
        )
    source = _source(root, place)
    number, _sep, topic = source.stem.partition("_")
    folder = root / COMPILED / topic
    python = folder / f"{name}.py"
    written = source.read_text(encoding="utf-8") if source.is_file() else ""
    if f'"exercise": "{name}"' in written or python.exists():
        raise CannotBegin(_("There is an exercise {id} already.").format(id=f"{number}.{name}"))
    if not written:
        written = _HEADER.format(number=number, topic=topic.replace("_", " "))
    fields = {"name": name, "number": number}
    cells = _CELLS.format(
        metadata=json.dumps(_metadata(root, source, name, kind)),
        title=name.replace("_", " ").capitalize(),
        signature=_SIGNATURES[kind].format(**fields),
        answer=_ANSWERS[kind].format(**fields),
        mistake=_MISTAKES[kind],
        **fields,
    )
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "__init__.py").exists():
        create_file(folder / "__init__.py", f'"""The exercises of {number}: {topic}."""\n')
    create_file(python, _PYTHON[kind].format(**fields))
    replace_file(source, written.rstrip("\n") + "\n" + cells)
    return [source, python]


def _source(root: Path, place: str) -> Path:
    """Return the source that a number or a stem means: a new stem means a new file."""
    sources = {path.stem: path for path in source_files(root)}
    if place in sources:
        return sources[place]
    if "_" in place:
        return _new_source(root, place)
    number = place.zfill(2 + sum(letter.isalpha() for letter in place))
    of_notebook = [stem for stem in sources if stem.partition("_")[0] == number]
    of_chapter = [stem for stem in sources if stem.partition("_")[0].rstrip("abcdefgh") == number]
    if len(of_chapter) > 1 and number[-1].isdigit():
        raise CannotBegin(
            _("Chapter {number} has several notebooks; say which: {stems}").format(
                number=number, stems=", ".join(of_chapter)
            )
        )
    found = of_notebook or of_chapter
    if not found:
        raise CannotBegin(
            _("There is no solutions/{number}_*.md; to begin one, name it: {example}").format(
                number=number, example=f"attn-course new {number}_topic.name"
            )
        )
    return sources[found[0]]


def _new_source(root: Path, stem: str) -> Path:
    """Return the source of a notebook that is not there yet."""
    number, _sep, topic = stem.partition("_")
    if number != number_in(stem) or not topic.isidentifier():
        raise CannotBegin(
            _(
                "A new notebook is called by number and topic, such as 06b_roles, not {stem!r}."
            ).format(stem=stem)
        )
    for path in source_files(root):
        if path.stem.partition("_")[0] == number:
            raise CannotBegin(
                _("The number {number} belongs to {path} already.").format(
                    number=number, path=path.relative_to(root).as_posix()
                )
            )
    return root / "solutions" / f"{stem}.md"


def _metadata(root: Path, source: Path, name: str, kind: str) -> dict[str, Any]:
    """Return the metadata of a new exercise; its section is the first of the chapter's pages."""
    number = source.stem.partition("_")[0]
    pages = sorted((root / "book").glob(f"{number}*.md")) or sorted((root / "book").glob("*.md"))
    section = next(iter(book_sections(pages)), "")
    made: dict[str, Any] = {"exercise": name, "difficulty": 2, "minutes": 15, "section": section}
    return made if kind == "function" else made | {"kind": kind}


def next_steps(exercise_id: str) -> str:
    """Return what an author does after `begin`."""
    return _(
        "It works as it is. Now write the task and the solution, the cases, then the mistakes:\n"
        "  attn-course release                   write the notebook and the checks' data\n"
        "  attn-course new {id} --mistakes       mutants of your solution, as edits to name\n"
        "  attn-course selftest {id}             are mistakes named, right answers accepted?\n"
        "  attn-course mistakes {id}             see what each mistake does"
    ).format(id=exercise_id)


# --- mutants as mistakes ----------------------------------------------------------------------


def unnamed_mutants(root: Path, exercise_id: str) -> str:
    """Return mutants of a solution that are wrong and have no name yet, as ready entries."""
    place, _dot, name = exercise_id.rpartition(".")
    source = _source(root, place)
    sections = book_sections(sorted((root / "book").glob("*.md")))
    chapter = read_chapter(source, sections)
    if name not in chapter.exercises:
        raise CannotBegin(
            _("There is no exercise {name!r} in {path}.").format(name=name, path=source)
        )
    exercise = chapter_from(json.loads(released_from(source, sections).compiled)).exercises[name]
    answer = chapter.exercises[name].answer
    entries: list[str] = []
    for mutant in mutants_of(answer):
        if len(entries) == _MOST_SUGGESTED:
            break
        program = "\n".join(chapter.program(name, {name: mutant.source}))
        edit = as_edit(answer, mutant)
        if edit and _is_wrong_and_unnamed(exercise, program):
            words = mutant.kind.replace(" ", "_")
            entries.append(f"{words}_{len(entries) + 1}: {edit}\n: …")
    return "\n\n".join(entries) or _("Every wrong mutant that was tried has a name.")


def _is_wrong_and_unnamed(exercise: Exercise, program: str) -> bool:
    try:
        with quiet(), _deadline():
            answer = run_program(program, exercise.name)
            result = exercise.check(exercise.local(answer), seed=_SEED)
    except (Exception, _TooLong):
        return False
    return result.verdict is Verdict.FAILED and result.mistake is None


class _TooLong(BaseException):
    """Not an Exception: an answer's own faults are caught on the way."""


@contextmanager
def _deadline() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def as_edit(answer: str, mutant: Mutant) -> str:
    """Return the shortest edit of `answer` that makes the mutant, or nothing where none is found.

    >>> (mutant,) = [m for m in mutants_of("y = x + 2") if m.change.endswith("x - 2")]
    >>> as_edit("y = x + 2", mutant)
    '`+` -> `-`'
    """
    before, _arrow, after = mutant.change.partition(" -> ")
    statements = (node for node in ast.walk(ast.parse(answer)) if isinstance(node, ast.stmt))
    statement = next((one for one in statements if _one_line(one) == before), None)
    if statement is None:
        return ""
    old_tokens, new_tokens = tokens_of(_as_written(answer, statement)), tokens_of(after)
    start, old_end, new_end = _differing(
        [token.text for token in old_tokens], [token.text for token in new_tokens]
    )
    while True:
        old = _on_one_line(old_tokens[start:old_end])
        new = _on_one_line(new_tokens[start:new_end])
        if _makes(answer, Edit("replace", old, new), mutant):
            made = f"`{old}` -> `{new}`"
            return made if made.count("`") == 4 and "\n" not in made else ""
        if start == 0 and old_end == len(old_tokens):
            return ""
        start = max(start - 1, 0)
        old_end, new_end = min(old_end + 1, len(old_tokens)), min(new_end + 1, len(new_tokens))


def _as_written(answer: str, statement: ast.stmt) -> str:
    """Return a statement as its author wrote it: of a loop or a definition what begins it."""
    text = ast.get_source_segment(answer, statement) or ""
    body = getattr(statement, "body", None)
    if not body:
        return text
    count = first_line(body[0]) - statement.lineno
    return "\n".join(text.split("\n")[: max(count, 1)])


def _on_one_line(tokens: Sequence[Token]) -> str:
    """Return tokens with the spaces between them, but without line breaks and comments."""
    written = tokens[0].text
    for before, token in pairwise(tokens):
        written += (" " if token.start > before.end else "") + token.text
    return written


def _makes(answer: str, edit: Edit, mutant: Mutant) -> bool:
    try:
        made = ast.parse(edited(answer, [edit], ""))
    except (EditProblem, SyntaxError):
        return False
    return ast.dump(made) == ast.dump(ast.parse(mutant.source))


def _differing(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """Return where two lists of tokens begin to differ, and where each ends to; never nothing."""
    start = 0
    while start < min(len(old), len(new)) - 1 and old[start] == new[start]:
        start += 1
    tail = 0
    while (
        tail < min(len(old), len(new)) - start - 1
        and old[len(old) - 1 - tail] == new[len(new) - 1 - tail]
    ):
        tail += 1
    return start, len(old) - tail, len(new) - tail


def _one_line(statement: ast.stmt) -> str:
    """Return a statement as `Mutant.change` shows it."""
    text = ast.unparse(statement)
    return text.split("\n")[0] if hasattr(statement, "body") else text
